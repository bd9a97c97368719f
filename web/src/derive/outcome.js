// How a step ended, as it is shown.
import { table } from "../safe.js";

const OF_RESULT = table({ failed: "error", cancelled: "cancelled" });

/**
 * The outcome to show for an operation of `run` (a model's run). Handing over the result always succeeds; what a person
 * asks of that row is how the Run ended. Pure.
 */
export const shownOutcome = (operation, run) =>
  (operation.kind === "result" && OF_RESULT[run?.status]) || operation.outcome;
