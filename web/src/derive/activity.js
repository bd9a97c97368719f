// The event list's rows and the filter over them: role: tool: kind: is:error|active|waiting, and free text.
import { recordOf } from "../safe.js";

/** A filter text as {role, tool, kind, is, words}. Unknown keys are words. Pure. */
export function parseFilter(q) {
  const filter = { role: "", tool: "", kind: "", is: "", words: [] };
  for (const part of String(q ?? "")
    .toLowerCase()
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .slice(0, 20)) {
    const [key, value] = part.split(":", 2);
    if (value !== undefined && ["role", "tool", "kind", "is"].includes(key)) filter[key] = value;
    else filter.words.push(part);
  }
  return filter;
}

export const isEmptyFilter = (filter) =>
  filter.words.length === 0 && !filter.role && !filter.tool && !filter.kind && !filter.is;

/** Whether one operation passes. Labels count as well as ids, so people may type what they see. */
export function matches(operation, filter, labels) {
  const { source, destination, kind, outcome, title } = operation;
  const holds = (needle, ...values) =>
    values.some((value) =>
      String(value ?? "")
        .toLowerCase()
        .includes(needle),
    );
  if (
    filter.role &&
    !holds(filter.role, ...sideNames(source, "role", labels), ...sideNames(destination, "role", labels))
  )
    return false;
  if (filter.tool && !holds(filter.tool, ...sideNames(destination, "tool", labels))) return false;
  if (filter.kind && !holds(filter.kind, kind)) return false;
  if (filter.is === "error" && outcome !== "error") return false;
  if (filter.is === "active" && outcome !== "active") return false;
  if (filter.is === "waiting" && (outcome !== "active" || (kind !== "question" && kind !== "approval"))) return false;
  return filter.words.every((word) =>
    holds(
      word,
      title,
      kind,
      labels.participant(source),
      labels.participant(destination),
      operation.details,
      operation.result,
    ),
  );
}

const sideNames = (id, kind, labels) =>
  id.startsWith(`${kind}:`) ? [id.slice(kind.length + 1), labels.participant(id)] : [];

// Plumbing that the header and the graph already show: no rows of their own unless somebody asks for them.
const QUIET = new Set(["task"]);

/**
 * The rows of the list: {rows, total, hits}. `only` hides what does not match, otherwise rows carry `hit`.
 * `upTo` (a seq) hides what had not begun by then.
 */
export function activityRows(model, filter, labels, { only = false, upTo = null } = {}) {
  const empty = isEmptyFilter(filter);
  const rows = [];
  let hits = 0;
  const key = JSON.stringify(filter);
  for (const operation of model.list) {
    if (upTo !== null && operation.firstSeq > upTo) break;
    if (QUIET.has(operation.kind) && empty) continue;
    const hit = empty || remembered(operation, key, () => matches(operation, filter, labels));
    if (hit) hits += 1;
    if (hit || !only) rows.push({ operation, hit });
  }
  return { rows, total: stepCount(model), hits };
}

/** How many steps a model has, counted as the list shows them. */
export const stepCount = (model) => model.list.length - (model.taskOp === null ? 0 : 1);

// Searching long texts again on every batch would cost as much as the Run is long.
const answers = new WeakMap();

function remembered(operation, key, ask) {
  const known = answers.get(operation);
  if (known !== undefined && known.key === key && known.lastSeq === operation.lastSeq) return known.hit;
  const hit = ask();
  answers.set(operation, { key, lastSeq: operation.lastSeq, hit });
  return hit;
}

/** The id of the next operation that failed after `fromSeq`, going round; "" when none did. */
export function nextError(model, fromSeq) {
  const failed = model.list.filter((one) => one.outcome === "error");
  const found = failed.find((one) => one.firstSeq > fromSeq) ?? failed[0];
  return found ? found.id : "";
}

/** Operations that wait for a person, oldest first. */
export const waiting = (model) =>
  [...model.open.values()]
    .filter((one) => one.kind === "question" || one.kind === "approval")
    .sort((a, b) => a.firstSeq - b.firstSeq);

/** What a Run's model can say of itself that a person must know before trusting it. */
export function honestyNotes(model) {
  const run = recordOf(model.run);
  const notes = [];
  const missing = run.gaps.reduce((sum, gap) => sum + gap.last - gap.first + 1, 0);
  if (missing > 0)
    notes.push({
      tone: "warn",
      text: `${missing.toLocaleString("en")} ${missing === 1 ? "event is" : "events are"} missing from the record`,
    });
  if (run.unreadable > 0)
    notes.push({
      tone: "warn",
      text: `${run.unreadable.toLocaleString("en")} unreadable ${run.unreadable === 1 ? "line" : "lines"} in the log`,
    });
  if (run.unknown > 0)
    notes.push({
      tone: "info",
      text: `${run.unknown.toLocaleString("en")} ${run.unknown === 1 ? "event" : "events"} of a newer kind`,
    });
  return notes;
}
