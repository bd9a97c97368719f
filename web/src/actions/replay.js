// Replay: the run as it was after any of its events.
import { loadAllEvents, modelAt } from "../effects.js";
import { isWatched, watchedRun } from "../state.js";
import { opEffects } from "./operations.js";
import { problemText, toast } from "./problems.js";

export function replayed(state, effects) {
  if (state.route.at === null)
    return [{ ...state, run: { ...state.run, replay: null } }, ...effects, ...opEffects(state)];
  const replay = state.run.replay;
  if (replay?.events)
    return [
      { ...state, run: { ...state.run, replay: { ...replay, model: modelAt(replay.events, state.route.at) } } },
      ...effects,
    ];
  if (replay?.loading) return [state, ...effects];
  return [
    { ...state, run: { ...state.run, replay: { loading: true } } },
    ...effects,
    loadAllEvents(watchedRun(state), ReplayLoaded),
  ];
}

/** A link with `at=` opens a replay as soon as the run is there. */
export const StartReplay = (state) => replayed(state, []);

export function ReplayLoaded(state, { events, problem, complete, run }) {
  if (!isWatched(state, run) || state.route.at === null) return state;
  if (problem) return { ...state, run: { ...state.run, replay: null }, toast: toast("bad", problemText(problem)) };
  const model = modelAt(events, state.route.at);
  return { ...state, run: { ...state.run, replay: { events, complete, model } } };
}
