// Which changes of the listed Runs are worth calling a person back: something began to wait, or a Run failed. Pure.
import { reveal } from "../safe.js";
import { nameOf, titleOf } from "./title.js";

const NOTICES_MAX_COUNT = 3;
const TITLE_MAX_CHARS = 80;

/**
 * Notices for what changed from one list of RunSummaries to the next: [{tag, title, body, runId, uid}], a few at most;
 * `reason` gives the words of a reason. A Run met for the first time counts only if somebody is needed now.
 */
export function noticesOf(before, after, reason) {
  const known = new Map(before.map((run) => [run.uid, run]));
  return after
    .map((run) => noticeOf(known.get(run.uid), run, reason))
    .filter((notice) => notice !== null)
    .slice(0, NOTICES_MAX_COUNT);
}

function noticeOf(was, run, reason) {
  if (run.awaiting > (was?.awaiting ?? 0)) {
    const waits = run.awaiting === 1 ? "A question or an approval waits." : `${run.awaiting} things wait.`;
    return notice(run, `${titleFor(run)} needs you`, waits);
  }
  if (was !== undefined && was.phase !== "Failed" && run.phase === "Failed")
    return notice(run, `${titleFor(run)} failed`, reason(run.reason));
  return null;
}

// What the system shows may be seen by others, and be kept: of a private Run it has no words.
const titleFor = (run) =>
  run.private ? "A private run" : reveal(titleOf(run, "A run").slice(0, TITLE_MAX_CHARS)).slice(0, TITLE_MAX_CHARS);

const notice = (run, title, said) => ({
  tag: `guildhall-${run.uid}`,
  title,
  body: [said, run.private ? "" : nameOf(run)].filter(Boolean).join("\n"),
  runId: run.id,
  uid: run.live === false ? run.uid : "",
});
