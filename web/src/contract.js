// Generated from contracts/; do not edit. What the console shares with the other components.

export const EVENT_VERSION = 1;

export const EVENT_TYPES = Object.freeze([
  "run.started",
  "run.summarized",
  "run.finished",
  "role.started",
  "role.finished",
  "model.started",
  "model.text",
  "model.finished",
  "tool.started",
  "tool.progress",
  "tool.finished",
  "question.asked",
  "question.answered",
  "approval.requested",
  "approval.decided",
  "interrupt.received",
  "interrupt.answered",
  "interrupt.triggered",
  "plan.updated",
  "budget.warned",
  "changes.updated",
  "error.raised"
]);

export const OPERATION_KINDS = Object.freeze([
  "task",
  "delegation",
  "model",
  "tool",
  "question",
  "approval",
  "inquiry",
  "interrupt",
  "plan",
  "result"
]);

export const OPERATION_OUTCOMES = Object.freeze([
  "active",
  "success",
  "error",
  "cancelled"
]);

export const PARTICIPANT_KINDS = Object.freeze([
  "human",
  "role",
  "handler",
  "tool",
  "tools"
]);

export const RUN_STATUSES = Object.freeze([
  "pending",
  "running",
  "awaiting",
  "succeeded",
  "failed",
  "cancelled"
]);

export const PHASES = Object.freeze([
  "Pending",
  "Queued",
  "Preparing",
  "Running",
  "AwaitingHuman",
  "Succeeded",
  "Failed",
  "Cancelled"
]);

export const CONDITION_TYPES = Object.freeze([
  "Accepted",
  "Queued",
  "WorkspaceReady",
  "IsolationVerified",
  "Running",
  "AwaitingHuman",
  "Delivered",
  "Sealed",
  "Succeeded"
]);

export const REASONS = Object.freeze([
  "Pending",
  "Accepted",
  "SpecInvalid",
  "GuildInvalid",
  "GuildNotFound",
  "GuildNotAccepted",
  "Suspended",
  "ConcurrencyLimit",
  "WorkspaceBusy",
  "QuotaExceeded",
  "Unschedulable",
  "ImagePullFailed",
  "MountFailed",
  "PolicyMissing",
  "Preparing",
  "Fetching",
  "WorkspaceReady",
  "WorkspaceFailed",
  "SourceTooLarge",
  "Verified",
  "NotVerified",
  "IsolationNotEnforced",
  "IsolationNotRequired",
  "Started",
  "NotStarted",
  "Ended",
  "QuestionOpen",
  "ApprovalOpen",
  "NothingOpen",
  "Sealed",
  "SealTimeout",
  "Completed",
  "BudgetExceeded",
  "DeadlineExceeded",
  "PolicyDenied",
  "ApprovalExpired",
  "ProviderFailed",
  "ContextOverflow",
  "OOMKilled",
  "Evicted",
  "NodeLost",
  "ExecutorLost",
  "ExecutorFailed",
  "Cancelled",
  "Deleted",
  "Internal",
  "Delivering",
  "Pushed",
  "NothingToDeliver",
  "NotSucceeded",
  "NotWhole",
  "RunsUnasked",
  "BranchExists",
  "DeliveryFailed"
]);

export const MODES = Object.freeze([
  "interactive",
  "scheduled"
]);

export const DELIVERIES = Object.freeze([
  "none",
  "patch",
  "branch"
]);

export const ERROR_RULES = Object.freeze({
  "llm_unavailable": Object.freeze({"retryable": true, "actor": "provider"}),
  "llm_refused": Object.freeze({"retryable": false, "actor": "guild_author"}),
  "context_overflow": Object.freeze({"retryable": false, "actor": "guild_author"}),
  "budget_exhausted": Object.freeze({"retryable": false, "actor": "user"}),
  "tool_denied": Object.freeze({"retryable": false, "actor": "guild_author"}),
  "workshop_lost": Object.freeze({"retryable": true, "actor": "platform_team"}),
  "deadline": Object.freeze({"retryable": false, "actor": "user"}),
  "interrupted": Object.freeze({"retryable": false, "actor": "nobody"}),
  "guild_invalid": Object.freeze({"retryable": false, "actor": "guild_author"}),
  "internal": Object.freeze({"retryable": false, "actor": "platform_team"}),
});

export const TOOL_EFFECTS = Object.freeze({
  "read_file": "read",
  "list_files": "read",
  "search_files": "read",
  "write_file": "write",
  "edit_file": "write",
  "run_shell": "write",
  "run_code": "read",
  "ask_human": "read",
  "delegate": "read",
  "update_plan": "read",
  "finish": "read",
  "list_role_messages": "read",
  "read_message_window": "read",
  "search_role_blocks": "read",
  "recent_role_tool_calls": "read",
  "trigger_interrupt": "write"
});

export const HANDLER_TOOLS = Object.freeze([
  "list_role_messages",
  "read_message_window",
  "recent_role_tool_calls",
  "search_role_blocks",
  "trigger_interrupt"
]);

export const LIMITS = Object.freeze({
  "BUDGET_COST_MAX_MICRO_USD": 10000000000,
  "BUDGET_DEFAULT_SECONDS": 3600,
  "BUDGET_DEFAULT_STEPS_COUNT": 200,
  "BUDGET_SECONDS_MAX": 604800,
  "BUDGET_STEPS_MAX_COUNT": 10000,
  "BUDGET_TOKENS_MAX_COUNT": 1000000000,
  "DELEGATION_MAX_DEPTH": 6,
  "EVENT_CHANGED_FILES_MAX_COUNT": 500,
  "EVENT_MAX_BYTES": 262144,
  "EVENT_PLAN_ITEMS_MAX_COUNT": 50,
  "MODEL_GAPS_MAX_COUNT": 100,
  "MODEL_TEXT_MAX_CHARS": 2000,
  "NAME_MAX_CHARS": 253,
  "PAGE_DEFAULT_COUNT": 100,
  "PAGE_MAX_COUNT": 1000,
  "PATCH_MAX_BYTES": 8388608,
  "STREAM_HEARTBEAT_SECONDS": 15,
  "SUMMARY_MAX_CHARS": 200,
  "TASK_MAX_BYTES": 65536
});
