"""The LogEvents of the work: runs, roles, model and tool calls, plan, budget, changes, errors."""

from typing import Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import EventText, OpId, Record, RoleName, Sha256, Summary, Task, Title, ToolOutput
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.event_envelope import Event, Opening, Outcome, WireToolName
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import CallUsage, StopReason
from guildhall_contracts.policy import Effect


class RoleFace(Record):
    """A role as the console draws it before anything has run."""

    name: RoleName
    label: str = Field(max_length=limits.LABEL_TEXT_MAX_CHARS)
    kind: Literal["role", "handler"]
    tools: list[WireToolName] = Field(max_length=limits.TOOLS_PER_ROLE_MAX_COUNT + 1)
    delegates: list[RoleName] = Field(default_factory=list, max_length=limits.DELEGATES_PER_ROLE_MAX_COUNT)


class RunStarted(Opening):
    """Opens the task operation, human to entry role. A resumed attempt writes it again with `resumedFrom`."""

    type: Literal["run.started"] = "run.started"
    guild: str = Field("", max_length=limits.NAME_MAX_CHARS)
    guild_digest: Sha256
    entry_role: RoleName
    roles: list[RoleFace] = Field(min_length=1, max_length=limits.ROLES_MAX_COUNT)
    task: Task
    mode: Literal["interactive", "scheduled"]
    private: bool = False
    budget: Budget
    isolation: Literal["verified", "not_required", "unknown"] = "unknown"
    resumed_from: int | None = Field(None, ge=1)


class RunSummarized(Event):
    """One plain line for lists."""

    type: Literal["run.summarized"] = "run.summarized"
    summary: Summary


class RunFinished(Opening):
    """Opens and ends the result operation (parent: the task, which ends too, with every operation still open)."""

    type: Literal["run.finished"] = "run.finished"
    outcome: Literal["succeeded", "failed", "cancelled"]
    result: EventText = ""
    artifacts: list[Title] = Field(default_factory=list, max_length=limits.EVENT_ARTIFACTS_MAX_COUNT)
    error: ErrorInfo | None = None


class RoleStarted(Opening):
    """A role begins. The entry role's `op` is the task operation; any other opens a delegation from its caller."""

    type: Literal["role.started"] = "role.started"
    brief: EventText = ""
    call: str | None = Field(None, max_length=128)


class RoleFinished(Event):
    """A role ends. For a delegation it ends the operation; the entry role's ends with the Run."""

    type: Literal["role.finished"] = "role.finished"
    op: OpId
    outcome: Outcome
    summary: EventText = ""


class ModelStarted(Opening):
    """Opens a model call; source and destination are the role itself."""

    type: Literal["model.started"] = "model.started"
    call_id: str = Field(max_length=64)
    model: str = Field(max_length=128)


class ModelText(Event):
    """A piece of the reply while it streams; `model.finished` has it whole."""

    type: Literal["model.text"] = "model.text"
    op: OpId
    text: EventText


class CallHead(Record):
    call: str = Field(max_length=128)
    name: WireToolName


class ModelFinished(Event):
    type: Literal["model.finished"] = "model.finished"
    op: OpId
    outcome: Outcome
    stop_reason: StopReason | None = None
    text: EventText = ""
    text_cut: bool = False
    calls: list[CallHead] = Field(default_factory=list, max_length=limits.TOOL_CALLS_PER_REPLY_MAX_COUNT)
    usage: CallUsage = CallUsage()
    cost_micro_usd: int | None = Field(None, ge=0)
    scripted: bool = False
    error: ErrorInfo | None = None


class ToolStarted(Opening):
    """Opens a tool call, role to `tool:<name>`. `arguments` is JSON text, cut when `argumentsCut`."""

    type: Literal["tool.started"] = "tool.started"
    call: str = Field(max_length=128)
    tool: WireToolName
    effect: Effect | None = None
    arguments: EventText
    arguments_sha256: Sha256 | None = None
    arguments_cut: bool = False


class ToolProgress(Event):
    type: Literal["tool.progress"] = "tool.progress"
    op: OpId
    text: EventText


class ToolFinished(Event):
    """Ends a tool call. `output` is what the model was shown, cut to the event's bound; the blob has more."""

    type: Literal["tool.finished"] = "tool.finished"
    op: OpId
    outcome: Outcome
    output: ToolOutput = ""
    omitted_bytes: int = Field(0, ge=0)
    blob: Sha256 | None = None
    exit_code: int | None = Field(None, ge=0, le=255)
    error_code: str | None = Field(None, max_length=64)


class PlanItem(Record):
    text: str = Field(max_length=limits.EVENT_PLAN_ITEM_MAX_CHARS)
    status: Literal["pending", "active", "done", "dropped"]


class PlanUpdated(Opening):
    """Opens and ends a plan operation, role to itself; the items replace the plan."""

    type: Literal["plan.updated"] = "plan.updated"
    items: list[PlanItem] = Field(max_length=limits.EVENT_PLAN_ITEMS_MAX_COUNT)


class BudgetWarned(Event):
    type: Literal["budget.warned"] = "budget.warned"
    kind: Literal["cost", "tokens", "steps", "seconds"]
    used: int = Field(ge=0)
    limit: int = Field(ge=0)


class ChangedFile(Record):
    """One file of the patch; `willRun` marks hooks, CI files, build files and agent instructions.

    `generated` is a hint that a tool made it: a build's output, a lock file, minified text.
    """

    path: str = Field(max_length=limits.PATH_MAX_CHARS)
    status: Literal["added", "modified", "deleted", "renamed"]
    added: int = Field(0, ge=0)
    removed: int = Field(0, ge=0)
    binary: bool = False
    will_run: bool = False
    generated: bool = False


class ChangesUpdated(Event):
    """The whole change set so far, derived from the patch by the executor; `patchSHA256` names the blob."""

    type: Literal["changes.updated"] = "changes.updated"
    patch_sha256: Sha256 | None = None
    patch_bytes: int = Field(0, ge=0)
    files: list[ChangedFile] = Field(default_factory=list, max_length=limits.EVENT_CHANGED_FILES_MAX_COUNT)
    files_total: int = Field(0, ge=0)
    added: int = Field(0, ge=0)
    removed: int = Field(0, ge=0)
    omitted: list[Title] = Field(default_factory=list, max_length=100)


class ErrorRaised(Event):
    type: Literal["error.raised"] = "error.raised"
    error: ErrorInfo
