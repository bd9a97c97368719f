// The fold: LogEvents become the InteractionModel. Pure but for the model it owns; docs/visualization.md has the rules,
// and tests/golden/fold/ holds this and the Python fold to the same answers. Takes what decode.js let through.
import { EVENT_TYPES, LIMITS } from "./contract.js";
import { addCall, ASKING, elapsedSeconds, newModel, newParticipant, noMetrics, prose, TERMINAL } from "./model.js";

const OPERATION_TOOLS = new Set(["delegate", "ask_human", "update_plan", "finish", "trigger_interrupt"]);
const TOOL_NAME = /^[a-z][a-z0-9_]{0,63}$/;
const COUNTED = new Set(["model", "tool"]);
const TASK_OUTCOME = { succeeded: "success", failed: "error", cancelled: "cancelled" };

/** `model` with `event` taken in (rules 1 and 2). The model is changed and returned; cost does not grow with it. */
export function fold(model, event) {
  const { run } = model;
  if (event.type === "unreadable") {
    run.unreadable += 1;
    return model;
  }
  if (event.seq <= run.lastSeq) return model;
  if (event.seq > run.lastSeq + 1) {
    run.gaps.push({ first: run.lastSeq + 1, last: event.seq - 1 });
    if (run.gaps.length > LIMITS.MODEL_GAPS_MAX_COUNT) run.gaps.shift();
  }
  run.lastSeq = event.seq;
  const rule = Object.hasOwn(RULES, event.type) ? RULES[event.type] : undefined;
  if (rule === undefined) run.unknown += 1;
  else rule(model, event);
  return model;
}

/** Events folded one after the other, into `model` or a new one. */
export const foldAll = (events, model = newModel()) => events.reduce(fold, model);

/** Rule 11: the log ended without `run.finished`; `status` is what the Run resource says. */
export function close(model, ts, status) {
  if (ended(model)) return model;
  for (const operation of [...model.open.values()]) end(model, operation, "cancelled", ts);
  model.run.endedAt = ts;
  model.run.status = status;
  return model;
}

export const ended = (model) => TERMINAL.has(model.run.status);

function participant(model, id) {
  if (!model.participants.has(id)) model.participants.set(id, newParticipant(id));
  return model.participants.get(id);
}

// Openings and ends (rules 4 to 6)

function opened(model, event, kind) {
  const known = model.operations.get(event.op);
  if (known !== undefined) {
    known.lastSeq = event.seq;
    return null;
  }
  participant(model, event.source);
  const actor = participant(model, event.destination);
  const operation = newOperation(model, event, kind, actor);
  model.operations.set(operation.id, operation);
  model.open.set(operation.id, operation);
  model.list.push(operation);
  for (const one of actor.kind === "tool" ? [actor, participant(model, "tools")] : [actor]) {
    one.invocations += 1;
    one.active += 1;
  }
  if (ASKING.has(kind)) {
    model.waiting += 1;
    settleStatus(model);
  }
  return operation;
}

function newOperation(model, event, kind, actor) {
  const parent = event.parent ?? null;
  const known = parent === null ? undefined : model.operations.get(parent);
  let stack = known === undefined ? [] : known.stack;
  if (kind === "delegation" && actor.role !== undefined)
    stack = [...stack, actor.role].slice(0, LIMITS.DELEGATION_MAX_DEPTH + 1);
  return {
    id: event.op,
    kind,
    ...(parent === null ? {} : { parent }),
    stack,
    source: event.source,
    destination: event.destination,
    ...(event.role == null ? {} : { role: event.role }),
    title: event.title ?? "",
    startedAt: event.ts,
    outcome: "active",
    firstSeq: event.seq,
    lastSeq: event.seq,
    details: "",
    result: "",
    metrics: noMetrics(),
  };
}

function ending(model, event, ...kinds) {
  const operation = touch(model, event);
  return operation !== undefined && operation.endedAt === undefined && kinds.includes(operation.kind)
    ? operation
    : null;
}

function end(model, operation, outcome, ts) {
  operation.endedAt = ts;
  operation.outcome = outcome;
  const elapsed = elapsedSeconds(operation.startedAt, ts);
  operation.metrics.elapsedSeconds = elapsed;
  model.open.delete(operation.id);
  const actor = participant(model, operation.destination);
  for (const one of actor.kind === "tool" ? [actor, participant(model, "tools")] : [actor]) {
    one.active -= 1;
    one.metrics.elapsedSeconds += elapsed;
  }
  if (outcome === "error" && COUNTED.has(operation.kind)) model.run.errors += 1;
  if (ASKING.has(operation.kind)) {
    model.waiting -= 1;
    settleStatus(model);
  }
}

function settleStatus(model) {
  if (!ended(model)) model.run.status = model.waiting > 0 ? "awaiting" : "running";
}

function touch(model, event) {
  const operation = event.op == null ? undefined : model.operations.get(event.op);
  if (operation !== undefined) operation.lastSeq = event.seq;
  return operation;
}

// The rules that need more than a line

function runStarted(model, event) {
  const { run } = model;
  if (model.taskOp !== null) {
    run.attempt = event.attempt;
    settleStatus(model);
    touch(model, event);
    return;
  }
  Object.assign(run, {
    uid: event.run,
    guild: event.guild ?? "",
    guildDigest: event.guildDigest,
    entryRole: event.entryRole,
    roles: event.roles.map((face) => ({ delegates: [], ...face })),
    task: event.task,
    mode: event.mode,
    private: event.private ?? false,
    budget: withoutNulls(event.budget),
    isolation: event.isolation ?? "unknown",
    startedAt: event.ts,
    attempt: event.attempt,
  });
  settleStatus(model);
  declare(model, event.roles);
  const task = opened(model, event, "task");
  if (task === null) return;
  task.stack = [event.entryRole];
  task.details = prose(event.task);
  model.taskOp = task;
}

/** Rule 3's participants, in their order. */
export function declare(model, roles) {
  participant(model, "human");
  for (const face of roles) participant(model, `role:${face.name}`).kind = face.kind;
  const tools = new Set(
    roles.flatMap((face) => face.tools).filter((name) => TOOL_NAME.test(name) && !OPERATION_TOOLS.has(name)),
  );
  if (tools.size > 0) participant(model, "tools");
  for (const name of tools) participant(model, `tool:${name}`);
}

function runFinished(model, event) {
  const { run } = model;
  const text = prose(event.result || event.error?.message || "");
  const result = opened(model, event, "result");
  if (result !== null) {
    result.result = text;
    end(model, result, "success", event.ts);
  }
  if (ended(model)) return;
  Object.assign(run, { endedAt: event.ts, result: event.result ?? "", artifacts: [...(event.artifacts ?? [])] });
  if (event.error != null) run.error = { detail: {}, ...event.error };
  for (const operation of [...model.open.values()]) {
    if (operation === model.taskOp) operation.result = text;
    end(model, operation, operation === model.taskOp ? TASK_OUTCOME[event.outcome] : "cancelled", event.ts);
  }
  run.status = event.outcome;
}

function modelText(model, event) {
  const operation = ending(model, event, "model");
  if (operation !== null) operation.result = prose(operation.result + event.text);
}

function modelFinished(model, event) {
  if (event.scripted === true) model.run.scripted = true;
  const operation = ending(model, event, "model");
  if (operation === null) return;
  operation.result = prose(event.text ?? "");
  const cost = event.costMicroUSD ?? (event.outcome === "success" ? null : 0);
  const usage = event.usage ?? {};
  addCall(model.run.metrics, usage, cost);
  addCall(participant(model, operation.source).metrics, usage, cost);
  for (let paying = operation; paying !== undefined; paying = parentOf(model, paying))
    addCall(paying.metrics, usage, cost);
  end(model, operation, event.outcome, event.ts);
}

// A parent must have opened earlier, or a chain of hostile events could pay itself in a circle.
function parentOf(model, operation) {
  const parent = operation.parent === undefined ? undefined : model.operations.get(operation.parent);
  return parent !== undefined && parent.firstSeq < operation.firstSeq ? parent : undefined;
}

function planUpdated(model, event) {
  model.run.plan = event.items.map((item) => ({ ...item }));
  const operation = opened(model, event, "plan");
  if (operation !== null) end(model, operation, "success", event.ts);
}

function changesUpdated(model, event) {
  const { run } = model;
  run.changedFiles = (event.files ?? []).map((file) => ({
    added: 0,
    removed: 0,
    binary: false,
    willRun: false,
    generated: false,
    ...file,
  }));
  run.changedFilesTotal = event.filesTotal ?? 0;
  delete run.patchSHA256;
  if (event.patchSHA256 != null) run.patchSHA256 = event.patchSHA256;
  touch(model, event);
}

function interruptTriggered(model, event) {
  const operation = opened(model, event, "interrupt");
  if (operation === null) return;
  operation.details = prose(event.message ?? "");
  end(model, operation, "success", event.ts);
}

const opensWith = (kind, details) => (model, event) => {
  const operation = opened(model, event, kind);
  if (operation !== null) operation.details = prose(details(event));
};
const endsWith = (kinds, result) => (model, event) => {
  const operation = ending(model, event, ...kinds);
  if (operation === null) return;
  if (result !== null) operation.result = prose(result(event));
  end(model, operation, event.outcome, event.ts);
};
const nothing = () => "";
const withoutNulls = (record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));

const RULES = {
  "run.started": runStarted,
  "run.summarized": (model, event) => {
    model.run.summary = event.summary;
    touch(model, event);
  },
  "run.finished": runFinished,
  "role.started": opensWith("delegation", (event) => event.brief ?? ""),
  "role.finished": endsWith(["delegation"], (event) => event.summary ?? ""),
  "model.started": opensWith("model", nothing),
  "model.text": modelText,
  "model.finished": modelFinished,
  "tool.started": opensWith("tool", nothing),
  "tool.progress": touch,
  "tool.finished": endsWith(["tool"], null),
  "question.asked": opensWith("question", (event) =>
    event.context ? `${event.text}\n\n${event.context}` : event.text,
  ),
  "question.answered": endsWith(["question"], (event) => event.text ?? ""),
  "approval.requested": opensWith("approval", nothing),
  "approval.decided": endsWith(["approval"], (event) => event.decision),
  "interrupt.received": (model, event) =>
    opensWith(event.intent === "inquire" ? "inquiry" : "interrupt", (one) => one.message ?? "")(model, event),
  "interrupt.answered": endsWith(["inquiry", "interrupt"], (event) => event.text ?? ""),
  "interrupt.triggered": interruptTriggered,
  "plan.updated": planUpdated,
  "budget.warned": touch,
  "changes.updated": changesUpdated,
  "error.raised": (model, event) => {
    model.run.errors += 1;
    touch(model, event);
  },
};

export const FOLDED_TYPES = EVENT_TYPES.filter((type) => Object.hasOwn(RULES, type));
