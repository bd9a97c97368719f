// History: the list of all runs, and what a row opens to.
import { runPath } from "../api.js";
import { request } from "../effects.js";
import { readModel, readPage } from "../incoming.js";
import { recordOf } from "../safe.js";
import { problemText, refusedOr } from "./problems.js";

const tagOf = (state, cursor) => ({ sitting: state.sitting, q: state.route.q, cursor });

export function historyEffects(state) {
  if (state.session.status !== "in") return [];
  const query = new URLSearchParams({ limit: "100", ...(state.route.q ? { q: state.route.q } : {}) });
  return [request("GET", `/api/runs?${query}`, HistoryAnswered, { tag: tagOf(state, "") })];
}

export const MoreHistory = (state) => {
  const query = new URLSearchParams({
    limit: "100",
    cursor: state.history.next,
    ...(state.route.q ? { q: state.route.q } : {}),
  });
  return [
    { ...state, history: { ...state.history, status: "loading" } },
    request("GET", `/api/runs?${query}`, HistoryAnswered, { tag: tagOf(state, state.history.next) }),
  ];
};

export function HistoryAnswered(state, answer) {
  if (answer.tag.sitting !== state.sitting) return state;
  if (!answer.ok)
    return refusedOr(state, answer, {
      ...state,
      history: { ...state.history, status: "failed", problem: answer.problem },
    });
  if (answer.tag.q !== state.route.q) return state;
  const { items, next } = readPage(answer.data);
  const all = answer.tag.cursor ? [...state.history.items, ...items] : items;
  return { ...state, history: { ...state.history, status: "ready", items: all, next, problem: null } };
}

export function ToggleHistoryRow(state, run) {
  const open = state.history.open === run.uid ? "" : run.uid;
  const next = { ...state, history: { ...state.history, open } };
  if (open === "" || state.history.details[open]) return next;
  return [
    next,
    request("GET", runPath(run.id, "/flow", run.uid, { prose: "none" }), HistoryDetailAnswered, {
      tag: { sitting: state.sitting, uid: open },
    }),
  ];
}

export function HistoryDetailAnswered(state, answer) {
  const { sitting, uid } = answer.tag;
  if (sitting !== state.sitting) return state;
  const detail = answer.ok
    ? { run: readModel(recordOf(answer.data).model).run }
    : { problem: problemText(answer.problem) };
  return { ...state, history: { ...state.history, details: { ...state.history.details, [uid]: detail } } };
}
