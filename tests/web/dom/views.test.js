import { test } from "node:test";
import assert from "node:assert/strict";
import { dom, frames } from "../lib/dom.js";
import { corporaMissing, hostileTexts, xssCases } from "../lib/corpora.js";
import { goodRun } from "../../../web/dev/frames.js";

globalThis.matchMedia = () => ({ matches: true, addEventListener() {}, removeEventListener() {} });
Object.assign(globalThis, { addEventListener: dom.window.addEventListener.bind(dom.window) });
const { app, h } = await import("../../../web/src/h.js");
const { createView } = await import("../../../web/src/view.js");
const { initialState } = await import("../../../web/src/state.js");
const { foldAll } = await import("../../../web/src/fold.js");
const actions = await import("../../../web/src/actions.js");
const { sanitize } = await import("../../../web/src/markdown.js");
const { markdownToHtml } = await import("../../../web/src/markdown-html.js");
const { parseInertBody } = await import("../../../web/src/trusted-types.js");
const { createLabels } = await import("../../../web/src/labels.js");
const { modelToWire } = await import("../../../web/src/model.js");
const { createBackend } = await import("../../../web/dev/backend.js");

const store = {
  get(text) {
    let made = { ok: false };
    try {
      made = markdownToHtml(text);
    } catch {
      // As the Worker: a formatter that throws is a fallback.
    }
    return made.ok
      ? {
          state: "done",
          nodes: sanitize(parseInertBody(made.html).body ?? parseInertBody(made.html)).nodes,
          reason: "",
        }
      : { state: "fallback", nodes: null, reason: "test" };
  },
};
const view = createView(store);

/** Draws one state with the real hyperapp and gives the element. */
async function draw(state) {
  const host = dom.window.document.createElement("div");
  dom.window.document.body.append(host);
  app({ init: state, node: host, view: (current) => h("div", { id: "draw" }, view(current)) });
  await frames(3);
  const element = dom.window.document.getElementById("draw");
  element.remove();
  return element;
}

const base = (hash = "#/runs/demo.fix-slug") => ({
  ...initialState({ hash, theme: "light", nowMs: Date.parse("2026-01-05T14:02:40Z"), wide: true }),
  session: { status: "in", user: "jane", error: "", busy: false },
});

function watching(events, { hash, config = null, summary = {}, ...more } = {}) {
  const state = base(hash);
  const model = foldAll(events);
  return {
    ...state,
    config,
    labels: createLabels(config, model.run),
    run: {
      ...state.run,
      id: "demo.fix-slug",
      model,
      version: 1,
      summary: { id: "demo.fix-slug", phase: "Running", label: "fix-slug", ...summary },
      connection: { state: "live" },
    },
    ...more,
  };
}

const SCREENS = [
  "#/runs/demo.fix-slug",
  "#/runs/demo.fix-slug?view=sequence",
  "#/runs/demo.fix-slug?view=timeline",
  "#/runs/demo.fix-slug?view=changes",
  "#/runs/demo.fix-slug?view=events",
];
const FORBIDDEN =
  "script,style,iframe,object,embed,form:not(.signin-card):not(.compose-form),img,video,audio,base,meta,link,template,foreignObject,animate,set,use,image";

/** No element or attribute in the page that we did not write: what data could have added. */
function assertTrusted(element, what) {
  assert.equal(element.querySelectorAll(FORBIDDEN).length, 0, what);
  for (const one of element.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      assert.doesNotMatch(name, /^on|^srcdoc$|^src$|^action$|^formaction$|^xlink/i, `${what} ${one.localName}@${name}`);
      if (name === "href") assert.match(value, /^(#|https?:\/\/|mailto:|icons\/)/, what);
    }
  }
  assert.doesNotMatch(element.textContent, /[\u0000-\u0008\u001b]/, what);
}

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

const rewritten = (events, hostile) =>
  events.map((event) => {
    const copy = structuredClone(event);
    for (const field of ["title", "task", "brief", "text", "summary", "output", "arguments", "result", "context"])
      if (typeof copy[field] === "string") copy[field] = hostile;
    if (copy.items) copy.items = copy.items.map((item) => ({ ...item, text: hostile }));
    if (copy.roles) copy.roles = copy.roles.map((role) => ({ ...role, label: hostile }));
    if (copy.files) copy.files = copy.files.map((file) => ({ ...file, path: hostile }));
    if (copy.artifacts) copy.artifacts = [hostile];
    return copy;
  });

test("C1: hostile text in every field of a run, in every view", { skip: corporaMissing }, async () => {
  const payloads = [
    ...xssCases()
      .map((one) => one.payload)
      .filter((one) => one.length > 10 && one.length < 600)
      .filter((_, at) => at % 45 === 0),
    ...hostileTexts()
      .map((one) => one.text)
      .filter((one) => one.length < 600),
  ];
  assert.ok(payloads.length > 40);
  for (const [index, payload] of payloads.entries()) {
    const hash = SCREENS[index % SCREENS.length];
    const events = rewritten(goodRun(), payload);
    const ops = new Map([["o21", { events: events.filter((event) => event.op === "o21"), lastSeq: 0 }]]);
    const state = watching(events, {
      hash: `${hash}${hash.includes("?") ? "&" : "?"}op=o20`,
      ops,
      planOpen: true,
      modal: { kind: "result", message: "", busy: false, error: payload },
      summary: { label: payload, summary: payload, message: payload, reason: "Internal", phase: "Failed" },
      changes: {
        status: "ready",
        sha: "",
        problem: null,
        view: { patch: payload, message: payload, files: [{ path: payload, status: payload }], omitted: [payload] },
      },
    });
    assertTrusted(await draw(state), payload.slice(0, 80));
  }
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
    let state = first(actions.ConfigAnswered(base("#/history"), { ok: true, data: config }));
    const read = state.config;
    state = first(
      actions.HistoryAnswered(state, { ok: true, tag: { q: "" }, data: { runs: [summary, value], next: value } }),
    );
    assertTrusted(await draw({ ...state, history: { ...state.history, open: value } }), "history");
    state = first(
      actions.RunsAnswered({ ...base("#/"), config: read }, { ok: true, data: { runs: [summary, value] } }),
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
        data: { summary, spec: value, conditions: [value], may: [value], lastSeq: value },
      }),
    );
    const changed = first(
      actions.ChangesAnswered(state, {
        ok: true,
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

test("actions never answer undefined, whatever the payload", () => {
  const skipped = new Set(["ROW_PX", "EVENT_ROW_PX", "PAGE_EVENTS", "rowsOf", "startedMs"]);
  const answers = [
    { ok: false, status: 500, problem: {}, tag: {} },
    { ok: true, status: 200, data: {}, tag: {} },
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

test("lists are windowed: 20,000 steps cost as many nodes as the window", async () => {
  const { longRun } = await import("../../../web/dev/frames.js");
  const element = await draw(watching(longRun(40000, "u")));
  assert.ok(element.querySelectorAll("*").length < 1500, String(element.querySelectorAll("*").length));
  assert.ok(element.querySelectorAll(".row").length < 40);
});
