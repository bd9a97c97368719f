// Stopping a run: asked for first, shown as fact only when it comes back as an event. Also modals and toasts.
import { runPath } from "../api.js";
import { copy, focus, later, request } from "../effects.js";
import { watchedRun } from "../state.js";
import { ShowEnd } from "./ending.js";
import { problemText, refusedOr, toast } from "./problems.js";
import { forWatched } from "./watched.js";

export const OpenModal = (state, modal) => [
  { ...state, modal: { message: "", busy: false, error: "", ...modal }, stage: { ...state.stage, tooltip: null } },
  focus(".modal [autofocus]", ".modal"),
];
export const CloseModal = (state) => [
  { ...state, modal: null },
  focus(".attention button", ".run-acts button", ".tab.is-here"),
  later(0, ShowEnd),
];
export const ModalMessage = (state, message) => ({ ...state, modal: state.modal && { ...state.modal, message } });

export function ConfirmStop(state) {
  const { modal, route } = state;
  if (modal === null || modal.busy) return state;
  return [
    { ...state, modal: { ...modal, busy: true, error: "" } },
    request("POST", runPath(route.runId, "/cancel", route.uid), ActAnswered, {
      body: {},
      tag: watchedRun(state),
    }),
  ];
}

export const ActAnswered = forWatched((state, answer) => {
  if (state.modal === null) return state;
  if (!answer.ok)
    return refusedOr(state, answer, {
      ...state,
      modal: { ...state.modal, busy: false, error: problemText(answer.problem) },
    });
  const text = "Stop was asked for. It shows as done when the run has ended.";
  return [{ ...state, modal: null, toast: toast("good", text) }, later(8000, DropToast, text)];
});

export const DropToast = (state, text) =>
  state.toast?.text === text || text === undefined ? { ...state, toast: null } : state;
export const Copy = (state, text) => [state, copy(text, Copied)];
export const Copied = (state, done) => {
  const text = done ? "Copied." : "The browser did not allow copying.";
  return [{ ...state, toast: toast(done ? "good" : "bad", text) }, later(3000, DropToast, text)];
};
export const TogglePlan = (state) => ({ ...state, planOpen: !state.planOpen });
