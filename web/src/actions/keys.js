// Time, theme and keys.
import { nextError, waiting } from "../derive/activity.js";
import { focus, setTheme } from "../effects.js";
import { table } from "../safe.js";
import { isOver, may, shownModel } from "../state.js";
import { CloseModal, OpenModal, TogglePlan } from "./acts.js";
import { askAgain, ChooseOption, OpenFirstAsk, OpenInterrupt } from "./people.js";
import { Go } from "./route.js";
import { FollowList, reveal, rowsOf, step } from "./steps.js";

export const Tick = (state, nowMs) => askAgain({ ...state, nowMs });
export const WideChanged = (state, wide) => ({ ...state, wide });
export const ProseChanged = (state) => ({ ...state, proseVersion: state.proseVersion + 1 });

export function ToggleTheme(state) {
  const theme = state.theme === "dark" ? "light" : "dark";
  return [{ ...state, theme }, setTheme(theme)];
}

const VIEW_KEYS = table({ 1: "flow", 2: "sequence", 3: "timeline", 4: "changes", 5: "events" });

/** Every key that does something; `keysHelp` lists the same. */
export function KeyPressed(state, key) {
  if (state.session.status !== "in") return state;
  if (key === "Escape") return escaped(state);
  if (state.modal !== null) return modalKey(state, key);
  if (state.prefix === "g") return prefixed({ ...state, prefix: "" }, key);
  if (key === "g") return { ...state, prefix: "g" };
  if (key === "?") return OpenModal(state, { kind: "keys" });
  if (key === "t") return ToggleTheme(state);
  if (key === "/") return [state, focus("#find")];
  return state.route.screen === "watch" && state.route.runId ? watchKey(state, key) : state;
}

function watchKey(state, key) {
  const model = shownModel(state);
  if (key === "j" || key === "ArrowDown") return step(state, 1);
  if (key === "k" || key === "ArrowUp") return step(state, -1);
  if (key === "f") return FollowList(state);
  if (key === "p") return TogglePlan(state);
  if (key === "e") return chooseOr(state, nextError(model, model.operations.get(state.route.op)?.firstSeq ?? 0));
  if (key === "a") return toWhatWaits(state, model);
  if (key === "i" && may(state, "interrupt")) return OpenInterrupt(state);
  if (key === "r" && isOver(state)) return OpenModal(state, { kind: "result" });
  return VIEW_KEYS[key] ? Go(state, { view: VIEW_KEYS[key] }) : state;
}

// A digit chooses an option; sending is a second act, and nothing that approves has a key.
function modalKey(state, key) {
  const option = state.modal.kind === "question" ? state.modal.item.options[Number(key) - 1] : undefined;
  return option === undefined ? state : ChooseOption(state, option);
}

function toWhatWaits(state, model) {
  const waits = state.route.at === null && state.asks.questions.length + state.asks.approvals.length > 0;
  return waits ? OpenFirstAsk(state) : chooseOr(state, waiting(model)[0]?.id ?? "");
}

function chooseOr(state, op) {
  if (op === "") return state;
  return reveal(Go({ ...state, list: { ...state.list, follow: false } }, { op }), rowsOf(state).rows);
}

function prefixed(state, key) {
  const screens = { w: "watch", h: "history", c: "compose" };
  return screens[key] ? Go(state, { screen: screens[key], q: "" }) : state;
}

function escaped(state) {
  if (state.modal !== null) return state.modal.busy ? state : CloseModal(state);
  if (state.stage.tooltip !== null) return { ...state, stage: { ...state.stage, tooltip: null } };
  if (state.route.op || state.stage.pinned)
    return Go({ ...state, stage: { ...state.stage, pinned: null } }, { op: "" });
  return state.toast ? { ...state, toast: null } : state;
}
