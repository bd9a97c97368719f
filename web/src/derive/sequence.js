// The Sequence diagram's rows: one call or return per row, columns for the human, the roles and the tools.
import { shownOutcome } from "./outcome.js";

/** Columns as [{id, label}]: "The human", every role in the Guild's order, and one for all tools. Pure. */
export function sequenceColumns(model, labels) {
  const columns = [];
  for (const one of model.participants.values()) {
    if (one.kind === "human" || one.kind === "role" || one.kind === "handler")
      columns.push({ id: one.id, label: labels.participant(one.id) });
  }
  if (model.participants.has("tools")) columns.push({ id: "tools", label: labels.participant("tools") });
  return columns;
}

/**
 * Messages in order of seq: {operation, from, to, returning, seq}; from and to are column indexes. An operation gives a
 * call and, once ended, a return; a role's work on itself (model, plan) gives one message. Pure.
 */
export function sequenceMessages(model, columns) {
  const index = new Map(columns.map((column, at) => [column.id, at]));
  const columnOf = (id) => index.get(id) ?? index.get(id.startsWith("tool:") ? "tools" : "") ?? -1;
  const messages = [];
  for (const operation of model.list) {
    const from = columnOf(operation.source);
    const to = columnOf(operation.destination);
    if (from < 0 || to < 0) continue;
    messages.push({ operation, from, to, returning: false, seq: operation.firstSeq });
    if (operation.endedAt !== undefined && from !== to)
      messages.push({ operation, from: to, to: from, returning: true, seq: operation.lastSeq });
  }
  return messages.sort((a, b) => a.seq - b.seq || Number(a.returning) - Number(b.returning));
}

/** The class of a message of `run`: flowing while it runs, error, or returning. */
export function messageClass({ operation, returning }, run) {
  const outcome = shownOutcome(operation, run);
  if (outcome === "error") return "seq-message--error";
  if (outcome === "active") return "seq-message--flowing";
  return returning ? "seq-message--returning" : "";
}

/** The same as Mermaid text; labels are reduced to letters, digits and spaces, so that none can break a line. */
export function toMermaid(columns, messages, labels, run) {
  const safe = (value) => value.replace(/[^\p{L}\p{N} ]+/gu, " ").trim() || "unnamed";
  const lines = ["sequenceDiagram", ...columns.map((column, at) => `  participant p${at} as ${safe(column.label)}`)];
  for (const { operation, from, to, returning } of messages.slice(0, 2000)) {
    const word = operation.kind === "tool" ? labels.participant(operation.destination) : labels.kind(operation.kind);
    const said = returning ? labels.outcome(shownOutcome(operation, run)) : word;
    lines.push(`  p${from}${returning ? "-->>" : "->>"}p${to}: ${safe(said)}`);
  }
  return `${lines.join("\n")}\n`;
}
