// Small pieces that several views share. They take strings that have passed text().
import { h } from "../h.js";
import { text } from "../safe.js";
import { Icon } from "./icons.js";

/** A status as icon and word; colour only repeats what they say. */
export const Status = (status, word) =>
  h("span", { class: ["status", `status--${STATUS_CLASS.has(status) ? status : "pending"}`] }, [
    Icon(status, 14),
    h("span", {}, text(word, 40)),
  ]);

const STATUS_CLASS = new Set([
  "pending",
  "running",
  "awaiting",
  "succeeded",
  "failed",
  "cancelled",
  "active",
  "success",
  "error",
]);

/** A button with an icon; `label` is its accessible name when no text shows. */
export function Button(
  { action, icon, label, tone = "", small = false, hideText = false, disabled = false, title, pressed, id, autofocus },
  content,
) {
  const props = {
    type: "button",
    class: ["button", tone && `button--${tone}`, small && "button--small"].filter(Boolean),
    onclick: action,
    disabled,
  };
  if (hideText) props["aria-label"] = label;
  if (title || hideText) props.title = title || label;
  if (pressed !== undefined) props["aria-pressed"] = pressed ? "true" : "false";
  if (id) props.id = id;
  if (autofocus) props.autofocus = true;
  return h("button", props, [icon && Icon(icon, small ? 14 : 16), !hideText && h("span", {}, content ?? label)]);
}

/** A thing that could not be shown, and what to do. */
export const Problem = (problem, again) =>
  h("div", { class: "problem", role: "alert" }, [
    h("strong", {}, [Icon("warn", 16), text(problem?.title || "Something failed", 300)]),
    problem?.detail && h("p", {}, text(problem.detail, 1000)),
    again && Button({ action: again, label: "Try again", small: true }),
  ]);

export const Empty = (title, hint, ...more) =>
  h("div", { class: "empty" }, [h("strong", {}, title), hint && h("p", {}, hint), ...more]);

export const Chip = (tone, icon, label, title) =>
  h("span", { class: ["chip", `chip--${tone}`], ...(title ? { title } : {}) }, [
    icon && Icon(icon, 13),
    h("span", {}, label),
  ]);

/** How many things of a run wait for a person, or nothing. */
export const Waits = (run) =>
  run.awaiting > 0 &&
  h("span", { class: "chip chip--warn waits", title: "Questions and approvals that wait for a person" }, [
    h("span", {}, `${run.awaiting} open`),
  ]);

/** Reads {top, height, full} of the element a scroll event came from. */
export const scrolled = (event) => ({
  top: event.target.scrollTop,
  height: event.target.clientHeight,
  full: event.target.scrollHeight,
});
export const inputValue = (event) => event.target.value;
