// What the fold accumulates: plain objects in the InteractionModel's wire form, with indexes beside them.
import { LIMITS } from "./contract.js";

export const TERMINAL = new Set(["succeeded", "failed", "cancelled"]);

/** The first `MODEL_TEXT_MAX_CHARS` code points of prose. */
export function prose(text) {
  const most = LIMITS.MODEL_TEXT_MAX_CHARS;
  return text.length <= most
    ? text
    : Array.from(text.slice(0, most * 2))
        .slice(0, most)
        .join("");
}

/** Seconds between two stamps, never below 0; 0 if one has the form of a date but is none. */
export function elapsedSeconds(start, end) {
  const begun = stampMs(start);
  const done = stampMs(end);
  return begun === null || done === null ? 0 : Math.max(0, done - begun) / 1000;
}

/** Milliseconds since the epoch, or null. Days that do not exist (31 February) are no dates here either. */
export function stampMs(stamp) {
  const ms = Date.parse(stamp);
  return Number.isNaN(ms) || new Date(ms).toISOString() !== stamp ? null : ms;
}

export const noMetrics = () => ({
  tokens: 0,
  cachedPromptTokens: 0,
  outputTokens: 0,
  costMicroUSD: 0,
  elapsedSeconds: 0,
});

/** Adds one model call to a record of sums; a cost of null makes the sum unknown for good. */
export function addCall(metrics, usage, cost) {
  metrics.tokens += usage.tokens ?? 0;
  metrics.cachedPromptTokens += usage.cachedPromptTokens ?? 0;
  metrics.outputTokens += usage.outputTokens ?? 0;
  metrics.costMicroUSD = metrics.costMicroUSD === null || cost === null ? null : metrics.costMicroUSD + cost;
}

export function newParticipant(id) {
  const [kind, name] = id.split(":", 2);
  const head = kind === "role" ? { id, kind, role: name } : { id, kind };
  return { ...head, invocations: 0, active: 0, metrics: noMetrics() };
}

const newRun = () => ({
  uid: "",
  guild: "",
  roles: [],
  task: "",
  mode: "interactive",
  private: false,
  budget: {},
  isolation: "unknown",
  status: "pending",
  attempt: 0,
  unreadable: 0,
  unknown: 0,
  summary: "",
  result: "",
  artifacts: [],
  errors: 0,
  scripted: false,
  plan: [],
  changedFiles: [],
  changedFilesTotal: 0,
  lastSeq: 0,
  gaps: [],
  metrics: noMetrics(),
});

/** An empty model: `run`, and ordered maps of participants and operations; `open` holds operations not yet ended. */
export function newModel() {
  return {
    run: newRun(),
    participants: new Map(),
    operations: new Map(),
    list: [],
    open: new Map(),
    taskOp: null,
    waiting: 0,
  };
}

/** A model that goes on where a served one ended. Fields that are missing keep their empty value. */
export function modelFromWire(wire) {
  const model = newModel();
  Object.assign(model.run, wire?.run ?? {});
  for (const one of wire?.participants ?? [])
    model.participants.set(one.id, { ...one, metrics: { ...noMetrics(), ...one.metrics } });
  for (const one of wire?.operations ?? []) {
    const operation = { ...one, metrics: { ...noMetrics(), ...one.metrics } };
    model.operations.set(operation.id, operation);
    model.list.push(operation);
    if (operation.outcome === "active") {
      model.open.set(operation.id, operation);
      if (ASKING.has(operation.kind)) model.waiting += 1;
    }
    if (operation.kind === "task" && model.taskOp === null) model.taskOp = operation;
  }
  return model;
}

/** The model of a Guild before anything has run, from its spec and the tools each role really gets. */
export function guildModel(spec, resolved) {
  const model = newModel();
  const toolsOf = new Map((resolved ?? []).map((role) => [role.name, role.tools]));
  model.run.entryRole = spec?.entryRole;
  model.run.roles = (spec?.roles ?? []).map((role) => ({
    name: role.name,
    label: role.label ?? "",
    kind: role.handler ? "handler" : "role",
    tools: toolsOf.get(role.name) ?? role.tools ?? [],
    delegates: role.delegates ?? [],
  }));
  return model;
}

export const ASKING = new Set(["question", "approval"]);

/** The InteractionModel as the api would send it. */
export const modelToWire = (model) => ({
  v: 1,
  run: model.run,
  participants: [...model.participants.values()],
  operations: model.list,
});
