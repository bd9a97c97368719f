// Selection, hovering and the inspector.
import { later } from "../effects.js";
import { opEffects } from "./operations.js";
import { Go } from "./route.js";

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
