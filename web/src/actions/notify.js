// Being called back by the system's notifications: off until a person switches it on here, and off again at a click.
import { noticesOf } from "../derive/notices.js";
import { askToNotify, keepNotify, notify } from "../notify.js";
import { toast } from "./problems.js";

const REFUSED = "The browser shows no notifications for this page. Allow them in its settings for this site.";

export function ToggleNotify(state) {
  const { on, permission } = state.notify;
  if (on) return switched(state, false);
  if (permission === "granted") return switched(state, true);
  if (permission !== "default") return { ...state, toast: toast("bad", REFUSED) };
  return [state, askToNotify(NotifyAnswered)];
}

/** `permission` is what the browser said after asking the person. */
export function NotifyAnswered(state, permission) {
  const next = { ...state, notify: { ...state.notify, permission } };
  return permission === "granted" ? switched(next, true) : { ...next, toast: toast("bad", REFUSED) };
}

const switched = (state, on) => [
  {
    ...state,
    notify: { ...state.notify, on },
    toast: toast("good", on ? "You will be called when a run needs you or fails." : "You will not be called any more."),
  },
  keepNotify(on),
];

/** The effects of a new list of Runs on a person who wants to be called. The first list after sign-in calls nobody. */
export function noticeEffects(before, after) {
  if (!after.notify.on || !before.runs.listed) return [];
  const notices = noticesOf(before.runs.items, after.runs.items, after.labels.reason);
  return notices.length === 0 ? [] : [notify(notices)];
}
