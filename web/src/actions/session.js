// Who is signed in, what the platform offers, which runs there are.
import { focus, request } from "../effects.js";
import { readConfig, readPage } from "../incoming.js";
import { createLabels } from "../labels.js";
import { stringOf } from "../safe.js";
import { emptyForm } from "../state.js";
import { historyEffects } from "./history.js";
import { freshRun } from "./route.js";
import { badgeOf } from "./run.js";
import { noticeEffects } from "./notify.js";

export const Start = (state) => [state, request("GET", "/api/session", SessionAnswered)];

export function SessionAnswered(state, answer) {
  if (answer.ok) return signedIn(state, answer.data);
  if (answer.status === 401) {
    const again = state.session.status === "in" ? "The session is over. Sign in again to go on." : "";
    return [{ ...state, session: { status: "out", user: "", error: again, busy: false } }, focus("#token")];
  }
  return {
    ...state,
    session: { ...state.session, status: "unreachable", error: problemText(answer.problem), busy: false },
  };
}

function signedIn(before, session) {
  const state = { ...before, session: { status: "in", user: stringOf(session.user), error: "", busy: false } };
  return [
    state,
    request("GET", "/api/config", ConfigAnswered),
    request("GET", "/api/runs?limit=50", RunsAnswered),
    ...(state.route.screen === "history" ? historyEffects(state) : []),
  ];
}

export const SignIn = (state, token) => {
  const trimmed = stringOf(token).trim();
  if (trimmed === "") return { ...state, session: { ...state.session, error: "Paste a token first." } };
  return [
    { ...state, session: { ...state.session, busy: true, error: "" } },
    request("POST", "/api/session", SignInAnswered, { body: { token: trimmed } }),
  ];
};

/** `token` is null for a key that sends nothing. */
export const SignInByKey = (state, token) => (token === null || state.session.busy ? state : SignIn(state, token));

export function SignInAnswered(state, answer) {
  if (answer.ok) return signedIn(state, answer.data);
  const error =
    answer.status === 401 ? "The cluster did not accept this token. It may have expired." : problemText(answer.problem);
  return { ...state, session: { ...state.session, busy: false, error } };
}

export const SignOut = (state) => [state, request("DELETE", "/api/session", SignedOut)];
export const SignedOut = (state) => [
  {
    ...state,
    ...freshRun(),
    session: { status: "out", user: "", error: "", busy: false },
    config: null,
    compose: emptyForm(),
  },
  focus("#token"),
];

export function ConfigAnswered(state, answer) {
  if (!answer.ok) return refusedOr(state, answer, { ...state, toast: toast("bad", problemText(answer.problem)) });
  const config = readConfig(answer.data);
  const compose = state.compose.namespace ? state.compose : { ...state.compose, namespace: config.namespaces[0] ?? "" };
  return { ...state, config, compose, labels: createLabels(config, state.run.model.run) };
}

export const LoadRuns = (state) =>
  state.session.status === "in" ? [state, request("GET", "/api/runs?limit=50", RunsAnswered)] : state;

export function RunsAnswered(state, answer) {
  if (!answer.ok)
    return refusedOr(state, answer, { ...state, runs: { ...state.runs, status: "failed", problem: answer.problem } });
  const next = { ...state, runs: { status: "ready", ...readPage(answer.data), problem: null } };
  return [next, badgeOf(next), ...noticeEffects(state, next)];
}

export function refusedOr(state, answer, other) {
  return answer.status === 401 ? SessionAnswered(state, answer) : other;
}

export const problemText = (problem) =>
  [problem?.title, problem?.detail].filter(Boolean).map(stringOf).join(". ") || "Something failed.";
export const toast = (tone, text) => ({ tone, text });
