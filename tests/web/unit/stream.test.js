import { afterEach, test } from "node:test";
import assert from "node:assert/strict";
import { createBackend } from "../../../web/dev/backend.js";
import { follow, STREAM } from "../../../web/src/stream.js";
import { BATCH } from "../../../web/src/stream/batch.js";

const realFetch = globalThis.fetch;
let follower = null;
afterEach(() => {
  follower?.stop();
  globalThis.fetch = realFetch;
  world.refuse = undefined;
});

/** A platform whose EventSource talks to the fixture backend, can be cut, and counts what it opened. */
function world(options = {}) {
  const backend = createBackend({ upTo: 10, ...options });
  const seen = { flow: 0, events: [], connection: [], opened: [], summaries: 0, requests: [] };
  const sources = [];
  globalThis.fetch = async (path, init = {}) => {
    seen.requests.push(path);
    const answer = world.refuse?.(path) ?? backend.handle(init.method ?? "GET", path);
    return new Response(JSON.stringify(answer.json), { status: answer.status });
  };
  class FakeSource extends EventTarget {
    constructor(path) {
      super();
      this.readyState = 0;
      seen.opened.push(path);
      sources.push(this);
      setTimeout(() => {
        if (this.readyState === 2) return;
        if (options.refuseStreams) return this.fail();
        this.readyState = 1;
        this.onopen?.({});
        if (options.holdFromFirst) return;
        this.stop = backend.subscribe(
          "demo.fix-slug",
          new URL(path, "http://x").searchParams.get("after"),
          (type, data, id) => {
            if (this.held) return;
            this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data), lastEventId: id ?? "" }));
          },
        );
      }, 1);
    }

    fail() {
      this.readyState = 2;
      this.stop?.();
      this.onerror?.({});
    }

    close() {
      this.readyState = 2;
      this.stop?.();
    }
  }
  const fast = {
    ...globalThis,
    EventSource: FakeSource,
    clearTimeout,
    // A busy machine must not take a stream that is about to open for one that is held.
    setTimeout: (act, ms) => setTimeout(act, Math.min(ms, ms === STREAM.firstFrameMs ? 50 : 5)),
  };
  const on = {
    flow: (flow) => {
      seen.flow += 1;
      seen.last = flow.model.run.lastSeq;
    },
    events: (events) => seen.events.push(...events.map((event) => event.seq)),
    summary: () => {
      seen.summaries += 1;
    },
    connection: ({ state }) => seen.connection.push(state),
  };
  follower = follow("demo.fix-slug", "", on, { isNew: options.isNew, platform: fast });
  return { backend, seen, sources };
}

const until = async (holds, what) => {
  for (let tries = 0; tries < 400; tries += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail(`never: ${what}`);
};

test("loads the flow, then streams from its cursor; each event once", async () => {
  const { backend, seen } = world();
  await until(() => seen.connection.includes("live"), "live");
  assert.match(seen.opened[0], /after=10\.0/);
  backend.advance(3);
  await until(() => seen.events.length === 3, "three events");
  assert.deepEqual(seen.events, [11, 12, 13]);
  assert.equal(seen.flow, 1);
});

test("a closed stream is taken up again where it ended, and the view loads once", async () => {
  const { backend, seen, sources } = world();
  await until(() => seen.connection.includes("live"), "live");
  backend.advance(2);
  await until(() => seen.events.length === 2, "two events");
  sources.at(-1).fail();
  backend.advance(2);
  await until(() => seen.flow === 2 && seen.connection.filter((state) => state === "live").length === 2, "again live");
  backend.advance(1);
  await until(() => seen.events.includes(15), "the next event");
  assert.equal(seen.last, 14);
  assert.equal(new Set(seen.events).size, seen.events.length);
});

const unknownAtFirst = (times) => {
  let left = times;
  world.refuse = (path) =>
    /\/flow/.test(path) && left-- > 0 ? { status: 404, json: { title: "No such Run", status: 404 } } : null;
};

test("a run this console has just created may be unknown for a moment; any other that is unknown is said to be", async () => {
  unknownAtFirst(3);
  const { seen } = world({ isNew: true });
  await until(() => seen.connection.includes("live"), "live");
  assert.ok(!seen.connection.includes("refused"));
  follower.stop();
  unknownAtFirst(1);
  const other = world();
  await until(() => other.seen.connection.includes("refused"), "refused");
  assert.equal(other.seen.flow, 0);
});

test("resync loads the flow once and goes on", async () => {
  const { seen, sources } = world();
  await until(() => seen.connection.includes("live"), "live");
  sources[0].dispatchEvent(new MessageEvent("resync", { data: '{"reason":"slow"}' }));
  await until(() => seen.flow === 2 && seen.opened.length === 2, "resynced");
});

test("where streams never get through it polls the same cursor", async () => {
  const { backend, seen } = world({ refuseStreams: true });
  await until(() => seen.connection.includes("polling"), "polling");
  backend.advance(4);
  await until(() => seen.events.includes(14), "polled events");
  assert.deepEqual([...new Set(seen.events)], seen.events);
});

test("a stream that opens and passes nothing on is never called live; what happens is polled", async () => {
  const { backend, seen, sources } = world({ holdFromFirst: true });
  await until(() => seen.connection.includes("polling"), "polling");
  assert.equal(sources[0].readyState, 2);
  backend.advance(4);
  await until(() => seen.events.includes(14), "polled events");
  await until(() => seen.opened.length === 3, "the stream tried again, and again");
  backend.advance(2);
  await until(() => seen.events.includes(16), "polled events after a try");
  assert.deepEqual(seen.events, [11, 12, 13, 14, 15, 16]);
  assert.equal(seen.flow, 1);
  assert.ok(!seen.connection.includes("live"));
});

test("a live stream that is held from then on is left for polling once the server is known to be ahead", async (t) => {
  const { backend, seen, sources } = world();
  await until(() => seen.connection.includes("live"), "live");
  sources[0].held = true;
  const now = Date.now;
  t.mock.method(Date, "now", () => now() + STREAM.silentMs);
  const asked = () => seen.requests.filter((path) => path === "/api/runs/demo.fix-slug").length;
  await until(() => asked() >= 3, "asked how far the server is");
  assert.equal(seen.connection.at(-1), "live", "silence alone proves nothing");
  backend.advance(4);
  await until(() => seen.events.includes(14), "polled events");
  assert.deepEqual(seen.events, [11, 12, 13, 14]);
  assert.ok(seen.connection.includes("polling"));
  assert.equal(seen.flow, 1);
  await until(() => seen.connection.at(-1) === "live", "the stream, once it gets through again");
  assert.equal(seen.opened.length, 2);
});

test("a stream that speaks while the server is asked is not left", async (t) => {
  const { backend, seen, sources } = world();
  await until(() => seen.connection.includes("live"), "live");
  sources[0].held = true;
  backend.advance(4);
  let asked = 0;
  world.refuse = (path) => {
    asked += path === "/api/runs/demo.fix-slug" ? 1 : 0;
    if (asked > 0) sources[0].dispatchEvent(new MessageEvent("status", { data: "{}" }));
    return null;
  };
  const now = Date.now;
  t.mock.method(Date, "now", () => now() + STREAM.silentMs);
  await until(() => asked > 0, "asked");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([seen.connection, sources[0].readyState, asked], [["connecting", "live"], 1, 1]);
});

test("the end of a run closes the stream and shows the last state", async () => {
  const { backend, seen, sources } = world();
  await until(() => seen.connection.includes("live"), "live");
  backend.advance(1000);
  await until(() => seen.connection.at(-1) === "ended", "ended");
  assert.equal(sources.at(-1).readyState, 2);
  assert.equal(seen.opened.length, 1);
});

test("garbage on the stream is unreadable rows, not a crash", async () => {
  const { seen, sources } = world();
  await until(() => seen.connection.includes("live"), "live");
  for (const data of ["", "null", "{", '[1,{"type":"x"},null]', '{"a":1}'])
    sources[0].dispatchEvent(new MessageEvent("events", { data, lastEventId: "" }));
  await until(() => seen.events.length === 3, "three rows");
  assert.deepEqual(seen.events, [undefined, undefined, undefined]);
});

test("stopping ends everything", async () => {
  const { seen, sources, backend } = world();
  await until(() => seen.connection.includes("live"), "live");
  follower.stop();
  backend.advance(3);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual(seen.events, []);
  assert.equal(sources[0].readyState, 2);
  assert.ok(BATCH.batchMs >= 100, "at most ten updates a second");
});
