// Where we are: the address is the state, so every change of place passes here.
import { prefilled } from "../derive/offer.js";
import { later, writeHash } from "../effects.js";
import { formatRoute, parseRoute } from "../router.js";
import { freshRun } from "../state.js";
import { changesEffects } from "./changes.js";
import { LoadEventPages } from "./events.js";
import { historyEffects } from "./history.js";
import { opEffects } from "./operations.js";
import { replayed } from "./replay.js";

/** Changes parts of the route and writes the address. Selections replace the entry, moves to another place add one. */
export function Go(state, patch) {
  const moved = { ...state.route, ...patch };
  const elsewhere = patch.screen !== undefined || patch.runId !== undefined || patch.view !== undefined;
  return arrived({ ...state }, moved, writeHash(formatRoute(moved), !elsewhere));
}

/** The address changed under us: back, forward or typed. */
export const HashChanged = (state, hash) => arrived({ ...state }, parseRoute(hash));

function arrived(state, wanted, ...effects) {
  const before = state.route;
  // Elsewhere the watched run stays known, so that Watch leads back to it.
  const route =
    wanted.screen === "watch" ? wanted : { ...wanted, runId: before.runId, uid: before.uid, view: before.view };
  const next = { ...state, route, stage: { ...state.stage, tooltip: null } };
  if (route.runId !== before.runId || route.uid !== before.uid) Object.assign(next, freshRun());
  if (route.screen !== before.screen) next.modal = null;
  if (route.screen === "history" && (before.screen !== "history" || route.q !== before.q))
    effects.push(...historyEffects(next));
  if (route.screen === "watch" && route.view === "changes") effects.push(...changesEffects(next));
  if (route.screen === "watch" && route.view === "events" && before.view !== "events")
    effects.push(later(0, LoadEventPages));
  if (route.screen === "compose" && before.screen !== "compose") {
    next.compose = prefilled(next.compose, next.config);
  }
  if (route.at !== before.at) return replayed(next, effects);
  return [next, ...effects, ...opEffects(next)];
}
