// Guards one run's view against an answer about another: it may come after the person has gone on.
import { isWatched } from "../state.js";
import { refusedOr } from "./problems.js";

/** `answered` for answers about the watched Run, which their tag names; of others only a session that is over counts. */
export const forWatched = (answered) => (state, answer) =>
  isWatched(state, answer.tag) ? answered(state, answer) : refusedOr(state, answer, state);
