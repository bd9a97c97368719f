// The Sequence view: who called whom, one message per row, windowed; heads stay in sight.
import { h } from "../h.js";
import { attr, table } from "../safe.js";
import { messageClass, sequenceColumns, sequenceMessages, toMermaid } from "../derive/sequence.js";
import { duration } from "../format.js";
import { Copy, StageScrolled } from "../actions.js";
import { shownOutcome } from "../derive/outcome.js";
import { isOver, shownModel } from "../state.js";
import { windowOf } from "./activity.js";
import { Button, Empty, scrolled } from "./parts.js";

const ROW = 34;
const COLUMN = 168;
const cache = { model: null, version: null, columns: [], messages: [] };

function messagesOf(state) {
  const model = shownModel(state);
  const version = `${state.run.version}|${state.route.at ?? ""}|${state.run.id}`;
  if (cache.model !== model || cache.version !== version) {
    const columns = sequenceColumns(model, state.labels);
    Object.assign(cache, { model, version, columns, messages: sequenceMessages(model, columns) });
  }
  return cache;
}

export function Sequence(state) {
  const { columns, messages } = messagesOf(state);
  if (messages.length === 0) return h("div", { class: "sequence" }, Empty(isOver(state) ? "No messages" : "No messages yet"));
  const [first, last] = windowOf(state.stageScroll?.top ?? 0, state.stageScroll?.height ?? 600, messages.length, ROW);
  const width = columns.length * COLUMN;
  return h(
    "div",
    { class: "sequence", onscroll: [StageScrolled, scrolled], tabindex: "0", role: "region", "aria-label": "Sequence" },
    [
      h("div", { class: "seq-heads", key: "heads", style: { width: `${width}px` } }, [
        ...columns.map((column, index) =>
          h(
            "div",
            {
              class: "seq-head",
              key: column.id,
              style: { left: `${index * COLUMN}px`, width: `${COLUMN}px` },
              ...headTarget(column.id),
            },
            column.label,
          ),
        ),
      ]),
      h(
        "svg",
        {
          class: "seq-svg",
          key: "svg",
          width,
          height: messages.length * ROW + 20,
          viewBox: `0 0 ${width} ${messages.length * ROW + 20}`,
        },
        [
          ...columns.map((column, index) =>
            h("path", {
              class: "seq-lifeline",
              key: column.id,
              d: `M${center(index)} ${first * ROW}V${last * ROW + 20}`,
            }),
          ),
          ...messages.slice(first, last).map((message, index) => Message(state, message, first + index)),
        ],
      ),
      h(
        "div",
        { class: "seq-tools", key: "tools" },
        Button({
          action: [Copy, toMermaid(columns, messages, state.labels, shownModel(state).run)],
          icon: "copy",
          label: "Copy as Mermaid",
          small: true,
        }),
      ),
    ],
  );
}

const headTarget = (id) =>
  id.startsWith("role:") ? { "data-role": attr(id.slice(5)) } : { "data-participant": attr(id) };
const center = (index) => index * COLUMN + COLUMN / 2;

function Message(state, message, index) {
  const { operation, from, to, returning } = message;
  const y = index * ROW + 24;
  const on = operation.id === state.route.op;
  const label =
    operation.kind === "tool" ? state.labels.participant(operation.destination) : state.labels.kind(operation.kind);
  const title = `${state.labels.participant(operation.source)} → ${state.labels.participant(operation.destination)}: ${label}`;
  const [a, b] = [center(from), center(to)];
  const way = Math.sign(b - a);
  const path = from === to ? `M${a} ${y - 7}h34v14h-26` : `M${a} ${y}H${b - way * 7}`;
  const box =
    table({ active: "seq-node--active", error: "seq-node--error", success: "seq-node--success" })[
      shownOutcome(operation, shownModel(state).run)
    ] ?? "";
  return h(
    "g",
    {
      key: `${operation.id}${returning ? "r" : ""}`,
      class: ["seq-message", messageClass(message, shownModel(state).run), returning && "seq-message--back", on && "is-active"].filter(
        Boolean,
      ),
      "data-operation": attr(operation.id),
    },
    [
      h("rect", {
        class: "seq-hit",
        key: "hit",
        x: Math.min(a, b),
        y: y - ROW / 2,
        width: Math.max(Math.abs(b - a), 120),
        height: ROW,
      }),
      h("path", { class: "seq-line", key: "line", d: path }, h("title", {}, title)),
      h("path", {
        class: "seq-head-mark",
        key: "mark",
        d:
          from === to
            ? `M${a + 12} ${y + 3}l-6 4 6 4`
            : `M${b - way * 13} ${y - 4.5}L${b - way * 6} ${y}l${-way * 7} 4.5`,
      }),
      h(
        "rect",
        { class: ["seq-node", box].filter(Boolean), key: "node", x: a - 4, y: y - 6, width: 8, height: 12, rx: 2 },
        h("title", {}, title),
      ),
      !returning &&
        h(
          "text",
          {
            key: "text",
            class: "seq-text",
            x: from === to ? a + 42 : (a + b) / 2,
            y: from === to ? y + 4 : y - 6,
            "text-anchor": from === to ? "start" : "middle",
          },
          label,
        ),
      returning &&
        h(
          "text",
          { key: "text", class: "seq-text seq-text--back", x: (a + b) / 2, y: y - 6, "text-anchor": "middle" },
          duration(operation.metrics.elapsedSeconds),
        ),
    ],
  );
}
