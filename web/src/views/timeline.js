// The Timeline view: spans by who worked, with idle time squeezed out and said so.
import { h } from "../h.js";
import { attr, table } from "../safe.js";
import { MoveTimeline, TIMELINE_MAX_STEPS } from "../actions.js";
import { deriveTimeline, timelineWindow } from "../derive/timeline.js";
import { duration, msOf, plural } from "../format.js";
import { shownModel } from "../state.js";
import { Button, Empty } from "./parts.js";

const LANE = 74;
const SPAN_ROWS = table({ delegation: 0, model: 1, tool: 2, question: 2, approval: 2, inquiry: 1, interrupt: 1 });

export function Timeline(state) {
  const model = shownModel(state);
  const { list } = model;
  const chosen = state.route.op ? list.indexOf(model.operations.get(state.route.op)) : -1;
  const { first, last } = timelineWindow(list.length, state.timeline.to, chosen, TIMELINE_MAX_STEPS);
  const { spans, lanes, breaks, totalMs } = deriveTimeline(list.slice(first, last), state.nowMs, msOf);
  if (spans.length === 0) return h("div", { class: "timeline" }, Empty("Nothing has taken time yet"));
  return h("div", { class: "timeline", tabindex: "0", role: "region", "aria-label": "Timeline" }, [
    h("div", { class: "timeline-note", key: "note" }, [
      h(
        "p",
        { class: "hint" },
        `${duration(totalMs / 1000)} in which a step was going on` +
          (breaks.length > 0 ? `; idle time squeezed in ${plural(breaks.length, "place")}` : ""),
      ),
      list.length > TIMELINE_MAX_STEPS && Pages(list.length, first, last),
    ]),
    h("div", { class: "timeline-plane", key: "plane", style: { height: `${lanes.length * LANE + 8}px` } }, [
      ...lanes.map((lane, index) =>
        h(
          "div",
          { class: "lane", key: `lane-${lane}`, style: { top: `${index * LANE}px`, height: `${LANE}px` } },
          h("span", { class: "lane-label" }, state.labels.participant(lane)),
        ),
      ),
      ...breaks.slice(0, 200).map((one, index) =>
        h("div", {
          class: "idle",
          key: `idle${index}`,
          title: `${duration(one.ms / 1000)} idle`,
          style: { left: `${one.at * 100}%` },
        }),
      ),
      ...spans.map((span) => Span(state, span)),
    ]),
  ]);
}

const number = (value) => value.toLocaleString("en");

/** Through a long run window by window; the newest one follows the run. */
const Pages = (total, first, last) =>
  h("div", { class: "timeline-pages", role: "group", "aria-label": "Which steps" }, [
    Button({ action: [MoveTimeline, first], label: "Earlier", small: true, disabled: first === 0 }),
    h("span", { class: "hint" }, `steps ${number(first + 1)}–${number(last)} of ${number(total)}`),
    Button({ action: [MoveTimeline, last + TIMELINE_MAX_STEPS], label: "Later", small: true, disabled: last >= total }),
    Button({ action: [MoveTimeline, null], label: "Newest", small: true, disabled: last >= total }),
  ]);

function Span(state, { operation, left, width, lane }) {
  const { labels } = state;
  const label = operation.kind === "tool" ? labels.participant(operation.destination) : labels.kind(operation.kind);
  const on = operation.id === state.route.op;
  const top = lane * LANE + 22 + (SPAN_ROWS[operation.kind] ?? 1) * 16;
  return h(
    "div",
    {
      key: operation.id,
      class: ["span", `span--${operation.kind}`, `span--${operation.outcome}`, on && "is-active"].filter(Boolean),
      "data-operation": attr(operation.id),
      style: { left: `${left * 100}%`, width: `max(3px, ${width * 100}%)`, top: `${top}px` },
      title: `${label}, ${duration(operation.metrics.elapsedSeconds)}`,
    },
    width > 0.08 ? h("span", {}, label) : "",
  );
}
