// What the inspector says about an operation, a participant or a role. Pure functions of (model, labels, id) that give
// {title, sections}; a section is {label, kind: "text" | "prose" | "json" | "code", value}.
import { count, duration, money, plural, timeOfDay } from "../format.js";
import { shownOutcome } from "./outcome.js";
import { prettyJson, table } from "../safe.js";

const line = (label, value) => ({ label, kind: "text", value });

/** An operation: who, to whom, how long, what it cost, what went in and came out. `events` are its own, if fetched. */
export function deriveOperationTooltip(model, labels, id, events = []) {
  const operation = model.operations.get(id);
  if (operation === undefined) return { title: "Unknown step", sections: [line("Step", id)] };
  const sections = [
    line("From", labels.participant(operation.source)),
    line("To", labels.participant(operation.destination)),
    line("Status", labels.outcome(shownOutcome(operation, model.run))),
    line("Started", timeOfDay(operation.startedAt)),
    line("Took", operation.endedAt === undefined ? "still going" : duration(operation.metrics.elapsedSeconds)),
    ...metricLines(operation.metrics),
  ];
  return { title: titleOf(operation, labels), sections: [...sections, ...contentOf(operation, labels, events)] };
}

function titleOf(operation, labels) {
  if (operation.kind === "tool") return labels.participant(operation.destination);
  if (operation.kind === "delegation") return `Delegation to ${labels.participant(operation.destination)}`;
  return labels.kind(operation.kind);
}

function metricLines({ tokens, cachedPromptTokens, outputTokens, costMicroUSD }) {
  if (tokens === 0 && outputTokens === 0 && costMicroUSD === 0) return [];
  return [
    line("Tokens", `${count(tokens)} in (${count(cachedPromptTokens)} cached) · ${count(outputTokens)} out`),
    line("Cost", money(costMicroUSD)),
  ];
}

const PROSE_LABELS = table({
  task: ["Task", "Result"],
  delegation: ["Brief", "Summary"],
  model: ["Asked", "Said"],
  question: ["Question", "Answer"],
  approval: ["Asked for", "Decision"],
  inquiry: ["Asked", "Answer"],
  interrupt: ["Message", "Reply"],
  result: ["Result", "Result"],
});

function contentOf(operation, labels, events) {
  if (operation.kind === "tool") return toolContent(operation, events);
  const [input, output] = PROSE_LABELS[operation.kind] ?? ["Input", "Output"];
  const finished = events.find((event) => event.type === "model.finished");
  const sections = [];
  if (operation.details) sections.push(formatTooltipContent(input, operation.details));
  if (operation.result || finished?.text)
    sections.push(formatTooltipContent(output, finished?.text || operation.result));
  for (const call of finished?.calls ?? []) sections.push(line("Calls", labels.tool(call.name)));
  if (finished?.error) sections.push(formatTooltipContent("Error", finished.error.message));
  return sections;
}

// A tool's input and output are data from the workspace, not prose: shown as JSON or as they are.
function toolContent(operation, events) {
  const started = events.find((event) => event.type === "tool.started");
  const finished = events.find((event) => event.type === "tool.finished");
  const progress = events
    .filter((event) => event.type === "tool.progress")
    .map((event) => event.text)
    .join("");
  const sections = operation.title ? [line("Summary", operation.title)] : [];
  if (started) {
    sections.push(dataSection(started.argumentsCut ? "Input (cut)" : "Input", started.arguments));
  }
  if (finished) {
    if (finished.exitCode !== undefined && finished.exitCode !== null)
      sections.push(line("Exit status", String(finished.exitCode)));
    if (finished.errorCode) sections.push(line("Error", finished.errorCode));
    if (finished.output) sections.push(dataSection("Output", finished.output));
    if (finished.blob) sections.push({ label: "Longer output", kind: "output", value: operation.id });
    if (finished.omittedBytes > 0)
      sections.push(line("Not shown here", `${finished.omittedBytes.toLocaleString("en")} bytes`));
  } else if (progress) sections.push(dataSection("Output so far", progress));
  return sections;
}

function dataSection(label, value) {
  const json = prettyJson(value);
  return json === null ? { label, kind: "code", value } : { label, kind: "json", value: json };
}

/** Agent text as a section: JSON where it is JSON, sanitised Markdown where it is prose. */
export function formatTooltipContent(label, value) {
  const json = prettyJson(value);
  return json === null ? { label, kind: "prose", value } : { label, kind: "json", value: json };
}

/** A participant: what it is and how much it did. */
export function deriveParticipantTooltip(model, labels, id) {
  const one = model.participants.get(id);
  if (one === undefined) return { title: labels.participant(id), sections: [] };
  const KIND = table({
    human: "Person",
    role: "Role",
    handler: "Handler: woken by events, watches over the others",
    tool: "Tool",
    tools: "All tools",
  });
  const sections = [line("Kind", KIND[one.kind] ?? one.kind)];
  if (one.kind === "tool") sections.push(line("Effect", labels.effect(id.slice(5))));
  sections.push(line("Called", plural(callsOf(model, one), "time")));
  if (one.active > 0) sections.push(line("Now", `${one.active} running`));
  if (one.metrics.elapsedSeconds > 0) sections.push(line("Total time", duration(one.metrics.elapsedSeconds)));
  return { title: labels.participant(id), sections: [...sections, ...metricLines(one.metrics)] };
}

// What a role says to its model is a step of its own, and no call of the role.
const callsOf = (model, { id, kind, invocations }) =>
  kind === "role" || kind === "handler"
    ? model.list.filter((one) => one.destination === id && one.kind !== "model").length
    : invocations;

/** A role of the Guild: what it may use and whom it may ask. */
export function deriveRoleTooltip(model, labels, name) {
  const face = model.run.roles.find((one) => one.name === name);
  const about = deriveParticipantTooltip(model, labels, `role:${name}`);
  if (face === undefined) return about;
  const sections = [...about.sections];
  if (face.tools.length > 0) sections.push(line("May use", face.tools.map(labels.tool).join(", ")));
  if ((face.delegates ?? []).length > 0) sections.push(line("May ask", face.delegates.map(labels.role).join(", ")));
  return { title: about.title, sections };
}
