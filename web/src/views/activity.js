// The event list: every step as one row of fixed height, windowed, so that 40,000 rows cost as many nodes as 40.
import { h } from "../h.js";
import { attr, text } from "../safe.js";
import { unmarked } from "../derive/unmarked.js";
import { duration, money, timeOfDay } from "../format.js";
import { FollowList, ListScrolled, ROW_PX, rowsOf, Select, SetFilter, ToggleOnly } from "../actions.js";
import { shownOutcome } from "../derive/outcome.js";
import { isOver, shownModel } from "../state.js";
import { Icon } from "./icons.js";
import { Button, Empty, inputValue, scrolled } from "./parts.js";

const SPARE_ROWS = 6;

/** The first and last index of the rows to draw. Pure. */
export function windowOf(top, height, total, rowPx) {
  const first = Math.max(0, Math.min(total, Math.floor(top / rowPx)) - SPARE_ROWS);
  return [first, Math.min(total, Math.ceil((top + height) / rowPx) + SPARE_ROWS)];
}

/** The filter above the list, shared by every view. */
export const FilterBar = (state) =>
  h("div", { class: "filter" }, [
    h("label", { class: "find" }, [
      Icon("search", 14),
      h("span", { class: "visually-hidden" }, "Filter steps"),
      h("input", {
        id: "find",
        type: "search",
        value: state.route.q,
        placeholder: "role:  tool:  is:error  text…",
        oninput: [SetFilter, inputValue],
        autocomplete: "off",
        spellcheck: "false",
        maxlength: 200,
      }),
    ]),
    state.route.q !== "" &&
      h("label", { class: "check" }, [
        h("input", { type: "checkbox", checked: state.route.only, onchange: ToggleOnly }),
        "matches only",
      ]),
  ]);

export function Activity(state) {
  const { rows, hits } = rowsOf(state);
  return h("section", { class: "activity", "aria-label": "Steps" }, [
    h("div", { class: "activity-head" }, [
      h("h2", {}, "Steps"),
      h(
        "span",
        { class: "hint" },
        state.route.q
          ? `${hits.toLocaleString("en")} of ${rows.length.toLocaleString("en")} match`
          : `${rows.length.toLocaleString("en")}`,
      ),
      !state.list.follow && state.route.at === null && FollowButton(state),
    ]),
    Rows(state, rows),
  ]);
}

function FollowButton(state) {
  const fresh = Math.max(0, shownModel(state).list.length - state.list.seen);
  return Button(
    { action: FollowList, icon: "down", label: "Follow", small: true, tone: fresh > 0 ? "primary" : "quiet" },
    fresh > 0 ? `${fresh.toLocaleString("en")} new` : "Follow",
  );
}

function Rows(state, rows) {
  const { top, height } = state.list;
  const [first, last] = windowOf(top, height, rows.length, ROW_PX);
  const style = { height: `${rows.length * ROW_PX}px` };
  return h(
    "div",
    {
      class: "activity-scroll",
      onscroll: [ListScrolled, scrolled],
      tabindex: "0",
      role: rows.length > 0 ? "listbox" : "region",
      "aria-label": "Steps of the run",
      ...(state.route.op ? { "aria-activedescendant": `row-${attr(state.route.op)}` } : {}),
    },
    [
      rows.length === 0 && h("div", { key: "empty" }, NoSteps(state)),
      h(
        "div",
        { class: "activity-space", key: "space", role: "presentation", style },
        rows.slice(first, last).map((row, index) => Row(state, row, first + index)),
      ),
    ],
  );
}

function NoSteps(state) {
  if (state.route.q) return Empty("No step matches", "Nothing matches the filter.");
  return isOver(state) ? Empty("No steps", "The run ended before its first step.") : Empty("No steps yet");
}

function Row(state, { operation, hit }, index) {
  const { labels } = state;
  const on = operation.id === state.route.op;
  const { metrics } = operation;
  const outcome = shownOutcome(operation, shownModel(state).run);
  return h(
    "div",
    {
      key: operation.id,
      id: `row-${attr(operation.id)}`,
      class: ["row", `row--${outcome}`, !hit && "row--dim", on && "is-active"].filter(Boolean),
      role: "option",
      "aria-selected": on ? "true" : "false",
      "data-operation": attr(operation.id),
      onclick: [Select, operation.id],
      style: { top: `${index * ROW_PX}px`, "--depth": String(Math.min(6, Math.max(0, operation.stack.length - 1))) },
    },
    [
      h("time", {}, timeOfDay(operation.startedAt)),
      h("span", { class: "row-kind", title: labels.kind(operation.kind) }, Icon(operation.kind, 14)),
      h("span", { class: "row-who" }, [
        labels.participant(operation.source),
        operation.source !== operation.destination && h("span", { class: "row-arrow" }, " → "),
        operation.source !== operation.destination && labels.participant(operation.destination),
      ]),
      h("span", { class: "row-title" }, titleOf(operation, labels)),
      h("span", { class: "row-cost" }, metrics.tokens + metrics.outputTokens > 0 ? money(metrics.costMicroUSD) : ""),
      h(
        "span",
        { class: "row-took" },
        operation.endedAt === undefined ? "…" : metrics.elapsedSeconds > 0 ? duration(metrics.elapsedSeconds) : "",
      ),
      h("span", { class: `row-outcome row-outcome--${outcome}` }, [
        Icon(outcome, 13),
        h("span", { class: "visually-hidden" }, labels.outcome(outcome)),
      ]),
    ],
  );
}

// A model call says more by its first words than by the name of its model.
const titleOf = ({ title, kind, destination, result }, labels) => {
  if (kind === "model" && result) return unmarked(attr(result, 200));
  const shown = text(title, 200);
  if (shown !== "" && shown !== destination.slice(5)) return shown;
  return kind === "tool" ? "" : labels.kind(kind);
};
