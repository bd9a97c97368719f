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

export const HIDDEN = "0-8 b-1f 7f-9f ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 2028-202e 2060-206f 2800 3164 fe00-fe0f feff ffa0 fff0-fffb 13430-1343f 1bca0-1bca3 1d173-1d17a e0000-e0fff";

export const PICTURES = "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab 25b6 25c0 25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f 2638-263a 2640 2642 2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705 2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 3299 1f000-1faff";

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
