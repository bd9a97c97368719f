// What waits for a person, joined and timed; arguments cut into rows in which nothing can hide.
import { test } from "node:test";
import assert from "node:assert/strict";
import { foldAll } from "../../../web/src/fold.js";
import {
  answeredInquiries,
  closedBy,
  leftText,
  needsYou,
  secondsLeft,
  stillSent,
} from "../../../web/src/derive/people.js";
import { columnsOf, cutRows, rowText } from "../../../web/src/derive/rows.js";
import { readApprovals, readQuestions } from "../../../web/src/incoming-people.js";
import { CloseModal } from "../../../web/src/actions/acts.js";
import { ending, ShowEnd } from "../../../web/src/actions/ending.js";
import { askAgain, SheetAnswered } from "../../../web/src/actions/people.js";
import { initialState } from "../../../web/src/state.js";
import { askingRun } from "../../../web/dev/frames.js";

const NOW = Date.parse("2026-01-05T14:00:00Z");
const at = (seconds) => new Date(NOW + seconds * 1000).toISOString();
const ask = (id, seconds, kind = "question") => ({ id, kind, role: "planner", expiresAt: at(seconds), may: true });

test("time left is said as a person says it", () => {
  const said = [0, 0.4, 9, 61, 221, 3599, 3700, 90000].map(leftText);
  assert.deepEqual(said, ["no time", "no time", "0:09", "1:01", "3:41", "59:59", "1 h 01 min", "1 days"]);
  assert.equal(secondsLeft("no stamp", NOW), null);
  assert.equal(leftText(null), "");
  assert.equal(secondsLeft(at(-5), NOW), 0);
});

test("what ends first comes first; what is on its way and what has expired are told apart", () => {
  const asks = {
    questions: [ask("q1", 600), ask("q2", 30)],
    approvals: [ask("a1", 90, "approval"), ask("a2", 0, "approval")],
  };
  const sent = [{ uid: "u", about: "q1", words: "Your answer" }];
  const { items, unexplained } = needsYou(asks, sent, foldAll([]), NOW);
  assert.deepEqual(
    items.map((one) => [one.id, one.urgent, one.expired, one.sent]),
    [
      ["a2", true, true, false],
      ["q2", true, false, false],
      ["a1", false, false, false],
      ["q1", false, false, true],
    ],
  );
  assert.equal(unexplained, 0);
  const waiting = foldAll(askingRun("u"));
  assert.equal(needsYou({ questions: [], approvals: [] }, [], waiting, NOW).unexplained, 1);
});

test("an act is on its way until the event that tells of it", () => {
  const sent = [
    { uid: "i1", about: "", words: "Your inquiry" },
    { uid: "i2", about: "q1", words: "Your answer" },
    { uid: "i3", about: "a1", words: "Your approval" },
  ];
  const left = (...events) => stillSent(sent, events).map((act) => act.uid);
  assert.deepEqual(left({ type: "tool.started" }), ["i1", "i2", "i3"]);
  assert.deepEqual(left({ type: "interrupt.received", intervention: "i1" }), ["i2", "i3"]);
  assert.deepEqual(
    left({ type: "question.answered", questionId: "q1" }, { type: "approval.decided", approvalId: "a9" }),
    ["i1", "i3"],
  );
  assert.deepEqual(
    closedBy("q1", [{ type: "question.answered", questionId: "q1", outcome: "success", text: "no", author: "ann" }]),
    {
      by: "ann",
      text: "no",
      outcome: "success",
    },
  );
  assert.equal(closedBy("q1", [{ type: "question.answered", questionId: "q2" }]), null);
});

test("answers to inquiries are kept, the newest first, and redirections are none", () => {
  const operations = new Map(["o1", "o2", "o3", "o4"].map((op) => [op, { kind: "inquiry" }]));
  operations.set("o5", { kind: "interrupt" });
  const ended = (op) => ({ type: "interrupt.answered", op });
  let known = [];
  for (const op of ["o1", "o2", "o5", "o3", "o4"]) known = answeredInquiries(known, [ended(op)], { operations });
  assert.deepEqual(known, ["o4", "o3", "o2"]);
});

const rowsOf = (text, columns, most = 1e9) => {
  const starts = [];
  for (let next = 0; next < text.length;) {
    const cut = cutRows(text, next, columns, most);
    starts.push(...cut.starts);
    next = cut.next;
  }
  return starts.map((_, index) => rowText(text, starts, index));
};

test("A3: rows hold every character, and none reaches beyond the edge", () => {
  const hostile = `a\u202eb\u2066c\u200bd\u2028e\ttab\u0007 ${" ".repeat(300)}; git push\n\n漢字😀\u{e0041}end\ud800`;
  for (const columns of [10, 36, 96]) {
    for (const most of [1, 7, 1e9]) {
      const rows = rowsOf(hostile, columns, most);
      assert.ok(
        rows.every((row) => row.length <= columns),
        "no row is wider than the sheet",
      );
      const joined = rows.join("");
      for (const shown of ["\\u{202e}", "\\u{2066}", "\\u{200b}", "\\u{2028}", "\\x07", "\\t", "漢字😀", "; git push"])
        assert.ok(joined.replaceAll("·", "").includes(shown), shown);
      assert.equal(/[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2028]/.test(joined), false, "nothing hidden is left");
      assert.ok(joined.includes("·".repeat(8)), "a long run of spaces is dotted");
    }
  }
  assert.deepEqual(rowsOf('{\n          "a": 1\n}', 96), ["{", '          "a": 1', "}"], "indentation is no trick");
  assert.equal(rowsOf("x".repeat(1000), 96).join("").length, 1000);
});

test("A3: warnings are about what was hidden, and only then", () => {
  const warningsOf = (text) => {
    const { hidden, spaces } = cutRows(text, 0, 20, 1e9);
    return { hidden, spaces };
  };
  assert.deepEqual(warningsOf('{"a": "plain 漢字"}'), { hidden: false, spaces: false });
  assert.deepEqual(warningsOf('{\n            "a": 1\n}'), { hidden: false, spaces: false });
  assert.deepEqual(warningsOf("a\u200bb"), { hidden: true, spaces: false });
  assert.deepEqual(warningsOf(`a${" ".repeat(30)}b`), { hidden: false, spaces: true });
  assert.equal(columnsOf("\u202e"), 8);
});

test("10 MB of arguments are cut in stretches of which none is long", () => {
  const text = `{"a":"${"0123456789é\u200b".repeat(900_000)}"}`;
  let longest = 0;
  let rows = 0;
  for (let next = 0; next < text.length;) {
    const begun = process.cpuUsage(); // other processes do not count into it
    const cut = cutRows(text, next, 96, 400_000);
    const { user, system } = process.cpuUsage(begun);
    longest = Math.max(longest, (user + system) / 1000);
    rows += cut.starts.length;
    next = cut.next;
  }
  assert.ok(rows > 100_000);
  assert.ok(longest < 200, `${longest} ms`);
});

test("C2: any value where a question or an approval belongs is a bounded record or nothing", () => {
  for (const wrong of [null, 1, "x", [], {}, { questions: 5 }, { questions: [null, 1, { question: [] }] }]) {
    assert.deepEqual(readQuestions(wrong), []);
    assert.deepEqual(readApprovals(wrong), []);
  }
  const [question] = readQuestions({
    questions: [
      { may: "yes", label: {}, question: { id: "q1", text: { a: 1 }, options: [null, {}, "ok"], expiresAt: 5 } },
    ],
  });
  assert.deepEqual(
    [question.may, question.label, question.text, question.options, question.expiresAt],
    [false, "{}", '{"a":1}', ["{}", "ok"], "5"],
  );
  const approval = { approvalId: "a1", argumentsHash: "c".repeat(64), arguments: { not: "text" }, argumentsBytes: "9" };
  const [read] = readApprovals({ approvals: [{ approval }] });
  assert.deepEqual([read.arguments, read.bytes], [null, 0]);
  assert.deepEqual(readApprovals({ approvals: [{ approval: { ...approval, argumentsHash: "<b>" } }] }), []);
  assert.deepEqual(readQuestions({ questions: [{ question: { id: "../x" } }] }), []);
});

test("what waits is asked for again while the run goes on, and not for ever after it was cut off", () => {
  const model = foldAll(askingRun("u"));
  const asks = { questions: [], approvals: [], loading: 0, askedMs: 0 };
  const asked = (summary) => {
    const run = { model, summary };
    return askAgain({ route: { runId: "team/r" }, session: { status: "in" }, nowMs: 60_000, asks, run }).length === 3;
  };
  assert.equal(model.waiting, 1);
  assert.equal(asked({ awaiting: 0, phase: "Running" }), true);
  assert.equal(asked({ awaiting: 0, phase: "Failed" }), false);
  assert.equal(asked(null), false);
});

const sheet = (closed) => ({
  ...initialState({ hash: "#/runs/demo.a", theme: "light", nowMs: 0, wide: true }),
  session: { status: "in", user: "jane", error: "", busy: false },
  modal: { kind: "approval", item: { id: "a1" }, closed, busy: true, error: "" },
});
const about = { runId: "demo.a", uid: "", about: "a1", path: "/api/approvals", body: { decision: "approve" } };
const taken = { ok: true, data: { uid: "u1" }, tag: about };

test("a sheet closes when its act was taken, also where the run told of it first", () => {
  const [before] = SheetAnswered(sheet(null), taken);
  assert.equal(before.modal, null);
  assert.equal(before.sent.length, 1, "on its way");
  const [told] = SheetAnswered(sheet({ by: "jane", text: "approve", outcome: "success" }), taken);
  assert.equal(told.modal, null);
  assert.equal(told.sent.length, 0, "not on its way any more");
  const [theirs] = SheetAnswered(sheet({ by: "bob", text: "deny", outcome: "error" }), taken);
  assert.equal(theirs.modal.closed.by, "bob", "what somebody else decided stays to be read");
});

test("a run that ends under an open sheet shows its result when the sheet is closed, once", () => {
  const state = sheet(null);
  state.run = { ...state.run, id: "demo.a", wasLive: true, summary: { phase: "Succeeded" } };
  const [kept] = ending(state);
  assert.equal(kept.modal.kind, "approval", "never over something a person has open");
  const [closed] = CloseModal(kept);
  const [shown] = ShowEnd(closed);
  assert.equal(shown.modal.kind, "result");
  const [again] = CloseModal(shown);
  assert.equal([ShowEnd(again)].flat()[0].modal, null);
  assert.equal([ShowEnd({ ...again, run: { ...again.run, wasLive: false, resultSeen: false } })].flat()[0].modal, null);
});
