// The approval sheet. Guards against a yes to something else than was read: the tool and the full canonical arguments
// stand apart from all prose, hidden characters spelt out, and Approve needs the end to have been seen and a tick.
import { h } from "../h.js";
import { text } from "../safe.js";
import { secondsLeft } from "../derive/people.js";
import { rowText } from "../derive/rows.js";
import { ARGUMENT_ROW_PX, ArgumentsScrolled, ConfirmRead, Copy, SendDecision, ShowExact } from "../actions.js";
import { windowOf } from "./activity.js";
import { Button, Chip, scrolled } from "./parts.js";
import { Close, Closed, Expired, NotYours, TimeLeft } from "./question.js";

/** [title, body, acts] of the sheet. */
export function ApprovalSheet(state) {
  const { modal, labels } = state;
  const { item, closed, sheet } = modal;
  const seconds = secondsLeft(item.expiresAt, state.nowMs);
  const over = closed !== null || seconds === 0 || !item.may;
  const body = [
    Facts(state, item, seconds, closed),
    sheet ? Arguments(modal) : h("p", { class: "hint", key: "wait" }, "Fetching the complete arguments…"),
    closed !== null && Closed({ ...closed, text: "" }, closed.text === "approve" ? "approved" : "denied", null),
    closed === null &&
      seconds === 0 &&
      Expired("Nobody decided in time. The call was not made, and the role is told so."),
    !item.may && closed === null && NotYours("decide it"),
    !over && sheet && Tick(modal),
    modal.error !== "" && h("p", { class: "field-error", key: "error", role: "alert" }, text(modal.error, 600)),
  ];
  return [`${labels.role(item.role)} wants your approval`, body, over ? [Close()] : Acts(modal)];
}

const EFFECTS = { read: "reads only", write: "changes the workspace", consequential: "acts outside the workspace" };

const Facts = (state, item, seconds, closed) =>
  h("dl", { class: "approval-facts", key: "facts" }, [
    h("dt", {}, "Tool"),
    h("dd", { class: "approval-tool" }, [
      h("code", {}, text(item.tool, 200)),
      h("span", { class: "hint" }, state.labels.participant(`tool:${item.tool}`)),
    ]),
    h("dt", {}, "Effect"),
    h("dd", {}, Chip(item.effect === "consequential" ? "bad" : "warn", "warn", EFFECTS[item.effect] ?? "unknown")),
    h("dt", {}, "Asked by"),
    h("dd", {}, state.labels.role(item.role)),
    h("dt", {}, "Time"),
    h("dd", {}, closed === null ? TimeLeft(seconds, closed) : "decided"),
  ]);

function Arguments({ item, sheet }) {
  const { starts } = sheet;
  const space = { class: "argument-space", style: { height: `${starts.length * ARGUMENT_ROW_PX}px` } };
  return h("section", { class: "arguments", key: "arguments", "aria-label": "Complete arguments" }, [
    ArgumentsHead(item, sheet),
    h(
      "div",
      {
        class: "argument-scroll",
        tabindex: "0",
        role: "region",
        "aria-label": "Arguments",
        onscroll: [ArgumentsScrolled, scrolled],
        style: { height: `min(${starts.length * ARGUMENT_ROW_PX + 20}px, 300px, 40vh)` },
      },
      h("div", space, rowsInSight(sheet)),
    ),
    h("p", { class: "hint arguments-hash" }, [
      "Bound by SHA-256 ",
      h("code", {}, `${item.hash.slice(0, 12)}…${item.hash.slice(-6)}`),
      ": a call with anything else in it needs a new approval.",
    ]),
  ]);
}

const ArgumentsHead = (item, { text: whole, exact, hidden, spaces }) =>
  h("div", { class: "arguments-head" }, [
    h("h3", {}, "Complete arguments"),
    h("span", { class: "hint" }, `${item.bytes.toLocaleString("en")} bytes`),
    hidden && Chip("bad", "warn", "hidden characters, spelt out"),
    spaces && Chip("warn", "warn", "long runs of spaces"),
    h("span", { class: "arguments-acts" }, [
      Button({ action: [Copy, item.arguments ?? ""], label: "Copy", small: true, tone: "quiet" }),
      Button({
        action: [ShowExact, !exact],
        label: exact ? "Indented" : "Exact",
        title: exact ? "Show them indented" : "Show the exact text the approval is bound to",
        small: true,
        tone: "quiet",
        disabled: exact && whole.length > 262_144,
      }),
    ]),
  ]);

function rowsInSight({ text: whole, starts, top, height }) {
  const [first, last] = windowOf(top, height, starts.length, ARGUMENT_ROW_PX);
  return Array.from({ length: last - first }, (_, at) => {
    const index = first + at;
    const style = { top: `${index * ARGUMENT_ROW_PX}px` };
    return h("div", { class: "argument-row", key: `row${index}`, style }, rowText(whole, starts, index));
  });
}

const checked = (event) => event.target.checked;

const Tick = (modal) =>
  h("label", { class: ["read-it", !modal.seen && "read-it--off"].filter(Boolean), key: "tick" }, [
    h("input", {
      type: "checkbox",
      id: "read-it",
      checked: modal.read,
      disabled: !modal.seen || modal.busy,
      onchange: [ConfirmRead, checked],
    }),
    modal.seen ? "I have read these arguments to the end" : "Scroll to the end of the arguments first",
  ]);

const Acts = (modal) => [
  Button({
    action: [SendDecision, "deny"],
    icon: "cancelled",
    label: modal.busy ? "Sending…" : "Deny",
    disabled: modal.busy,
    autofocus: true,
  }),
  Button({
    action: [SendDecision, "approve"],
    icon: "approval",
    label: modal.busy ? "Sending…" : "Approve once",
    tone: "primary",
    disabled: modal.busy || !modal.seen || !modal.read || !modal.sheet,
    title: modal.seen && modal.read ? "" : "Read the arguments to the end and tick the box first",
  }),
];
