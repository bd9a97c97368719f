// The inspector: a card beside the pointer, and a panel for what was chosen. Read-only; its text can be selected.
import { h } from "../h.js";
import { text } from "../safe.js";
import { deriveOperationTooltip, deriveParticipantTooltip, deriveRoleTooltip } from "../derive/tooltip.js";
import { stepCount } from "../derive/activity.js";
import { DownloadOutput, HoldCard, LeaveCard, Pin, RunAgain } from "../actions.js";
import { isOver, shownModel } from "../state.js";
import { Prose } from "./prose.js";
import { Button, Chip } from "./parts.js";

/** {title, sections} of a target {kind, id}. */
function derived(state, { kind, id }) {
  const model = shownModel(state);
  if (kind === "operation") return deriveOperationTooltip(model, state.labels, id, state.ops.get(id)?.events ?? []);
  return kind === "role"
    ? deriveRoleTooltip(model, state.labels, id)
    : deriveParticipantTooltip(model, state.labels, id);
}

/** The card that follows the pointer. It stays while the pointer is on it, so that text can be copied. */
export function HoverCard(state, store) {
  const target = state.stage.tooltip;
  if (target === null || !state.wide) return null;
  const { title, sections } = derived(state, target);
  const placed = placeOf(target);
  return h(
    "div",
    {
      class: "hover-card",
      key: "hover-card",
      role: "tooltip",
      style: placed,
      onmouseenter: HoldCard,
      onmouseleave: LeaveCard,
    },
    [h("h3", {}, text(title, 120)), ...Sections(sections, store, 8)],
  );
}

// Right of the thing, or left of it where there is no room; never off the window.
function placeOf({ x, y, left }) {
  const { innerWidth, innerHeight } = window;
  const width = 380;
  const beside = x + width + 24 < innerWidth ? x + 12 : Math.max(12, left - width - 12);
  return { left: `${Math.round(beside)}px`, top: `${Math.round(Math.max(12, Math.min(y, innerHeight - 320)))}px` };
}

/** The panel: the chosen step, a pinned participant, or the run itself. */
export function Inspector(state, store) {
  const chosen = state.route.op ? { kind: "operation", id: state.route.op } : state.stage.pinned;
  return h(
    "aside",
    { class: ["inspector", chosen && "inspector--open"].filter(Boolean), "aria-label": "Inspector" },
    chosen ? Chosen(state, chosen, store) : Overview(state, store),
  );
}

function Chosen(state, target, store) {
  const { title, sections } = derived(state, target);
  const fetched = target.kind === "operation" ? state.ops.get(target.id) : null;
  return [
    h("div", { class: "inspector-head" }, [
      h("h2", {}, text(title, 120)),
      target.kind === "operation" && h("code", { class: "inspector-id" }, text(target.id, 20)),
      Button({ action: [Pin, null], icon: "close", label: "Close", hideText: true, tone: "quiet", small: true }),
    ]),
    h("div", { class: "inspector-body", tabindex: "0", role: "region", "aria-label": "Details" }, [
      ...Sections(sections, store, 40),
      fetched?.loading &&
        fetched.events.length === 0 &&
        h("p", { class: "hint", key: "loading" }, "Loading what went in and came out…"),
      fetched?.problem && h("p", { class: "field-error", key: "problem" }, text(fetched.problem, 300)),
    ]),
  ];
}

function Overview(state, store) {
  const { run } = shownModel(state);
  const task = run.task || state.run.detail?.spec?.task || state.run.summary?.task || "";
  return [
    h("div", { class: "inspector-head" }, [
      h("h2", {}, "This run"),
      run.private && Chip("info", "private", "private", "Not kept in history"),
      isOver(state) &&
        state.run.detail?.spec &&
        Button({ action: [RunAgain, state.run.detail], icon: "inquiry", label: "Run again", small: true }),
    ]),
    h("div", { class: "inspector-body", tabindex: "0", role: "region", "aria-label": "Details" }, [
      h("dl", { class: "facts", key: "facts" }, [
        ...Fact("Guild", guildOf(run, state.run.summary)),
        ...Fact("Mode", run.mode === "scheduled" ? "Scheduled: nobody is asked" : "Interactive"),
        ...(run.attempt > 1 ? Fact("Attempt", String(run.attempt)) : []),
        ...Fact("Events", run.lastSeq.toLocaleString("en")),
        ...Fact("Steps", stepCount(shownModel(state)).toLocaleString("en")),
      ]),
      task !== "" && h("section", { class: "section", key: "task" }, [h("h3", {}, "Task"), Prose(store, task)]),
      h("p", { class: "hint", key: "hint" }, "Point at a node, a line or a row to look inside; click to keep it here."),
    ]),
  ];
}

// What the events say; before them only what was asked for is known, which may not exist.
function guildOf(run, summary) {
  if (run.guild) return text(run.guild, 120);
  const asked = text(summary?.guild || "–", 120);
  return summary?.reason === "GuildNotFound" ? `${asked} (there is none of that name)` : asked;
}

const Fact = (label, value) => [h("dt", {}, label), h("dd", {}, value)];

/** Sections by kind. Scalars go into one list; prose, JSON and code get a block each. */
function Sections(sections, store, most) {
  const shown = sections.slice(0, most);
  const facts = shown.filter((one) => one.kind === "text");
  const blocks = shown.filter((one) => one.kind !== "text");
  return [
    facts.length > 0 &&
      h(
        "dl",
        { class: "facts", key: "facts" },
        facts.flatMap((one) => Fact(one.label, text(one.value, 600))),
      ),
    ...blocks.map((one, index) =>
      h("section", { class: "section", key: `${index}${one.label}` }, [h("h3", {}, one.label), Block(one, store)]),
    ),
  ];
}

function Block({ kind, value }, store) {
  if (kind === "output")
    return Button({ action: [DownloadOutput, value], icon: "download", label: "Download", small: true });
  if (kind === "prose") return Prose(store, value);
  return h("pre", { class: kind === "json" ? "data data--json" : "data" }, text(value, 65536));
}
