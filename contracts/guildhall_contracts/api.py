"""What the api serves and accepts; `docs/api.md` lists the routes. Rendered fields are bounded."""

from typing import Annotated, Any, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.awaiting import AwaitingApproval, AwaitingQuestion
from guildhall_contracts.base import Name, Record, Sha256, Summary, Uid
from guildhall_contracts.conditions import Condition, Phase, Reason
from guildhall_contracts.events import ChangedFile, Unreadable
from guildhall_contracts.guild import GuildSpec, ResolvedRole
from guildhall_contracts.interaction import InteractionModel
from guildhall_contracts.intervention import ItemId
from guildhall_contracts.model_api import LedgerView
from guildhall_contracts.publish import BranchName
from guildhall_contracts.run import Changes, RunSpec, Usage

RunId = Annotated[
    str, Field(min_length=3, max_length=320, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]


class RunSummary(Record):
    """A row of a list. `live` says whether the Run exists in the cluster; history rows do not."""

    id: RunId
    uid: Uid
    namespace: str
    name: Name
    label: str = Field(max_length=limits.NAME_MAX_CHARS)
    summary: Summary = ""
    phase: Phase
    reason: Reason | None = None
    message: str = Field("", max_length=limits.STATUS_MESSAGE_MAX_CHARS)
    guild: str = ""
    task: str = Field("", max_length=limits.MODEL_TEXT_MAX_CHARS)
    created_at: str
    started_at: str | None = None
    ended_at: str | None = None
    usage: Usage | None = None
    changes: Changes | None = None
    delivered: Reason | None = None  # of the condition `Delivered`, where the Run makes a branch
    branch: BranchName | None = None  # once it is pushed
    awaiting: int = Field(0, ge=0)
    live: bool = True
    private: bool = False


class RunPage(Record):
    runs: list[RunSummary]
    next: str | None = Field(None, max_length=200)


class RunDetail(Record):
    """One Run whole: `run` is the Run resource's spec, or what history kept of it."""

    summary: RunSummary
    spec: RunSpec | None = None
    conditions: list[Condition] = Field(default_factory=list)
    last_seq: int = Field(0, ge=0)
    sealed: bool = False
    may: list[Literal["cancel", "interrupt", "answer", "approve"]] = Field(default_factory=list)


class Flow(Record):
    """The model folded so far, and the gateway's ledger beside it (absent while the gateway cannot be reached)."""

    model: InteractionModel
    ledger: LedgerView | None = None
    summary: RunSummary


class EventsPage(Record):
    """Events after a seq, as they were written; `last` is the seq to go on from, `end` whether the Run has no more."""

    events: list[dict[str, Any]]
    unreadable: list[Unreadable] = Field(default_factory=list)
    last: int = Field(ge=0)
    end: bool


class ChangesView(Record):
    """The patch and the files it touches, derived from it."""

    patch_sha256: Sha256 | None = None
    patch: str | None = None
    files: list[ChangedFile] = Field(default_factory=list)
    omitted: list[str] = Field(default_factory=list)
    message: str = ""


class CreateRun(Record):
    namespace: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    name: Name | None = None
    spec: RunSpec


class CreatedRun(Record):
    """The Run that was (or, on a dry run, would be) created."""

    id: RunId
    uid: Uid | None = None
    manifest: str = Field(max_length=1024 * 1024)  # YAML
    warnings: list[str] = Field(default_factory=list)


class InterruptBody(Record):
    """`key` makes a repeated request harmless: the same person, Run, intent and key are one interrupt."""

    intent: Literal["inquire", "redirect", "abort"]
    message: str = Field("", max_length=4_096)
    key: str = Field("", max_length=64)


class AnswerBody(Record):
    run: RunId
    question_id: ItemId
    text: str = Field(min_length=1, max_length=16_384)


class DecideBody(Record):
    """A yes or no to exactly the arguments whose hash this is."""

    run: RunId
    approval_id: ItemId
    arguments_hash: Sha256
    decision: Literal["approve", "deny"]


class Waiting(Record):
    """In which Run something waits, and whether the caller may act on it."""

    run: RunId
    uid: Uid
    label: str = Field(max_length=limits.NAME_MAX_CHARS)
    may: bool


class QuestionView(Waiting):
    question: AwaitingQuestion


class ApprovalView(Waiting):
    approval: AwaitingApproval


class QuestionPage(Record):
    questions: list[QuestionView] = Field(default_factory=list, max_length=limits.AWAITING_MAX_COUNT)


class ApprovalPage(Record):
    approvals: list[ApprovalView] = Field(default_factory=list, max_length=limits.AWAITING_MAX_COUNT)


class Accepted(Record):
    """An act was recorded (`uid`: the Intervention's); it is shown as fact only when it returns as an event.

    `state`: where the Intervention stood when the api answered; absent while the gateway has not said."""

    id: str
    uid: Uid | Literal[""] = ""
    state: Literal["Delivered", "Consumed"] | None = None


class SignIn(Record):
    token: str = Field(min_length=1, max_length=16_384)


class Session(Record):
    user: str = Field(max_length=256)
    expires_at: str | None = None


class GuildView(Record):
    """A Guild a person may choose in Compose."""

    namespace: str
    name: Name
    accepted: bool
    message: str = ""
    digest: Sha256 | None = None
    spec: GuildSpec
    roles: list[ResolvedRole] = Field(default_factory=list)


class ToolFace(Record):
    name: str
    label: str
    effect: Literal["read", "write", "consequential"]


class Config(Record):
    """Labels and limits the console needs; machine ids never appear where a label exists."""

    version: str
    user: str | None = None
    namespaces: list[str] = Field(default_factory=list)
    guilds: list[GuildView] = Field(default_factory=list)
    tools: list[ToolFace] = Field(default_factory=list)
    reasons: dict[str, str] = Field(default_factory=dict)
    images: list[str] = Field(default_factory=list)
    isolation_required: bool = True
    sign_in: Literal["token", "proxy", "none"] = "token"


class Problem(Record):
    """RFC 9457 `application/problem+json`: what happened, where, what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    instance: str = ""
