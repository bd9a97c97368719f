// What can happen: each action is a pure function (state, payload) -> state or [state, ...effects]. Never undefined.
import { runPath } from "./api.js";
import { msOf } from "./format.js";
import { fold } from "./fold.js";
import { readChanges, readConfig, readDetail, readLedger, readModel, readPage, readSummary } from "./incoming.js";
import { createLabels } from "./labels.js";
import { modelFromWire } from "./model.js";
import { formatRoute, parseRoute } from "./router.js";
import { listOf, numberOr, recordOf, stringOf, table } from "./safe.js";
import { activityRows, nextError, parseFilter, waiting } from "./derive/activity.js";
import { formProblems, specOf } from "./derive/manifest.js";
import { copy, download, focus, later, loadAllEvents, modelAt, request, scrollTo, setBadge, setTheme, writeHash } from "./effects.js";
import { emptyForm, isOver, needingHelp, noRun, shownModel } from "./state.js";

export const ROW_PX = 34;
export const EVENT_ROW_PX = 28;
export const PAGE_EVENTS = 100;
const PAGES_KEPT = 60;
const OPS_KEPT = 60;
const GRACE_MS = 240;

// Where we are

/** Changes parts of the route and writes the address. Selections replace the entry, moves to another place add one. */
export function Go(state, patch) {
  const moved = { ...state.route, ...patch };
  const elsewhere = patch.screen !== undefined || patch.runId !== undefined || patch.view !== undefined;
  return arrived({ ...state }, moved, writeHash(formatRoute(moved), !elsewhere));
}

/** The address changed under us: back, forward or typed. */
export const HashChanged = (state, hash) => arrived({ ...state }, parseRoute(hash));

function arrived(state, route, ...effects) {
  const before = state.route;
  const next = { ...state, route, stage: { ...state.stage, tooltip: null } };
  if (route.runId !== before.runId || route.uid !== before.uid) Object.assign(next, freshRun());
  if (route.screen === "history" && (before.screen !== "history" || route.q !== before.q)) effects.push(...historyEffects(next));
  if (route.screen === "watch" && route.view === "changes") effects.push(...changesEffects(next));
  if (route.screen === "watch" && route.view === "events" && before.view !== "events") effects.push(later(0, LoadEventPages));
  if (route.screen === "compose" && before.screen !== "compose") {
    next.compose = { ...next.compose, namespace: next.compose.namespace || next.config?.namespaces?.[0] || "" };
  }
  if (route.at !== before.at) return replayed(next, effects);
  return [next, ...effects, ...opEffects(next)];
}

const freshRun = () => ({
  run: noRun(), ops: new Map(), changes: { status: "idle", view: null, problem: null, sha: "" }, modal: null, planOpen: false,
  events: { top: 0, height: 600, pages: new Map(), loading: new Set(), version: 0 },
  list: { top: 0, height: 240, follow: true, seen: 0 }, stage: { tooltip: null, token: 0, pinned: null },
});

// Session and configuration

export const Start = (state) => [state, request("GET", "/api/session", SessionAnswered)];

export function SessionAnswered(state, answer) {
  if (answer.ok) return signedIn(state, answer.data);
  if (answer.status === 401) {
    const again = state.session.status === "in" ? "The session is over. Sign in again to go on." : "";
    return [{ ...state, session: { status: "out", user: "", error: again, busy: false } }, focus("#token")];
  }
  return { ...state, session: { ...state.session, status: "unreachable", error: problemText(answer.problem), busy: false } };
}

function signedIn(before, session) {
  const state = { ...before, session: { status: "in", user: stringOf(session.user), error: "", busy: false } };
  return [
    state,
    request("GET", "/api/config", ConfigAnswered),
    request("GET", "/api/runs?limit=50", RunsAnswered),
    ...(state.route.screen === "history" ? historyEffects(state) : []),
  ];
}

export const SignIn = (state, token) => {
  const trimmed = stringOf(token).trim();
  if (trimmed === "") return { ...state, session: { ...state.session, error: "Paste a token first." } };
  return [{ ...state, session: { ...state.session, busy: true, error: "" } }, request("POST", "/api/session", SignInAnswered, { body: { token: trimmed } })];
};

export function SignInAnswered(state, answer) {
  if (answer.ok) return signedIn(state, answer.data);
  const error = answer.status === 401 ? "The cluster did not accept this token. It may have expired." : problemText(answer.problem);
  return { ...state, session: { ...state.session, busy: false, error } };
}

export const SignOut = (state) => [state, request("DELETE", "/api/session", SignedOut)];
export const SignedOut = (state) => [
  { ...state, ...freshRun(), session: { status: "out", user: "", error: "", busy: false }, config: null, compose: emptyForm() }, focus("#token"),
];

export function ConfigAnswered(state, answer) {
  if (!answer.ok) return refusedOr(state, answer, { ...state, toast: toast("bad", problemText(answer.problem)) });
  const config = readConfig(answer.data);
  const compose = state.compose.namespace ? state.compose : { ...state.compose, namespace: config.namespaces[0] ?? "" };
  return { ...state, config, compose, labels: createLabels(config, state.run.model.run) };
}

export const LoadRuns = (state) =>
  state.session.status === "in" ? [state, request("GET", "/api/runs?limit=50", RunsAnswered)] : state;

export function RunsAnswered(state, answer) {
  if (!answer.ok) return refusedOr(state, answer, { ...state, runs: { ...state.runs, status: "failed", problem: answer.problem } });
  const next = { ...state, runs: { status: "ready", ...readPage(answer.data), problem: null } };
  return [next, badgeOf(next)];
}

function refusedOr(state, answer, other) {
  return answer.status === 401 ? SessionAnswered(state, answer) : other;
}

const problemText = (problem) => [problem?.title, problem?.detail].filter(Boolean).map(stringOf).join(". ") || "Something failed.";
const toast = (tone, text) => ({ tone, text });

// The Run being watched

export function FlowArrived(state, data) {
  const flow = recordOf(data);
  const model = modelFromWire(readModel(flow.model));
  const summary = readSummary(flow.summary);
  const next = {
    ...state, labels: createLabels(state.config, model.run),
    run: { ...state.run, id: state.route.runId, model, version: state.run.version + 1, ledger: readLedger(flow.ledger), summary },
  };
  const { runId, uid } = state.route;
  const pages = state.route.view === "events" ? [later(0, LoadEventPages)] : [];
  const replay = state.route.at !== null && state.run.replay === null ? [later(0, StartReplay)] : [];
  return ending(next, [
    request("GET", runPath(runId, "", uid), DetailAnswered), badgeOf(next), ...followEffects(next), ...opEffects(next), ...changesEffects(next), ...pages, ...replay,
  ]);
}

export function EventsArrived(state, events) {
  const { run } = state;
  const pages = new Map(state.events.pages);
  let touched = false;
  for (const event of events) {
    fold(run.model, event);
    touched = remember(pages, event) || touched;
  }
  const next = {
    ...state, run: { ...run, version: run.version + 1 }, nowMs: Date.now(),
    labels: events.some((event) => event.type === "run.started") ? createLabels(state.config, run.model.run) : state.labels,
    events: touched ? { ...state.events, pages, version: state.events.version + 1 } : state.events,
  };
  const money = events.some((event) => event.type === "model.finished") ? [request("GET", runPath(state.route.runId, "/flow", state.route.uid, { prose: "none" }), LedgerAnswered)] : [];
  const changed = events.some((event) => event.type === "changes.updated") ? changesEffects(next) : [];
  return ending(next, [...followEffects(next), ...opEffects(next), ...changed, ...(money.length && throttled(state) ? money : [])]);
}

// The ledger is asked for at most every five seconds: money on the screen may be that old, not more.
const throttled = (state) => state.nowMs - (state.run.ledgerAskedMs ?? 0) > 5000;

export const LedgerAnswered = (state, answer) =>
  answer.ok && recordOf(answer.data).ledger
    ? { ...state, run: { ...state.run, ledger: readLedger(recordOf(answer.data).ledger), ledgerAskedMs: state.nowMs } }
    : state;

function remember(pages, event) {
  if (event.type === "unreadable" || !Number.isSafeInteger(event.seq)) return false;
  const page = Math.floor((event.seq - 1) / PAGE_EVENTS);
  if (!pages.has(page)) return false;
  const events = pages.get(page);
  if (events.some((one) => one.seq === event.seq)) return false;
  pages.set(page, [...events, event]);
  return true;
}

// A Run that ends while it is watched shows its result once; one opened later does not push it at people.
function ending(state, effects) {
  const over = isOver(state);
  const watchedLive = state.run.wasLive === true;
  if (over && watchedLive && !state.run.resultSeen && state.modal === null && state.route.at === null) {
    return [{ ...state, run: { ...state.run, resultSeen: true }, modal: { kind: "result" } }, ...effects, focus(".modal")];
  }
  return [{ ...state, run: { ...state.run, wasLive: watchedLive || !over } }, ...effects];
}

export function SummaryArrived(state, summary) {
  const next = { ...state, run: { ...state.run, summary: readSummary(summary) } };
  return [next, badgeOf(next)];
}

export const DetailAnswered = (state, answer) =>
  answer.ok ? { ...state, run: { ...state.run, detail: readDetail(answer.data) } } : refusedOr(state, answer, state);

export function ConnectionChanged(state, connection) {
  const next = { ...state, run: { ...state.run, connection } };
  return connection.problem?.status === 401 ? SessionAnswered(next, { ok: false, status: 401, problem: connection.problem }) : next;
}

function badgeOf(state) {
  const help = needingHelp(state);
  const label = state.run.summary?.label || "";
  const failed = state.run.summary?.phase === "Failed";
  const title = [help > 0 ? `(${help})` : "", label, "Guildhall"].filter(Boolean).join(" · ").replace(") · ", ") ");
  return setBadge(stringOf(title).slice(0, 200), help > 0 || failed);
}

// Replay

function replayed(state, effects) {
  if (state.route.at === null) return [{ ...state, run: { ...state.run, replay: null } }, ...effects, ...opEffects(state)];
  const replay = state.run.replay;
  if (replay?.events) return [{ ...state, run: { ...state.run, replay: { ...replay, model: modelAt(replay.events, state.route.at) } } }, ...effects];
  if (replay?.loading) return [state, ...effects];
  return [
    { ...state, run: { ...state.run, replay: { loading: true } } }, ...effects,
    loadAllEvents(state.route.runId, state.route.uid, ReplayLoaded),
  ];
}

/** A link with `at=` opens a replay as soon as the run is there. */
export const StartReplay = (state) => replayed(state, []);

export function ReplayLoaded(state, { events, problem, complete, runId }) {
  if (problem) return { ...state, run: { ...state.run, replay: null }, toast: toast("bad", problemText(problem)) };
  if (runId !== state.route.runId || state.route.at === null) return state;
  const model = modelAt(events, state.route.at);
  return { ...state, run: { ...state.run, replay: { events, complete, model } } };
}

export const SeekTo = (state, at) => {
  const last = state.run.model.run.lastSeq;
  const wanted = numberOr(Number(at)) ?? last;
  return Go(state, { at: wanted >= last ? null : Math.max(1, Math.floor(wanted)) });
};

// Selection, hovering, the inspector

/** Chooses an operation ("" for none); again on the chosen one lets it go. */
export const Select = (state, op) => {
  const [next, ...effects] = Go({ ...state, stage: { ...state.stage, pinned: null } }, { op: op === state.route.op ? "" : op });
  return [next, ...effects];
};

/** A click on the stage pins what was under the pointer. */
export function Pin(state, target) {
  if (target === undefined) return state;
  if (target === null) return state.stage.pinned || state.route.op ? Go({ ...state, stage: { ...state.stage, pinned: null, tooltip: null } }, { op: "" }) : state;
  if (target.kind === "operation") return Go({ ...state, stage: { ...state.stage, pinned: null, tooltip: null } }, { op: target.id });
  return Go({ ...state, stage: { ...state.stage, pinned: { kind: target.kind, id: target.id }, tooltip: null } }, { op: "" });
}

export function Hover(state, target) {
  const { stage } = state;
  if (target === null) return stage.tooltip === null ? state : leaving(state);
  if (stage.tooltip?.kind === target.kind && stage.tooltip.id === target.id) {
    return { ...state, stage: { ...stage, token: stage.token + 1 } };
  }
  const next = { ...state, stage: { ...stage, tooltip: target, token: stage.token + 1 } };
  return target.kind === "operation" ? [next, ...opEffects(next, target.id)] : next;
}

function leaving(state) {
  return [state, later(GRACE_MS, GraceOver, state.stage.token)];
}

export const GraceOver = (state, token) =>
  state.stage.token === token && state.stage.tooltip !== null ? { ...state, stage: { ...state.stage, tooltip: null } } : state;
export const HoldCard = (state) => ({ ...state, stage: { ...state.stage, token: state.stage.token + 1 } });
export const LeaveCard = (state) => leaving({ ...state, stage: { ...state.stage, token: state.stage.token + 1 } });

// An operation's own events are fetched when it is looked at, and again when it has moved on.
function opEffects(state, id = state.route.op) {
  if (!id || !state.route.runId) return [];
  const operation = shownModel(state).operations.get(id);
  const known = state.ops.get(id);
  if (operation === undefined || known?.loading || known?.lastSeq === operation.lastSeq) return [];
  if (known?.askedMs !== undefined && Date.now() - known.askedMs < 1000) return [];
  const ops = state.ops;
  ops.set(id, { events: known?.events ?? [], loading: true, lastSeq: known?.lastSeq ?? -1, askedMs: Date.now() });
  const { runId, uid } = state.route;
  return [request("GET", runPath(runId, `/operations/${id}`, uid), OpAnswered, { tag: { id, lastSeq: operation.lastSeq } })];
}

export function OpAnswered(state, answer) {
  const ops = new Map(state.ops);
  const { id, lastSeq } = answer.tag;
  ops.delete(id);
  const events = answer.ok ? listOf(answer.data.events).map(recordOf) : [];
  ops.set(id, { events, lastSeq, problem: answer.ok ? "" : problemText(answer.problem) });
  for (const oldest of ops.keys()) {
    if (ops.size <= OPS_KEPT) break;
    ops.delete(oldest);
  }
  return { ...state, ops };
}

// The event list

export const rowsOf = (state) =>
  activityRows(shownModel(state), parseFilter(state.route.q), state.labels, { only: state.route.only });

export function ListScrolled(state, { top, height, full }) {
  const follow = top + height >= full - 4;
  return { ...state, list: { ...state.list, top, height, follow, seen: follow ? shownModel(state).list.length : state.list.seen || shownModel(state).list.length } };
}

export const FollowList = (state) => {
  const next = { ...state, list: { ...state.list, follow: true, seen: 0 } };
  return [next, ...followEffects(next)];
};

function followEffects(state) {
  if (!state.list.follow || state.route.at !== null) return [];
  return [scrollTo(".activity-scroll", rowsOf(state).rows.length * ROW_PX)];
}

export function SetFilter(state, q) {
  return Go({ ...state, list: { ...state.list, top: 0 } }, { q });
}
export const ToggleOnly = (state) => Go(state, { only: !state.route.only });

function step(state, by) {
  const { rows } = rowsOf(state);
  const hits = rows.filter((row) => row.hit);
  if (hits.length === 0) return state;
  const at = hits.findIndex((row) => row.operation.id === state.route.op);
  const to = at < 0 ? (by > 0 ? 0 : hits.length - 1) : Math.min(hits.length - 1, Math.max(0, at + by));
  return reveal(Go({ ...state, list: { ...state.list, follow: false } }, { op: hits[to].operation.id }), rows);
}

// Keeps the chosen row in the window of the list.
function reveal([state, ...effects], rows) {
  const index = rows.findIndex((row) => row.operation.id === state.route.op);
  const { top, height } = state.list;
  const [from, to] = [index * ROW_PX, (index + 1) * ROW_PX];
  if (index < 0 || (from >= top && to <= top + height)) return [state, ...effects];
  const wanted = from < top ? from : to - height;
  return [{ ...state, list: { ...state.list, top: wanted } }, ...effects, scrollTo(".activity-scroll", wanted)];
}

export const StageScrolled = (state, { top, height }) => ({ ...state, stageScroll: { top, height } });

// Raw events

export function EventsScrolled(state, { top, height }) {
  const next = { ...state, events: { ...state.events, top, height } };
  return [next, ...eventPageEffects(next)];
}

export const LoadEventPages = (state) => [state, ...eventPageEffects(state)];

function eventPageEffects(state) {
  const { top, height, pages, loading } = state.events;
  const last = shownModel(state).run.lastSeq;
  const from = Math.floor(top / EVENT_ROW_PX / PAGE_EVENTS);
  const to = Math.floor((top + height) / EVENT_ROW_PX / PAGE_EVENTS);
  const effects = [];
  for (let page = from; page <= to; page += 1) {
    if (page * PAGE_EVENTS >= last || pages.has(page) || loading.has(page)) continue;
    loading.add(page);
    const path = runPath(state.route.runId, "/events", state.route.uid, { after: page * PAGE_EVENTS, limit: PAGE_EVENTS });
    effects.push(request("GET", path, EventPageAnswered, { tag: page }));
  }
  return effects;
}

export function EventPageAnswered(state, answer) {
  const { pages: known, loading } = state.events;
  loading.delete(answer.tag);
  if (!answer.ok) return refusedOr(state, answer, { ...state, toast: toast("bad", problemText(answer.problem)) });
  const pages = new Map(known);
  const limit = (answer.tag + 1) * PAGE_EVENTS;
  pages.set(answer.tag, [...listOf(answer.data.events).map(recordOf).filter((event) => event.seq <= limit), ...listOf(answer.data.unreadable).map(recordOf)]);
  for (const oldest of pages.keys()) {
    if (pages.size <= PAGES_KEPT) break;
    pages.delete(oldest);
  }
  return { ...state, events: { ...state.events, pages, version: state.events.version + 1 } };
}

// Changes

function changesEffects(state) {
  const sha = state.run.model.run.patchSHA256 ?? "none";
  if (state.route.view !== "changes" || !state.route.runId || state.changes.sha === sha || state.run.id === "") return [];
  return [later(0, LoadChanges, sha)];
}

export const LoadChanges = (state, sha) => [
  { ...state, changes: { ...state.changes, status: state.changes.view ? "ready" : "loading", sha } },
  request("GET", runPath(state.route.runId, "/changes", state.route.uid), ChangesAnswered),
];

export const ChangesAnswered = (state, answer) =>
  answer.ok
    ? { ...state, changes: { ...state.changes, status: "ready", view: readChanges(answer.data), problem: null } }
    : refusedOr(state, answer, { ...state, changes: { ...state.changes, status: "failed", problem: answer.problem } });

export const DownloadPatch = (state) => [state, download(runPath(state.route.runId, "/patch", state.route.uid))];

// Acts on a Run: asked for first, shown as fact only when they come back as events

export const OpenModal = (state, modal) => [{ ...state, modal: { message: "", busy: false, error: "", ...modal }, stage: { ...state.stage, tooltip: null } }, focus(".modal [autofocus], .modal")];
export const CloseModal = (state) => ({ ...state, modal: null });
export const ModalMessage = (state, message) => ({ ...state, modal: state.modal && { ...state.modal, message } });

export function ConfirmAct(state) {
  const { modal, route } = state;
  if (modal === null || modal.busy) return state;
  const path = modal.kind === "stop" ? "/cancel" : "/interrupt";
  const body = modal.kind === "stop" ? {} : { intent: "abort", message: modal.message };
  return [{ ...state, modal: { ...modal, busy: true, error: "" } }, request("POST", runPath(route.runId, path, route.uid), ActAnswered, { body })];
}

export function ActAnswered(state, answer) {
  if (state.modal === null) return state;
  if (!answer.ok) return refusedOr(state, answer, { ...state, modal: { ...state.modal, busy: false, error: problemText(answer.problem) } });
  const text = state.modal.kind === "stop" ? "Stop was asked for. It shows as done when the run has ended." : "The interrupt was sent. It shows when the run has taken it.";
  return [{ ...state, modal: null, toast: toast("good", text) }, later(8000, DropToast, text)];
}

export const DropToast = (state, text) => (state.toast?.text === text || text === undefined ? { ...state, toast: null } : state);
export const Copy = (state, text) => [state, copy(text, Copied)];
export const Copied = (state, done) => {
  const text = done ? "Copied." : "The browser did not allow copying.";
  return [{ ...state, toast: toast(done ? "good" : "bad", text) }, later(3000, DropToast, text)];
};
export const TogglePlan = (state) => ({ ...state, planOpen: !state.planOpen });

// History

function historyEffects(state) {
  if (state.session.status !== "in") return [];
  const query = new URLSearchParams({ limit: "100", ...(state.route.q ? { q: state.route.q } : {}) });
  return [request("GET", `/api/runs?${query}`, HistoryAnswered, { tag: { q: state.route.q, cursor: "" } })];
}

export const MoreHistory = (state) => {
  const query = new URLSearchParams({ limit: "100", cursor: state.history.next, ...(state.route.q ? { q: state.route.q } : {}) });
  return [{ ...state, history: { ...state.history, status: "loading" } }, request("GET", `/api/runs?${query}`, HistoryAnswered, { tag: { q: state.route.q, cursor: state.history.next } })];
};

export function HistoryAnswered(state, answer) {
  if (!answer.ok) return refusedOr(state, answer, { ...state, history: { ...state.history, status: "failed", problem: answer.problem } });
  if (answer.tag.q !== state.route.q) return state;
  const { items, next } = readPage(answer.data);
  const all = answer.tag.cursor ? [...state.history.items, ...items] : items;
  return { ...state, history: { ...state.history, status: "ready", items: all, next, problem: null } };
}

export function ToggleHistoryRow(state, run) {
  const open = state.history.open === run.uid ? "" : run.uid;
  const next = { ...state, history: { ...state.history, open } };
  if (open === "" || state.history.details[open]) return next;
  return [next, request("GET", runPath(run.id, "/flow", run.uid, { prose: "none" }), HistoryDetailAnswered, { tag: open })];
}

export const HistoryDetailAnswered = (state, answer) => ({
  ...state,
  history: {
    ...state.history,
    details: { ...state.history.details, [answer.tag]: answer.ok ? { run: readModel(recordOf(answer.data).model).run } : { problem: problemText(answer.problem) } },
  },
});

// Compose

export const SetField = (state, { field, value }) => ({ ...state, compose: { ...state.compose, [field]: value, dry: null, problem: null } });

export function Submit(state, dryRun) {
  const form = state.compose;
  if (form.busy !== "") return state;
  const problems = formProblems(form);
  if (problems.length > 0) return [{ ...state, compose: { ...form, showProblems: true } }, focus(`#compose-${problems[0].field}`)];
  const body = { namespace: form.namespace, ...(form.name ? { name: form.name } : {}), spec: specOf(form) };
  return [
    { ...state, compose: { ...form, busy: dryRun ? "dry" : "create", problem: null, dry: null } },
    request("POST", `/api/runs${dryRun ? "?dryRun=true" : ""}`, SubmitAnswered, { body, tag: dryRun }),
  ];
}

export function SubmitAnswered(state, answer) {
  const compose = { ...state.compose, busy: "" };
  if (!answer.ok) return refusedOr({ ...state, compose }, answer, { ...state, compose: { ...compose, problem: answer.problem } });
  const created = recordOf(answer.data);
  if (answer.tag === true) return { ...state, compose: { ...compose, dry: { manifest: stringOf(created.manifest), warnings: listOf(created.warnings) } } };
  return Go({ ...state, compose: { ...emptyForm(), namespace: compose.namespace, guild: compose.guild } }, { screen: "watch", runId: stringOf(created.id), uid: "", view: "flow", op: "", at: null, q: "" });
}

/** Fills Compose from a Run that was watched. */
export function RunAgain(state, detail) {
  const { spec, summary } = detail;
  const { workspace, budget } = spec;
  const source = ["git", "claim", "archive"].find((name) => workspace[name]) ?? "none";
  const compose = {
    ...emptyForm(), namespace: stringOf(summary?.namespace), guild: stringOf(spec?.guildRef?.name), task: stringOf(spec?.task), source,
    gitUrl: stringOf(workspace.git?.url), gitRef: stringOf(workspace.git?.ref), claim: stringOf(workspace.claim?.name),
    configMap: stringOf(workspace.archive?.configMap), key: stringOf(workspace.archive?.key) || "workspace.tar.gz",
    strip: String(workspace.archive?.stripComponents || ""), image: stringOf(spec?.image),
    dollars: numberOr(budget.costMicroUSD) === null ? "" : String(budget.costMicroUSD / 1e6), tokens: String(budget.tokens ?? ""), steps: String(budget.steps ?? ""),
    minutes: numberOr(budget.seconds) === null ? "" : String(budget.seconds / 60),
  };
  return Go({ ...state, compose, modal: null }, { screen: "compose", q: "" });
}

// Time, theme, keys

export const Tick = (state, nowMs) => ({ ...state, nowMs });
export const WideChanged = (state, wide) => ({ ...state, wide });
export const ProseChanged = (state) => ({ ...state, proseVersion: state.proseVersion + 1 });

export function ToggleTheme(state) {
  const theme = state.theme === "dark" ? "light" : "dark";
  return [{ ...state, theme }, setTheme(theme)];
}

const VIEW_KEYS = table({ 1: "flow", 2: "sequence", 3: "timeline", 4: "changes", 5: "events" });

/** Every key that does something; `keysHelp` lists the same. */
export function KeyPressed(state, key) {
  if (state.session.status !== "in") return state;
  if (key === "Escape") return escaped(state);
  if (state.modal !== null) return state;
  if (state.prefix === "g") return prefixed({ ...state, prefix: "" }, key);
  if (key === "g") return { ...state, prefix: "g" };
  if (key === "?") return OpenModal(state, { kind: "keys" });
  if (key === "t") return ToggleTheme(state);
  if (key === "/") return [state, focus("#find")];
  return state.route.screen === "watch" && state.route.runId ? watchKey(state, key) : state;
}

function watchKey(state, key) {
  const model = shownModel(state);
  if (key === "j" || key === "ArrowDown") return step(state, 1);
  if (key === "k" || key === "ArrowUp") return step(state, -1);
  if (key === "f") return FollowList(state);
  if (key === "p") return TogglePlan(state);
  if (key === "e") return chooseOr(state, nextError(model, model.operations.get(state.route.op)?.firstSeq ?? 0));
  if (key === "a") return chooseOr(state, waiting(model)[0]?.id ?? "");
  if (key === "r" && isOver(state)) return OpenModal(state, { kind: "result" });
  return VIEW_KEYS[key] ? Go(state, { view: VIEW_KEYS[key] }) : state;
}

function chooseOr(state, op) {
  if (op === "") return state;
  return reveal(Go({ ...state, list: { ...state.list, follow: false } }, { op }), rowsOf(state).rows);
}

function prefixed(state, key) {
  const screens = { w: "watch", h: "history", c: "compose" };
  return screens[key] ? Go(state, { screen: screens[key], q: "" }) : state;
}

function escaped(state) {
  if (state.modal !== null) return state.modal.busy ? state : CloseModal(state);
  if (state.stage.tooltip !== null) return { ...state, stage: { ...state.stage, tooltip: null } };
  if (state.route.op || state.stage.pinned) return Go({ ...state, stage: { ...state.stage, pinned: null } }, { op: "" });
  return state.toast ? { ...state, toast: null } : state;
}

export const startedMs = (run) => msOf(run?.startedAt);
