// History: every run one may see, newest first; a row opens to its task, result or error.
import { h } from "../h.js";
import { numberOr, table, text } from "../safe.js";
import { statusOfPhase } from "../labels.js";
import { dayAndTime, duration, money, plural, runSeconds, UNKNOWN } from "../format.js";
import { nameOf, subtitleOf, titleOf } from "../derive/title.js";
import { formatRoute } from "../router.js";
import { DownloadReport, Go, MoreHistory, ToggleHistoryRow } from "../actions.js";
import { Delivery } from "./delivery.js";
import { Prose } from "./prose.js";
import { Icon } from "./icons.js";
import { Button, Chip, Empty, inputValue, Problem, Status, Waits } from "./parts.js";

export function History(state, store) {
  const { history, route } = state;
  return h("main", { class: "history" }, [
    h("div", { class: "page-head" }, [
      h("h1", {}, "History"),
      h("label", { class: "find" }, [
        Icon("search", 14),
        h("span", { class: "visually-hidden" }, "Search runs"),
        h("input", {
          id: "find",
          type: "search",
          value: route.q,
          placeholder: "Search summary, task, name…",
          oninput: [Go, (event) => ({ q: inputValue(event) })],
          maxlength: 200,
        }),
      ]),
      h(
        "div",
        { class: "phases", role: "group", "aria-label": "Filter by status" },
        PHASES.map(([phase, label]) => PhaseButton(state, phase, label)),
      ),
    ]),
    history.status === "failed" && Problem(history.problem),
    Rows(state, store),
    history.next !== "" &&
      h(
        "div",
        { class: "more" },
        Button({
          action: MoreHistory,
          label: history.status === "loading" ? "Loading…" : "Older runs",
          disabled: history.status === "loading",
        }),
      ),
  ]);
}

const PHASES = [
  ["", "All"],
  ["running", "Running"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
];
const PhaseButton = (state, phase, label) =>
  h(
    "button",
    {
      type: "button",
      key: label,
      class: ["tab", (state.history.phase ?? "") === phase && "is-here"].filter(Boolean),
      "aria-pressed": (state.history.phase ?? "") === phase ? "true" : "false",
      onclick: [SetPhase, phase],
    },
    label,
  );

export const SetPhase = (state, phase) => ({ ...state, history: { ...state.history, phase } });

const GROUP = table({ pending: "running", running: "running", awaiting: "running" });
const inPhase = (run, phase) => !phase || (GROUP[statusOfPhase(run.phase)] ?? statusOfPhase(run.phase)) === phase;

function Rows(state, store) {
  const { items, status, phase } = state.history;
  const shown = items.filter((run) => inPhase(run, phase));
  if (shown.length === 0)
    return status === "idle"
      ? Empty("Looking for runs…")
      : Empty(
          "No runs here",
          state.route.q ? "Nothing matches the search." : "Runs appear here as soon as they are created.",
        );
  return h(
    "ul",
    { class: "history-list" },
    shown.map((run) => Row(state, run, store)),
  );
}

function Row(state, run, store) {
  const open = state.history.open === run.uid;
  const changes = numberOr(run.changes?.files);
  const said = subtitleOf(run);
  const took = duration(runSeconds(run, null, state.nowMs));
  return h(
    "li",
    {
      key: text(run.uid, 80),
      class: ["history-row", open && "history-row--open", run.id === state.route.runId && "is-active"].filter(Boolean),
    },
    [
      h(
        "button",
        {
          type: "button",
          class: "history-line",
          "aria-expanded": open ? "true" : "false",
          onclick: [ToggleHistoryRow, run],
        },
        [
          Icon("chevron", 14),
          Status(statusOfPhase(run.phase), state.labels.phase(run.phase)),
          h("span", { class: "history-what" }, [
            h("span", { class: "history-title" }, [h("strong", {}, text(titleOf(run), 200)), Waits(run)]),
            said !== "" && h("span", { class: "history-summary" }, text(said, 200)),
            h("code", { class: "run-name" }, text(nameOf(run), 320)),
          ]),
          h("span", { class: "history-guild" }, text(run.guild || UNKNOWN, 60)),
          h("span", { class: "history-num" }, took),
          h("span", { class: "history-num" }, money(numberOr(run.usage?.costMicroUSD))),
          h("span", { class: "history-num" }, changes === null ? UNKNOWN : plural(changes, "file")),
          h("time", { class: "history-when" }, dayAndTime(run.createdAt)),
        ],
      ),
      open && Opened(state, run, store),
    ],
  );
}

function Opened(state, run, store) {
  const detail = state.history.details[run.uid];
  const known = detail?.run;
  return h("div", { class: "history-open" }, [
    h("div", { class: "history-acts", key: "acts" }, [
      h(
        "a",
        {
          class: "button button--small button--primary",
          href: formatRoute({ screen: "watch", runId: run.id, uid: run.uid }),
        },
        [Icon("running", 14), h("span", {}, "Open")],
      ),
      h(
        "a",
        {
          class: "button button--small",
          href: formatRoute({ screen: "watch", runId: run.id, uid: run.uid, view: "changes" }),
        },
        [Icon("result", 14), h("span", {}, "Changes")],
      ),
      Button({
        action: [DownloadReport, { id: run.id, uid: run.uid }],
        icon: "download",
        label: "Report",
        small: true,
        title: "The whole run as one HTML file that needs no server",
      }),
      Delivery(run, state.labels),
      run.private === true && Chip("info", "private", "private"),
      run.live === false && Chip("quiet", "pending", "only in history"),
    ]),
    h("section", { class: "section", key: "task" }, [h("h3", {}, "Task"), Prose(store, known?.task || run.task || "")]),
    known?.error &&
      h("section", { class: "section section--error", key: "error" }, [
        h("h3", {}, "What went wrong"),
        Prose(store, known.error.message),
      ]),
    !known?.error &&
      run.message &&
      run.phase === "Failed" &&
      h("section", { class: "section section--error", key: "message" }, [
        h("h3", {}, state.labels.reason(run.reason) || "What went wrong"),
        h("p", {}, text(run.message, 1000)),
      ]),
    known?.result &&
      h("section", { class: "section", key: "result" }, [h("h3", {}, "Result"), Prose(store, known.result)]),
    detail === undefined && h("p", { class: "hint", key: "wait" }, "Loading the result…"),
    detail?.problem && h("p", { class: "field-error", key: "problem" }, text(detail.problem, 400)),
  ]);
}
