// What the console says of Runs that are over, of their names, their figures and the form's silence.
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, draw, watching } from "../lib/screens.js";
import { failedRun, goodRun } from "../../../web/dev/frames.js";

const { defaultBudget } = await import("../../../web/src/derive/offer.js");
const { unmarked } = await import("../../../web/src/derive/unmarked.js");
const { createBackend } = await import("../../../web/dev/backend.js");
const { readConfig, readLedger, readSummary } = await import("../../../web/src/incoming.js");

const all = (element, selector) => [...element.querySelectorAll(selector)].map((one) => one.textContent);
const ROW = {
  id: "demo.fix-slug",
  uid: "u1",
  namespace: "demo",
  name: "fix-slug",
  phase: "Failed",
  label: "Fix it",
  createdAt: "2026-01-05T14:01:52Z",
  startedAt: "2026-01-05T14:02:00Z",
  endedAt: "2026-01-05T14:02:04Z",
};
const row = (fields = {}) => readSummary({ ...ROW, ...fields });
const over = { phase: "Failed", reason: "ProviderFailed", message: "why" };

test("a run that ended before its first event waits for nothing; one that has not ended does", async () => {
  const ended = (await draw(watching([], { summary: over }))).textContent;
  for (const words of ["isolation was not reported", "Nobody took part", "The run ended before its first step"])
    assert.ok(ended.includes(words), words);
  const waiting = (await draw(watching([], { summary: { phase: "Queued" } }))).textContent;
  for (const words of ["isolation not reported yet", "The Guild appears here", "No steps yet"]) {
    assert.ok(waiting.includes(words), words);
    assert.ok(!ended.includes(words), words);
  }
});

test("the isolation of an ended run that sent no event is what its conditions say", async () => {
  const state = watching([], { summary: over });
  const said = async (status, message) => {
    const detail = { conditions: [{ type: "IsolationVerified", status, reason: "x", message }] };
    return (await draw({ ...state, run: { ...state.run, detail } })).querySelector(".strip .chip");
  };
  assert.match((await said("True", "")).textContent, /isolation verified/);
  const unknown = await said("Unknown", "the pod was gone first");
  assert.deepEqual([unknown.textContent, unknown.title], ["isolation was not reported", "the pod was gone first"]);
});

test("a role that was called and got no answer is not said to be uncalled, and one never called is", async () => {
  const began = goodRun().slice(0, 1);
  const [first] = began;
  const finished = {
    ...first,
    seq: 2,
    type: "run.finished",
    op: "o2",
    parent: "o1",
    source: first.destination,
    destination: "human",
    outcome: "failed",
    title: "Result",
    error: failedRun("u").at(-1).error,
  };
  const flow = await draw(watching([first, finished], { summary: over }));
  const subs = all(flow, ".node-sub");
  assert.ok(subs.includes("called ×1, no tokens"), subs.join("|"));
  assert.ok(subs.includes("not called") && subs.includes("never woken"), subs.join("|"));
  assert.ok(!subs.includes("not called yet"));
  const live = all(await draw(watching(began)), ".node-sub");
  assert.ok(live.includes("not called yet") && live.includes("watching"));
});

test("the row of a failed run's result is a failure, that of a good one is not", async () => {
  const last = (element) => [...element.querySelectorAll(".row")].at(-1).className;
  assert.match(last(await draw(watching(failedRun("u"), { summary: over }))), /row--error/);
  assert.match(last(await draw(watching(goodRun()))), /row--success/);
});

test("an ended run is never connecting, a live one may be", async () => {
  const connection = { state: "connecting" };
  const chip = async (state) =>
    (await draw({ ...state, run: { ...state.run, connection } })).querySelector(".topbar .chip").textContent;
  assert.equal(await chip(watching(failedRun("u"), { summary: over })), "Ended");
  assert.equal(await chip({ ...base(), runs: { items: [row()] } }), "Ended");
  assert.equal(await chip(watching(goodRun().slice(0, 5))), "Connecting…");
});

test("every place that names a run names it by namespace and name, and the landing page says when", async () => {
  const state = watching(failedRun("u"), { summary: row(), runs: { status: "ready", items: [row()] } });
  const watch = await draw(state);
  assert.deepEqual(all(watch, ".run-head .run-name"), ["demo/fix-slug"]);
  assert.match(watch.querySelector(".run-picker option").textContent, /^fix-slug · Failed · Fix it · demo$/);
  const landing = await draw({ ...base("#/"), runs: { status: "ready", items: [row()] } });
  assert.deepEqual(all(landing, ".landing-row .run-name"), ["demo/fix-slug"]);
  assert.match(landing.querySelector(".landing-row time").textContent, /^\d+ Jan \d\d:\d\d$/);
  const history = await draw({
    ...base("#/history"),
    history: { ...base().history, status: "ready", items: [row({ usage: { costMicroUSD: 45700 } })] },
  });
  assert.deepEqual(all(history, ".history-line .run-name"), ["demo/fix-slug"]);
  assert.deepEqual(all(history, ".history-num").slice(0, 2), ["4.0 s", "$0.0457"]);
});

test("one run has one duration and one number of steps wherever it is shown, and its end is said once", async () => {
  const summary = row({ phase: "Succeeded" });
  const state = watching(goodRun(), { summary });
  const watch = await draw(state);
  assert.equal(watch.querySelector(".run-title .now").textContent, "", "the time stands below");
  assert.equal(watch.querySelector(".run-title").textContent.match(/Succeeded/g).length, 1);
  assert.match(watch.querySelector(".cost-strip").textContent, /Time4\.0 s/);
  const result = await draw({ ...state, modal: { kind: "result" } });
  assert.match(result.querySelector(".result-head").textContent, /4\.0 s/);
  const facts = all(watch, ".inspector .facts > *");
  assert.equal(facts[facts.indexOf("Steps") + 1], watch.querySelector(".activity-head .hint").textContent);
  const timeline = await draw(watching(goodRun(), { summary, hash: "#/runs/demo.fix-slug?view=timeline" }));
  assert.match(timeline.querySelector(".timeline-note").textContent, /in which a step was going on/);
});

test("a service account is called by its name; the whole is in the title", async () => {
  const user = "system:serviceaccount:guildhall-demo:demo-operator";
  const element = await draw({ ...base("#/"), session: { status: "in", user, error: "", busy: false } });
  const button = element.querySelector(".user");
  assert.equal(button.textContent, "demo-operator");
  assert.ok(button.title.includes(user));
});

test("the form says what holds where it is silent: the Guild's limit, else the product's", () => {
  const config = readConfig(createBackend().handle("GET", "/api/config").json);
  const form = { namespace: "demo", guild: "repair" };
  assert.deepEqual(defaultBudget(config, form), {
    dollars: "no limit of its own",
    tokens: "no limit of its own",
    steps: "200",
    minutes: "60",
  });
  const defaults = { costMicroUSD: 2000000, steps: 40, seconds: 900, tokens: "many" };
  const guild = { namespace: "demo", name: "repair", accepted: true, spec: { roles: [], defaults } };
  assert.deepEqual(defaultBudget(readConfig({ guilds: [guild] }), form), {
    dollars: "$2.00",
    tokens: "no limit of its own",
    steps: "40",
    minutes: "15",
  });
});

test("one line of a task or of what a model said shows no marks", async () => {
  const task = "## Fix `slug()` in **textkit**\n\nmore";
  const landing = await draw({ ...base("#/"), runs: { status: "ready", items: [row({ task })] } });
  assert.deepEqual(all(landing, ".landing-said"), ["Fix slug() in textkit"]);
  const rows = all(await draw(watching(failedRun("u"), { summary: over })), ".row-title");
  assert.ok(rows.includes("The cut uses rfind, which gives up the last word."), rows.join("|"));
});

test("text that waits for its format shows without marks and with every word, in time linear in its length", () => {
  assert.equal(unmarked("# Done\n\n**All** `10` pass\n> so __it__ said"), "Done\n\nAll 10 pass\nso it said");
  assert.equal(unmarked("2 * 3 ** 4, snake_case, #1 and `open"), "2 * 3 ** 4, snake_case, #1 and `open");
  const begun = performance.now();
  for (const hostile of ["**", "`", "#", "> ", "__a", "~~~"]) unmarked(hostile.repeat(100000));
  assert.ok(performance.now() - begun < 3000);
});

test("the names of two runs of one task differ in the picker before anything is cut", async () => {
  const long = "nightly-repair-of-the-payments-service-in-staging";
  const items = ["7tq2x", "9bd4k"].map((end) => row({ id: `demo.${long}-${end}`, uid: end, name: `${long}-${end}` }));
  const element = await draw({ ...base("#/"), runs: { status: "ready", items } });
  const names = all(element, ".run-picker option").slice(1).map((one) => one.split(" · ")[0]);
  assert.deepEqual(names, ["nightly-repair-of-…-in-staging-7tq2x", "nightly-repair-of-…-in-staging-9bd4k"]);
});

test("a run whose Guild does not exist says so once, and its panel names no Guild as if there were one", async () => {
  const message = "there is no Guild 'fix-tets' in namespace 'demo'; create it";
  const element = await draw(watching([], { summary: row({ reason: "GuildNotFound", message, guild: "fix-tets" }) }));
  assert.equal(element.querySelector(".why").textContent, "There is no Guild 'fix-tets' in namespace 'demo'; create it");
  assert.ok(!element.textContent.includes("which Guild works on it"));
  const facts = all(element, ".inspector .facts > *");
  assert.equal(facts[facts.indexOf("Guild") + 1], "fix-tets (there is none of that name)");
});

test("figures that differ because a call was cut off say so without a pointer, and others do not", async () => {
  const failed = { state: "failed", usage: { tokens: 900, outputTokens: 0 }, costMicroUSD: 700, reservedMicroUSD: 700 };
  const cut = { ...failed, errorKind: "interrupted" };
  const said = async (...calls) => {
    const state = watching(goodRun(), { summary: row({ phase: "Succeeded" }) });
    const ledger = readLedger({ totals: { tokens: 1, outputTokens: 1, costMicroUSD: 60000 }, calls });
    return (await draw({ ...state, run: { ...state.run, ledger } })).querySelector(".cost-strip .chip--warn");
  };
  const one = await said(cut, { ...cut, state: "settled" }, { ...cut, usage: {}, costMicroUSD: 0 });
  assert.equal(one.textContent, "1 call was cut off: booked at its most");
  assert.match(one.title, /The executor reported .* the ledger has/);
  assert.equal((await said(cut, cut)).textContent, "2 calls were cut off: booked at their most");
  const overflow = { ...failed, errorKind: "context_overflow" };
  const counted = { ...cut, usage: { tokens: 9, outputTokens: 4 } };
  for (const other of [overflow, counted, { ...cut, costMicroUSD: 300 }, "x"])
    assert.equal((await said(other)).textContent, "figures differ");
});
