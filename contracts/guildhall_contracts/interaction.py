"""The InteractionModel: what the LogEvents of a Run fold into. `docs/visualization.md` explains it and its views.

The model carries no display prose: labels come from `/api/config` and from the roles the Run declared.
"""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, Record, RoleName, Sha256, Summary, Task, Timestamp, Title
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import ChangedFile, Participant, PlanItem, RoleFace
from guildhall_contracts.guild import Budget

OperationKind = Literal[
    "task", "delegation", "model", "tool", "question", "approval", "inquiry", "interrupt", "plan", "result"
]
ModelText = str


class Metrics(Record):
    """Sums. `tokens` are prompt tokens with cached ones; cost is null as soon as one price is unknown."""

    tokens: int = Field(0, ge=0)
    cached_prompt_tokens: int = Field(0, ge=0)
    output_tokens: int = Field(0, ge=0)
    cost_micro_usd: int | None = Field(0, ge=0)
    elapsed_seconds: float = Field(0, ge=0)

    @model_serializer(mode="wrap")
    def _keep_the_unknown_price(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An unknown price travels as null: left out it would come back as 0."""
        return {**handler(self), "costMicroUSD": self.cost_micro_usd}


class Gap(Record):
    """Events `first..last` never arrived (yet)."""

    first: int = Field(ge=1)
    last: int = Field(ge=1)


class ModelRun(Record):
    """The Run itself."""

    uid: str = ""
    guild: str = ""
    guild_digest: Sha256 | None = None
    entry_role: RoleName | None = None
    roles: list[RoleFace] = Field(default_factory=list, max_length=limits.ROLES_MAX_COUNT)
    task: Task | Literal[""] = ""
    mode: Literal["interactive", "scheduled"] = "interactive"
    private: bool = False
    budget: Budget = Budget()
    isolation: Literal["verified", "not_required", "unknown"] = "unknown"
    status: Literal["pending", "running", "awaiting", "succeeded", "failed", "cancelled"] = "pending"
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    attempt: int = 0
    last_seq: int = Field(0, ge=0)
    gaps: list[Gap] = Field(default_factory=list, max_length=limits.MODEL_GAPS_MAX_COUNT)
    unreadable: int = Field(0, ge=0)
    unknown: int = Field(0, ge=0)
    summary: Summary = ""
    result: str = ""
    artifacts: list[Title] = Field(default_factory=list)
    error: ErrorInfo | None = None
    errors: int = Field(0, ge=0)
    scripted: bool = False
    plan: list[PlanItem] = Field(default_factory=list, max_length=limits.EVENT_PLAN_ITEMS_MAX_COUNT)
    patch_sha256: Sha256 | None = None
    changed_files: list[ChangedFile] = Field(default_factory=list, max_length=limits.EVENT_CHANGED_FILES_MAX_COUNT)
    changed_files_total: int = Field(0, ge=0)
    metrics: Metrics = Metrics()


class ParticipantState(Record):
    """One who acts. `invocations` counts operations with it as destination; `active` those still open."""

    id: Participant
    kind: Literal["human", "role", "handler", "tool", "tools"]
    role: RoleName | None = None
    invocations: int = Field(0, ge=0)
    active: int = Field(0, ge=0)
    metrics: Metrics = Metrics()


class Operation(Record):
    """One declared operation. `details` and `result` are Markdown prose, cut to `MODEL_TEXT_MAX_CHARS` code points."""

    id: OpId
    kind: OperationKind
    parent: OpId | None = None
    stack: list[RoleName] = Field(default_factory=list, max_length=limits.DELEGATION_MAX_DEPTH + 1)
    source: Participant
    destination: Participant
    role: RoleName | None = None
    title: Title = ""
    started_at: Timestamp
    ended_at: Timestamp | None = None
    outcome: Literal["active", "success", "error", "cancelled"] = "active"
    first_seq: int = Field(ge=1)
    last_seq: int = Field(ge=1)
    details: str = ""
    result: str = ""
    metrics: Metrics = Metrics()


class InteractionModel(Record):
    """Participants in order of declaration, operations in order of their first event."""

    v: Literal[1] = 1
    run: ModelRun = ModelRun()
    participants: list[ParticipantState] = Field(default_factory=list)
    operations: list[Operation] = Field(default_factory=list)
