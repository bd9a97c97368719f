// The head of a Run: what it is, what happens now, what it costs, whether it is shut in, and who must act.
import { h } from "../h.js";
import { table, text } from "../safe.js";
import { deriveNowCaption } from "../derive/now.js";
import { deriveCostStrip } from "../derive/cost.js";
import { nameOf, titleOf } from "../derive/title.js";
import { honestyNotes } from "../derive/activity.js";
import { statusOfPhase } from "../labels.js";
import { timeOfDay, dayAndTime } from "../format.js";
import { OpenInterrupt, OpenModal } from "../actions.js";
import { isOver, may, shownModel } from "../state.js";
import { Delivery } from "./delivery.js";
import { Icon } from "./icons.js";
import { Button, Chip, Status } from "./parts.js";

export function RunHeader(state) {
  const model = shownModel(state);
  const { run } = model;
  const { summary } = state.run;
  const status = run.status === "pending" && summary ? statusOfPhase(summary.phase) : run.status;
  return h("section", { class: "run-head", "aria-label": "Run" }, [
    h("div", { class: "run-title" }, [
      h("h1", {}, text(titleOf(summary, state.route.runId), 200)),
      nameOf(summary) !== "" && RunName(summary),
      Status(status, status === "pending" && summary ? state.labels.phase(summary.phase) : state.labels.status(status)),
      h("span", { class: "now", "aria-live": "polite" }, nowOf(state, model)),
      h(
        "span",
        { class: "started" },
        run.startedAt
          ? `started ${timeOfDay(run.startedAt)}`
          : summary?.createdAt
            ? `created ${dayAndTime(summary.createdAt)}`
            : "",
      ),
      h("div", { class: "run-acts" }, Acts(state)),
    ]),
    h("div", { class: "strip" }, [CostStrip(model, state), Isolation(model, state), Source(state), Branch(state), ...Notes(model)]),
    Why(state),
  ]);
}

// Where room is short the namespace is cut, then the name.
const RunName = ({ namespace, name }) =>
  h("code", { class: "run-name run-name--parts", title: text(nameOf({ namespace, name }), 320) }, [
    namespace && h("span", {}, `${text(namespace, 80)}/`),
    h("b", {}, text(name, 253)),
  ]);

// In replay the row would tell of what has not happened yet.
const asOf = (state) => (state.route.at === null ? state.run.summary : null);

// A run that is over does nothing now, whether its log says so or only its row.
const nowOf = (state, model) =>
  state.route.at === null && isOver(state) ? "" : deriveNowCaption(model, state.labels, asOf(state));

function Acts(state) {
  const acts = [];
  if (may(state, "interrupt"))
    acts.push(
      Button({ action: OpenInterrupt, icon: "interrupt", label: "Interrupt", small: true }),
    );
  if (may(state, "cancel"))
    acts.push(
      Button({ action: [OpenModal, { kind: "stop" }], icon: "cancelled", label: "Stop", small: true, tone: "danger" }),
    );
  if (isOver(state))
    acts.push(
      Button({
        action: [OpenModal, { kind: "result" }],
        icon: "result",
        label: "Result",
        small: true,
        tone: "primary",
      }),
    );
  return acts;
}

/** Tokens, money, time, errors: from the ledger where there is one. */
export function CostStrip(model, state) {
  const cost = deriveCostStrip(model, state.run.ledger, state.nowMs, asOf(state));
  return h("dl", { class: "cost-strip" }, [
    Figure("Tokens", [cost.tokens, h("small", {}, ` in (${cost.cached} cached) · ${cost.output} out`)]),
    Figure(cost.fromLedger ? "Cost" : "Cost (claimed)", [
      cost.cost,
      cost.limit !== "" && h("small", {}, ` of ${cost.limit}`),
      cost.fraction !== null && Meter(cost.fraction),
    ]),
    Figure("Time", [cost.time, cost.timeLimit !== "" && h("small", {}, ` of ${cost.timeLimit}`)]),
    Figure("Errors", [String(cost.errors)], cost.errors > 0 ? "figure--bad" : ""),
    cost.scripted &&
      h("div", { class: "figure" }, [
        h("dt", { class: "visually-hidden" }, "Model"),
        h("dd", {}, Chip("info", "spark", "scripted model", "No real model: replies come from a scenario file")),
      ]),
    cost.claim !== "" &&
      h("div", { class: "figure" }, [
        h("dt", { class: "visually-hidden" }, "Difference"),
        h("dd", {}, Chip("warn", "warn", cost.difference, cost.claim)),
      ]),
  ]);
}

const Figure = (label, value, extra = "") =>
  h("div", { class: ["figure", extra].filter(Boolean) }, [h("dt", {}, label), h("dd", {}, value)]);

const Meter = (fraction) =>
  h("meter", {
    class: "budget",
    min: 0,
    max: 1,
    low: 0.7,
    high: 0.9,
    optimum: 0.2,
    value: fraction,
    title: `${Math.round(fraction * 100)} % of the budget`,
    "aria-label": "Budget used",
  });

const ISOLATION = table({
  verified: [
    "good",
    "shield",
    "isolation verified",
    "Before anything untrusted ran, this pod proved that it reaches the gateway and nothing else.",
  ],
  not_required: [
    "bad",
    "shieldOff",
    "isolation NOT enforced",
    "This cluster was set up to run without proven isolation. Repository code may reach the network.",
  ],
  untold: [
    "quiet",
    "shield",
    "isolation was not reported",
    "The run ended without a word on whether its isolation was proven.",
  ],
  unknown: [
    "quiet",
    "shield",
    "isolation not reported yet",
    "The run has not said yet whether its isolation was proven.",
  ],
});

function Isolation(model, state) {
  const condition = (state.run.detail?.conditions ?? []).find((one) => one?.type === "IsolationVerified");
  const refused = condition?.reason === "IsolationNotEnforced" || state.run.summary?.reason === "IsolationNotEnforced";
  if (refused)
    return Chip("bad", "shieldOff", "isolation NOT enforced: run refused", text(condition?.message ?? "", 500));
  const known = ISOLATION[model.run.isolation] ? model.run.isolation : "unknown";
  if (known === "unknown" && condition?.status === "True") return Chip(...ISOLATION.verified);
  if (known !== "unknown" || !isOver(state)) return Chip(...ISOLATION[known]);
  const [tone, icon, label, title] = ISOLATION.untold;
  return Chip(tone, icon, label, text(condition?.message || title, 500));
}

// The commit a fetched workspace began from; a warning where the repository names more than was fetched.
function Source(state) {
  const ready = (state.run.detail?.conditions ?? []).find((one) => one?.type === "WorkspaceReady");
  const message = text(ready?.message ?? "", 1000);
  const commit = /\bcommit ([0-9a-f]{40,64})\b/.exec(message);
  if (!commit) return null;
  const partly = /not fetched|not downloaded/.test(message);
  return Chip(partly ? "attention" : "quiet", partly ? "warn" : null, `commit ${commit[1].slice(0, 12)}`, message);
}

const Branch = (state) => Delivery(asOf(state), state.labels, state.run.detail?.conditions);

const Notes = (model) => honestyNotes(model).map((note) => Chip(note.tone, "warn", note.text));

// Reasons whose message says the reason's words again, and names what they only mean.
const SAYS_IT_ALL = new Set(["GuildNotFound"]);

const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

// A Run that waits or failed before its first event has its reason in the resource, not in the events.
function Why(state) {
  const { summary } = state.run;
  if (!summary?.reason || !["Pending", "Queued", "Preparing", "Failed", "Cancelled"].includes(summary.phase))
    return null;
  const words = state.labels.reason(summary.reason);
  if (words === "" && !summary.message) return null;
  return h("p", { class: ["why", summary.phase === "Failed" && "why--bad"].filter(Boolean) }, [
    Icon(summary.phase === "Failed" ? "warn" : "pending", 15),
    !(summary.message && SAYS_IT_ALL.has(summary.reason)) && h("strong", {}, text(words || summary.reason, 200)),
    summary.message && h("span", {}, text(SAYS_IT_ALL.has(summary.reason) ? sentence(summary.message) : summary.message, 1000)),
  ]);
}
