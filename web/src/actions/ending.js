// The end of a watched run: its result is shown once, and never over something a person has open.
import { focus } from "../effects.js";
import { isOver } from "../state.js";

/** `state` with the result open if the run has just ended in front of a person; one opened later pushes it at nobody. */
export function ending(state, effects = []) {
  const over = isOver(state);
  const watchedLive = state.run.wasLive === true;
  if (over && watchedLive && !state.run.resultSeen && state.modal === null && state.route.at === null) {
    return [
      { ...state, run: { ...state.run, resultSeen: true }, modal: { kind: "result" } },
      ...effects,
      focus(".modal"),
    ];
  }
  return [{ ...state, run: { ...state.run, wasLive: watchedLive || !over } }, ...effects];
}

/** What a sheet was open over when the run ended is shown once the sheet is closed. */
export const ShowEnd = (state) => (state.run.id !== "" && isOver(state) ? ending(state) : state);
