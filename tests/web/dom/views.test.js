import { test } from "node:test";
import assert from "node:assert/strict";
import { dom } from "../lib/dom.js";
import { assertTrusted, base, draw, watching } from "../lib/screens.js";
import { goodRun } from "../../../web/dev/frames.js";

const actions = await import("../../../web/src/actions.js");
const { foldAll } = await import("../../../web/src/fold.js");
const { createLabels } = await import("../../../web/src/labels.js");
const { modelToWire } = await import("../../../web/src/model.js");
const { createBackend } = await import("../../../web/dev/backend.js");
const { watchedRun } = await import("../../../web/src/state.js");
const { readApprovals } = await import("../../../web/src/incoming-people.js");

const SCREENS = [
  "#/runs/demo.fix-slug",
  "#/runs/demo.fix-slug?view=sequence",
  "#/runs/demo.fix-slug?view=timeline",
  "#/runs/demo.fix-slug?view=changes",
  "#/runs/demo.fix-slug?view=events",
];
test("positive control: the checker sees an image and a handler", () => {
  const bad = dom.window.document.createElement("div");
  bad.append(dom.window.document.createElement("img"));
  assert.throws(() => assertTrusted(bad, "x"));
});

test("every view of a whole run draws, with labels instead of ids", async () => {
  for (const hash of SCREENS) {
    const element = await draw(watching(goodRun(), { hash }));
    assertTrusted(element, hash);
    assert.ok(element.textContent.includes("Planner"), hash);
  }
  const flow = await draw(watching(goodRun().slice(0, 20)));
  assert.equal(flow.querySelectorAll(".graph-node").length, 12);
  assert.deepEqual(
    [...flow.querySelectorAll(".graph-edge--active")].map((edge) => edge.getAttribute("class")).length,
    1,
  );
  assert.doesNotMatch(flow.querySelector("svg").textContent, /role:|tool:|edit_file/);
});

test("the whole Guild is drawn before anything has run", async () => {
  const backend = createBackend();
  const config = backend.handle("GET", "/api/config").json;
  const element = await draw(
    watching([], { config, summary: { phase: "Queued", guild: "repair", namespace: "demo" } }),
  );
  assert.deepEqual(
    [...element.querySelectorAll(".graph-node:not(.graph-node--tool) .node-label")].map((node) => node.textContent),
    ["The human", "Planner", "Coder", "Reviewer", "Warden"],
  );
});

test("C2: an object, array, number or null in every served field draws as text, never crashes", async () => {
  const vnode = {
    type: 1,
    name: "img",
    props: { src: "x", innerHTML: "<img src=x onerror=y>" },
    children: [],
    lazy: {},
  };
  for (const [turn, value] of [vnode, [vnode], 12, null, true, { toString: null }, "__proto__"].entries()) {
    const summary = Object.fromEntries(
      [
        "id",
        "uid",
        "namespace",
        "name",
        "label",
        "summary",
        "phase",
        "reason",
        "message",
        "guild",
        "task",
        "createdAt",
        "startedAt",
        "endedAt",
        "usage",
        "changes",
        "awaiting",
        "live",
        "private",
      ].map((field) => [field, value]),
    );
    const config = {
      namespaces: [value],
      guilds: [
        value,
        {
          namespace: "",
          name: value,
          accepted: true,
          spec: { entryRole: value, roles: [value, { name: value, tools: [value], label: value, description: value }] },
          roles: [value],
          message: value,
        },
      ],
      tools: [value, { name: value, label: value, effect: value }],
      reasons: value,
      images: [value],
      isolationRequired: value,
    };
    let state = first(actions.ConfigAnswered(base("#/history"), { ok: true, tag: { sitting: 0 }, data: config }));
    const read = state.config;
    state = first(
      actions.HistoryAnswered(state, {
        ok: true,
        tag: { sitting: 0, q: "", cursor: "" },
        data: { runs: [summary, value], next: value },
      }),
    );
    assertTrusted(await draw({ ...state, history: { ...state.history, open: value } }), "history");
    state = first(
      actions.RunsAnswered(
        { ...base("#/"), config: read },
        { ok: true, tag: { sitting: 0, asked: 1 }, data: { runs: [summary, value] } },
      ),
    );
    assertTrusted(await draw(state), "landing");
    assertTrusted(await draw({ ...base("#/compose"), config: read, labels: createLabels(read, null) }), "compose");
    const wire = modelToWire(foldAll(goodRun()));
    state = first(
      actions.FlowArrived(
        { ...base(), config: read },
        { model: turn === 0 ? wire : spoiled(wire, value), ledger: { totals: value, scripted: value }, summary },
      ),
    );
    state = first(
      actions.DetailAnswered(state, {
        ok: true,
        tag: watchedRun(state),
        data: { summary, spec: value, conditions: [value], may: [value], lastSeq: value },
      }),
    );
    const changed = first(
      actions.ChangesAnswered(state, {
        ok: true,
        tag: watchedRun(state),
        data: {
          patch: value,
          files: [value, { path: value, status: value, added: value }],
          omitted: [value],
          message: value,
          patchSHA256: value,
        },
      }),
    );
    assertTrusted(await draw({ ...changed, route: { ...state.route, view: "changes" } }), "changes");
    for (const name of ["flow", "sequence", "timeline"])
      assertTrusted(await draw({ ...state, route: { ...state.route, view: name } }), name);
  }
});

/** A served model in which every field of the run and of some operations and participants is `value`. */
function spoiled(wire, value) {
  const all = (record) => Object.fromEntries(Object.keys(record).map((name) => [name, value]));
  const bad = (list) => list.map((one, at) => (at % 3 === 2 ? { ...all(one), id: one.id } : one));
  return {
    v: value,
    run: { ...all(wire.run), lastSeq: value },
    participants: [...bad(wire.participants), value],
    operations: [...bad(wire.operations), value],
  };
}

const first = (result) => (Array.isArray(result) ? result[0] : result);

test("A3: the sheet shows the tool and every argument apart from prose, and approves nothing unread", async () => {
  const whole = '{"command":"git push --force","note":"run tests \u202eshsup\u200b"}';
  const item = readApprovals({
    approvals: [
      {
        may: true,
        approval: {
          approvalId: "a1",
          role: "coder",
          tool: "run_shell",
          effect: "consequential",
          arguments: whole,
          argumentsHash: "c".repeat(64),
          expiresAt: "2026-01-05T15:00:00Z",
        },
      },
    ],
  })[0];
  const asks = { status: "ready", questions: [], approvals: [item], problem: null, loading: 0 };
  let [state] = actions.OpenAsk(watching(goodRun().slice(0, 20), { asks }), { kind: "approval", id: "a1" });
  state = actions.MoreRows(state, "a1");
  const approve = (element) => element.querySelector(".modal-acts .button--primary");
  const element = await draw(state);
  assert.equal(element.querySelector(".approval-tool code").textContent, "run_shell");
  const shown = element.querySelector(".argument-space").textContent;
  assert.ok(shown.includes('"command": "git push --force"') && shown.includes("\\u{202e}shsup\\u{200b}"), shown);
  assert.equal(element.querySelectorAll(".arguments .prose").length, 0);
  assert.match(element.querySelector(".arguments-head").textContent, /hidden characters/);
  assert.equal(approve(element).disabled, true);
  assert.equal(actions.SendDecision(state, "approve"), state, "unread: nothing is sent");
  const read = actions.ConfirmRead(state, true);
  assert.equal(approve(await draw(read)).disabled, false);
  const [, effect] = actions.SendDecision(read, "approve");
  assert.deepEqual(effect[1].body, { run: "", approvalId: "a1", argumentsHash: "c".repeat(64), decision: "approve" });
  for (const key of ["Enter", " ", "y", "a", "1"])
    assert.equal(actions.KeyPressed(read, key).modal?.busy ?? false, false);
  const [, denied] = actions.SendDecision(state, "deny");
  assert.equal(denied[1].body.decision, "deny", "denying needs no reading");
  const long = { ...item, arguments: JSON.stringify({ a: "x".repeat(20000) }) };
  let [other] = actions.OpenAsk({ ...state, asks: { ...asks, approvals: [long] } }, { kind: "approval", id: "a1" });
  other = actions.MoreRows(other, "a1");
  assert.match((await draw(other)).querySelector(".read-it").textContent, /Scroll to the end/);
  const half = actions.ArgumentsScrolled(other, { top: 100, height: 300, full: 4000 });
  assert.equal(half.modal.seen, false);
  assert.equal(actions.ArgumentsScrolled(half, { top: 3700, height: 300, full: 4000 }).modal.seen, true);
});

test("an expired or closed question cannot be answered, and says what happened", async () => {
  const question = {
    run: "demo.x",
    id: "q1",
    kind: "question",
    role: "planner",
    text: "May I?",
    context: "",
    options: ["Yes"],
    may: true,
    expiresAt: "2026-01-05T14:02:00Z",
  };
  const asks = { status: "ready", questions: [question], approvals: [], problem: null, loading: 0 };
  const [expired] = actions.OpenAsk(watching(goodRun().slice(0, 20), { asks }), { kind: "question", id: "q1" });
  const late = await draw(expired);
  assert.match(late.querySelector(".modal").textContent, /Expired\. Nobody answered in time/);
  assert.equal(late.querySelectorAll(".option, textarea, .modal-acts .button--primary").length, 0);
  const frame = { v: 1, run: "u", attempt: 1, seq: 21, ts: "2026-01-05T14:02:41.000Z", op: "o20" };
  const event = {
    ...frame,
    type: "question.answered",
    questionId: "q1",
    outcome: "success",
    text: "No **never**",
    author: "bob",
  };
  const [heard] = [actions.EventsArrived(expired, [event])].flat();
  const closed = await draw(heard);
  assert.match(closed.querySelector(".modal .framing").textContent, /answered by bob\.\s*No never/);
  assert.equal(actions.SendAnswer(heard), heard);
});

test("actions never answer undefined, whatever the payload", () => {
  const skipped = new Set(["ROW_PX", "EVENT_ROW_PX", "PAGE_EVENTS", "rowsOf"]);
  const answers = [
    { ok: false, status: 500, problem: {}, tag: watchedRun(base()) },
    { ok: true, status: 200, data: {}, tag: watchedRun(base()) },
    { ok: true, data: null, tag: { id: "o1" } },
  ];
  let tried = 0;
  for (const [name, action] of Object.entries(actions)) {
    if (!/^[A-Z]/.test(name) || skipped.has(name) || typeof action !== "function") continue;
    for (const payload of /Answered$/.test(name) ? answers.slice(0, 2) : ["x"]) {
      if (
        /^(EventsArrived|ReplayLoaded|ListScrolled|EventsScrolled|StageScrolled|SetField|Go|OpenModal|ConnectionChanged|ToggleHistoryRow|Hover|Pin|RunAgain)$/.test(
          name,
        )
      )
        continue;
      tried += 1;
      assert.notEqual(action(base(), payload), undefined, name);
    }
  }
  assert.ok(tried > 30);
});

test("isolation that is not enforced is said in red, by icon and word", async () => {
  const open = await draw(watching([{ ...goodRun()[0], isolation: "not_required" }]));
  assert.match(open.querySelector(".chip--bad").textContent, /isolation NOT enforced/);
  const refused = await draw(
    watching([], { summary: { phase: "Failed", reason: "IsolationNotEnforced", message: "why" } }),
  );
  assert.match(refused.querySelector(".chip--bad").textContent, /NOT enforced/);
  const verified = await draw(watching(goodRun().slice(0, 2)));
  assert.match(verified.querySelector(".strip .chip--good").textContent, /isolation verified/);
});

test("the commit a workspace was fetched from is said, and what was left out", async () => {
  const commit = "a".repeat(40);
  const state = watching(goodRun().slice(0, 2));
  const at = (message) =>
    draw({ ...state, run: { ...state.run, detail: { conditions: [{ type: "WorkspaceReady", message }] } } });
  const whole = await at(`3 files, 9 bytes; commit ${commit} of refs/heads/main`);
  assert.match(whole.querySelector(".strip").textContent, /commit aaaaaaaaaaaa(?!a)/);
  assert.equal(whole.querySelector(".strip .chip--attention"), null);
  const partly = await at(`commit ${commit}; 1 submodule(s) not fetched: <img src=x onerror=alert(1)>`);
  assert.match(partly.querySelector(".strip .chip--attention").title, /not fetched: <img/);
  assert.equal(partly.querySelector("img"), null);
  assert.doesNotMatch((await at("3 files")).querySelector(".strip").textContent, /commit/);
});

test("the branch of a run is said in its head, its result and its row of history, and why there is none", async () => {
  const { readSummary } = await import("../../../web/src/incoming.js");
  const state = watching(goodRun());
  const at = (fields, message = "") => {
    const summary = readSummary({ ...state.run.summary, ...fields });
    const conditions = [{ type: "Delivered", status: "True", reason: fields.delivered, message }];
    return draw({ ...state, run: { ...state.run, summary, detail: { conditions } }, modal: { kind: "result" } });
  };
  const branch = "guildhall/fix-slug-0f0e0d0c";
  const pushed = await at({ delivered: "Pushed", branch }, `branch ${branch} at commit ${"d".repeat(40)}`);
  for (const place of [".strip", ".modal"])
    assert.match(pushed.querySelector(`${place} .chip--good[title*="dddd"]`).textContent, new RegExp(branch));
  const refused = await at({ delivered: "RunsUnasked", branch: null }, "<img src=x onerror=alert(1)>");
  assert.match(refused.querySelector(".strip .chip--bad").title, /<img/);
  assert.doesNotMatch(refused.querySelector(".strip").textContent, /guildhall\//);
  assert.equal(refused.querySelector("img"), null);
  const none = await at({ delivered: null, branch: null });
  assert.equal(none.querySelector(".strip .chip--bad"), null);
  const run = readSummary({ ...state.run.summary, uid: "u", delivered: "Pushed", branch });
  const history = { ...state.history, status: "ready", items: [run], open: "u", details: {} };
  const past = await draw({ ...state, route: { ...state.route, screen: "history" }, history });
  assert.match(past.querySelector(".history-acts .chip--good").textContent, new RegExp(branch));
});

test("C1: an unreadable line is a row between the events, as text", async () => {
  const rows = [{ after: 2, reason: "no LogEvent", bytes: 41, text: "<img src=x onerror=alert(1)> \u202e" }];
  const state = watching(goodRun().slice(0, 6), { hash: "#/runs/demo.fix-slug?view=events" });
  const pages = new Map([[0, goodRun().slice(0, 6)]]);
  const element = await draw({ ...state, events: { ...state.events, pages, rows } });
  const drawn = [...element.querySelectorAll(".event-row")].map((row) => row.querySelector(".event-type").textContent);
  assert.deepEqual(drawn.slice(1, 4), [goodRun()[1].type, "unreadable", goodRun()[2].type]);
  assert.match(
    element.querySelector(".event-row--unreadable").textContent,
    /41 B.*no LogEvent: <img src=x.*\\u\{202e\}/,
  );
  assertTrusted(element, "unreadable");
  const [heard] = [actions.EventsArrived(state, [{ type: "unreadable", ...rows[0] }])].flat();
  assert.equal(heard.events.rows.length, 1, "a line that comes live has its row too");
});

test("lists are windowed: 20,000 steps cost as many nodes as the window", async () => {
  const { longRun } = await import("../../../web/dev/frames.js");
  const element = await draw(watching(longRun(40000, "u")));
  assert.ok(element.querySelectorAll("*").length < 1500, String(element.querySelectorAll("*").length));
  assert.ok(element.querySelectorAll(".row").length < 40);
});
