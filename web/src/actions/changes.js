// What can be taken away: the patch, and the whole run as one file.
import { runPath } from "../api.js";
import { download, later, request } from "../effects.js";
import { readChanges } from "../incoming.js";
import { watchedRun } from "../state.js";
import { refusedOr } from "./problems.js";
import { forWatched } from "./watched.js";

export function changesEffects(state) {
  const sha = state.run.model.run.patchSHA256 ?? "none";
  if (state.route.view !== "changes" || !state.route.runId || state.changes.sha === sha || state.run.id === "")
    return [];
  return [later(0, LoadChanges, sha)];
}

export const LoadChanges = (state, sha) => [
  { ...state, changes: { ...state.changes, status: state.changes.view ? "ready" : "loading", sha } },
  request("GET", runPath(state.route.runId, "/changes", state.route.uid), ChangesAnswered, {
    tag: watchedRun(state),
  }),
];

export const ChangesAnswered = forWatched((state, answer) =>
  answer.ok
    ? { ...state, changes: { ...state.changes, status: "ready", view: readChanges(answer.data), problem: null } }
    : refusedOr(state, answer, { ...state, changes: { ...state.changes, status: "failed", problem: answer.problem } }),
);

/** More of what a tool printed than its event shows: up to 1 MiB of its lines. */
export const DownloadOutput = (state, op) => [
  state,
  download(runPath(state.route.runId, `/operations/${op}/output`, state.route.uid)),
];

/** A run, {id, uid}, as one HTML file that needs no server: task, roles, steps, result and patch. */
export const DownloadReport = (state, { id, uid }) => [state, download(runPath(id, "/report", uid))];

export const DownloadPatch = (state) => [state, download(runPath(state.route.runId, "/patch", state.route.uid))];
