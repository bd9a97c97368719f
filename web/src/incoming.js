// Guards every view against the shape of what a server sends: answers are read field by field into plain records of
// bounded strings, numbers and booleans. A wrong type becomes text, null or nothing; it never becomes structure.
import { number, optional, prose, ROLES_MAX_COUNT, string, strings, TOOLS_MAX_COUNT } from "./incoming-fields.js";
import { readGuildSpec, readSpec } from "./incoming-spec.js";
import { listOf, numberOr, recordOf, stringOf } from "./safe.js";

const RUNS_MAX_COUNT = 1000;
const FILES_MAX_COUNT = 2000;

/** A RunSummary. */
export function readSummary(value) {
  const run = recordOf(value);
  return {
    id: string(run.id, 400),
    uid: string(run.uid, 80),
    namespace: string(run.namespace, 80),
    name: string(run.name, 300),
    label: string(run.label, 300),
    summary: string(run.summary, 400),
    phase: string(run.phase, 40),
    reason: string(run.reason, 80),
    message: string(run.message, 2000),
    guild: string(run.guild, 300),
    task: prose(run.task),
    createdAt: string(run.createdAt, 40),
    startedAt: optional(run.startedAt, 40),
    endedAt: optional(run.endedAt, 40),
    usage: readUsage(run.usage),
    changes: { files: numberOr(recordOf(run.changes).files) },
    delivered: string(run.delivered, 80),
    branch: string(run.branch, 260),
    awaiting: number(run.awaiting),
    live: run.live !== false,
    private: run.private === true,
  };
}

function readUsage(value) {
  if (value === null || typeof value !== "object") return null;
  const { calls, tokens, cachedPromptTokens, outputTokens, costMicroUSD, limitMicroUSD, limitTokens } = value;
  return {
    calls: number(calls),
    tokens: number(tokens),
    cachedPromptTokens: number(cachedPromptTokens),
    outputTokens: number(outputTokens),
    costMicroUSD: numberOr(costMicroUSD),
    limitMicroUSD: numberOr(limitMicroUSD),
    limitTokens: numberOr(limitTokens),
  };
}

/** A RunPage as {items, next}. */
export const readPage = (value) => ({
  items: listOf(recordOf(value).runs).slice(0, RUNS_MAX_COUNT).map(readSummary),
  next: string(recordOf(value).next, 400),
});

/** A RunDetail; of the spec only what the console shows or fills in again. */
export function readDetail(value) {
  const detail = recordOf(value);
  return {
    summary: readSummary(detail.summary),
    spec: detail.spec === undefined || detail.spec === null ? null : readSpec(detail.spec),
    lastSeq: number(detail.lastSeq),
    may: strings(detail.may, 20, 40),
    conditions: listOf(detail.conditions)
      .slice(0, 20)
      .map((one) => ({
        type: string(recordOf(one).type, 60),
        status: string(recordOf(one).status, 20),
        reason: string(recordOf(one).reason, 80),
        message: string(recordOf(one).message, 1100),
      })),
  };
}

/** The Config. */
export function readConfig(value) {
  const config = recordOf(value);
  return {
    version: string(config.version, 60),
    namespaces: strings(config.namespaces, 1000, 80),
    images: strings(config.images, 50, 600),
    isolationRequired: config.isolationRequired !== false,
    reasons: Object.fromEntries(
      Object.entries(recordOf(config.reasons))
        .slice(0, 200)
        .map(([name, words]) => [name, string(words, 400)]),
    ),
    tools: listOf(config.tools)
      .slice(0, TOOLS_MAX_COUNT)
      .map((one) => ({
        name: string(recordOf(one).name, 80),
        label: string(recordOf(one).label, 120),
        effect: string(recordOf(one).effect, 20),
      })),
    guilds: listOf(config.guilds)
      .slice(0, 1000)
      .map((one) => {
        const guild = recordOf(one);
        const roles = listOf(guild.roles)
          .slice(0, ROLES_MAX_COUNT)
          .map((role) => ({
            name: string(recordOf(role).name, 80),
            tools: strings(recordOf(role).tools, TOOLS_MAX_COUNT, 80),
          }));
        return {
          namespace: string(guild.namespace, 80),
          name: string(guild.name, 300),
          accepted: guild.accepted === true,
          message: string(guild.message, 1100),
          spec: readGuildSpec(guild.spec),
          roles: roles.length > 0 ? roles : null,
        };
      }),
  };
}

const readFile = (value) => {
  const file = recordOf(value);
  return {
    path: string(file.path),
    status: string(file.status, 20),
    added: number(file.added),
    removed: number(file.removed),
    binary: file.binary === true,
    willRun: file.willRun === true,
    generated: file.generated === true,
  };
};

/** A ChangesView. */
export function readChanges(value) {
  const view = recordOf(value);
  return {
    patchSHA256: string(view.patchSHA256, 64),
    patch: stringOf(view.patch),
    files: listOf(view.files).slice(0, FILES_MAX_COUNT).map(readFile),
    omitted: strings(view.omitted, 100),
    message: string(view.message, 1100),
  };
}

/** A LedgerView's totals, or null. */
export function readLedger(value) {
  const { totals, scripted, calls } = recordOf(value);
  if (totals === null || typeof totals !== "object") return null;
  return { totals: readUsage(totals), scripted: scripted === true, cut: listOf(calls).filter(wasCut).length };
}

const CUT_KINDS = new Set(["interrupted", "llm_unavailable", "deadline"]);

/** Whether a ledger's row is of a call that gave no reply and was booked at what had been set aside for it. */
function wasCut(row) {
  const { state, usage, costMicroUSD, reservedMicroUSD, errorKind } = recordOf(row);
  const { tokens, outputTokens } = recordOf(usage);
  if (state !== "failed" || !CUT_KINDS.has(errorKind)) return false;
  return number(tokens) > 0 && number(outputTokens) === 0 && number(costMicroUSD) === number(reservedMicroUSD);
}

const readMetrics = (value) => {
  const { tokens, cachedPromptTokens, outputTokens, costMicroUSD, elapsedSeconds } = recordOf(value);
  return {
    tokens: number(tokens),
    cachedPromptTokens: number(cachedPromptTokens),
    outputTokens: number(outputTokens),
    costMicroUSD: numberOr(costMicroUSD),
    elapsedSeconds: number(elapsedSeconds),
  };
};

const given = (record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));

/** An InteractionModel in wire form, every field of the type the fold would have given it. */
export function readModel(value) {
  const model = recordOf(value);
  return {
    v: 1,
    run: readRun(recordOf(model.run)),
    participants: listOf(model.participants).map(readParticipant),
    operations: listOf(model.operations).map(readOperation),
  };
}

function readRun(run) {
  const budget = recordOf(run.budget);
  return given({
    uid: string(run.uid, 80),
    guild: string(run.guild, 300),
    guildDigest: optional(run.guildDigest, 64),
    entryRole: optional(run.entryRole, 80),
    roles: listOf(run.roles)
      .slice(0, ROLES_MAX_COUNT)
      .map((one) => ({
        name: string(recordOf(one).name, 80),
        label: string(recordOf(one).label, 120),
        kind: recordOf(one).kind === "handler" ? "handler" : "role",
        tools: strings(recordOf(one).tools, TOOLS_MAX_COUNT, 200),
        delegates: strings(recordOf(one).delegates, ROLES_MAX_COUNT, 80),
      })),
    task: prose(run.task),
    mode: string(run.mode, 20),
    private: run.private === true,
    isolation: string(run.isolation, 20),
    status: string(run.status, 20),
    budget: given({
      costMicroUSD: numberOr(budget.costMicroUSD) ?? undefined,
      tokens: numberOr(budget.tokens) ?? undefined,
      steps: numberOr(budget.steps) ?? undefined,
      seconds: numberOr(budget.seconds) ?? undefined,
    }),
    startedAt: optional(run.startedAt, 40),
    endedAt: optional(run.endedAt, 40),
    attempt: number(run.attempt),
    lastSeq: number(run.lastSeq),
    gaps: listOf(run.gaps)
      .slice(0, 100)
      .map((gap) => ({ first: number(recordOf(gap).first), last: number(recordOf(gap).last) })),
    unreadable: number(run.unreadable),
    unknown: number(run.unknown),
    summary: string(run.summary, 400),
    result: prose(run.result),
    artifacts: strings(run.artifacts, 1000),
    error: run.error === undefined || run.error === null ? undefined : readError(run.error),
    errors: number(run.errors),
    scripted: run.scripted === true,
    plan: listOf(run.plan)
      .slice(0, 200)
      .map((item) => ({ text: string(recordOf(item).text, 4096), status: string(recordOf(item).status, 20) })),
    patchSHA256: optional(run.patchSHA256, 64),
    changedFiles: listOf(run.changedFiles).slice(0, FILES_MAX_COUNT).map(readFile),
    changedFilesTotal: number(run.changedFilesTotal),
    metrics: readMetrics(run.metrics),
  });
}

const readError = (value) => {
  const error = recordOf(value);
  return {
    kind: string(error.kind, 40),
    message: prose(error.message),
    retryable: error.retryable === true,
    actor: string(error.actor, 40),
    detail: recordOf(error.detail),
  };
};

const readParticipant = (value) => {
  const one = recordOf(value);
  const kind = ["human", "role", "handler", "tool", "tools"].includes(one.kind) ? one.kind : "tool";
  return given({
    id: string(one.id, 200),
    kind,
    role: optional(one.role, 80),
    invocations: number(one.invocations),
    active: number(one.active),
    metrics: readMetrics(one.metrics),
  });
};

// 40,000 events make many operations: this stays cheap by reading strings that are strings as they are.
const readOperation = (value) => {
  const one = recordOf(value);
  return given({
    id: string(one.id, 20),
    kind: string(one.kind, 20),
    parent: optional(one.parent, 20),
    stack: strings(one.stack, 16, 80),
    source: string(one.source, 200),
    destination: string(one.destination, 200),
    role: optional(one.role, 80),
    title: string(one.title, 400),
    startedAt: string(one.startedAt, 40),
    endedAt: optional(one.endedAt, 40),
    outcome: string(one.outcome, 20),
    firstSeq: number(one.firstSeq),
    lastSeq: number(one.lastSeq),
    details: prose(one.details),
    result: prose(one.result),
    metrics: readMetrics(one.metrics),
  });
};
