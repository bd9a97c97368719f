import { test } from "node:test";
import assert from "node:assert/strict";
import { noticesOf } from "../../../web/src/derive/notices.js";
import { noticeEffects, NotifyAnswered, ToggleNotify } from "../../../web/src/actions/notify.js";
import { initialState } from "../../../web/src/state.js";

const reason = (word) => `because ${word}`;
const run = (uid, fields = {}) => ({
  uid,
  id: `demo.${uid}`,
  namespace: "demo",
  name: uid,
  label: uid,
  phase: "Running",
  awaiting: 0,
  live: true,
  private: false,
  ...fields,
});

test("what begins to wait and what fails is told; what only goes on or ends well is not", () => {
  const before = [run("a"), run("b"), run("c"), run("d", { awaiting: 1 }), run("e", { awaiting: 2 })];
  const after = [
    run("a", { awaiting: 1 }),
    run("b", { phase: "Failed", reason: "ProviderFailed" }),
    run("c", { phase: "Succeeded" }),
    run("d", { awaiting: 1 }),
    run("e", { awaiting: 1 }),
  ];
  assert.deepEqual(
    noticesOf(before, after, reason).map(({ title, body, runId }) => [title, body, runId]),
    [
      ["a needs you", "A question or an approval waits.\ndemo/a", "demo.a"],
      ["b failed", "because ProviderFailed\ndemo/b", "demo.b"],
    ],
  );
  assert.deepEqual(noticesOf(after, after, reason), []);
});

test("a run met for the first time counts only if somebody is needed now", () => {
  const met = [run("new", { awaiting: 1 }), run("old", { phase: "Failed" })];
  assert.deepEqual(
    noticesOf([], met, reason).map((one) => one.title),
    ["new needs you"],
  );
});

test("notices are few, short, plain, and silent about private runs", () => {
  const many = Array.from({ length: 50 }, (_, at) => run(`r${at}`, { awaiting: 1 }));
  assert.equal(noticesOf([], many, reason).length, 3);
  const [hostile, secret] = noticesOf(
    [],
    [
      run("h", { label: `\u202e\u0000${"x".repeat(5000)}`, awaiting: 1 }),
      run("p", { label: "the merger", private: true, awaiting: 1 }),
    ],
    reason,
  );
  assert.ok(hostile.title.length < 120, String(hostile.title.length));
  assert.doesNotMatch(hostile.title, /[\u0000-\u001f\u202e]/);
  assert.equal(secret.title, "A private run needs you");
  assert.doesNotMatch(JSON.stringify([secret.title, secret.body]), /merger|demo\/p/);
});

const state = (notify, items, status = "ready") => ({
  ...initialState({ hash: "#/", theme: "light", nowMs: 0, wide: true, notify }),
  runs: { status, items, next: "", problem: null },
});

test("nobody is called who has not asked for it, nor by the first list", () => {
  const waits = [run("a", { awaiting: 1 })];
  const off = { on: false, permission: "granted" };
  const on = { on: true, permission: "granted" };
  assert.deepEqual(noticeEffects(state(off, [run("a")]), state(off, waits)), []);
  assert.deepEqual(noticeEffects(state(on, [], "idle"), state(on, waits)), []);
  assert.equal(noticeEffects(state(on, [run("a")]), state(on, waits)).length, 1, "the control");
});

test("the browser is asked at a click and only while it has not been told; a refusal is said", () => {
  const asked = ToggleNotify(state({ on: false, permission: "default" }, []));
  assert.equal(asked[0].notify.on, false, "not before the person agreed");
  assert.equal(asked.length, 2);
  assert.equal(NotifyAnswered(asked[0], "granted")[0].notify.on, true);
  for (const permission of ["denied", "default"]) {
    const refused = NotifyAnswered(asked[0], permission);
    assert.equal(refused.notify.on, false);
    assert.equal(refused.toast.tone, "bad");
  }
  for (const permission of ["denied", "unsupported"])
    assert.equal(ToggleNotify(state({ on: false, permission }, [])).toast.tone, "bad");
  assert.equal(ToggleNotify(state({ on: true, permission: "granted" }, []))[0].notify.on, false);
});
