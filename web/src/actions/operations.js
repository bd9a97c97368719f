// An operation's own events are fetched when it is looked at, and again when it has moved on.
import { runPath } from "../api.js";
import { request } from "../effects.js";
import { listOf, recordOf } from "../safe.js";
import { shownModel, watchedRun } from "../state.js";
import { problemText } from "./problems.js";
import { forWatched } from "./watched.js";

const OPS_KEPT = 60;

export function opEffects(state, id = state.route.op) {
  if (!id || !state.route.runId) return [];
  const operation = shownModel(state).operations.get(id);
  const known = state.ops.get(id);
  if (operation === undefined || known?.loading || known?.lastSeq === operation.lastSeq) return [];
  if (operation.outcome === "active" && known?.askedMs !== undefined && state.nowMs - known.askedMs < 1000) return [];
  const ops = state.ops;
  ops.set(id, { events: known?.events ?? [], loading: true, lastSeq: known?.lastSeq ?? -1, askedMs: state.nowMs });
  const { runId, uid } = state.route;
  return [
    request("GET", runPath(runId, `/operations/${id}`, uid), OpAnswered, {
      tag: { ...watchedRun(state), id, lastSeq: operation.lastSeq },
    }),
  ];
}

export const OpAnswered = forWatched((state, answer) => {
  const ops = new Map(state.ops);
  const { id, lastSeq } = answer.tag;
  ops.delete(id);
  const events = answer.ok ? listOf(answer.data.events).map(recordOf) : [];
  ops.set(id, { events, lastSeq, problem: answer.ok ? "" : problemText(answer.problem) });
  for (const oldest of ops.keys()) {
    if (ops.size <= OPS_KEPT) break;
    ops.delete(oldest);
  }
  return { ...state, ops };
});
