// The Flow graph: SVG of roles, tools and the human. Labels are text nodes; what moves is CSS on classes of ours.
import { h, Lazy } from "../h.js";
import { attr, text } from "../safe.js";
import { edgeBetween, layoutGraph } from "../derive/graph.js";
import { edgeStats } from "../derive/edges.js";
import { count, money } from "../format.js";
import { IconIn } from "./icons.js";
import { Empty } from "./parts.js";

const layouts = new WeakMap();

/** Places are worked out once per declared Guild; a participant nobody declared adds itself. */
function layoutOf(model, vertical) {
  const known = layouts.get(model.run.roles);
  const size = model.participants.size;
  if (known !== undefined && known.size === size && known.vertical === vertical) return known.layout;
  const layout = layoutGraph(
    model.run,
    [...model.participants.values()].filter((one) => one.kind !== "tools"),
    vertical,
  );
  layouts.set(model.run.roles, { size, vertical, layout });
  return layout;
}

/** The graph of a model. `chosen` is an operation id, `over` says that the Run has ended. */
export const Flow = ({ model, version, labels, chosen, vertical, over }) =>
  Lazy({ view: FlowGraph, model, version, labels, chosen, vertical, over });

function FlowGraph({ model, labels, chosen, vertical, over }) {
  if (model.participants.size === 0) {
    const words = over
      ? Empty("Nobody took part", "The run ended before any of a Guild's roles began to work.")
      : Empty("The Guild appears here", "The graph is drawn as soon as the run says who takes part.");
    return h("div", { class: "flow" }, words);
  }
  const layout = layoutOf(model, vertical);
  const stats = edgeStats(model);
  const moving = movingPairs(model);
  const selected = model.operations.get(chosen);
  return h("div", { class: "flow" }, [
    h(
      "svg",
      {
        class: "flow-svg",
        viewBox: `0 0 ${layout.width} ${layout.height}`,
        role: "group",
        "aria-label": "Who works with whom",
        style: { "--flow-width": `${layout.width}px` },
      },
      [
        h(
          "g",
          { class: "edges" },
          allEdges(layout, stats, vertical).map((edge) => Edge(edge, stats, moving, selected)),
        ),
        h(
          "g",
          { class: "nodes" },
          layout.nodes.map((node) => Node(node, model, labels, selected, over)),
        ),
      ],
    ),
  ]);
}

// Declared pairs first; pairs that only happened (a question, say) follow, so nothing declared ever moves.
function allEdges(layout, stats, vertical) {
  const seen = new Set(layout.edges.map((edge) => edge.id));
  const nodes = new Map(layout.nodes.map((node) => [node.id, node]));
  const more = [];
  for (const { source, destination } of stats.values()) {
    const known = seen.has(`${source}>${destination}`) || seen.has(`${destination}>${source}`);
    if (known || source === destination || !nodes.has(source) || !nodes.has(destination)) continue;
    seen.add(`${source}>${destination}`);
    more.push(edgeBetween(nodes.get(source), nodes.get(destination), vertical, layout.nodes));
  }
  return [...layout.edges, ...more];
}

// What moves is where the work is: open operations that wait for no operation of their own.
function movingPairs(model) {
  const parents = new Set();
  for (const operation of model.open.values()) parents.add(operation.parent);
  const pairs = new Set();
  for (const operation of model.open.values())
    if (!parents.has(operation.id)) pairs.add(`${operation.source}>${operation.destination}`);
  return pairs;
}

function Edge(edge, stats, moving, selected) {
  const there = stats.get(`${edge.from}>${edge.to}`);
  const back = stats.get(`${edge.to}>${edge.from}`);
  const calls = (there?.count ?? 0) + (back?.count ?? 0);
  const on =
    selected !== undefined &&
    [`${edge.from}>${edge.to}`, `${edge.to}>${edge.from}`].includes(`${selected.source}>${selected.destination}`);
  const open = (there?.active ?? 0) + (back?.active ?? 0) > 0;
  const state = moving.has(`${edge.from}>${edge.to}`)
    ? "active"
    : moving.has(`${edge.to}>${edge.from}`)
      ? "returning"
      : open
        ? "open"
        : calls > 0
          ? "used"
          : "idle";
  const failed = (there?.errors ?? 0) + (back?.errors ?? 0) > 0;
  const operation = there?.lastOp || back?.lastOp || "";
  return h(
    "g",
    {
      key: edge.id,
      class: ["graph-edge", `graph-edge--${state}`, failed && "graph-edge--error", on && "graph-edge--selected"].filter(
        Boolean,
      ),
      ...(operation ? { "data-operation": attr(operation) } : {}),
    },
    [
      h("path", { class: "edge-hit", d: edge.path }),
      h("path", { class: "edge-line", d: edge.path }),
      calls > 1 &&
        h("g", { class: "edge-count", transform: `translate(${edge.labelX} ${edge.labelY})` }, [
          h("rect", { x: -15, y: -9, width: 30, height: 18, rx: 9 }),
          h("text", { "text-anchor": "middle", y: 4 }, count(calls)),
        ]),
    ],
  );
}

function Node(node, model, labels, selected, over) {
  const one = model.participants.get(node.id);
  const active = isActive(one, model);
  const touched = (one?.invocations ?? 0) > 0;
  const on = selected !== undefined && (selected.source === node.id || selected.destination === node.id);
  const classes = [
    "graph-node",
    `graph-node--${node.kind}`,
    active && "graph-node--active",
    touched ? "graph-node--used" : "graph-node--idle",
    on && "graph-node--selected",
  ].filter(Boolean);
  const target = node.role ? { "data-role": attr(node.role) } : { "data-participant": attr(node.id) };
  const label = labels.participant(node.id);
  return h(
    "g",
    {
      key: node.id,
      class: classes,
      ...target,
      transform: `translate(${node.x} ${node.y})`,
      tabindex: "0",
      role: "button",
    },
    [
      active &&
        h("rect", { class: "node-pulse", key: "pulse", x: -5, y: -5, width: node.w + 10, height: node.h + 10, rx: 15 }),
      h("rect", { class: "node-box", key: "box", width: node.w, height: node.h, rx: node.kind === "tool" ? 9 : 12 }),
      ...(node.kind === "tool" ? ToolFace(node, one, label) : RoleFace(node, one, label, sublabel(one, node, active, over))),
    ],
  );
}

// A role works while a call of its own is open, not merely while it waits for those it asked.
function isActive(one, model) {
  if (one === undefined) return false;
  if (one.kind === "tool") return one.active > 0;
  for (const operation of model.open.values()) {
    if (operation.kind === "model" && operation.source === one.id) return true;
    if (one.kind === "human" && (operation.kind === "question" || operation.kind === "approval")) return true;
  }
  return false;
}

const fitting = (label, chars) => (label.length > chars ? `${label.slice(0, chars - 1)}…` : label);

function ToolFace(node, one, label) {
  const calls = one?.invocations ?? 0;
  return [
    IconIn("tool", 11, 10, 14),
    h("text", { class: "node-label", x: 32, y: 22 }, fitting(label, calls > 0 ? 14 : 17)),
    calls > 0 && h("text", { class: "node-counter", x: node.w - 10, y: 22, "text-anchor": "end" }, count(calls)),
  ];
}

function RoleFace(node, one, label, sub) {
  const middle = node.h / 2;
  return [
    h("circle", { class: "node-disc", cx: 30, cy: middle, r: 17 }),
    IconIn(node.kind, 21, middle - 9, 18),
    h(
      "text",
      { class: "node-label", x: 56, y: sub ? middle - 3 : middle + 5 },
      fitting(label, node.kind === "human" ? 10 : 15),
    ),
    sub !== "" && h("text", { class: "node-sub", x: 56, y: middle + 15 }, fitting(sub, 20)),
  ];
}

function sublabel(one, node, active, over) {
  const calls = one?.invocations ?? 0;
  if (node.kind === "human") return active ? "asked" : calls > 0 ? `asked ×${count(calls)}` : "";
  if (node.kind === "handler" && calls === 0) return over ? "never woken" : "watching";
  const { metrics } = one ?? {};
  if (!metrics || metrics.tokens + metrics.outputTokens === 0) {
    if (active) return "working";
    return calls > 0 ? `called ×${count(calls)}, no tokens` : over ? "not called" : "not called yet";
  }
  return `${count(metrics.tokens + metrics.outputTokens)} tok · ${money(metrics.costMicroUSD)}`;
}

/** What the pointer is over, for the inspector: {kind, id, x, y} or null. */
export function targetOf(event) {
  const found = event.target.closest?.("[data-operation],[data-participant],[data-role]");
  if (!found) return null;
  const box = found.getBoundingClientRect();
  const at = { x: box.right, y: box.top, left: box.left, bottom: box.bottom };
  const { operation, participant, role } = found.dataset;
  if (operation) return { kind: "operation", id: text(operation, 20), ...at };
  return role
    ? { kind: "role", id: text(role, 80), ...at }
    : { kind: "participant", id: text(participant, 120), ...at };
}
