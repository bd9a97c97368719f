// Timeline geometry: spans of operations on a time axis from which idle stretches have been squeezed.

const IDLE_KEPT_MS = 1000;
const KINDS = new Set(["delegation", "model", "tool", "question", "approval", "inquiry", "interrupt"]);

/**
 * Which of `total` steps a timeline shows: {first, last} of at most `most`, ending at `to` (null: the newest), moved so
 * that step `chosen` (-1: none) is among them while nobody has moved it. Pure.
 */
export function timelineWindow(total, to, chosen, most) {
  const newest = { first: Math.max(0, total - most), last: total };
  if (to !== null) {
    const last = Math.min(total, Math.max(Math.min(most, total), to));
    return { first: Math.max(0, last - most), last };
  }
  if (chosen < 0 || chosen >= newest.first) return newest;
  const last = Math.min(total, Math.max(most, chosen + Math.floor(most / 2)));
  return { first: Math.max(0, last - most), last };
}

/**
 * {spans, lanes, breaks}: a span is {operation, left, width, lane} with fractions of 0..1; lanes are source labels in
 * order of first use; breaks are {at, ms} where time was squeezed. `nowMs` ends what is still open. Pure.
 */
export function deriveTimeline(list, nowMs, msOf) {
  const timed = [];
  for (const operation of list) {
    const start = msOf(operation.startedAt);
    if (!KINDS.has(operation.kind) || start === null) continue;
    timed.push({ operation, start, end: Math.max(start, msOf(operation.endedAt) ?? nowMs) });
  }
  if (timed.length === 0) return { spans: [], lanes: [], breaks: [], totalMs: 0 };
  const scale = squeezed(
    timed
      .filter((one) => one.operation.kind !== "delegation")
      .concat(timed.filter((one) => one.operation.kind === "delegation").flatMap(edgesOnly)),
  );
  const lanes = [...new Set(timed.map(laneOf))];
  const spans = timed.map((one) => {
    const left = scale.at(one.start);
    return {
      operation: one.operation,
      left,
      width: Math.max(0, scale.at(one.end) - left),
      lane: lanes.indexOf(laneOf(one)),
    };
  });
  return { spans, lanes, breaks: scale.breaks, totalMs: scale.totalMs };
}

const laneOf = ({ operation }) => (operation.kind === "delegation" ? operation.destination : operation.source);
const edgesOnly = ({ operation, start, end }) => [
  { operation, start, end: start },
  { operation, start: end, end },
];

function squeezed(timed) {
  const busy = merged(timed);
  const pieces = [];
  const breaks = [];
  let total = 0;
  busy.forEach(([start, end], index) => {
    const idle = index === 0 ? 0 : start - busy[index - 1][1];
    const kept = Math.min(idle, IDLE_KEPT_MS);
    if (index > 0) {
      pieces.push({ start: busy[index - 1][1], end: start, from: total, length: kept });
      if (idle > kept) breaks.push({ at: total + kept / 2, ms: idle });
      total += kept;
    }
    pieces.push({ start, end, from: total, length: end - start });
    total += end - start;
  });
  const whole = Math.max(1, total);
  return {
    at: (ms) => positionIn(pieces, ms) / whole,
    breaks: breaks.map((one) => ({ ...one, at: one.at / whole })),
    totalMs: total,
  };
}

function positionIn(pieces, ms) {
  let [low, high] = [0, pieces.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pieces[middle].end < ms) low = middle + 1;
    else high = middle;
  }
  const { start, end, from, length } = pieces[low];
  if (end === start) return from;
  return from + (Math.min(Math.max(ms - start, 0), end - start) / (end - start)) * length;
}

function merged(timed) {
  const out = [];
  for (const { start, end } of [...timed].sort((a, b) => a.start - b.start)) {
    const last = out[out.length - 1];
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else out.push([start, end]);
  }
  return out;
}
