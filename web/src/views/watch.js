// The Watch screen: head, attention, plan, one projection of the model, the inspector, the steps, the replay bar.
import { h } from "../h.js";
import { text } from "../safe.js";
import { Go, Hover, Pin, SeekTo } from "../actions.js";
import { drawnModel, isOver, shownModel } from "../state.js";
import { VIEWS } from "../router.js";
import { Activity, FilterBar } from "./activity.js";
import { Attention } from "./attention.js";
import { RunHeader } from "./run-header.js";
import { Changes } from "./changes.js";
import { Events } from "./events.js";
import { Flow, targetOf } from "./flow.js";
import { HoverCard, Inspector } from "./inspector.js";
import { Plan } from "./plan.js";
import { Sequence } from "./sequence.js";
import { Timeline } from "./timeline.js";
import { Button, Empty, inputValue, Problem } from "./parts.js";

const LABELS = { flow: "Flow", sequence: "Sequence", timeline: "Timeline", changes: "Changes", events: "Events" };

export function Watch(state, store) {
  const { connection } = state.run;
  if (connection.state === "refused") return h("main", { class: "watch watch--empty" }, Problem(connection.problem));
  if (state.run.id === "") {
    return h(
      "main",
      { class: "watch watch--empty" },
      connection.state === "lost"
        ? Problem(connection.problem)
        : Empty("Opening the run…", text(state.route.runId, 320)),
    );
  }
  return h("main", { class: "watch" }, [
    h("div", { class: "watch-top", key: "top" }, [RunHeader(state), Attention(state, store), Plan(state, store)]),
    h("div", { class: "workbench", key: "bench" }, [
      h("div", { class: "stage-column", key: "column" }, [
        Tabs(state),
        h(
          "div",
          {
            class: `stage stage--${state.route.view}`,
            key: `stage-${state.route.view}`,
            onmouseover: [Hover, targetOf],
            onmouseleave: [Hover, null],
            onclick: [Pin, pinned],
            onkeydown: [Pin, pinnedByKey],
          },
          Stage(state),
        ),
        ReplayBar(state),
        Activity(state),
      ]),
      Inspector(state, store),
    ]),
    HoverCard(state, store),
  ]);
}

// A click in a list chooses through its own row; the stage pins only what has no handler.
const pinned = (event) => (event.target.closest(".changes, .events, button, a, input") ? undefined : targetOf(event));
const pinnedByKey = (event) => (event.key === "Enter" || event.key === " " ? targetOf(event) : undefined);

function Stage(state) {
  const version = state.route.at === null ? state.run.version : `at${state.route.at}`;
  switch (state.route.view) {
    case "sequence":
      return Sequence(state);
    case "timeline":
      return Timeline(state);
    case "changes":
      return Changes(state);
    case "events":
      return Events(state);
    default:
      return Flow({
        model: drawnModel(state),
        version,
        labels: state.labels,
        chosen: state.route.op,
        vertical: !state.wide,
        over: isOver(state) && state.route.at === null,
      });
  }
}

function Tabs(state) {
  const { run } = shownModel(state);
  const counts = { changes: run.changedFilesTotal > 0 ? ` ${run.changedFilesTotal}` : "" };
  return h("div", { class: "tabs-bar", key: "tabs" }, [
    h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Views" },
      VIEWS.map((view) =>
        h(
          "button",
          {
            type: "button",
            role: "tab",
            key: view,
            class: ["tab", state.route.view === view && "is-here"].filter(Boolean),
            "aria-selected": state.route.view === view ? "true" : "false",
            onclick: [Go, { view }],
          },
          [LABELS[view], counts[view] && h("span", { class: "tab-count" }, counts[view])],
        ),
      ),
    ),
    FilterBar(state),
  ]);
}

/** Back and forth through the run's events; the end of the bar is the present. */
function ReplayBar(state) {
  const last = state.run.model.run.lastSeq;
  if (last < 2) return h("div", { class: "replay replay--none", key: "replay" });
  const at = state.route.at ?? last;
  const replay = state.run.replay;
  return h("div", { class: ["replay", state.route.at !== null && "replay--on"].filter(Boolean), key: "replay" }, [
    Button({
      action: [SeekTo, 1],
      icon: "first",
      label: "To the first event",
      hideText: true,
      small: true,
      tone: "quiet",
    }),
    Button({
      action: [SeekTo, at - 1],
      icon: "back",
      label: "One event back",
      hideText: true,
      small: true,
      tone: "quiet",
    }),
    Button({
      action: [SeekTo, at + 1],
      icon: "next",
      label: "One event on",
      hideText: true,
      small: true,
      tone: "quiet",
    }),
    Button({
      action: [SeekTo, last],
      icon: "last",
      label: "To the present",
      hideText: true,
      small: true,
      tone: "quiet",
    }),
    h("div", { class: "scrub" }, [
      h("input", {
        type: "range",
        min: 1,
        max: last,
        value: at,
        oninput: [SeekTo, inputValue],
        "aria-label": "Event",
        "aria-valuetext": `event ${at} of ${last}`,
      }),
      h("div", { class: "marks", "aria-hidden": "true" }, marks(state.run.model, last)),
    ]),
    h(
      "span",
      { class: "replay-at" },
      replay?.loading ? "loading…" : `${at.toLocaleString("en")} / ${last.toLocaleString("en")}`,
    ),
  ]);
}

const MARKS_MAX = 200;

function marks(model, last) {
  const out = [];
  for (const operation of model.list) {
    const kind =
      operation.outcome === "error"
        ? "error"
        : operation.kind === "question" || operation.kind === "approval"
          ? "asked"
          : "";
    if (kind === "") continue;
    out.push(
      h("i", {
        key: operation.id,
        class: `mark mark--${kind}`,
        style: { left: `${(operation.firstSeq / last) * 100}%` },
      }),
    );
    if (out.length >= MARKS_MAX) break;
  }
  return out;
}
