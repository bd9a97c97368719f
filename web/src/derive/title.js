// What a Run is called wherever it is named: what it came to once it succeeded, until then what it was asked.
import { unmarked } from "./unmarked.js";

/** The title of a RunSummary (or of none): plain text, `fallback` when it says nothing. */
export function titleOf(summary, fallback = "") {
  if (summary?.phase === "Succeeded" && summary.summary) return summary.summary;
  return summary?.label || summary?.name || fallback;
}

/** `namespace/name` of a RunSummary: what tells apart Runs that were asked the same. "" when it says neither. */
export const nameOf = (summary) => [summary?.namespace, summary?.name].filter(Boolean).join("/");

/** A name with its middle left out: Runs of one task differ in the last characters of theirs. */
export const middleCut = (name, most) =>
  name.length <= most ? name : `${name.slice(0, Math.ceil((most - 1) / 2))}…${name.slice(-Math.floor((most - 1) / 2))}`;

/** The second line beside a title: the one of summary, label and task that the title has not said yet, as plain text. */
export function subtitleOf(summary) {
  const title = titleOf(summary);
  const firstLine = unmarked(String(summary?.task ?? "").split("\n", 1)[0].slice(0, 1000));
  return [summary?.summary, summary?.label, firstLine].find((line) => line && line !== title) ?? "";
}
