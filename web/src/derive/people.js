// What waits for a person, as rows a view can draw: joined from the gateway's list, the model, and acts on their way.
import { msOf } from "../format.js";
import { waiting } from "./activity.js";

const URGENT_SECONDS = 60;

/** Seconds until a stamp, never below 0; null when there is none. */
export function secondsLeft(expiresAt, nowMs) {
  const end = msOf(expiresAt);
  return end === null ? null : Math.max(0, (end - nowMs) / 1000);
}

/** 221 -> "3:41", 4000 -> "1 h 06 min", 0 -> "no time". */
export function leftText(seconds) {
  if (seconds === null) return "";
  const whole = Math.floor(seconds);
  if (whole <= 0) return "no time";
  if (whole < 3600) return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${String(Math.floor(whole / 60) % 60).padStart(2, "0")} min`;
  return `${Math.floor(whole / 86400)} days`;
}

/**
 * {items, unexplained}: open questions and approvals, the one that ends first on top, each with `left`, `urgent`,
 * `expired` and `sent` (an act of this page about it has not come back). `unexplained` counts what the run's events
 * say waits and the gateway does not list: answered and not yet read, or not told yet. Pure.
 */
export function needsYou(asks, sent, model, nowMs) {
  const items = [...asks.questions, ...asks.approvals]
    .map((one) => {
      const seconds = secondsLeft(one.expiresAt, nowMs);
      return {
        ...one,
        seconds,
        left: leftText(seconds),
        urgent: seconds !== null && seconds <= URGENT_SECONDS,
        expired: seconds === 0,
        sent: sent.some((act) => act.about === one.id),
      };
    })
    .sort((a, b) => (a.seconds ?? Infinity) - (b.seconds ?? Infinity) || (a.id < b.id ? -1 : 1));
  return { items, unexplained: Math.max(0, waiting(model).length - items.length) };
}

/** The acts that have not come back after `events`, the first sign of each being the event that tells of it. Pure. */
export function stillSent(sent, events) {
  if (sent.length === 0) return sent;
  const back = new Set();
  for (const event of events) {
    if (event.type === "interrupt.received") back.add(event.intervention);
    if (event.type === "question.answered") back.add(event.questionId);
    if (event.type === "approval.decided") back.add(event.approvalId);
  }
  return sent.filter((act) => !back.has(act.uid) && !back.has(act.about));
}

/** What an event says of the question or approval a sheet is about: {by, text, outcome} or null. Pure. */
export function closedBy(about, events) {
  for (const event of events) {
    if (event.type === "question.answered" && event.questionId === about)
      return { by: event.author ?? "", text: event.text ?? "", outcome: event.outcome };
    if (event.type === "approval.decided" && event.approvalId === about)
      return { by: event.author ?? "", text: event.decision, outcome: event.outcome };
  }
  return null;
}

const ANSWERS_KEPT = 3;

/** Ids of the inquiries whose answers came with `events`, newest first, before those known; a few are kept. Pure. */
export function answeredInquiries(known, events, model) {
  const fresh = events
    .filter((event) => event.type === "interrupt.answered" && model.operations.get(event.op)?.kind === "inquiry")
    .map((event) => event.op)
    .reverse();
  return fresh.length === 0 ? known : [...new Set([...fresh, ...known])].slice(0, ANSWERS_KEPT);
}
