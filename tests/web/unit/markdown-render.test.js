import { test } from "node:test";
import assert from "node:assert/strict";
import { createMarkdownStore } from "../../../web/src/markdown-render.js";

/** A store over workers that answer when the test lets them. */
function world(t) {
  const workers = [];
  const startWorker = () => {
    const worker = { sent: [], postMessage: (job) => worker.sent.push(job), terminate: () => {} };
    workers.push(worker);
    return worker;
  };
  const store = createMarkdownStore({ startWorker, build: (html) => ({ nodes: [html] }), onChange: () => {} });
  t.after(() => store.close());
  return { store, workers };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

test("a warm store has a worker that is ready before the first text comes", async (t) => {
  const { store, workers } = world(t);
  store.warm();
  store.warm();
  assert.equal(workers.length, 1);
  workers[0].onmessage({ data: { ready: true } });
  assert.equal(store.get("**a**").state, "pending");
  await turn();
  assert.deepEqual(workers[0].sent, [{ id: 1, text: "**a**" }]);
  workers[0].onmessage({ data: { id: 1, ok: true, html: "<b>a</b>" } });
  assert.deepEqual(store.get("**a**").nodes, ["<b>a</b>"]);
});

test("a cold store starts its workers with the first text", async (t) => {
  const { store, workers } = world(t);
  assert.equal(workers.length, 0);
  store.get("a");
  await turn();
  assert.ok(workers.length > 0);
});
