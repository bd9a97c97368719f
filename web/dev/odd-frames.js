// Fixture frames of runs that end or go otherwise: failed, asking, wanting approval, very long.
import { goodRun, T0 } from "./good-run.js";

/** A run that fails before its end: the provider is gone. */
export function failedRun(uid) {
  const events = goodRun(uid).slice(0, 17);
  const last = events[events.length - 1];
  const at = (ms) => new Date(Date.parse(last.ts) + ms).toISOString();
  const error = {
    kind: "llm_unavailable",
    message:
      "The model provider answered **503** four times in two minutes.\n\nNothing is wrong with the task; start the run again later.",
    retryable: true,
    actor: "provider",
    detail: { status: "503" },
  };
  events.push({ ...head(last), seq: last.seq + 1, ts: at(900), type: "error.raised", error });
  events.push({
    ...head(last),
    seq: last.seq + 2,
    ts: at(1200),
    type: "run.finished",
    op: `o${last.seq + 2}`,
    parent: "o1",
    role: "planner",
    source: "role:planner",
    destination: "human",
    title: "Result",
    outcome: "failed",
    error,
  });
  return events;
}

const head = ({ v, run, attempt }) => ({ v, run, attempt });

/** A run whose last event, of `type`, has a person to wait for. `fields` are given the time it is told at, in ms. */
function waiting(uid, type, fields) {
  const events = goodRun(uid).slice(0, 22);
  const last = events[events.length - 1];
  const ms = Date.parse(last.ts) + 700;
  const place = { op: `o${last.seq + 1}`, parent: "o1", destination: "human" };
  events.push({ ...head(last), seq: last.seq + 1, ts: new Date(ms).toISOString(), type, ...place, ...fields(ms) });
  return events;
}

/** A run that asks a person. */
export const askingRun = (uid) =>
  waiting(uid, "question.asked", () => ({
    role: "planner",
    source: "role:planner",
    title: "May I change the public signature?",
    questionId: "q1",
    text: "May I add a parameter `strict` to `slug()`? It changes the *public* signature.",
    context: "Two callers outside the package use it.",
    options: ["Yes", "No"],
  }));

/** A run that wants an approval. */
export const approvingRun = (uid) =>
  waiting(uid, "approval.requested", (ms) => ({
    role: "reviewer",
    source: "role:reviewer",
    title: "Deploy service",
    approvalId: "a1",
    tool: "deploy_service",
    argumentsHash: "c0ffee".repeat(10) + "c0ff",
    expiresAt: new Date(ms + 600_000).toISOString(),
  }));

/** `count` events of one long run, for windows and budgets. */
export function longRun(count, uid) {
  const events = goodRun(uid).slice(0, 2);
  for (let seq = 3; seq < count; seq += 2) {
    const step = (seq - 3) / 2;
    const ts = new Date(T0 + seq * 250).toISOString();
    const role = ["planner", "coder", "reviewer"][step % 3];
    const failed = step % 97 === 96;
    const base = { ...head(events[0]), ts, role, op: `o${seq}` };
    events.push({
      ...base,
      seq,
      type: "tool.started",
      parent: "o1",
      source: `role:${role}`,
      destination: `tool:${role === "reviewer" ? "run_shell" : "read_file"}`,
      title: `step ${step}`,
      call: `t${seq}`,
      tool: role === "reviewer" ? "run_shell" : "read_file",
      arguments: `{"path":"src/file${step}.py"}`,
    });
    events.push({
      ...base,
      seq: seq + 1,
      ts: new Date(T0 + seq * 250 + 180).toISOString(),
      type: "tool.finished",
      outcome: failed ? "error" : "success",
      output: `line ${step}`,
    });
  }
  return events.slice(0, count);
}
