// The raw stream: one row per seq, fetched page by page where one looks; what is missing or unreadable has its row too.
import { h } from "../h.js";
import { prettyJson, recordOf, text } from "../safe.js";
import { timeOfDay } from "../format.js";
import { EVENT_ROW_PX, EventsScrolled, PAGE_EVENTS, Select } from "../actions.js";
import { shownModel } from "../state.js";
import { placed, rowAt } from "../derive/event-rows.js";
import { windowOf } from "./activity.js";
import { Empty, scrolled } from "./parts.js";

export function Events(state) {
  const { top, height, pages } = state.events;
  const { run } = shownModel(state);
  const bad = placed(state.events.rows, run.lastSeq);
  const total = run.lastSeq + bad.length;
  const [first, last] = windowOf(top, height, total, EVENT_ROW_PX);
  if (total === 0) return h("div", { class: "events" }, Empty("No events yet"));
  const rows = [];
  for (let index = first; index < last; index += 1) {
    const { seq, row, nth } = rowAt(bad, index);
    rows.push(row ? Unreadable(row, nth, index) : Row(state, seq, index, run, pages));
  }
  return h(
    "div",
    { class: "events", onscroll: [EventsScrolled, scrolled], tabindex: "0", role: "region", "aria-label": "Events" },
    [h("div", { class: "events-space", style: { height: `${total * EVENT_ROW_PX}px` } }, rows)],
  );
}

// Bytes on the executor's output that are no event: shown where they stood, as text and nothing else.
const Unreadable = ({ reason, bytes, text: said }, nth, index) =>
  h(
    "div",
    { key: `bad${nth}`, style: { top: `${index * EVENT_ROW_PX}px` }, class: "event-row event-row--unreadable" },
    [
      h("span", { class: "event-seq" }, "–"),
      h("span", { class: "event-bytes" }, `${bytes.toLocaleString("en")} B`),
      h("span", { class: "event-type" }, "unreadable"),
      h("span", { class: "event-text", title: text(said, 500) }, `${text(reason, 200)}: ${text(said, 300)}`),
    ],
  );

function Row(state, seq, index, run, pages) {
  const page = pages.get(Math.floor((seq - 1) / PAGE_EVENTS));
  const event = page?.find((one) => one.seq === seq);
  const place = { key: String(seq), style: { top: `${index * EVENT_ROW_PX}px` } };
  const number = h("span", { class: "event-seq" }, String(seq));
  if (event === undefined) {
    const missing = page !== undefined || run.gaps.some((gap) => seq >= gap.first && seq <= gap.last);
    return h("div", { ...place, class: ["event-row", missing ? "event-row--missing" : "event-row--loading"] }, [
      number,
      h("span", {}, missing ? "missing: this event never arrived" : "…"),
    ]);
  }
  return h(
    "div",
    {
      ...place,
      class: ["event-row", event.op === state.route.op && event.op && "is-active"].filter(Boolean),
      onclick: [Select, event.op ?? ""],
      ...(event.op ? { "data-operation": text(event.op, 20) } : {}),
    },
    [
      number,
      h("time", {}, timeOfDay(event.ts)),
      h("span", { class: "event-type" }, text(event.type, 64)),
      h("span", { class: "event-text" }, describe(event)),
    ],
  );
}

const HIDDEN_FIELDS = new Set(["v", "run", "attempt", "seq", "ts", "type"]);

/** An event's own fields on one line, bounded; data, not prose. */
function describe(event) {
  const rest = Object.fromEntries(Object.entries(recordOf(event)).filter(([name]) => !HIDDEN_FIELDS.has(name)));
  return text(JSON.stringify(rest), 400).replace(/[\n\t]+/g, " ");
}

/** One event whole, for the panel. */
export const EventJson = (event) => h("pre", { class: "data data--json" }, prettyJson(event) ?? "");
