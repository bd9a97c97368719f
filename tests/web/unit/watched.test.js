// An answer about one run that comes when another is watched: it changes nothing of what is shown there.
import { afterEach, test } from "node:test";
import assert from "node:assert/strict";
import { ConfirmStop } from "../../../web/src/actions/acts.js";
import { LoadChanges } from "../../../web/src/actions/changes.js";
import { LoadEventPages } from "../../../web/src/actions/events.js";
import { opEffects } from "../../../web/src/actions/operations.js";
import { SendAnswer, SendInterrupt } from "../../../web/src/actions/people.js";
import { ReplayLoaded, StartReplay } from "../../../web/src/actions/replay.js";
import { FlowArrived } from "../../../web/src/actions/run.js";
import { foldAll } from "../../../web/src/fold.js";
import { modelToWire } from "../../../web/src/model.js";
import { initialState } from "../../../web/src/state.js";
import { goodRun } from "../../../web/dev/frames.js";

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

/** A state in which somebody watches the run at `hash`, of which `events` are known. */
function watching(hash, modal = null, events = goodRun().slice(0, 20)) {
  const state = initialState({ hash, theme: "light", nowMs: 0, wide: true });
  const session = { status: "in", user: "jane", error: "", busy: false };
  return { ...state, session, modal, run: { ...state.run, id: state.route.runId, model: foldAll(events) } };
}

/** What an effect dispatches: the action and its payload. */
const dispatched = ([run, props]) =>
  new Promise((resolve) => run((action, payload) => resolve([action, payload]), props));

const answering = (status, json) => {
  globalThis.fetch = async () => new Response(JSON.stringify(json), { status });
};

const ask = (kind, id) => ({ kind, item: { id, run: "demo.a" }, message: "no", choice: "", closed: null });
const ACTS = {
  detail: () => FlowArrived(watching("#/runs/demo.a"), { model: modelToWire(foldAll([])) }),
  changes: () => LoadChanges(watching("#/runs/demo.a"), "none"),
  "an operation": () => opEffects(watching("#/runs/demo.a?op=o3")),
  "a page of events": () => LoadEventPages(watching("#/runs/demo.a?view=events")),
  stop: () => ConfirmStop(watching("#/runs/demo.a", { kind: "stop" })),
  "an answer": () => SendAnswer(watching("#/runs/demo.a", ask("question", "q1"))),
  "an interrupt": () =>
    SendInterrupt(watching("#/runs/demo.a", { kind: "interrupt", intent: "inquire", message: "why" })),
};
const ELSEWHERE = ["#/runs/demo.b", "#/runs/demo.a?uid=an-earlier-one"];

for (const [what, act] of Object.entries(ACTS)) {
  test(`${what}: what comes after one went to another run changes nothing there`, async () => {
    const request = [act()].flat().find((one) => one[1]?.method);
    for (const status of [503, 200]) {
      answering(status, {});
      const [answered, answer] = await dispatched(request);
      for (const hash of ELSEWHERE) {
        const there = watching(hash, ask("approval", "a9"));
        assert.equal(answered(there, answer), there, `${hash} ${status}`);
      }
      if (status !== 200) continue;
      const here = watching("#/runs/demo.a", ask("question", "q1"));
      assert.notEqual([answered(here, answer)].flat()[0], here, "control: where it was asked, it counts");
    }
  });
}

test("a replay that could not be loaded leaves that of another run alone, and tells of its own", async () => {
  const [loading, effect] = StartReplay(watching("#/runs/demo.a?at=5"));
  assert.deepEqual(loading.run.replay, { loading: true });
  answering(503, { title: "Down" });
  const [then, failure] = await dispatched(effect);
  assert.equal(then, ReplayLoaded);
  for (const hash of ["#/runs/demo.b?at=3", "#/runs/demo.a?uid=an-earlier-one&at=3"]) {
    const there = watching(hash);
    there.run.replay = { events: goodRun(), complete: true };
    assert.equal(ReplayLoaded(there, failure), there, hash);
  }
  const told = ReplayLoaded(loading, failure);
  assert.deepEqual([told.run.replay, told.toast.tone], [null, "bad"]);
  answering(200, { events: goodRun().slice(0, 9), last: 9 });
  const [, loaded] = await dispatched(effect);
  assert.equal(ReplayLoaded(loading, loaded).run.replay.model.run.lastSeq, 5);
});
