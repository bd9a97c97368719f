// The run being watched: its model, its events as they come, its ledger.
import { runPath } from "../api.js";
import { later, request } from "../effects.js";
import { newestLedger } from "../derive/cost.js";
import { fold } from "../fold.js";
import { readDetail, readLedger, readModel, readSummary } from "../incoming.js";
import { createLabels } from "../labels.js";
import { modelFromWire } from "../model.js";
import { recordOf } from "../safe.js";
import { watchedRun } from "../state.js";
import { badgeOf } from "./badge.js";
import { changesEffects } from "./changes.js";
import { ending } from "./ending.js";
import { noticeEffects } from "./notify.js";
import { LoadEventPages, PAGE_EVENTS, rowsWith } from "./events.js";
import { opEffects } from "./operations.js";
import { LoadAsks, peopleHeard } from "./people.js";
import { StartReplay } from "./replay.js";
import { refusedOr, sessionOver } from "./problems.js";
import { followEffects } from "./steps.js";
import { forWatched } from "./watched.js";

export function FlowArrived(state, data) {
  const flow = recordOf(data);
  const model = modelFromWire(readModel(flow.model));
  const summary = readSummary(flow.summary);
  const next = {
    ...state,
    labels: createLabels(state.config, model.run),
    run: {
      ...state.run,
      id: state.route.runId,
      model,
      version: state.run.version + 1,
      ledger: newestLedger(readLedger(flow.ledger), summary.usage),
      summary,
    },
  };
  const { runId, uid } = state.route;
  const pages = state.route.view === "events" ? [later(0, LoadEventPages)] : [];
  const replay = state.route.at !== null && state.run.replay === null ? [later(0, StartReplay)] : [];
  return ending(next, [
    request("GET", runPath(runId, "", uid), DetailAnswered, { tag: watchedRun(state) }),
    badgeOf(next),
    later(0, LoadAsks),
    ...followEffects(next),
    ...opEffects(next),
    ...changesEffects(next),
    ...pages,
    ...replay,
  ]);
}

export function EventsArrived(state, events) {
  const { run } = state;
  const pages = new Map(state.events.pages);
  const rows = rowsWith(state.events.rows, events);
  let touched = false;
  for (const event of events) {
    fold(run.model, event);
    touched = remember(pages, event) || touched;
  }
  const [heard, asking] = peopleHeard(state, events);
  const next = {
    ...heard,
    run: { ...run, version: run.version + 1 },
    labels: events.some((event) => event.type === "run.started")
      ? createLabels(state.config, run.model.run)
      : state.labels,
    events: { ...(touched ? { ...state.events, pages, version: state.events.version + 1 } : state.events), rows },
  };
  const changed = events.some((event) => event.type === "changes.updated") ? changesEffects(next) : [];
  return ending(next, [...followEffects(next), ...opEffects(next), ...changed, ...asking]);
}

function remember(pages, event) {
  if (event.type === "unreadable" || !Number.isSafeInteger(event.seq)) return false;
  const page = Math.floor((event.seq - 1) / PAGE_EVENTS);
  if (!pages.has(page)) return false;
  const events = pages.get(page);
  if (events.some((one) => one.seq === event.seq)) return false;
  pages.set(page, [...events, event]);
  return true;
}

export function SummaryArrived(state, value) {
  const summary = readSummary(value);
  const ledger = newestLedger(state.run.ledger, summary.usage);
  const asking = summary.awaiting !== (state.run.summary?.awaiting ?? 0) ? [later(0, LoadAsks)] : [];
  const next = { ...state, run: { ...state.run, summary, ledger }, runs: withSummary(state.runs, summary) };
  return [next, badgeOf(next), ...noticeEffects(state, next), ...asking];
}

// The stream is fresher than the list that is asked for every few seconds: the counts in the bar follow it, and a list
// that was asked for before takes nothing back.
function withSummary(runs, summary) {
  const items = runs.items.map((run) => (run.uid === summary.uid ? { ...run, ...summary } : run));
  return { ...runs, items, fresher: new Map(runs.fresher).set(summary.uid, runs.asked) };
}

export const DetailAnswered = forWatched((state, answer) =>
  answer.ok ? { ...state, run: { ...state.run, detail: readDetail(answer.data) } } : refusedOr(state, answer, state),
);

export function ConnectionChanged(state, connection) {
  const next = { ...state, run: { ...state.run, connection } };
  return connection.problem?.status === 401 ? sessionOver(next) : next;
}
