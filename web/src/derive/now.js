// One line that says what happens now. Made of labels and fixed words only: no runtime text of an operation enters it.
import { table } from "../safe.js";

const PHASE_WORDS = table({
  Pending: "Waiting to be looked at",
  Queued: "Waiting for a place to run",
  Preparing: "Preparing the workspace and proving its isolation",
});
const ORDER = ["approval", "question", "tool", "inquiry", "model", "delegation", "task"];

/** The caption of a model, e.g. "Reviewer is using Run shell"; empty once it is over. `summary` is the Run's, if known. Pure. */
export function deriveNowCaption(model, labels, summary) {
  const { run } = model;
  if (run.endedAt !== undefined || ["succeeded", "failed", "cancelled"].includes(run.status)) return "";
  if (run.status === "pending") return PHASE_WORDS[summary?.phase] ?? "Waiting for the first event";
  const operation = mostTelling(model.open.values());
  if (operation === null) return "Between two steps";
  const more = [...model.open.values()].filter((one) => one.kind === operation.kind).length - 1;
  return captionOf(operation, labels) + (more > 0 ? ` (and ${more} more)` : "");
}

// What waits for a person comes first, then the kind nearest to the work; among equals the newest.
function mostTelling(open) {
  let best = null;
  for (const operation of open) {
    const rank = ORDER.indexOf(operation.kind);
    if (rank < 0) continue;
    if (
      best === null ||
      rank < ORDER.indexOf(best.kind) ||
      (rank === ORDER.indexOf(best.kind) && operation.firstSeq > best.firstSeq)
    ) {
      best = operation;
    }
  }
  return best;
}

function captionOf({ kind, source, destination }, labels) {
  const who = labels.participant(source);
  switch (kind) {
    case "approval":
      return `${who} wants an approval`;
    case "question":
      return `${who} asks a question`;
    case "tool":
      return `${who} is using ${labels.participant(destination)}`;
    case "inquiry":
      return `${labels.participant(destination)} is answering you`;
    case "model":
      return `${who} is thinking`;
    default:
      return `${labels.participant(destination)} is working`;
  }
}
