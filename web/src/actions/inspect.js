// Selection, hovering and the inspector.
import { runPath } from "../api.js";
import { later, request } from "../effects.js";
import { listOf, recordOf } from "../safe.js";
import { shownModel } from "../state.js";
import { Go } from "./route.js";
import { problemText } from "./session.js";

const OPS_KEPT = 60;
const GRACE_MS = 240;

/** Chooses an operation ("" for none); again on the chosen one lets it go. */
export const Select = (state, op) => {
  const [next, ...effects] = Go(
    { ...state, stage: { ...state.stage, pinned: null } },
    { op: op === state.route.op ? "" : op },
  );
  return [next, ...effects];
};

/** A click on the stage pins what was under the pointer. */
export function Pin(state, target) {
  if (target === undefined) return state;
  if (target === null)
    return state.stage.pinned || state.route.op
      ? Go({ ...state, stage: { ...state.stage, pinned: null, tooltip: null } }, { op: "" })
      : state;
  if (target.kind === "operation")
    return Go({ ...state, stage: { ...state.stage, pinned: null, tooltip: null } }, { op: target.id });
  return Go(
    { ...state, stage: { ...state.stage, pinned: { kind: target.kind, id: target.id }, tooltip: null } },
    { op: "" },
  );
}

export function Hover(state, target) {
  const { stage } = state;
  if (target === null) return stage.tooltip === null ? state : leaving(state);
  if (stage.tooltip?.kind === target.kind && stage.tooltip.id === target.id) {
    return { ...state, stage: { ...stage, token: stage.token + 1 } };
  }
  const next = { ...state, stage: { ...stage, tooltip: target, token: stage.token + 1 } };
  return target.kind === "operation" ? [next, ...opEffects(next, target.id)] : next;
}

function leaving(state) {
  return [state, later(GRACE_MS, GraceOver, state.stage.token)];
}

export const GraceOver = (state, token) =>
  state.stage.token === token && state.stage.tooltip !== null
    ? { ...state, stage: { ...state.stage, tooltip: null } }
    : state;
export const HoldCard = (state) => ({ ...state, stage: { ...state.stage, token: state.stage.token + 1 } });
export const LeaveCard = (state) => leaving({ ...state, stage: { ...state.stage, token: state.stage.token + 1 } });

// An operation's own events are fetched when it is looked at, and again when it has moved on.
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
    request("GET", runPath(runId, `/operations/${id}`, uid), OpAnswered, { tag: { id, lastSeq: operation.lastSeq } }),
  ];
}

export function OpAnswered(state, answer) {
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
}
