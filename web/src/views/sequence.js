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
  const copied = toMermaid(columns, messages, state.labels, shownModel(state).run);
  return h(
    "div",
    { class: "sequence", onscroll: [StageScrolled, scrolled], tabindex: "0", role: "region", "aria-label": "Sequence" },
    [
      Heads(columns),
      Diagram(state, columns, messages),
      h(
        "div",
        { class: "seq-tools", key: "tools" },
        Button({ action: [Copy, copied], icon: "copy", label: "Copy as Mermaid", small: true }),
      ),
    ],
  );
}

const Heads = (columns) =>
  h(
    "div",
    { class: "seq-heads", key: "heads", style: { width: `${columns.length * COLUMN}px` } },
    columns.map((column, index) => {
      const style = { left: `${index * COLUMN}px`, width: `${COLUMN}px` };
      return h("div", { class: "seq-head", key: column.id, style, ...headTarget(column.id) }, column.label);
    }),
  );

const headTarget = (id) =>
  id.startsWith("role:") ? { "data-role": attr(id.slice(5)) } : { "data-participant": attr(id) };

function Diagram(state, columns, messages) {
  const { top = 0, height: seen = 600 } = state.stageScroll ?? {};
  const [first, last] = windowOf(top, seen, messages.length, ROW);
  const [width, height] = [columns.length * COLUMN, messages.length * ROW + 20];
  return h("svg", { class: "seq-svg", key: "svg", width, height, viewBox: `0 0 ${width} ${height}` }, [
    ...columns.map((column, index) => {
      const d = `M${center(index)} ${first * ROW}V${last * ROW + 20}`;
      return h("path", { class: "seq-lifeline", key: column.id, d });
    }),
    ...messages.slice(first, last).map((message, index) => Message(state, message, first + index)),
  ]);
}

const center = (index) => index * COLUMN + COLUMN / 2;

function Message(state, message, index) {
  const { operation, returning } = message;
  const { labels } = state;
  const { run } = shownModel(state);
  const line = lineOf(message, index);
  const [source, destination] = [operation.source, operation.destination].map(labels.participant);
  const label = operation.kind === "tool" ? destination : labels.kind(operation.kind);
  const title = `${source} → ${destination}: ${label}`;
  const marks = [returning && "seq-message--back", operation.id === state.route.op && "is-active"];
  return h(
    "g",
    {
      key: `${operation.id}${returning ? "r" : ""}`,
      class: ["seq-message", messageClass(message, run), ...marks].filter(Boolean),
      "data-operation": attr(operation.id),
    },
    [
      Hit(line),
      h("path", { class: "seq-line", key: "line", d: pathOf(line) }, h("title", {}, title)),
      h("path", { class: "seq-head-mark", key: "mark", d: markOf(line) }),
      Terminal(line, BOX[shownOutcome(operation, run)], title),
      !returning && Label(line, label),
      returning && TimeTaken(line, duration(operation.metrics.elapsedSeconds)),
    ],
  );
}

/** Where a message runs: from x `a` to x `b` at height `y`; `self` comes back to where it began. */
function lineOf({ from, to }, index) {
  const [a, b] = [center(from), center(to)];
  return { a, b, y: index * ROW + 24, way: Math.sign(b - a), self: from === to };
}

const pathOf = ({ a, b, y, way, self }) => (self ? `M${a} ${y - 7}h34v14h-26` : `M${a} ${y}H${b - way * 7}`);

const markOf = ({ a, b, y, way, self }) =>
  self ? `M${a + 12} ${y + 3}l-6 4 6 4` : `M${b - way * 13} ${y - 4.5}L${b - way * 6} ${y}l${-way * 7} 4.5`;

/** What the pointer meets: wider and higher than the line. */
const Hit = ({ a, b, y }) =>
  h("rect", {
    class: "seq-hit",
    key: "hit",
    x: Math.min(a, b),
    y: y - ROW / 2,
    width: Math.max(Math.abs(b - a), 120),
    height: ROW,
  });

const BOX = table({ active: "seq-node--active", error: "seq-node--error", success: "seq-node--success" });

const Terminal = ({ a, y }, box, title) =>
  h(
    "rect",
    { class: ["seq-node", box].filter(Boolean), key: "node", x: a - 4, y: y - 6, width: 8, height: 12, rx: 2 },
    h("title", {}, title),
  );

const Label = ({ a, b, y, self }, words) =>
  h(
    "text",
    {
      key: "text",
      class: "seq-text",
      x: self ? a + 42 : (a + b) / 2,
      y: self ? y + 4 : y - 6,
      "text-anchor": self ? "start" : "middle",
    },
    words,
  );

const TimeTaken = ({ a, b, y }, words) =>
  h(
    "text",
    { key: "text", class: "seq-text seq-text--back", x: (a + b) / 2, y: y - 6, "text-anchor": "middle" },
    words,
  );
