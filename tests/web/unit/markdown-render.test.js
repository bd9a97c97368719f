import { test } from "node:test";
import assert from "node:assert/strict";
import { createMarkdownStore, LIMITS } from "../../../web/src/markdown-render.js";

/** A store over workers that answer when the test lets them; `told` counts how often a view would look again. */
function world(t, { limits = {}, build = (html) => ({ nodes: [html] }), refuse = () => false } = {}) {
  const workers = [];
  const seen = { told: 0, starts: 0 };
  const startWorker = () => {
    seen.starts += 1;
    if (refuse()) throw new Error("no Worker");
    const worker = {
      sent: [],
      ended: false,
      postMessage: (job) => worker.sent.push(job),
      terminate: () => (worker.ended = true),
      say: (data) => worker.onmessage({ data }),
      answer: (html = "x") => worker.say({ id: worker.sent.at(-1).id, ok: true, html }),
    };
    workers.push(worker);
    return worker;
  };
  const onChange = () => (seen.told += 1);
  const store = createMarkdownStore({ startWorker, build, onChange, limits: { ...LIMITS, ...limits } });
  t.after(() => store.close());
  return { store, workers, seen };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
const until = async (holds) => {
  for (let tries = 0; tries < 200 && !holds(); tries += 1) await turn();
  assert.ok(holds());
};

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

test("a text that takes too long is text, its worker is ended, and the warm one takes the next", async (t) => {
  const { store, workers, seen } = world(t, { limits: { deadlineMs: 100 } });
  store.get("slow");
  store.get("next");
  await turn();
  for (const worker of workers) worker.say({ ready: true });
  const given = workers.map((worker) => worker.sent.length);
  assert.deepEqual(given, [1, 0], "one works, one is warm");
  await until(() => workers[0].ended);
  const { state, reason } = store.get("slow");
  assert.deepEqual([state, reason], ["fallback", "took too long to format"]);
  assert.equal(workers[1].sent[0].text, "next");
  workers[0].answer("late");
  workers[1].answer("n");
  assert.equal(store.get("slow").state, "fallback", "what comes too late counts for nothing");
  assert.deepEqual(store.get("next").nodes, ["n"]);
  await turn();
  assert.ok(seen.told > 0);
});

test("answers that nobody waits for are ignored; one that cannot be read, or is refused, is text", async (t) => {
  const build = () => {
    throw new Error("no tree");
  };
  const { store, workers } = world(t, { build });
  store.get("a");
  store.get("b");
  await turn();
  const [worker] = workers;
  worker.say({ id: 1, ok: true, html: "before it had a text" });
  worker.say({ ready: true });
  worker.say({ id: 99, ok: true, html: "of another text" });
  assert.equal(store.get("a").state, "pending");
  worker.answer();
  assert.equal(store.get("a").reason, "could not be read");
  worker.say({ id: worker.sent.at(-1).id, ok: false, reason: "too much markup" });
  assert.equal(store.get("b").reason, "too much markup");
});

test("without workers prose is text; they are started a limited number of times", async (t) => {
  const none = world(t, { refuse: () => true });
  none.store.get("a");
  await turn();
  assert.equal(none.store.get("a").reason, "the formatter is not available");
  const { store, workers, seen } = world(t, { limits: { workerStartsMax: 3 } });
  store.get("a");
  await turn();
  for (let at = 0; at < 3; at += 1) {
    workers[at].say({ ready: true });
    store.get(`text ${at}`);
    workers[at].onerror({});
  }
  assert.equal(seen.starts, 3);
  await turn();
  assert.equal(store.get("text 2").reason, "the formatter is not available");
});

test("the store holds no more than its limits: the longest unused goes, a dropped text is forgotten", async (t) => {
  const { store, workers } = world(t, { limits: { cacheMaxEntries: 3, cacheMaxChars: 100, queueMaxJobs: 2 } });
  for (const text of ["a", "b", "c"]) store.get(text);
  assert.equal(store.size(), 2, "the oldest of a full queue is forgotten");
  await turn();
  workers[0].say({ ready: true });
  workers[0].answer();
  workers[0].answer();
  assert.deepEqual(workers[0].sent.map((job) => job.text), ["b", "c"]);
  store.get("b");
  store.get("d");
  store.get("e");
  await turn();
  workers[0].answer();
  workers[0].answer();
  assert.equal(store.size(), 3);
  assert.equal(store.get("b").state, "done", "what was looked at stays");
  assert.equal(store.get("c").state, "pending", "what was not has gone");
  store.get("x".repeat(99));
  assert.equal(store.size(), 2, "characters count too");
});
