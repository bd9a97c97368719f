// Who is signed in, what the platform offers, which runs there are.
import { prefilled } from "../derive/offer.js";
import { focus, request } from "../effects.js";
import { readConfig, readPage } from "../incoming.js";
import { createLabels } from "../labels.js";
import { stringOf } from "../safe.js";
import { freshRun, nobodys } from "../state.js";
import { badgeOf } from "./badge.js";
import { historyEffects } from "./history.js";
import { noticeEffects } from "./notify.js";
import { problemText, refusedOr, sessionOver, toast } from "./problems.js";

export const Start = (state) => [state, request("GET", "/api/session", SessionAnswered)];

export function SessionAnswered(state, answer) {
  if (answer.ok) return signedIn(state, answer.data);
  if (answer.status === 401) return sessionOver(state);
  return {
    ...state,
    session: { ...state.session, status: "unreachable", error: problemText(answer.problem), busy: false },
  };
}

/** Nothing of whoever sat here is there for the next person, nor is what was asked for them and comes later. */
const leftBehind = (state) => ({ ...freshRun(), ...nobodys(state.sitting + 1), toast: null });

function signedIn(before, session) {
  const user = stringOf(session.user);
  const state = {
    ...before,
    ...(before.person === "" || before.person === user ? {} : leftBehind(before)),
    session: { status: "in", user, error: "", busy: false },
    person: user,
  };
  const [asking, runs] = LoadRuns(state);
  return [
    asking,
    request("GET", "/api/config", ConfigAnswered, { tag: { sitting: state.sitting } }),
    runs,
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
    ...leftBehind(state),
    session: { status: "out", user: "", error: "", busy: false },
  },
  focus("#token"),
];

export function ConfigAnswered(state, answer) {
  if (answer.tag.sitting !== state.sitting) return state;
  if (!answer.ok) return refusedOr(state, answer, { ...state, toast: toast("bad", problemText(answer.problem)) });
  const config = readConfig(answer.data);
  return { ...state, config, compose: prefilled(state.compose, config), labels: createLabels(config, state.run.model.run) };
}

export function LoadRuns(state) {
  if (state.session.status !== "in") return state;
  const asked = state.runs.asked + 1;
  const tag = { sitting: state.sitting, asked };
  return [{ ...state, runs: { ...state.runs, asked } }, request("GET", "/api/runs?limit=50", RunsAnswered, { tag })];
}

export function RunsAnswered(state, answer) {
  const { sitting, asked } = answer.tag;
  if (sitting !== state.sitting || asked <= state.runs.taken) return state;
  if (!answer.ok)
    return refusedOr(state, answer, { ...state, runs: { ...state.runs, status: "failed", problem: answer.problem } });
  const next = { ...state, runs: withList(state.runs, readPage(answer.data), asked) };
  return [next, badgeOf(next), ...noticeEffects(state, next)];
}

/** The list number `asked`; of a Run the stream told of after it was asked for, what is known already is newer. */
function withList(runs, page, asked) {
  const known = new Map(runs.items.map((run) => [run.uid, run]));
  const isOld = (run) => (runs.fresher.get(run.uid) ?? 0) >= asked;
  return {
    ...runs,
    ...page,
    items: page.items.map((run) => (isOld(run) ? (known.get(run.uid) ?? run) : run)),
    status: "ready",
    listed: true,
    problem: null,
    taken: asked,
    fresher: new Map([...runs.fresher].filter(([, last]) => last > asked)),
  };
}
