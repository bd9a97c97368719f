// The "needs you" surface of Watch: what waits for a person, acts on their way, answers to inquiries.
import { h } from "../h.js";
import { table, text } from "../safe.js";
import { needsYou } from "../derive/people.js";
import { waiting } from "../derive/activity.js";
import { DismissInquiry, LoadAsks, OpenAsk, Select } from "../actions.js";
import { isOver, shownModel } from "../state.js";
import { Icon } from "./icons.js";
import { Prose } from "./prose.js";
import { Button } from "./parts.js";

const SHOWN_MAX_COUNT = 4;

export function Attention(state, store) {
  const rows = state.route.at !== null || isOver(state) ? replayed(state) : open(state);
  const answers = state.inquiries.map((op) => InquiryAnswer(state, store, op));
  return [
    h("p", { class: "visually-hidden", role: "status", key: "said" }, rows === null ? "" : rows.said),
    rows !== null &&
      h(
        "section",
        { class: ["attention", rows.calm && "attention--calm"], "aria-label": "Needs you", key: "attention" },
        [h("div", { class: "attention-list" }, rows.list)],
      ),
    ...answers,
  ];
}

function open(state) {
  const { items, unexplained } = needsYou(state.asks, state.sent, state.run.model, state.nowMs);
  const shown = items.slice(0, SHOWN_MAX_COUNT).map((item) => Item(state, item));
  const more = items.length - shown.length;
  const list = [
    ...shown,
    more > 0 && h("p", { class: "attention-more", key: "more" }, `and ${more} more`),
    ...OnTheirWay(state, items),
    unexplained > 0 && state.sent.length === 0 && Unclear(state),
  ].filter(Boolean);
  if (list.length === 0) return null;
  return { list, calm: items.length === 0, said: items.map((item) => saidOf(state, item)).join(" ") };
}

const verbOf = ({ kind, budget }) =>
  kind === "question" ? (budget ? "has reached its budget" : "asks you") : "wants your approval";
const saidOf = (state, item) => `${state.labels.role(item.role)} ${verbOf(item)}.`;

function Item(state, item) {
  const what =
    item.kind === "question" ? plainLine(item.text) : `to use ${state.labels.participant(`tool:${item.tool}`)}`;
  const act = item.kind === "question" ? "Answer" : "Review";
  return h("div", { class: ["ask", `ask--${item.kind}`, item.urgent && "ask--urgent"].filter(Boolean), key: item.id }, [
    h("span", { class: "ask-icon" }, Icon(item.kind, 20)),
    h("div", { class: "ask-what" }, [
      h("p", { class: "ask-who" }, [h("strong", {}, state.labels.role(item.role)), ` ${verbOf(item)}`]),
      h("p", { class: "ask-line" }, what),
    ]),
    h("span", { class: "ask-left" }, item.expired ? "expired" : item.left === "" ? "" : `${item.left} left`),
    item.sent
      ? h("span", { class: "ask-sent" }, "sent, not taken yet")
      : Button({
          action: [OpenAsk, { kind: item.kind, id: item.id }],
          label: item.may ? act : "Look",
          tone: item.may ? "primary" : "",
          title: item.may ? "" : "Your account may look at this, not decide it",
        }),
  ]);
}

const MARKUP = /[`*_#>]+/g;
/** The first line of a question as plain text. */
const plainLine = (value) =>
  text(
    String(value)
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.replace(MARKUP, "") ?? "",
    240,
  );

function OnTheirWay(state, items) {
  const listed = new Set(items.map((item) => item.id));
  return state.sent
    .filter((act) => !listed.has(act.about))
    .map((act, index) =>
      h("div", { class: "ask ask--sent", key: `sent${index}${act.uid}` }, [
        h("span", { class: "ask-icon" }, Icon("pending", 18)),
        h("p", { class: "ask-line" }, `${act.words} is on its way: the run has not taken it yet.`),
      ]),
    );
}

// The run's events say that something waits and the gateway does not list it.
function Unclear(state) {
  const failed = state.asks.status === "failed";
  if (state.asks.status === "idle") return null;
  const words = failed
    ? `It cannot be answered now: ${text(state.asks.problem?.title || "the gateway is silent", 200)}.`
    : "An answer was taken; the run goes on as soon as it has read it.";
  return h("div", { class: "ask ask--sent", key: "unclear" }, [
    h("span", { class: "ask-icon" }, Icon(failed ? "warn" : "pending", 18)),
    h("p", { class: "ask-line" }, words),
    failed && Button({ action: LoadAsks, label: "Try again", small: true }),
  ]);
}

/** In replay and after the end nothing can be acted on: only where it was. */
function replayed(state) {
  if (isOver(state) && state.route.at === null) return null;
  const asked = waiting(shownModel(state)).slice(0, SHOWN_MAX_COUNT);
  if (asked.length === 0) return null;
  const list = asked.map((operation) =>
    h("div", { class: "ask ask--sent", key: operation.id }, [
      h("span", { class: "ask-icon" }, Icon(operation.kind, 18)),
      h("p", { class: "ask-line" }, [
        h("strong", {}, state.labels.participant(operation.source)),
        operation.kind === "question" ? " waited for an answer: " : " waited for an approval: ",
        text(operation.title || operation.details, 200),
      ]),
      Button({ action: [Select, operation.id], label: "Show", small: true }),
    ]),
  );
  return { list, calm: true, said: "" };
}

const ANSWER_TONE = table({ success: "good", error: "warn", cancelled: "warn" });

function InquiryAnswer(state, store, op) {
  const operation = state.run.model.operations.get(op);
  if (operation === undefined || state.route.at !== null) return null;
  const who = state.labels.participant(operation.destination);
  const tone = ANSWER_TONE[operation.outcome] ?? "warn";
  return h(
    "section",
    { class: ["answer-card", `answer-card--${tone}`], "aria-label": "Answer to an inquiry", key: `answer-${op}` },
    [
      h("header", {}, [
        h("p", {}, [h("strong", {}, who), tone === "good" ? " answers the inquiry" : " could not answer the inquiry"]),
        h("p", { class: "answer-asked" }, text(operation.details, 300)),
      ]),
      h("div", { class: "answer-text" }, Prose(store, operation.result || "No words came with it.")),
      h("div", { class: "answer-acts" }, [
        Button({ action: [Select, op], label: "Show in the run", small: true, tone: "quiet" }),
        Button({ action: [DismissInquiry, op], label: "Dismiss", small: true }),
      ]),
    ],
  );
}
