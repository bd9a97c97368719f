import { test } from "node:test";
import assert from "node:assert/strict";
import { noticesOf } from "../../../web/src/derive/notices.js";
import { noticeEffects, NotifyAnswered, ToggleNotify } from "../../../web/src/actions/notify.js";
import { SummaryArrived } from "../../../web/src/actions/run.js";
import { ConfigAnswered, LoadRuns, RunsAnswered, SignedOut, SignInAnswered } from "../../../web/src/actions/session.js";
import { HistoryAnswered, HistoryDetailAnswered } from "../../../web/src/actions/history.js";
import { askToNotify } from "../../../web/src/notify.js";
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

const state = (notify, items, listed = true) => {
  const fresh = initialState({ hash: "#/", theme: "light", nowMs: 0, wide: true, notify });
  return { ...fresh, runs: { ...fresh.runs, status: "ready", listed, items } };
};

test("nobody is called who has not asked for it, nor by the first list", () => {
  const waits = [run("a", { awaiting: 1 })];
  const off = { on: false, permission: "granted" };
  const on = { on: true, permission: "granted" };
  assert.deepEqual(noticeEffects(state(off, [run("a")]), state(off, waits)), []);
  assert.deepEqual(noticeEffects(state(on, [], false), state(on, waits)), []);
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

/** A console where `user` is signed in; `called` gathers the titles of notices, `ask` gives what answers that list. */
class Console {
  called = [];
  state = state({ on: true, permission: "granted" }, [], false);

  constructor(user = "ada") {
    this.signIn(user);
  }

  take([next, ...effects]) {
    this.state = next;
    for (const [, props] of effects) this.called.push(...(props.notices ?? []).map((one) => one.title));
    return effects;
  }

  signIn = (user) => this.take(SignInAnswered(this.state, { ok: true, data: { user } }));

  ask() {
    const [[, { tag }]] = this.take(LoadRuns(this.state));
    return (runs) => this.take([RunsAnswered(this.state, { ok: true, data: { runs }, tag })].flat());
  }

  fail() {
    const [[, { tag }]] = this.take(LoadRuns(this.state));
    this.take([RunsAnswered(this.state, { ok: false, status: 503, problem: { title: "no" }, tag })].flat());
  }

  list = (...runs) => this.ask()(runs);
  tell = (one) => this.take(SummaryArrived(this.state, one));
}

test("a failed look at the runs loses no notice, and the same question calls once", () => {
  const page = new Console();
  page.list(run("a"));
  page.fail();
  assert.equal(page.state.runs.status, "failed");
  page.list(run("a", { awaiting: 1 }));
  assert.deepEqual(page.called, ["a needs you"]);
  page.list(run("a", { awaiting: 1 }));
  page.fail();
  page.list(run("a", { awaiting: 1 }));
  assert.deepEqual(page.called, ["a needs you"]);
  page.list(run("a"));
  page.list(run("a", { awaiting: 1 }));
  assert.equal(page.called.length, 2, "the control: one was answered, another is asked");
});

test("a list that was asked for before the stream told, or before a newer list, takes nothing back", () => {
  const page = new Console();
  page.list(run("a"), run("b"));
  const old = page.ask();
  page.tell(run("a", { awaiting: 1 }));
  old([run("a"), run("b", { awaiting: 1 })]);
  assert.deepEqual(page.called, ["a needs you", "b needs you"], "of other runs that list tells");
  page.list(run("a", { awaiting: 1 }), run("b", { awaiting: 1 }));
  const [older, newer] = [page.ask(), page.ask()];
  newer([run("a", { awaiting: 2 }), run("b", { awaiting: 1 })]);
  older([run("a", { awaiting: 1 }), run("b")]);
  page.list(run("a", { awaiting: 2 }), run("b", { awaiting: 1 }));
  assert.deepEqual(page.called, ["a needs you", "b needs you", "a needs you"]);
  page.list(run("a"), run("b"));
  assert.equal(page.state.runs.items[0].awaiting, 0, "the control: a list that is newer is believed");
  assert.equal(page.state.runs.fresher.size, 0);
});

test("whoever signs in next in this tab finds nothing of the one before, nor what was asked for them", () => {
  for (const leave of [SignedOut, (now) => [{ ...now, session: { ...now.session, status: "out", user: "" } }]]) {
    const page = new Console();
    const tag = { sitting: page.state.sitting, q: "", cursor: "" };
    const theirs = { ok: true, data: { runs: [run("theirs")], namespaces: ["theirs"], next: "theirs" }, tag };
    page.list(run("theirs"));
    page.state = HistoryAnswered(page.state, theirs);
    page.state = ConfigAnswered(page.state, theirs);
    page.state = { ...page.state, compose: { ...page.state.compose, task: "theirs" }, created: "demo.theirs" };
    page.tell(run("theirs"));
    assert.match(JSON.stringify(page.state), /theirs/, "the control");
    const late = page.ask();
    page.take(leave(page.state));
    page.signIn("grace");
    late([run("theirs")]);
    page.state = ConfigAnswered(HistoryAnswered(page.state, theirs), theirs);
    page.state = HistoryDetailAnswered(page.state, { ...theirs, tag: { sitting: tag.sitting, uid: "theirs" } });
    assert.doesNotMatch(JSON.stringify(page.state), /theirs/);
    page.list(run("mine", { awaiting: 1 }));
    assert.deepEqual(page.called, [], "the first list of a new person calls nobody");
    page.list(run("mine", { awaiting: 2 }));
    assert.deepEqual(page.called, ["mine needs you"]);
  }
});

test("whose session ran out finds everything again", () => {
  const page = new Console();
  page.list(run("a"));
  page.state = { ...page.state, session: { ...page.state.session, status: "out", user: "" } };
  page.signIn("ada");
  page.list(run("a", { awaiting: 1 }));
  assert.deepEqual(page.called, ["a needs you"]);
});

test("a browser that answers by callback, by promise or not at all is heard", async () => {
  const answers = {
    callback: (then) => void then("granted"),
    promise: () => Promise.resolve("granted"),
    both: (then) => (then("granted"), Promise.resolve("granted")),
    refusal: () => Promise.reject(new Error("no")),
    fault: () => {
      throw new Error("no");
    },
  };
  const [ask, props] = askToNotify(NotifyAnswered);
  for (const [name, requestPermission] of Object.entries(answers)) {
    globalThis.Notification = { requestPermission };
    const heard = [];
    await ask((_, permission) => heard.push(permission), props);
    assert.deepEqual(heard, [["refusal", "fault"].includes(name) ? "denied" : "granted"], name);
  }
  delete globalThis.Notification;
});
