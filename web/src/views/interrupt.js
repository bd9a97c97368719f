// The interrupt composer: ask, redirect or abort, each with what it does.
import { h } from "../h.js";
import { text } from "../safe.js";
import { ChooseIntent, CloseModal, ModalMessage, SendInterrupt } from "../actions.js";
import { Icon } from "./icons.js";
import { Button, inputValue } from "./parts.js";

const MESSAGE_MAX_CHARS = 4096;
const INTENTS = [
  ["inquire", "inquiry", "Inquire", "Ask something. The active role answers you, and the work goes on as it was."],
  ["redirect", "interrupt", "Redirect", "Tell it what to do otherwise. The active role reads it before its next step."],
  ["abort", "cancelled", "Abort", "End the run. It says what it did; its changes until now are kept as a patch."],
];
const LABELS = {
  inquire: ["Your question", "Send the question", "What do you want to know?"],
  redirect: ["Your instruction", "Send the instruction", "What should it do otherwise?"],
  abort: ["Why (optional)", "Abort the run", "Why it should end"],
};

/** [title, body, acts] of the sheet. */
export function InterruptSheet(state) {
  const { busy, error, message, intent } = state.modal;
  const [label, send, placeholder] = LABELS[intent];
  const body = [
    h("fieldset", { class: "intents", key: "intents" }, [
      h("legend", { class: "visually-hidden" }, "What it is"),
      INTENTS.map((one) => Intent(one, intent, busy)),
    ]),
    h("div", { class: "own-words", key: "message" }, [
      h("label", { for: "interrupt-message" }, label),
      h("textarea", {
        id: "interrupt-message",
        rows: 4,
        maxlength: MESSAGE_MAX_CHARS,
        value: message,
        oninput: [ModalMessage, inputValue],
        onkeydown: [SendByKey, submitted],
        disabled: busy,
        placeholder,
        autofocus: true,
      }),
    ]),
    error !== "" && h("p", { class: "field-error", key: "error", role: "alert" }, text(error, 600)),
  ];
  const acts = [
    Button({ action: CloseModal, label: "Leave it running", disabled: busy }),
    Button({
      action: SendInterrupt,
      icon: "interrupt",
      label: busy ? "Sending…" : send,
      tone: intent === "abort" ? "danger" : "primary",
      disabled: busy,
    }),
  ];
  return ["Interrupt this run", body, acts];
}

const submitted = (event) => {
  const wanted = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (wanted) event.preventDefault();
  return wanted;
};
const SendByKey = (state, wanted) => (wanted ? SendInterrupt(state) : state);

const Intent = ([value, icon, name, what], chosen, busy) =>
  h("label", { class: ["intent", chosen === value && "is-chosen"].filter(Boolean), key: value }, [
    h("input", {
      type: "radio",
      name: "intent",
      value,
      checked: chosen === value,
      disabled: busy,
      onchange: [ChooseIntent, value],
    }),
    Icon(icon, 18),
    h("span", {}, [h("strong", {}, name), h("span", { class: "hint" }, what)]),
  ]);
