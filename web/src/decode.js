// Guards the fold against whatever reached an executor's stdout: any text or value gives an event or a typed refusal.
import { EVENT_TYPES, LIMITS } from "./contract.js";
import { EVENT_SHAPE_OF, SHAPES } from "./event-shapes.js";

const KNOWN = new Set(EVENT_TYPES);
const STAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const patterns = new Map();

/** One line (without newline) as an event; `after` is the last seq before it. Never throws. */
export function decodeLine(line, after = 0) {
  if (line.length > LIMITS.EVENT_MAX_BYTES) return unreadable(line, after, `a line of ${line.length} bytes`);
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return unreadable(line, after, "not a JSON line");
  }
  return decodeValue(value, after, line);
}

/** A parsed value as an event: {type, seq, ...}, {type: "unknown", ...} or {type: "unreadable", ...}. Never throws. */
export function decodeValue(value, after = 0, line = "") {
  if (!isRecord(value)) return unreadable(line, after, "not a JSON object");
  if (value.type === "unreadable") return rowOf(value, after);
  if (KNOWN.has(value.type)) {
    const shape = SHAPES[EVENT_SHAPE_OF[value.type]];
    if (fits(value, shape)) return value;
    return unreadable(line, after, `a ${value.type} event with unsound fields`);
  }
  return isEnvelope(value) ? { ...value, known: false } : unreadable(line, after, "no LogEvent");
}

const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function isEnvelope({ v, run, attempt, seq, ts, type }) {
  return (
    Number.isInteger(v) &&
    v >= 1 &&
    typeof run === "string" &&
    /^[A-Za-z0-9-]{1,64}$/.test(run) &&
    Number.isInteger(attempt) &&
    attempt >= 1 &&
    attempt <= 10 &&
    Number.isSafeInteger(seq) &&
    seq >= 1 &&
    typeof ts === "string" &&
    STAMP.test(ts) &&
    typeof type === "string" &&
    /^[a-z]+\.[a-z_]+$/.test(type) &&
    type.length <= 64
  );
}

function unreadable(line, after, reason) {
  return { type: "unreadable", after, reason, bytes: line.length, text: line.slice(0, 200) };
}

function rowOf({ after, reason, bytes, text }, fallback) {
  const number = (value, other) => (Number.isSafeInteger(value) && value >= 0 ? value : other);
  const string = (value) => (typeof value === "string" ? value.slice(0, 4096) : "");
  return {
    type: "unreadable",
    after: number(after, fallback),
    reason: string(reason),
    bytes: number(bytes, 0),
    text: string(text),
  };
}

/** Whether a JSON value has a shape (the subset of JSON Schema that the contracts use). Depth is the shape's, bounded. */
export function fits(value, shape) {
  if (shape.$ref !== undefined) return fits(value, SHAPES[shape.$ref]);
  if (shape.anyOf !== undefined) return shape.anyOf.some((one) => fits(value, one));
  if (shape.const !== undefined) return value === shape.const;
  if (shape.enum !== undefined) return shape.enum.includes(value);
  switch (shape.type) {
    case "string":
      return typeof value === "string" && stringFits(value, shape);
    case "integer":
      return Number.isInteger(value) && value >= (shape.minimum ?? -Infinity) && value <= (shape.maximum ?? Infinity);
    case "number":
      return typeof value === "number" && Number.isFinite(value) && value >= (shape.minimum ?? -Infinity);
    case "boolean":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "array":
      return (
        Array.isArray(value) &&
        value.length >= (shape.minItems ?? 0) &&
        value.length <= (shape.maxItems ?? Infinity) &&
        value.every((one) => fits(one, shape.items ?? {}))
      );
    case "object":
      return isRecord(value) && recordFits(value, shape);
    default:
      return true;
  }
}

function stringFits(value, { minLength = 0, maxLength = Infinity, pattern }) {
  if (value.length < minLength) return false;
  if (value.length > maxLength && (value.length > 2 * maxLength || [...value].length > maxLength)) return false;
  return pattern === undefined || compiled(pattern).test(value);
}

function compiled(pattern) {
  if (!patterns.has(pattern)) patterns.set(pattern, new RegExp(pattern, "u"));
  return patterns.get(pattern);
}

function recordFits(value, { properties = {}, required = [], additionalProperties, maxProperties = Infinity }) {
  const names = Object.keys(value);
  if (names.length > maxProperties || required.some((name) => !(name in value))) return false;
  return names.every((name) => {
    if (Object.hasOwn(properties, name)) return fits(value[name], properties[name]);
    return additionalProperties === false
      ? false
      : isRecord(additionalProperties)
        ? fits(value[name], additionalProperties)
        : true;
  });
}
