// The question sheet: what a role asks, options as buttons, words of one's own, the time left.
import { h } from "../h.js";
import { attr, text } from "../safe.js";
import { leftText, secondsLeft } from "../derive/people.js";
import { answerOf, ChooseOption, CloseModal, ModalMessage, SendAnswer } from "../actions.js";
import { Icon } from "./icons.js";
import { Prose } from "./prose.js";
import { Button, Chip, inputValue } from "./parts.js";

const ANSWER_MAX_CHARS = 16384;
const UNANSWERED = "Nobody answered in time. The role is told so and goes on without.";
const UNPAID = "Nobody answered in time. The run ends at its budget with what it has.";

/** [title, body, acts] of the sheet. */
export function QuestionSheet(state, store) {
  const { modal, labels } = state;
  const { item, closed } = modal;
  const seconds = secondsLeft(item.expiresAt, state.nowMs);
  const over = closed !== null || seconds === 0 || !item.may;
  const body = [
    h("p", { class: "sheet-facts", key: "facts" }, [
      item.budget && Chip("warn", "warn", "budget"),
      TimeLeft(seconds, closed),
    ]),
    h("section", { class: "sheet-prose", key: "text" }, Prose(store, item.text)),
    item.context !== "" &&
      h("section", { class: "sheet-context", key: "context", "aria-label": "Context" }, [
        h("h3", {}, "What you should know"),
        Prose(store, item.context),
      ]),
    closed !== null && Closed(closed, "answered", store),
    closed === null && seconds === 0 && Expired(item.budget ? UNPAID : UNANSWERED),
    !item.may && closed === null && NotYours("answer it"),
    !over && Options(item, modal),
    !over && OwnWords(item, modal),
    modal.error !== "" && h("p", { class: "field-error", key: "error", role: "alert" }, text(modal.error, 600)),
  ];
  return [`${labels.role(item.role)} asks`, body, over ? [Close()] : [Close("Not now"), Send(modal)]];
}

const Options = (item, modal) =>
  item.options.length > 0 &&
  h(
    "div",
    { class: "options", role: "group", "aria-label": "Options", key: "options" },
    item.options.map((option, index) =>
      h(
        "button",
        {
          type: "button",
          key: `option${index}`,
          class: ["option", modal.choice === option && "is-chosen"].filter(Boolean),
          "aria-pressed": modal.choice === option ? "true" : "false",
          onclick: [ChooseOption, option],
          disabled: modal.busy,
          ...(index === 0 ? { autofocus: true } : {}),
        },
        [
          h("span", { class: "option-mark", "aria-hidden": "true" }, index < 9 ? String(index + 1) : ""),
          text(option, 400),
        ],
      ),
    ),
  );

const submitted = (event) => {
  const wanted = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (wanted) event.preventDefault();
  return wanted;
};
const SendByKey = (state, wanted) => (wanted ? SendAnswer(state) : state);

const OwnWords = (item, modal) =>
  h("div", { class: "own-words", key: "own" }, [
    h("label", { for: "answer-text" }, item.options.length > 0 ? "Or in your own words" : "Your answer"),
    h("textarea", {
      id: "answer-text",
      rows: 3,
      maxlength: ANSWER_MAX_CHARS,
      value: modal.message,
      oninput: [ModalMessage, inputValue],
      onkeydown: [SendByKey, submitted],
      disabled: modal.busy,
      ...(item.options.length === 0 ? { autofocus: true } : {}),
    }),
    h("p", { class: "hint" }, "The role reads it as your word on this question. It approves no tool call."),
  ]);

function Send(modal) {
  const answer = answerOf(modal);
  const label = answer === "" ? "Send the answer" : `Send “${attr(answer, 28)}”`;
  return Button({
    action: SendAnswer,
    icon: "question",
    label: modal.busy ? "Sending…" : label,
    tone: "primary",
    disabled: modal.busy || answer === "",
  });
}

// Shared with the approval sheet

export const TimeLeft = (seconds, closed) =>
  closed === null && seconds !== null
    ? h("span", { class: ["time-left", seconds <= 60 && "time-left--urgent"].filter(Boolean) }, [
        Icon("pending", 14),
        seconds === 0 ? "Expired" : `${leftText(seconds)} left`,
      ])
    : h("span", {}, "");

export const Close = (label = "Close") => Button({ action: CloseModal, label, autofocus: label === "Close" });

export const Expired = (words) =>
  h("p", { class: "framing framing--warn", key: "expired", role: "status" }, [h("strong", {}, "Expired. "), words]);

export const NotYours = (what) =>
  h(
    "p",
    { class: "framing", key: "not-yours" },
    `Your account may look at this but not ${what}. Ask whoever administers this namespace for the role guildhall-approver.`,
  );

/** How it ended meanwhile, as its event tells. */
export function Closed(closed, verb, store) {
  const by = closed.by === "" ? "" : ` by ${text(closed.by, 120)}`;
  const said =
    closed.outcome === "success"
      ? `It was ${verb}${by}.`
      : "It is closed: nobody answered in time, or it was withdrawn.";
  return h("div", { class: "framing", key: "closed", role: "status" }, [
    h("strong", {}, said),
    store && closed.text !== "" && Prose(store, closed.text),
  ]);
}
