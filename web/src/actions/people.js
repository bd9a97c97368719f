// What waits for a person and what the person does about it. Nothing is shown as done before it comes back as an
// event or from the gateway: an act that was sent is only ever "on its way".
import { runPath } from "../api.js";
import { closedBy, answeredInquiries, stillSent } from "../derive/people.js";
import { cutRows } from "../derive/rows.js";
import { focus, later, request, uniqueKey } from "../effects.js";
import { readApprovals, readQuestions } from "../incoming-people.js";
import { stringOf } from "../safe.js";
import { isOver, watchedRun } from "../state.js";
import { OpenModal } from "./acts.js";
import { ShowEnd } from "./ending.js";
import { problemText, refusedOr } from "./problems.js";
import { forWatched } from "./watched.js";

const ASK_AGAIN_MS = 500;
const ASK_WHILE_UNCLEAR_MS = 3000;
const ASK_WHILE_WAITING_MS = 15000; // rights to act come and go too
const ABOUT_PEOPLE = new Set(["question.asked", "question.answered", "approval.requested", "approval.decided"]);

// What waits

/** Asks for what waits in the watched Run; while one is on its way, once more after it. */
export function LoadAsks(state) {
  const { runId } = state.route;
  if (runId === "" || state.session.status !== "in") return state;
  if (state.asks.loading > 0) return { ...state, asks: { ...state.asks, again: true } };
  const query = `?run=${encodeURIComponent(runId)}`;
  return [
    { ...state, asks: { ...state.asks, loading: 2, again: false, askedMs: state.nowMs } },
    request("GET", `/api/questions${query}`, AsksAnswered, { tag: { runId, field: "questions" } }),
    request("GET", `/api/approvals${query}`, AsksAnswered, { tag: { runId, field: "approvals" } }),
  ];
}

export function AsksAnswered(state, answer) {
  const { runId, field } = answer.tag;
  if (runId !== state.route.runId) return state;
  const { asks } = state;
  const loading = Math.max(0, asks.loading - 1);
  const read = field === "questions" ? readQuestions : readApprovals;
  const next = {
    ...state,
    asks: answer.ok
      ? { ...asks, [field]: read(answer.data), status: "ready", problem: null, loading }
      : { ...asks, status: "failed", problem: answer.problem, loading },
  };
  if (!answer.ok && answer.status === 401) return refusedOr(next, answer, next);
  return loading === 0 && asks.again ? [next, later(ASK_AGAIN_MS, LoadAsks)] : next;
}

/** Effects of new events on what waits; gives the state with acts that came back taken off. Pure. */
export function peopleHeard(state, events) {
  const sent = stillSent(state.sent, events);
  const inquiries = answeredInquiries(state.inquiries, events, state.run.model);
  const next = { ...state, sent, inquiries, modal: heardModal(state.modal, events) };
  return [next, events.some((event) => ABOUT_PEOPLE.has(event.type)) ? [later(0, LoadAsks)] : []];
}

function heardModal(modal, events) {
  if (modal === null || (modal.kind !== "question" && modal.kind !== "approval")) return modal;
  const closed = closedBy(modal.item.id, events);
  return closed === null ? modal : { ...modal, closed, busy: false, error: "" };
}

/** Once a second: asks again soon while a run goes on and gateway and run differ, and now and then while something
 * waits. A run that was cut off says for ever that something waits. */
export function askAgain(state) {
  const { asks, run } = state;
  const known = asks.questions.length + asks.approvals.length;
  const sinceMs = state.nowMs - (asks.askedMs ?? 0);
  const goesOn = run.summary !== null && !isOver(state);
  const unclear = goesOn && (run.model.waiting !== known || run.summary.awaiting !== known);
  const due = (unclear && sinceMs >= ASK_WHILE_UNCLEAR_MS) || (known > 0 && sinceMs >= ASK_WHILE_WAITING_MS);
  return due ? LoadAsks(state) : state;
}

// The sheets

export function OpenAsk(state, { kind, id }) {
  const item = (kind === "question" ? state.asks.questions : state.asks.approvals).find((one) => one.id === id);
  if (item === undefined) return state;
  const [next, ...effects] = OpenModal(state, { kind, item, choice: "", closed: null, read: false, seen: false });
  if (kind !== "approval") return [next, ...effects];
  if (item.arguments !== null) return [withArguments(next, item.arguments), ...effects, later(0, MoreRows, item.id)];
  const path = `/api/approvals?run=${encodeURIComponent(item.run)}&id=${encodeURIComponent(id)}`;
  return [next, ...effects, request("GET", path, ArgumentsAnswered, { tag: id })];
}

/** Opens what ends first; without anything that waits, nothing happens. */
export function OpenFirstAsk(state) {
  const all = [...state.asks.approvals, ...state.asks.questions].filter((one) => one.may);
  const first = all.sort((a, b) => (a.expiresAt < b.expiresAt ? -1 : 1))[0];
  return first ? OpenAsk(state, first) : state;
}

export function ArgumentsAnswered(state, answer) {
  const { modal } = state;
  if (modal?.kind !== "approval" || modal.item.id !== answer.tag) return state;
  const [item] = answer.ok ? readApprovals(answer.data) : [];
  if (item === undefined || item.arguments === null || item.hash !== modal.item.hash) {
    const words = answer.ok ? "The gateway no longer has these arguments." : problemText(answer.problem);
    return refusedOr(state, answer, { ...state, modal: { ...modal, error: words } });
  }
  return [withArguments({ ...state, modal: { ...modal, item } }, item.arguments), later(0, MoreRows, item.id)];
}

const PRETTY_MAX_CHARS = 262_144;
const ROWS_SLICE_CHARS = 400_000;

/** The text as it is drawn: short arguments indented, long ones as they are. `exact` shows the canonical text itself. */
function withArguments(state, whole, exact = whole.length > PRETTY_MAX_CHARS) {
  const text = exact ? whole : indented(whole);
  const sheet = { text, exact, starts: [], next: 0, top: 0, height: 300, hidden: false, spaces: false };
  return { ...state, modal: { ...state.modal, sheet, seen: false, read: false } };
}

function indented(whole) {
  try {
    return JSON.stringify(JSON.parse(whole), null, 2);
  } catch {
    return whole;
  }
}

/** Cuts the next stretch of the arguments into rows, and goes on by itself: no stretch blocks the page. */
export function MoreRows(state, id) {
  const { modal } = state;
  if (modal?.kind !== "approval" || modal.item.id !== id || !modal.sheet) return state;
  const { sheet } = modal;
  const cut = cutRows(sheet.text, sheet.next, state.wide ? 96 : 36, ROWS_SLICE_CHARS);
  for (const start of cut.starts) sheet.starts.push(start);
  const { next } = cut;
  const done = next >= sheet.text.length;
  const grown = { ...sheet, next, done, hidden: sheet.hidden || cut.hidden, spaces: sheet.spaces || cut.spaces };
  const shown = { ...state, modal: { ...modal, sheet: grown, seen: modal.seen || (done && fits(grown)) } };
  return done ? shown : [shown, later(0, MoreRows, id)];
}

export const ARGUMENT_ROW_PX = 20;
const fits = ({ starts, height }) => starts.length * ARGUMENT_ROW_PX <= height;

export function ArgumentsScrolled(state, { top, height, full }) {
  const { modal } = state;
  if (!modal?.sheet) return state;
  const end = modal.sheet.done === true && top + height >= full - 4;
  return { ...state, modal: { ...modal, sheet: { ...modal.sheet, top, height }, seen: modal.seen || end } };
}

export function ShowExact(state, exact) {
  const { modal } = state;
  if (!modal?.sheet) return state;
  return [withArguments(state, modal.item.arguments, exact), later(0, MoreRows, modal.item.id)];
}

export const ConfirmRead = (state, read) => ({ ...state, modal: state.modal && { ...state.modal, read } });
export const ChooseOption = (state, choice) => {
  const { modal } = state;
  if (modal?.kind !== "question" || modal.busy) return state;
  return { ...state, modal: { ...modal, choice: modal.choice === choice ? "" : choice, error: "" } };
};

// Acts

/** What an open question sheet would send. */
export const answerOf = (modal) => (modal.message.trim() !== "" ? modal.message : modal.choice);

export function SendAnswer(state) {
  const { modal } = state;
  if (modal?.kind !== "question" || modal.busy || modal.closed !== null) return state;
  const text = answerOf(modal);
  if (text === "") return { ...state, modal: { ...modal, error: "Choose an option or write an answer first." } };
  return send(state, "/api/answer", { run: modal.item.run, questionId: modal.item.id, text });
}

export function SendDecision(state, decision) {
  const { modal } = state;
  if (modal?.kind !== "approval" || modal.busy || modal.closed !== null) return state;
  if (decision === "approve" && !(modal.seen && modal.read)) return state;
  const { run, id, hash } = modal.item;
  return send(state, "/api/approvals", { run, approvalId: id, argumentsHash: hash, decision });
}

const send = (state, path, body) => [
  { ...state, modal: { ...state.modal, busy: true, error: "" } },
  request("POST", path, SheetAnswered, {
    body,
    tag: { ...watchedRun(state), about: body.questionId ?? body.approvalId, path, body },
  }),
];

export const SheetAnswered = forWatched((state, answer) => {
  const { about, path, body = {} } = answer.tag;
  const open = state.modal !== null && state.modal.item?.id === about;
  if (!answer.ok) {
    const modal = open ? { ...state.modal, busy: false, error: problemText(answer.problem) } : state.modal;
    return refusedOr(state, answer, LoadAsks({ ...state, modal }));
  }
  const words = path === "/api/answer" ? "Your answer" : body.decision === "approve" ? "Your approval" : "Your refusal";
  const act = { uid: stringOf(answer.data?.uid), about, words };
  // The run may tell of an act before the answer to it comes: then it is not on its way any more. Of what somebody else
  // did meanwhile the sheet goes on to tell.
  const heard = open ? state.modal.closed : null;
  const theirs = heard !== null && heard.by !== state.session.user;
  const next = {
    ...state,
    sent: heard !== null ? state.sent : [...state.sent, act].slice(-20),
    modal: open && !theirs ? null : state.modal,
  };
  const [asking, ...effects] = [LoadAsks(next)].flat();
  return [asking, ...effects, focus(".attention button", ".run-acts button"), later(0, ShowEnd)];
});

// Interrupts

export const OpenInterrupt = (state) => {
  const [next, ...effects] = OpenModal(state, { kind: "interrupt", intent: "inquire" });
  return [next, ...effects, uniqueKey(KeyMade)];
};
export const KeyMade = (state, key) =>
  state.modal?.kind === "interrupt" ? { ...state, modal: { ...state.modal, key } } : state;
export const ChooseIntent = (state, intent) => ({
  ...state,
  modal: state.modal && { ...state.modal, intent, error: "" },
});

const INTERRUPT_WORDS = { inquire: "Your inquiry", redirect: "Your redirection", abort: "Your request to abort" };

export function SendInterrupt(state) {
  const { modal, route } = state;
  if (modal?.kind !== "interrupt" || modal.busy) return state;
  if (modal.intent !== "abort" && modal.message.trim() === "")
    return { ...state, modal: { ...modal, error: "Write a message first." } };
  const body = { intent: modal.intent, message: modal.message, key: modal.key ?? "" };
  return [
    { ...state, modal: { ...modal, busy: true, error: "" } },
    request("POST", runPath(route.runId, "/interrupt", route.uid), InterruptAnswered, {
      body,
      tag: { ...watchedRun(state), intent: modal.intent },
    }),
  ];
}

export const InterruptAnswered = forWatched((state, answer) => {
  if (!answer.ok) {
    const modal = state.modal && { ...state.modal, busy: false, error: problemText(answer.problem) };
    return refusedOr(state, answer, { ...state, modal });
  }
  const act = { uid: stringOf(answer.data?.uid), about: "", words: INTERRUPT_WORDS[answer.tag.intent] };
  return [{ ...state, modal: null, sent: [...state.sent, act].slice(-20) }, focus(".run-acts button")];
});

export const DismissInquiry = (state, op) => ({ ...state, inquiries: state.inquiries.filter((one) => one !== op) });
