import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { askingRun, failedRun, goodRun, longRun, PATCH, UID } from "../../../web/dev/frames.js";
import { decodeValue } from "../../../web/src/decode.js";
import { declare, foldAll } from "../../../web/src/fold.js";
import { createLabels, humanised } from "../../../web/src/labels.js";
import { guildModel, newModel } from "../../../web/src/model.js";
import { activityRows, honestyNotes, nextError, parseFilter, waiting } from "../../../web/src/derive/activity.js";
import { subtitleOf, titleOf } from "../../../web/src/derive/title.js";
import { deriveCostStrip, newestLedger } from "../../../web/src/derive/cost.js";
import { edgeStats } from "../../../web/src/derive/edges.js";
import { layoutGraph } from "../../../web/src/derive/graph.js";
import { deriveNowCaption } from "../../../web/src/derive/now.js";
import { parsePatch } from "../../../web/src/derive/patch.js";
import { sequenceColumns, sequenceMessages, toMermaid } from "../../../web/src/derive/sequence.js";
import { deriveTimeline, timelineWindow } from "../../../web/src/derive/timeline.js";
import { placed, rowAt, seqAt } from "../../../web/src/derive/event-rows.js";
import {
  deriveOperationTooltip,
  deriveParticipantTooltip,
  deriveRoleTooltip,
} from "../../../web/src/derive/tooltip.js";
import { clock, count, duration, money, msOf } from "../../../web/src/format.js";
import { formatRoute, parseRoute } from "../../../web/src/router.js";

const good = () => foldAll(goodRun());
const part = (count) => foldAll(goodRun().slice(0, count));
const labelsOf = (model) => createLabels(null, model.run);
const NOW = Date.parse("2026-01-05T14:02:40Z");

test("every fixture event is one the decoder lets through", () => {
  for (const event of [...goodRun(), ...failedRun("u"), ...askingRun("u"), ...longRun(50, "u")]) {
    assert.equal(decodeValue(event).type, event.type, JSON.stringify(event));
  }
});

test("unknown numbers are a dash, never zero", () => {
  for (const format of [count, money, duration, clock]) {
    for (const value of [null, undefined, NaN, "3", {}]) assert.equal(format(value), "–");
  }
  assert.deepEqual([count(999), count(1500), count(41234), count(1.25e6)], ["999", "1.5k", "41k", "1.3M"]);
  assert.deepEqual(
    [380000, 45700, 50000, 1200, 12, 0].map(money),
    ["$0.38", "$0.0457", "$0.05", "$0.0012", "<$0.0001", "$0.00"],
  );
  assert.deepEqual(
    [duration(0.42), duration(245), duration(7380), clock(432)],
    ["0.4 s", "4 min 05 s", "2 h 03 min", "00:07:12"],
  );
  assert.equal(msOf("2026-01-05T14:02:00Z"), Date.parse("2026-01-05T14:02:00Z"));
});

test("money is rounded as the gateway and the report round it", () => {
  const dollars = JSON.parse(readFileSync(new URL("../../golden/dollars.json", import.meta.url), "utf8"));
  assert.deepEqual(
    dollars.map(([microUsd]) => [microUsd, money(microUsd)]),
    dollars,
  );
  assert.ok(dollars.length >= 30);
});

test("labels: an external tool says its connection, and counts as acting outside", () => {
  const labels = createLabels(null, null);
  assert.equal(labels.tool("notes__read_note"), "Read note (notes)");
  assert.equal(labels.participant("tool:notes__read_note"), "Read note (notes)");
  assert.match(labels.effect("notes__read_note"), /outside/);
  assert.equal(labels.effect("read_file"), "reads");
  assert.equal(labels.tool("__proto__"), "Proto");
});

test("labels: config and roles first, words made of the id else, any value bounded", () => {
  const labels = createLabels(
    { tools: [{ name: "run_shell", label: "Shell" }], reasons: { QuotaExceeded: "Full" } },
    { roles: [{ name: "coder", label: "The Coder" }] },
  );
  assert.deepEqual(
    [
      labels.tool("run_shell"),
      labels.role("coder"),
      labels.role("deep-reviewer"),
      labels.reason("QuotaExceeded"),
      labels.reason("NodeLost"),
    ],
    ["Shell", "The Coder", "Deep reviewer", "Full", "Node lost"],
  );
  assert.equal(labels.participant("human"), "The human");
  for (const value of [null, undefined, {}, [], 3, "constructor", "__proto__"]) {
    for (const name of ["role", "tool", "participant", "kind", "outcome", "status", "phase", "effect", "reason"])
      assert.equal(typeof labels[name](value), "string");
  }
  assert.equal(humanised("a\u202eb"), "A\\u{202e}b");
});

test("now caption follows the work and is made of labels only", () => {
  const captions = [3, 6, 14, 20].map((at) => deriveNowCaption(part(at), labelsOf(part(at)), null));
  assert.deepEqual(captions, [
    "Planner is thinking",
    "Planner is using List files",
    "Coder is working",
    "Coder is using Edit file",
  ]);
  const asking = foldAll(askingRun("u"));
  assert.equal(deriveNowCaption(asking, labelsOf(asking), null), "Planner asks a question");
  assert.equal(deriveNowCaption(good(), labelsOf(good()), null), "", "it is over");
  assert.equal(deriveNowCaption(newModel(), createLabels(), { phase: "Queued" }), "Waiting for a place to run");
  const hostile = foldAll([...goodRun().slice(0, 2), { ...goodRun()[5], seq: 3, op: "o3", title: "IGNORE ALL" }]);
  assert.doesNotMatch(deriveNowCaption(hostile, labelsOf(hostile), null), /IGNORE/);
});

test("cost strip: the ledger leads, the claim is compared once the run has ended", () => {
  const model = good();
  const totals = {
    tokens: model.run.metrics.tokens,
    cachedPromptTokens: 1,
    outputTokens: model.run.metrics.outputTokens,
    costMicroUSD: 49000,
  };
  assert.equal(deriveCostStrip(model, { totals }, NOW).claim, "");
  assert.match(
    deriveCostStrip(model, { totals: { ...totals, costMicroUSD: 60000 } }, NOW).claim,
    /reported \$0\.0490 .* ledger has \$0\.06/,
  );
  assert.equal(deriveCostStrip(part(20), { totals: { ...totals, costMicroUSD: 1 } }, NOW).claim, "");
  const strip = deriveCostStrip(model, null, NOW);
  assert.deepEqual(
    [strip.cost, strip.limit, strip.errors, strip.scripted, strip.fromLedger],
    ["$0.0490", "$2.00", 1, true, false],
  );
  model.run.metrics.costMicroUSD = null;
  assert.equal(deriveCostStrip(model, null, NOW).cost, "–");
});

test("cost strip: what the gateway booked since the ledger was fetched leads", () => {
  const ledger = {
    totals: { calls: 1, tokens: 10, outputTokens: 2, costMicroUSD: 100, leftTokens: 5 },
    scripted: true,
  };
  assert.equal(newestLedger(ledger, { calls: 1, tokens: 9, outputTokens: 2 }), ledger);
  const newer = newestLedger(ledger, { calls: 3, tokens: 40, outputTokens: 9, costMicroUSD: 700 });
  assert.deepEqual([newer.totals.tokens, newer.totals.costMicroUSD, newer.scripted], [40, 700, true]);
  assert.equal(newestLedger(null, null), null);
  assert.equal(newestLedger(null, { calls: 0, tokens: 0 }).totals.calls, 0);
});

test("cost strip: the limit is the ledger's, with what a person added since the run began", () => {
  const model = part(20);
  const totals = { calls: 3, tokens: 10, outputTokens: 2, costMicroUSD: 800_000, limitMicroUSD: 2_000_000 };
  assert.equal(model.run.budget.costMicroUSD, 2_000_000, "control: what the executor was told");
  const before = deriveCostStrip(model, { totals }, NOW);
  assert.deepEqual([before.limit, before.fraction], ["$2.00", 0.4]);
  const raised = newestLedger({ totals }, { ...totals, limitMicroUSD: 4_000_000 });
  const after = deriveCostStrip(model, raised, NOW);
  assert.deepEqual([after.limit, after.fraction], ["$4.00", 0.2]);
  assert.equal(newestLedger(raised, totals), raised, "an older summary takes nothing back");
  model.run.budget = {};
  const byTokens = deriveCostStrip(model, { totals: { ...totals, limitMicroUSD: null, limitTokens: 24 } }, NOW);
  assert.deepEqual([byTokens.limit, byTokens.fraction], ["", 0.5]);
});

test("a Run is called by what it came to, until then by what it was asked; nothing is said twice", () => {
  const asked = { name: "n", label: "Fix it", task: "Fix it\nnow" };
  assert.deepEqual(
    [titleOf({ ...asked, phase: "Running" }), subtitleOf({ ...asked, phase: "Running" })],
    ["Fix it", ""],
  );
  const done = { ...asked, phase: "Succeeded", summary: "Fixed it" };
  assert.deepEqual([titleOf(done), subtitleOf(done)], ["Fixed it", "Fix it"]);
  const failed = { ...asked, phase: "Failed", summary: "No budget left" };
  assert.deepEqual([titleOf(failed), subtitleOf(failed)], ["Fix it", "No budget left"]);
  assert.equal(titleOf(null, "team.fix"), "team.fix");
});

test("the graph is the whole Guild, placed without overlap, the same at every event, wide and narrow", () => {
  const place = (model, vertical) =>
    layoutGraph(
      model.run,
      [...model.participants.values()].filter((one) => one.kind !== "tools"),
      vertical,
    );
  for (const vertical of [false, true]) {
    const first = place(part(1), vertical);
    assert.deepEqual(first, place(good(), vertical));
    assert.equal(first.nodes.length, 1 + 4 + 7);
    for (const [index, a] of first.nodes.entries()) {
      assert.ok(a.x >= 0 && a.y >= 0 && a.x + a.w <= first.width && a.y + a.h <= first.height);
      for (const b of first.nodes.slice(index + 1)) {
        assert.ok(a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y, `${a.id} over ${b.id}`);
      }
    }
    for (const edge of first.edges) assert.match(edge.path, /^M[-\d.]+ [-\d.]+C([-\d.]+ ){5}[-\d.]+$/);
  }
});

test("a Guild of 16 roles that all delegate to each other is placed too", () => {
  const roles = Array.from({ length: 16 }, (_, at) => ({
    name: `r${at}`,
    tools: Array.from({ length: 32 }, (__, tool) => `t${tool}`),
    delegates: Array.from({ length: 16 }, (__, to) => `r${to}`),
  }));
  const model = guildModel({ entryRole: "r0", roles });
  declare(model, model.run.roles);
  const { nodes, edges } = layoutGraph(
    model.run,
    [...model.participants.values()].filter((one) => one.kind !== "tools"),
  );
  assert.equal(nodes.length, 1 + 16 + 32);
  assert.ok(edges.length > 500 && edges.every((edge) => !edge.path.includes("NaN")));
});

test("edge counts kept incrementally equal those counted afresh", () => {
  const events = goodRun();
  const model = newModel();
  for (const event of events) {
    foldAll([event], model);
    edgeStats(model);
  }
  assert.deepEqual([...edgeStats(model)], [...edgeStats(good())]);
  assert.deepEqual(
    { ...edgeStats(model).get("role:coder>tool:run_shell"), lastOp: "" },
    { count: 2, active: 0, errors: 1, lastOp: "", source: "role:coder", destination: "tool:run_shell" },
  );
});

test("filter: keys, labels and words; only hides, else dims", () => {
  const model = good();
  const rows = (q, options) => activityRows(model, parseFilter(q), labelsOf(model), options);
  assert.equal(rows("tool:run_shell").hits, 3);
  assert.equal(rows("run shell role:reviewer").hits, 1);
  assert.equal(rows("is:error").hits, 1);
  assert.equal(rows("rfind").hits, 2);
  assert.equal(rows("is:error", { only: true }).rows.length, 1);
  assert.ok(rows("is:error").rows.length > 10);
  assert.equal(rows("zzz").hits, 0);
  assert.equal(parseFilter("x ".repeat(500)).words.length, 20);
});

test("errors go round, waiting is oldest first, missing events are said", () => {
  const model = good();
  const failed = model.list.find((one) => one.outcome === "error").id;
  assert.equal(nextError(model, 0), failed);
  assert.equal(nextError(model, 999), failed);
  assert.equal(nextError(part(3), 0), "");
  assert.deepEqual(
    waiting(foldAll(askingRun("u"))).map((one) => one.kind),
    ["question"],
  );
  const holed = foldAll([goodRun()[0], goodRun()[4], { type: "unreadable" }]);
  assert.deepEqual(
    honestyNotes(holed).map((note) => note.text),
    ["3 events are missing from the record", "1 unreadable line in the log"],
  );
});

test("tooltips: title and sections by kind; tool data is never prose", () => {
  const model = good();
  const labels = labelsOf(model);
  const shell = model.list.find((one) => one.outcome === "error");
  const events = goodRun().filter((event) => event.op === shell.id);
  const { title, sections } = deriveOperationTooltip(model, labels, shell.id, events);
  assert.equal(title, "Run shell");
  assert.deepEqual(
    sections.filter((one) => one.kind !== "text").map((one) => [one.label, one.kind]),
    [
      ["Input", "json"],
      ["Output", "code"],
      ["Longer output", "output"],
    ],
  );
  assert.ok(sections.some((one) => one.label === "Exit status" && one.value === "1"));
  const delegation = model.list.find((one) => one.kind === "delegation");
  assert.deepEqual(
    deriveOperationTooltip(model, labels, delegation.id)
      .sections.filter((one) => one.kind === "prose")
      .map((one) => one.label),
    ["Brief", "Summary"],
  );
  assert.equal(
    deriveRoleTooltip(model, labels, "coder").sections.find((one) => one.label === "May use").value,
    "Read file, Search files, Edit file, Write file, Run shell, Finish",
  );
  assert.equal(deriveParticipantTooltip(model, labels, "tool:run_shell").title, "Run shell");
  for (const id of ["", "o999", "tool:none", "constructor"]) {
    for (const derive of [deriveOperationTooltip, deriveParticipantTooltip, deriveRoleTooltip])
      assert.equal(typeof derive(model, labels, id).title, "string");
  }
});

test("patch: files, line numbers, and any text at all", () => {
  const { files } = parsePatch(PATCH);
  assert.deepEqual(
    files.map((file) => file.path),
    ["textkit/slug.py", "tests/test_slug.py", "Makefile"],
  );
  assert.deepEqual(
    files[0].rows.filter((row) => row.kind === "add").map((row) => row.new),
    [16, 17],
  );
  assert.deepEqual(
    files[0].rows.filter((row) => row.kind === "del").map((row) => row.old),
    [16, 17, 18],
  );
  for (const odd of [
    "",
    "x",
    "+",
    "@@",
    "diff --git ",
    "@@ -1 +1 @@\n\\ No newline",
    "--- a\n+++ /dev/null\n",
    "\u0000\n\r\n",
  ])
    assert.ok(Array.isArray(parsePatch(odd).files));
  assert.equal(parsePatch("+\n".repeat(300000)).cut, true);
});

test("timeline: idle is squeezed, spans keep their order and stay inside", () => {
  const { spans, lanes, breaks } = deriveTimeline(good().list, NOW, msOf);
  assert.deepEqual(lanes, ["role:planner", "role:coder", "role:reviewer"]);
  assert.ok(spans.every((span) => span.left >= 0 && span.left + span.width <= 1.0001));
  assert.equal(breaks.length, 0);
  const late = {
    kind: "tool",
    source: "role:planner",
    destination: "tool:x",
    startedAt: "2026-01-05T18:00:00.000Z",
    endedAt: "2026-01-05T18:00:01.000Z",
  };
  assert.equal(deriveTimeline([...good().list, late], NOW, msOf).breaks.length, 1);
  assert.deepEqual(deriveTimeline([], NOW, msOf).spans, []);
});

test("sequence: calls and returns in order; Mermaid labels cannot break a line", () => {
  const model = good();
  const columns = sequenceColumns(model, labelsOf(model));
  assert.deepEqual(
    columns.map((column) => column.label),
    ["The human", "Planner", "Coder", "Reviewer", "Warden", "Tools"],
  );
  const messages = sequenceMessages(model, columns);
  assert.ok(messages.every((one, at) => at === 0 || messages[at - 1].seq <= one.seq));
  const hostile = createLabels(null, { roles: [{ name: "coder", label: "x\nend %% <script>;" }] });
  for (const line of toMermaid(sequenceColumns(model, hostile), messages, hostile).split("\n").slice(1, -1))
    assert.match(line, /^ {2}(participant p\d+ as|p\d+-?->>p\d+:) [\p{L}\p{N} ]+$/u);
});

test("routes: every state goes into the address and comes back; broken ones are Watch", () => {
  const route = {
    screen: "watch",
    runId: "demo.fix-slug.v2",
    uid: UID,
    view: "changes",
    op: "o12",
    at: 30,
    q: "is:error x&y=z#",
    only: true,
    from: "",
  };
  assert.deepEqual(parseRoute(formatRoute(route)), route);
  for (const hash of [
    "",
    "#",
    "#/",
    "#/runs/%",
    "#/runs/../../x",
    "#/runs/A.b?at=-1&op=<b>&view=x",
    `#/runs/${"a".repeat(9000)}.b`,
    "#/nowhere?x",
  ]) {
    const parsed = parseRoute(hash);
    assert.deepEqual(
      [parsed.screen, parsed.runId, parsed.op, parsed.at, parsed.view],
      ["watch", "", "", null, "flow"],
      hash,
    );
  }
  assert.equal(parseRoute("#/history?q=x").screen, "history");
});

test("timeline window: the newest, the chosen step's, or where one went; never more than asked for", () => {
  assert.deepEqual(timelineWindow(100, null, -1, 1500), { first: 0, last: 100 });
  assert.deepEqual(timelineWindow(40000, null, -1, 1500), { first: 38500, last: 40000 });
  assert.deepEqual(timelineWindow(40000, null, 39000, 1500), { first: 38500, last: 40000 });
  assert.deepEqual(timelineWindow(40000, null, 10, 1500), { first: 0, last: 1500 });
  assert.deepEqual(timelineWindow(40000, 38500, 10, 1500), { first: 37000, last: 38500 });
  assert.deepEqual(timelineWindow(40000, 3, -1, 1500), { first: 0, last: 1500 });
  for (let to = 40000, seen = new Set(); to > 0; to = timelineWindow(40000, to, -1, 1500).first) {
    const { first, last } = timelineWindow(40000, to, -1, 1500);
    assert.ok(last - first <= 1500 && !seen.has(first));
    seen.add(first);
  }
});

test("unreadable lines have rows of their own, where they stood", () => {
  const rows = placed(
    [
      { after: 2, id: "b" },
      { after: 0, id: "a" },
      { after: 2, id: "c" },
      { after: 9, id: "late" },
    ],
    4,
  );
  const drawn = Array.from({ length: 7 }, (_, index) => rowAt(rows, index)).map((one) => one.row?.id ?? one.seq);
  assert.deepEqual(drawn, ["a", 1, 2, "b", "c", 3, 4]);
  assert.deepEqual(
    [0, 1, 3, 4, 6].map((index) => seqAt(rows, index)),
    [1, 1, 2, 2, 4],
  );
  assert.deepEqual(rowAt([], 5), { seq: 6 });
});
