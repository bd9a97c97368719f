// What a request that failed means to a person: a message, or that their session is over.
import { focus } from "../effects.js";
import { stringOf } from "../safe.js";

export const problemText = (problem) =>
  [problem?.title, problem?.detail].filter(Boolean).map(stringOf).join(". ") || "Something failed.";
export const toast = (tone, text) => ({ tone, text });

/** The server does not know us any more: back to the sign-in, which says so to whoever was signed in. */
export function sessionOver(state) {
  const again = state.session.status === "in" ? "The session is over. Sign in again to go on." : "";
  return [{ ...state, session: { status: "out", user: "", error: again, busy: false } }, focus("#token")];
}

export const refusedOr = (state, answer, other) => (answer.status === 401 ? sessionOver(state) : other);
