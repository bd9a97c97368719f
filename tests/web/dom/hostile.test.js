// C1: the whole corpus in the fields of a run, in every view of it, drawn by the real hyperapp.
import { test } from "node:test";
import assert from "node:assert/strict";
import "../lib/dom.js";
import { corporaMissing, hostileTexts, ownCases, xssCases } from "../lib/corpora.js";
import { textOf } from "../lib/cases.js";
import { dealer, hostileEvents, hostileSummary } from "../lib/hostile.js";
import { assertTrusted, base, draw, watching } from "../lib/screens.js";
import { approvingRun, askingRun, failedRun, goodRun } from "../../../web/dev/frames.js";

const { cutRows } = await import("../../../web/src/derive/rows.js");
const { readDetail, readSummary } = await import("../../../web/src/incoming.js");

const corpus = () => [
  ...xssCases().map((one) => one.payload),
  ...hostileTexts().map((one) => one.text),
  ...ownCases()
    .filter((one) => !one.slow)
    .map(textOf),
];
const RUNS = [goodRun, failedRun, askingRun, approvingRun];
const VIEWS = ["flow", "sequence", "timeline", "changes", "events"];

test("positive control: the checker sees what a single unguarded field would bring", () => {
  for (const html of ["<img>", "<a href='javascript:x'>y</a>", "<p onclick=x>y</p>", "<svg><script></script></svg>"]) {
    const bad = document.createElement("div");
    bad.innerHTML = html;
    assert.throws(() => assertTrusted(bad, "control"));
  }
});

/** A state in which the run of `events` is watched with everything open that can be. */
function opened(events, view, next, turn) {
  const chosen = events.filter((event) => /^(tool|model|role|interrupt|question|approval)\./.test(event.type) && event.op);
  const op = turn % 4 === 3 ? "" : chosen[turn % chosen.length].op;
  const summary = readSummary(hostileSummary(next, { uid: "u", phase: "Failed" }));
  const hash = `#/runs/demo.fix-slug?view=${view}&op=${op}`;
  const state = watching(events, {
    hash,
    summary,
    ops: new Map([[op, { events: events.filter((event) => event.op === op), lastSeq: 0 }]]),
    planOpen: true,
    modal: { kind: "result", message: "", busy: false, error: next("modal.error", 500) },
    changes: {
      status: "ready",
      sha: "",
      problem: null,
      view: {
        patch: `diff --git a/x b/x\n--- a/x\n+++ b/${next("patch.path", 200)}\n@@ -1 +1,9 @@ x\n+${next("patch.line")}`,
        message: next("changes.message", 500),
        files: Array.from({ length: view === "changes" ? 100 : 0 }, () => ({ path: next("changes.path", 300), status: next("changes.status", 30) })),
        omitted: [next("changes.omitted", 150)],
      },
    },
  });
  state.events.pages = new Map([[0, events]]);
  state.events.rows = [{ after: 1, reason: next("unreadable.reason", 90), bytes: 4, text: next("unreadable.text", 200) }];
  const conditions = ["Delivered", "WorkspaceReady"].map((type) => ({
    type,
    status: next("condition.status", 40),
    reason: next("condition.reason", 80),
    message: next("condition.message", 500),
  }));
  state.run.detail = { ...readDetail({ summary: {}, spec: { task: next("spec.task") } }), conditions };
  return state;
}

/** History with a row for each of `count` runs, one of them opened to its task, result and error. */
function history(next, count) {
  const items = Array.from({ length: count }, (_, at) => readSummary(hostileSummary(next, { uid: `u${at}`, phase: "Failed" })));
  const run = { task: next("detail.task"), error: { message: next("detail.error", 2000, "\n\n") }, result: next("detail.result") };
  const details = { u0: { run, problem: next("detail.problem", 300) } };
  const state = base("#/history");
  return { ...state, history: { ...state.history, status: "ready", items, open: "u0", details } };
}

/** Draws one state, holds it to the allowlist, and notes in `seen` which texts of each channel a person was shown. */
async function look(state, { dealt }, seen, what) {
  const element = await draw(state);
  assertTrusted(element, what);
  const shown = new Set(element.textContent.match(/k[0-9]+k/g));
  for (const { mark, channel, text } of dealt.splice(0)) {
    if (!seen.has(channel)) seen.set(channel, new Set());
    if (shown.has(mark)) seen.get(channel).add(text);
  }
}

// Fields of which many are shown at once get the whole corpus. Those shown one at a time get a part of it: a draw takes
// 30 ms, and all are made by the two functions (text and Prose) through which the whole corpus goes elsewhere.
const WHOLE = ["run.name", "run.label", "run.summary", "changes.path"];
const SHOWN = (
  "role.name title task roles.label text calls.name tool arguments output items.text brief model guild artifacts result " +
  "run.message patch.line patch.path changes.message changes.omitted unreadable.reason unreadable.text " +
  "error.message detail.task detail.error detail.result detail.problem"
).split(" ");

test("C1: the whole corpus, dealt over every field of a run, in every view", { skip: corporaMissing }, async () => {
  const texts = corpus();
  const deck = dealer(texts);
  const seen = new Map();
  for (let turn = 0; turn < 80; turn += 1) {
    const [view, run] = [VIEWS[turn % 5], RUNS[Math.floor(turn / 5) % 4]];
    await look(opened(hostileEvents(run(), deck.next), view, deck.next, turn), deck, seen, `${turn}: ${view}`);
  }
  for (let turn = 0; turn < 6; turn += 1) await look(history(deck.next, 260), deck, seen, `history ${turn}`);
  const all = new Set(texts).size;
  for (const channel of WHOLE) assert.equal(seen.get(channel).size, all, `${channel}: all ${all} texts were shown`);
  for (const channel of SHOWN) assert.ok(seen.get(channel).size >= 6, `${channel}: ${seen.get(channel).size} texts were shown`);
});

/** Questions, an approval and an interrupt, each in its sheet, open and closed, over the surface that leads to them. */
function sheets(next) {
  const arguments_ = next("sheet.arguments", 3000);
  const head = () => ({
    run: next("sheet.run", 190),
    uid: next("sheet.uid", 90),
    label: next("sheet.label", 190),
    may: true,
    role: next("sheet.role", 90),
    state: "open",
    askedAt: next("sheet.askedAt", 40),
  });
  const question = {
    ...head(),
    kind: "question",
    id: "q1",
    budget: false,
    text: next("sheet.text", 3000, "\n\n"),
    context: next("sheet.context", 3000, "\n\n"),
    options: [next("sheet.option", 190), next("sheet.option", 190)],
  };
  const approval = {
    ...head(),
    kind: "approval",
    id: "a1",
    callId: next("sheet.call", 90),
    tool: next("sheet.tool", 90),
    effect: next("sheet.effect", 90),
    hash: "c".repeat(64),
    arguments: arguments_,
    bytes: arguments_.length,
  };
  const asks = { status: "ready", questions: [question], approvals: [approval], problem: null, loading: 0 };
  const closed = { by: next("sheet.by", 90), text: next("sheet.answer", 3000, "\n\n"), outcome: "success" };
  const { starts } = cutRows(arguments_, 0, 96, 1e9);
  const sheet = { text: arguments_, exact: true, starts, next: arguments_.length, top: 0, height: 300, done: true };
  const modal = { message: "", busy: false, choice: "", read: true, seen: true };
  const open = (fields) =>
    watching(goodRun().slice(0, 20), { asks, modal: { ...modal, error: next("sheet.error", 500), ...fields } });
  return [
    open({ kind: "question", item: question, closed: null }),
    open({ kind: "question", item: question, closed }),
    open({ kind: "approval", item: approval, closed: null, sheet }),
    open({ kind: "approval", item: approval, closed, sheet }),
    open({ kind: "interrupt", intent: "inquire", message: next("sheet.message", 500) }),
  ];
}

const IN_SHEETS = "text context option tool arguments by answer error".split(" ");

test("C1: the corpus, dealt over questions, approvals and their sheets", { skip: corporaMissing }, async () => {
  const deck = dealer(corpus());
  const seen = new Map();
  for (let turn = 0; turn < 40; turn += 1) {
    const states = sheets(deck.next);
    const dealt = deck.dealt.splice(0);
    for (const state of states) await look(state, { dealt: [...dealt] }, seen, "sheet");
  }
  for (const name of IN_SHEETS) assert.ok(seen.get(`sheet.${name}`).size >= 40, `${name}: ${seen.get(`sheet.${name}`).size}`);
});
