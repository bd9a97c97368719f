// The one registry of words for machine ids: no view shows an id where a label exists.
import { listOf, recordOf, table, text } from "./safe.js";

const KINDS = table({
  task: "Task",
  delegation: "Delegation",
  model: "Model call",
  tool: "Tool call",
  question: "Question",
  approval: "Approval",
  inquiry: "Inquiry",
  interrupt: "Interrupt",
  plan: "Plan",
  result: "Result",
});
const OUTCOMES = table({ active: "Running", success: "Done", error: "Failed", cancelled: "Cancelled" });
const STATUSES = table({
  pending: "Waiting",
  running: "Running",
  awaiting: "Needs a person",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
});
const PHASES = table({
  Pending: "Waiting",
  Queued: "Queued",
  Preparing: "Preparing",
  Running: "Running",
  AwaitingHuman: "Needs a person",
  Succeeded: "Succeeded",
  Failed: "Failed",
  Cancelled: "Cancelled",
});
const PHASE_STATUS = table({
  Pending: "pending",
  Queued: "pending",
  Preparing: "pending",
  Running: "running",
  AwaitingHuman: "awaiting",
  Succeeded: "succeeded",
  Failed: "failed",
  Cancelled: "cancelled",
});
const TOOLS = table({
  read_file: "Read file",
  list_files: "List files",
  search_files: "Search files",
  write_file: "Write file",
  edit_file: "Edit file",
  run_shell: "Run shell",
  run_code: "Run code",
  ask_human: "Ask a person",
  delegate: "Delegate",
  update_plan: "Update plan",
  finish: "Finish",
  list_role_messages: "List messages",
  read_message_window: "Read messages",
  search_role_blocks: "Search messages",
  recent_role_tool_calls: "Recent tool calls",
  trigger_interrupt: "Interrupt a role",
});
const EFFECTS = table({ read: "reads", write: "changes the workspace", consequential: "acts outside, needs approval" });

/** An id as words: "deep-reviewer" is "Deep reviewer". */
export function humanised(id) {
  const words = text(id, 120)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/[-_]+/g, " ")
    .trim()
    .toLowerCase();
  return words === "" ? "Unknown" : words[0].toUpperCase() + words.slice(1);
}

/** Connection and tool of an external tool's name, `<connection>__<tool>`; null for any other name. */
function external(name) {
  const found = /^([a-z][a-z0-9]*)__([a-z0-9_]+)$/.exec(text(name, 120));
  return found && { connection: found[1], tool: found[2] };
}

/**
 * Resolves labels from `/api/config` and the roles a Run declared. Every function takes any value and gives a
 * bounded string fit for a text node.
 */
export function createLabels(config, run) {
  const tools = new Map(listOf(recordOf(config).tools).map((face) => [recordOf(face).name, recordOf(face)]));
  const roles = new Map(listOf(recordOf(run).roles).map((face) => [recordOf(face).name, recordOf(face).label]));
  const reasons = table(recordOf(recordOf(config).reasons));
  const from = (words, key) => (typeof key === "string" && key in words ? words[key] : humanised(key));
  const role = (name) => text(roles.get(name) || "", 80) || humanised(name);
  const outside = (name) => {
    const found = external(name);
    return found && `${humanised(found.tool)} (${found.connection})`;
  };
  const tool = (name) => text(tools.get(name)?.label || "", 80) || outside(name) || from(TOOLS, name);
  return {
    role,
    tool,
    participant(id) {
      const [kind, name] = text(id, 120).split(":", 2);
      if (kind === "human") return "The human";
      if (kind === "tools") return "Tools";
      return kind === "role" ? role(name) : kind === "tool" ? tool(name) : humanised(id);
    },
    effect: (name) => from(EFFECTS, tools.get(name)?.effect ?? (external(name) ? "consequential" : "read")),
    reason: (name) =>
      typeof name === "string" && name !== "" ? text(reasons[name] || "", 300) || humanised(name) : "",
    kind: (name) => from(KINDS, name),
    outcome: (name) => from(OUTCOMES, name),
    status: (name) => from(STATUSES, name),
    phase: (name) => from(PHASES, name),
  };
}

/** The model's status word for a Run's phase, for one set of icons and colours. */
export const statusOfPhase = (phase) =>
  typeof phase === "string" && phase in PHASE_STATUS ? PHASE_STATUS[phase] : "pending";
