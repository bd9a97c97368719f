// The raw events, page by page where one looks.
import { runPath } from "../api.js";
import { request } from "../effects.js";
import { placed, seqAt } from "../derive/event-rows.js";
import { cut, listOf, recordOf } from "../safe.js";
import { shownModel, watchedRun } from "../state.js";
import { problemText, refusedOr, toast } from "./problems.js";
import { forWatched } from "./watched.js";

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
  const rows = placed(state.events.rows, last);
  const pageAt = (px) => Math.floor((seqAt(rows, Math.floor(px / EVENT_ROW_PX)) - 1) / PAGE_EVENTS);
  const [from, to] = [pageAt(top), pageAt(top + height)];
  const effects = [];
  for (let page = from; page <= to; page += 1) {
    if (page * PAGE_EVENTS >= last || pages.has(page) || loading.has(page)) continue;
    loading.add(page);
    const path = runPath(state.route.runId, "/events", state.route.uid, {
      after: page * PAGE_EVENTS,
      limit: PAGE_EVENTS,
    });
    effects.push(request("GET", path, EventPageAnswered, { tag: { ...watchedRun(state), page } }));
  }
  return effects;
}

export const EventPageAnswered = forWatched((state, answer) => {
  const { pages: known, loading } = state.events;
  const { page } = answer.tag;
  loading.delete(page);
  if (!answer.ok) return refusedOr(state, answer, { ...state, toast: toast("bad", problemText(answer.problem)) });
  const pages = new Map(known);
  const limit = (page + 1) * PAGE_EVENTS;
  pages.set(
    page,
    listOf(answer.data.events)
      .map(recordOf)
      .filter((event) => event.seq <= limit),
  );
  for (const oldest of pages.keys()) {
    if (pages.size <= PAGES_KEPT) break;
    pages.delete(oldest);
  }
  const rows = longer(state.events.rows, listOf(answer.data.unreadable).map(readRow));
  return { ...state, events: { ...state.events, pages, rows, version: state.events.version + 1 } };
});

const ROWS_MAX_COUNT = 1000;

// Every answer names the rows from the log's beginning on: whoever knows more of them knows the others too.
const longer = (known, told) => (told.length > known.length ? told.slice(0, ROWS_MAX_COUNT) : known);

const count = (value) => (Number.isSafeInteger(value) && value >= 0 ? value : 0);

/** An unreadable line as plain data. */
function readRow(value) {
  const { after, reason, bytes, text } = recordOf(value);
  return { after: count(after), reason: cut(reason, 200), bytes: count(bytes), text: cut(text, 2000) };
}

/** The rows with those among `events`. Pure. */
export function rowsWith(rows, events) {
  const fresh = events.filter((event) => event.type === "unreadable").map(readRow);
  return fresh.length === 0 ? rows : [...rows, ...fresh].slice(0, ROWS_MAX_COUNT);
}
