// The raw events, page by page where one looks.
import { runPath } from "../api.js";
import { request } from "../effects.js";
import { listOf, recordOf } from "../safe.js";
import { shownModel } from "../state.js";
import { problemText, refusedOr, toast } from "./session.js";

export const EVENT_ROW_PX = 28;
export const PAGE_EVENTS = 100;
const PAGES_KEPT = 60;

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
    const path = runPath(state.route.runId, "/events", state.route.uid, {
      after: page * PAGE_EVENTS,
      limit: PAGE_EVENTS,
    });
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
  pages.set(answer.tag, [
    ...listOf(answer.data.events)
      .map(recordOf)
      .filter((event) => event.seq <= limit),
    ...listOf(answer.data.unreadable).map(recordOf),
  ]);
  for (const oldest of pages.keys()) {
    if (pages.size <= PAGES_KEPT) break;
    pages.delete(oldest);
  }
  return { ...state, events: { ...state.events, pages, version: state.events.version + 1 } };
}
