// What became of the branch a Run was to make, beside its commit, its result and its row in history.
import { listOf, table, text } from "../safe.js";
import { Chip } from "./parts.js";

const SHOWN = table({
  Pushed: ["good", "result"],
  NothingToDeliver: ["quiet", "result"],
  Delivering: ["quiet", "pending"],
});

/** A chip where the Run makes a branch, else null; the condition's own message is its title where it is known. */
export function Delivery(summary, labels, conditions = []) {
  const reason = text(summary?.delivered, 80);
  if (reason === "") return null;
  const [tone, icon] = SHOWN[reason] ?? ["bad", "warn"];
  const told = listOf(conditions).find((one) => one?.type === "Delivered" && one.reason === reason);
  const branch = text(summary.branch, 260);
  const words = reason === "Pushed" && branch !== "" ? `branch ${branch}` : labels.reason(reason) || reason;
  return Chip(tone, icon, text(words, 300), text(told?.message, 1000));
}
