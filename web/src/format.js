// Numbers, times and money as a person reads them. Unknown is "–", never 0.
import { stampMs } from "./model.js";

export const UNKNOWN = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

/** 41234 -> "41k", 1250000 -> "1.3M". */
export function count(value) {
  if (!known(value)) return UNKNOWN;
  if (value < 1000) return String(value);
  if (value < 10000) return `${(value / 1000).toFixed(1).replace(/\.0$/, "")}k`;
  if (value < 999500) return `${Math.round(value / 1000)}k`;
  return `${(value / 1e6).toFixed(1).replace(/\.0$/, "")}M`;
}

/**
 * Micro-USD -> "$0.38"; a fraction of a cent below ten cents "$0.0457"; null -> "–". One rule with the report's and the
 * gateway's: tests/golden/dollars.json.
 */
export function money(microUsd) {
  if (!known(microUsd)) return UNKNOWN;
  if (microUsd > 0 && microUsd < 100) return "<$0.0001";
  return `$${dollars(microUsd, microUsd >= 100000 || microUsd % 10000 === 0 ? 2 : 4)}`;
}

// Of two texts equally near `toFixed` takes the larger, Python the one that ends even. A double can lie between two only
// at odd multiples of an eighth, or of 1/32 for four digits.
function dollars(microUsd, digits) {
  const unit = 10 ** (6 - digits);
  const period = unit * 5 ** digits;
  const tie = Math.abs(microUsd) % period === period / 2;
  const nearest = tie ? 2 * Math.round(microUsd / unit / 2) * unit : microUsd;
  return (nearest / 1e6).toFixed(digits);
}

/** Seconds -> "0.4 s", "12 s", "4 min 05 s", "2 h 03 min". */
export function duration(seconds) {
  if (!known(seconds)) return UNKNOWN;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** Seconds -> "00:07:12". */
export function clock(seconds) {
  if (!known(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.floor(seconds));
  return `${two(Math.floor(whole / 3600))}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

const two = (value) => String(value).padStart(2, "0");

/** A stamp as local "14:02:31". */
export function timeOfDay(stamp) {
  const at = msOf(stamp);
  if (at === null) return UNKNOWN;
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A stamp as local "3 Jan 14:02". */
export function dayAndTime(stamp) {
  const at = msOf(stamp);
  if (at === null) return UNKNOWN;
  const date = new Date(at);
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][date.getMonth()];
  return `${date.getDate()} ${month} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Milliseconds of any stamp the api sends (with or without fractions), or null. */
export function msOf(stamp) {
  if (typeof stamp !== "string") return null;
  const exact = stampMs(stamp);
  if (exact !== null) return exact;
  const loose = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(stamp)
    ? Date.parse(stamp)
    : NaN;
  return Number.isNaN(loose) ? null : loose;
}

/** Seconds from one stamp to another, or to `nowMs`; null when the start is unknown. */
export function secondsBetween(start, end, nowMs) {
  const begun = msOf(start);
  const done = msOf(end) ?? nowMs;
  return begun === null ? null : Math.max(0, (done - begun) / 1000);
}

/**
 * How long a Run has taken, in seconds: from its row (`summary`), as kubectl says it too, which includes preparing its
 * workspace; from its events (a model's `run`) where the row says nothing. null when neither has begun.
 */
export function runSeconds(summary, run, nowMs) {
  const { startedAt, endedAt } = summary?.startedAt ? summary : (run ?? {});
  return secondsBetween(startedAt, endedAt ?? run?.endedAt, nowMs);
}

export const plural = (amount, one, many = `${one}s`) => `${amount.toLocaleString("en")} ${amount === 1 ? one : many}`;
