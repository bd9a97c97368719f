// The raw stream: one row per seq, fetched page by page where one looks; what is missing or unreadable has its row too.
import { h } from "../h.js";
import { prettyJson, recordOf, text } from "../safe.js";
import { timeOfDay } from "../format.js";
import { EVENT_ROW_PX, EventsScrolled, PAGE_EVENTS, Select } from "../actions.js";
import { shownModel } from "../state.js";
import { windowOf } from "./activity.js";
import { Empty, scrolled } from "./parts.js";

export function Events(state) {
  const { top, height, pages } = state.events;
  const { run } = shownModel(state);
  const [first, last] = windowOf(top, height, run.lastSeq, EVENT_ROW_PX);
  if (run.lastSeq === 0) return h("div", { class: "events" }, Empty("No events yet"));
  const rows = [];
  for (let seq = first + 1; seq <= last; seq += 1) rows.push(Row(state, seq, run, pages));
  return h(
    "div",
    { class: "events", onscroll: [EventsScrolled, scrolled], tabindex: "0", role: "region", "aria-label": "Events" },
    [h("div", { class: "events-space", style: { height: `${run.lastSeq * EVENT_ROW_PX}px` } }, rows)],
  );
}

function Row(state, seq, run, pages) {
  const page = pages.get(Math.floor((seq - 1) / PAGE_EVENTS));
  const event = page?.find((one) => one.seq === seq);
  const bad = page?.filter((one) => one.type === "unreadable" && one.after === seq) ?? [];
  const place = { key: String(seq), style: { top: `${(seq - 1) * EVENT_ROW_PX}px` } };
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
      bad.length > 0 &&
        h(
          "span",
          { class: "chip chip--warn", title: bad.map((one) => text(one.text, 200)).join(" | ") },
          `${bad.length} unreadable after this`,
        ),
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
