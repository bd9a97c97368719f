// The Flow graph's geometry: the whole Guild, placed before anything runs. Deterministic, so nodes never move.

const SIZE = {
  human: { w: 164, h: 60 },
  role: { w: 188, h: 72 },
  handler: { w: 188, h: 60 },
  tool: { w: 168, h: 34 },
  tools: { w: 168, h: 34 },
};
const NARROW = {
  human: { w: 164, h: 56 },
  role: { w: 172, h: 64 },
  handler: { w: 172, h: 56 },
  tool: { w: 164, h: 34 },
  tools: { w: 164, h: 34 },
};
const GAP = { layer: 104, row: 26, tool: 10 };
const NARROW_LAYER = 56;
const MARGIN = 24;
const TOOLS_PER_COLUMN = 10;
const TOOLS_PER_ROW = 2;
const sizeOf = (kind, vertical) => (vertical ? NARROW : SIZE)[kind];

/**
 * {nodes, edges, width, height}. Nodes: {id, kind, role, x, y, w, h}; edges: {id, from, to, path, labelX, labelY}.
 * Takes a model's run (roles as declared) and its participants; ids unknown to the roles are added at the end. Pure.
 */
export function layoutGraph(run, participants, vertical = false) {
  const layers = layersOf(run, participants);
  const size = placed(layers, vertical);
  const byId = new Map(size.nodes.map((node) => [node.id, node]));
  const edges = declaredEdges(run)
    .filter(([from, to]) => byId.has(from) && byId.has(to))
    .map(([from, to]) => edgeBetween(byId.get(from), byId.get(to), vertical, size.nodes));
  return { ...size, edges };
}

function layersOf(run, participants) {
  const faces = new Map(run.roles.map((face) => [face.name, face]));
  const depth = depthsOf(run, faces);
  const roles = [];
  const handlers = [];
  const tools = [];
  for (const one of participants) {
    if (one.kind === "handler") handlers.push(one);
    else if (one.kind === "role") (roles[depth.get(one.role) ?? 0] ??= []).push(one);
    else if (one.kind === "tool") tools.push(one);
  }
  return { human: participants.filter((one) => one.kind === "human"), roles: roles.filter(Boolean), handlers, tools };
}

// Breadth first from the entry role; a role nobody delegates to stands in the first layer.
function depthsOf(run, faces) {
  const depth = new Map();
  let wave = run.entryRole && faces.has(run.entryRole) ? [run.entryRole] : [];
  for (let level = 0; wave.length > 0; level += 1) {
    for (const name of wave) depth.set(name, level);
    const next = wave.flatMap((name) => faces.get(name)?.delegates ?? []);
    wave = [...new Set(next)].filter((name) => faces.has(name) && !depth.has(name));
  }
  return depth;
}

function placed({ human, roles, handlers, tools }, vertical) {
  const columns = [human, ...roles]
    .filter((column) => column.length > 0)
    .map((column) => ({ items: column, gap: GAP.row }));
  const perBand = vertical ? TOOLS_PER_ROW : TOOLS_PER_COLUMN;
  const layerGap = vertical ? NARROW_LAYER : GAP.layer;
  for (let at = 0; at < tools.length; at += perBand) {
    columns.push({ items: tools.slice(at, at + perBand), gap: GAP.tool, tight: at > 0 });
  }
  const spans = columns.map(({ items, gap }) => items.reduce((sum, one) => sum + across(one, vertical) + gap, -gap));
  const widest = Math.max(0, ...spans);
  const nodes = [];
  let along = MARGIN;
  columns.forEach(({ items, gap, tight }, index) => {
    if (tight) along -= layerGap - (vertical ? 10 : 28);
    let at = MARGIN + (widest - spans[index]) / 2;
    const deepest = Math.max(...items.map((one) => lengthwise(one, vertical)));
    for (const one of items) {
      nodes.push(nodeAt(one, vertical ? at : along, vertical ? along : at, vertical));
      at += across(one, vertical) + gap;
    }
    along += deepest + layerGap;
  });
  const base = { nodes, width: 0, height: 0 };
  return withHandlers(bounded(base), handlers, vertical);
}

const across = (one, vertical) => sizeOf(one.kind, vertical)[vertical ? "w" : "h"];
const lengthwise = (one, vertical) => sizeOf(one.kind, vertical)[vertical ? "h" : "w"];
const nodeAt = (one, x, y, vertical) => ({
  id: one.id,
  kind: one.kind,
  role: one.role ?? "",
  x,
  y,
  ...sizeOf(one.kind, vertical),
});

function bounded(size) {
  const right = Math.max(200, ...size.nodes.map((node) => node.x + node.w));
  const bottom = Math.max(120, ...size.nodes.map((node) => node.y + node.h));
  return { ...size, width: right + MARGIN, height: bottom + MARGIN };
}

// Handlers watch over the others: a lane of their own below.
function withHandlers(size, handlers, vertical) {
  if (handlers.length === 0) return size;
  let x = vertical ? MARGIN : MARGIN + SIZE.human.w + GAP.layer;
  const y = size.height + 12;
  const nodes = handlers.map((one) => {
    const node = nodeAt(one, x, y, vertical);
    x += sizeOf("handler", vertical).w + GAP.row;
    return node;
  });
  return bounded({ ...size, nodes: [...size.nodes, ...nodes] });
}

const OPERATION_TOOLS = new Set(["delegate", "ask_human", "update_plan", "finish", "trigger_interrupt"]);

/** Pairs of participant ids that the Guild declares, in the Guild's order. */
function declaredEdges(run) {
  const pairs = run.entryRole ? [["human", `role:${run.entryRole}`]] : [];
  for (const face of run.roles) {
    for (const to of face.delegates ?? []) pairs.push([`role:${face.name}`, `role:${to}`]);
    for (const tool of face.tools) if (!OPERATION_TOOLS.has(tool)) pairs.push([`role:${face.name}`, `tool:${tool}`]);
  }
  return pairs;
}

/** A straight anchor-to-anchor cubic between two nodes, arched over those that stand between. Pure. */
export function edgeBetween(from, to, vertical = false, nodes = []) {
  const a = anchor(from, to, vertical);
  const b = anchor(to, from, vertical);
  const reach = Math.max(28, (vertical ? Math.abs(b.y - a.y) : Math.abs(b.x - a.x)) / 2);
  const [ca, cb] = [bent(a, reach), bent(b, reach)];
  const axis = vertical ? "x" : "y";
  const arch = archOver(
    a,
    b,
    nodes.filter((node) => node !== from && node !== to),
    vertical,
  );
  if (arch !== null) {
    const along = vertical ? "y" : "x";
    const span = b[along] - a[along];
    Object.assign(ca, { [axis]: arch, [along]: a[along] + span * 0.08 });
    Object.assign(cb, { [axis]: arch, [along]: b[along] - span * 0.3 });
  }
  const n = (value) => Math.round(value * 10) / 10;
  return {
    id: `${from.id}>${to.id}`,
    from: from.id,
    to: to.id,
    path: `M${n(a.x)} ${n(a.y)}C${n(ca.x)} ${n(ca.y)} ${n(cb.x)} ${n(cb.y)} ${n(b.x)} ${n(b.y)}`,
    labelX: n((a.x + 3 * ca.x + 3 * cb.x + b.x) / 8),
    labelY: n((a.y + 3 * ca.y + 3 * cb.y + b.y) / 8),
  };
}

// Where the middle of the curve must pull to so that it clears every node between the two ends; null when none is.
function archOver(a, b, nodes, vertical) {
  const [along, side, length, breadth] = vertical ? ["y", "x", "h", "w"] : ["x", "y", "w", "h"];
  const [low, high] = [Math.min(a[along], b[along]), Math.max(a[along], b[along])];
  const between = nodes.filter((node) => node[along] > low && node[along] + node[length] < high);
  if (between.length === 0) return null;
  const straight = (a[side] + b[side]) / 2;
  const near = Math.min(...between.map((node) => node[side])) - 16;
  const far = Math.max(...between.map((node) => node[side] + node[breadth])) + 16;
  if (straight < near || straight > far) return null;
  const clear = straight - near < far - straight ? near : far;
  return (8 * clear - a[side] - b[side]) / 6;
}

const bent = ({ x, y, dx, dy }, reach) => ({ x: x + dx * reach, y: y + dy * reach });

function anchor(node, other, vertical) {
  const [cx, cy] = [node.x + node.w / 2, node.y + node.h / 2];
  const [ox, oy] = [other.x + other.w / 2, other.y + other.h / 2];
  const apart = vertical ? Math.abs(oy - cy) > 60 : Math.abs(ox - cx) > 100;
  const sideways = vertical ? !apart : apart;
  if (sideways) return ox > cx ? { x: node.x + node.w, y: cy, dx: 1, dy: 0 } : { x: node.x, y: cy, dx: -1, dy: 0 };
  return oy > cy ? { x: cx, y: node.y + node.h, dx: 0, dy: 1 } : { x: cx, y: node.y, dx: 0, dy: -1 };
}
