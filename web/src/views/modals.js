// Modals inside the run view: question, approval, interrupt, stop, result, keys. Each says which run it is about.
import { h } from "../h.js";
import { listOf, table, text } from "../safe.js";
import { CloseModal, ConfirmStop, Copy, DownloadPatch, DownloadReport, Go } from "../actions.js";
import { duration, plural, runSeconds } from "../format.js";
import { deriveCostStrip } from "../derive/cost.js";
import { titleOf } from "../derive/title.js";
import { ApprovalSheet } from "./approval.js";
import { Delivery } from "./delivery.js";
import { InterruptSheet } from "./interrupt.js";
import { Prose } from "./prose.js";
import { Button, Chip, Status } from "./parts.js";
import { QuestionSheet } from "./question.js";

export function Modal(state, store) {
  if (state.modal === null) return null;
  const [title, body, acts] = (SHEETS[state.modal.kind] ?? KeysModal)(state, store);
  return h("div", { class: "modal-layer", key: "modal-layer" }, [
    h("div", { class: "modal-shade", onclick: CloseModal }),
    h(
      "div",
      {
        class: `modal modal--${state.modal.kind}`,
        role: "dialog",
        "aria-modal": "true",
        "aria-labelledby": "modal-title",
        tabindex: "-1",
      },
      [
        h("header", { class: "modal-head" }, [
          h("div", {}, [
            state.modal.kind !== "keys" &&
              h("p", { class: "modal-run" }, text(titleOf(state.run.summary, state.route.runId), 200)),
            h("h2", { id: "modal-title" }, title),
          ]),
          Button({ action: CloseModal, icon: "close", label: "Close", hideText: true, tone: "quiet" }),
        ]),
        h("div", { class: "modal-body", tabindex: "0", role: "region", "aria-label": title, key: "body" }, body),
        acts && h("footer", { class: "modal-acts" }, acts),
      ],
    ),
  ]);
}

const FRAMING = table({
  succeeded:
    "The run says it is done. This is the agent's own summary; look at the changes and run the checks before you rely on it.",
  failed: "The run did not finish its task.",
  cancelled: "The run was stopped.",
});

const leftOf = ({ changedFilesTotal, patchSHA256 }) =>
  patchSHA256
    ? " What it changed until then is kept as a patch."
    : changedFilesTotal > 0
      ? " What it changed is too large for a patch: the files are listed."
      : " It changed nothing.";

function ResultModal(state, store) {
  const { run } = state.run.model;
  const { summary } = state.run;
  const status = shownStatus(run, summary);
  const framing = [FRAMING[status], ...(status === "succeeded" ? [] : [leftOf(run)])];
  const body = [
    ResultHead(state, status),
    h("p", { class: "framing", key: "framing" }, framing),
    run.error && Wrong("error", "What went wrong", Prose(store, run.error.message)),
    !run.error &&
      status === "failed" &&
      summary?.message &&
      Wrong(
        "why",
        state.labels.reason(summary.reason) || "What went wrong",
        h("p", {}, text(summary.message, 1000)),
      ),
    run.result && h("section", { class: "section", key: "result" }, [h("h3", {}, "Summary"), Prose(store, run.result)]),
    listOf(run.artifacts).length > 0 && Artifacts(listOf(run.artifacts)),
  ];
  return ["Result", body, ResultActs(state)];
}

const OF_PHASE = table({ Cancelled: "cancelled", Succeeded: "succeeded" });

const shownStatus = (run, summary) => (FRAMING[run.status] ? run.status : (OF_PHASE[summary?.phase] ?? "failed"));

function ResultHead(state, status) {
  const { summary, ledger, model, detail } = state.run;
  const { run } = model;
  const cost = deriveCostStrip(model, ledger, state.nowMs);
  const took = runSeconds(summary, run, state.nowMs);
  return h("div", { class: "result-head", key: "head" }, [
    Status(status, state.labels.status(status)),
    h("span", {}, took === null ? "" : duration(took)),
    h("span", {}, cost.cost),
    run.changedFilesTotal > 0 && h("span", {}, plural(run.changedFilesTotal, "changed file")),
    cost.scripted && Chip("info", "spark", "scripted model"),
    Delivery(summary, state.labels, detail?.conditions),
  ]);
}

const Wrong = (key, title, words) => h("section", { class: "section section--error", key }, [h("h3", {}, title), words]);

const Artifacts = (paths) =>
  h("section", { class: "section", key: "artifacts" }, [
    h("h3", {}, "Artifacts"),
    h(
      "ul",
      { class: "file-list" },
      paths.map((path, index) => h("li", { key: String(index) }, h("code", {}, text(path, 400)))),
    ),
  ]);

function ResultActs(state) {
  const { run } = state.run.model;
  return [
    Button({ action: [Copy, rawOf(run, state.run.summary)], icon: "copy", label: "Copy raw", tone: "quiet" }),
    Button({
      action: [DownloadReport, { id: state.route.runId, uid: state.route.uid }],
      icon: "download",
      label: "Download report",
      tone: "quiet",
      title: "The whole run as one HTML file that needs no server",
    }),
    run.patchSHA256 && Button({ action: DownloadPatch, icon: "download", label: "Download patch" }),
    run.changedFilesTotal > 0 &&
      Button({ action: seeChanges, icon: "result", label: "See the changes", tone: "primary" }),
  ];
}

const seeChanges = (state) => Go({ ...state, modal: null }, { view: "changes" });

/** The error's kind and what else stays off the page, for whoever reports it. */
function rawOf(run, summary) {
  const { status, result, error = null, artifacts } = run;
  const said = { reason: summary?.reason ?? null, message: summary?.message ?? "" };
  return JSON.stringify({ status, result, error, artifacts, ...said }, null, 2);
}

function StopModal(state) {
  const { busy, error } = state.modal;
  const body = [
    h(
      "p",
      { key: "what" },
      "Model calls are refused at once, the agent ends within seconds, and what it changed so far is kept as a patch. A stopped run cannot be continued.",
    ),
    error !== "" && h("p", { class: "field-error", key: "error", role: "alert" }, text(error, 500)),
  ];
  return [
    "Stop this run?",
    body,
    [
      Button({ action: CloseModal, label: "Keep it running", disabled: busy, autofocus: true }),
      Button({
        action: ConfirmStop,
        icon: "cancelled",
        label: busy ? "Stopping…" : "Stop the run",
        tone: "danger",
        disabled: busy,
      }),
    ],
  ];
}

const KEYS = [
  ["g then w, h, c", "Watch, History, Compose"],
  ["j, k", "Next and previous step"],
  ["/", "Filter or search"],
  ["1 … 5", "Flow, Sequence, Timeline, Changes, Events"],
  ["e", "Next error"],
  ["a", "To what needs you: opens it, decides nothing"],
  ["i", "Interrupt the run"],
  ["f", "Follow the newest step"],
  ["p", "Open and close the plan"],
  ["r", "The result, once there is one"],
  ["t", "Light or dark"],
  ["Esc", "Close, let go"],
  ["?", "This list"],
];

function KeysModal() {
  return [
    "Keyboard",
    [
      h(
        "dl",
        { class: "keys" },
        KEYS.flatMap(([keys, what]) => [
          h(
            "dt",
            {},
            keys
              .split(" ")
              .map((part) => (/^(then|…|and)$/.test(part) ? ` ${part} ` : h("kbd", {}, part.replace(",", "")))),
          ),
          h("dd", {}, what),
        ]),
      ),
    ],
    null,
  ];
}

const SHEETS = table({
  result: ResultModal,
  stop: StopModal,
  interrupt: InterruptSheet,
  question: QuestionSheet,
  approval: ApprovalSheet,
  keys: KeysModal,
});
