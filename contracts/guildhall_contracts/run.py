"""A Run: one task given to a Guild on one workspace. No security-relevant field of the pod can be said here."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import Name, Record, RoleName, Sha256, Summary, Task, Uid
from guildhall_contracts.conditions import Condition, Phase, Reason
from guildhall_contracts.errors import ErrorKind
from guildhall_contracts.fetch import CommitId, FetchedSource, GitRef
from guildhall_contracts.guild import Budget, GuildSpec
from guildhall_contracts.publish import BranchName

Quantity = Annotated[str, StringConstraints(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$")]
EnvName = Annotated[str, StringConstraints(max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
EnvValue = Annotated[str, StringConstraints(max_length=limits.ENV_VALUE_MAX_CHARS)]
SubPath = Annotated[str, StringConstraints(max_length=1_024, pattern=r"^[^/\x00][^\x00]*$")]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]


class GuildRef(Record):
    name: Name


class GitSource(Record):
    """A repository the fetcher clones before anything untrusted runs."""

    url: str = Field(min_length=1, max_length=limits.URL_MAX_CHARS, pattern=r"^(https|ssh|git)://")
    ref: GitRef = "HEAD"  # a branch, a tag, a full ref, or a full commit id
    depth: int = Field(1, ge=1, le=10_000)
    secret_ref: GuildRef | None = None


class ClaimSource(Record):
    """An existing PersistentVolumeClaim, used in place and by one Run at a time."""

    name: Name
    sub_path: SubPath | None = None


class ArchiveSource(Record):
    """A tar archive in a ConfigMap's `binaryData`, unpacked into the workspace."""

    config_map: Name
    key: FileName = "workspace.tar.gz"
    strip_components: int = Field(0, ge=0, le=8)


class TemplateSource(Record):
    """A PersistentVolumeClaim that is cloned by the storage class."""

    claim: Name


class Storage(Record):
    """Where the workspace lives. `ephemeral` deletes it after sealing."""

    class_: Name | None = Field(None, alias="class")
    size: Quantity = "1Gi"
    ephemeral: bool = True


class Workspace(Record):
    """At most one source; none means an empty workspace."""

    git: GitSource | None = None
    claim: ClaimSource | None = None
    archive: ArchiveSource | None = None
    template: TemplateSource | None = None
    storage: Storage | None = None


class Resources(Record):
    """What the workshop container may use."""

    cpu: Quantity = "1"
    memory: Quantity = "1Gi"
    ephemeral_storage: Quantity = "1Gi"


class Publish(Record):
    """How `deliver: branch` pushes. Without a Secret of its own it uses the one of `workspace.git`."""

    secret_ref: GuildRef | None = None
    allow_will_run: bool = False


class RunSpec(Record):
    """Everything but `cancel`, `suspend` and `ttlSecondsAfterFinished` is immutable."""

    guild_ref: GuildRef | None = None
    guild: GuildSpec | None = None
    task: Task
    workspace: Workspace | None = None
    image: str | None = Field(None, min_length=1, max_length=limits.IMAGE_MAX_CHARS, pattern=r"^[!-~]+$")
    resources: Resources | None = None
    runtime_class_name: Name | None = None
    env: dict[EnvName, EnvValue] = Field(default_factory=dict, max_length=limits.ENV_MAX_COUNT)
    budget: Budget | None = None
    mode: Literal["interactive", "scheduled"] = "interactive"
    private: bool = False
    retain_seconds: int | None = Field(None, ge=60, le=limits.TTL_MAX_SECONDS)
    concurrency_group: str | None = Field(
        None, min_length=1, max_length=limits.LABEL_MAX_CHARS, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
    )
    suspend: bool = False
    cancel: bool = False
    deliver: Literal["none", "patch", "branch"] = "patch"
    publish: Publish | None = None
    ttl_seconds_after_finished: int | None = Field(None, ge=0, le=limits.TTL_MAX_SECONDS)
    priority: Name | None = None


MUTABLE_FIELDS = frozenset({"cancel", "suspend", "ttlSecondsAfterFinished"})


class Attempt(Record):
    """One pod that tried this Run; only the last one's token is accepted by the gateway."""

    number: int = Field(ge=1, le=limits.ATTEMPTS_MAX_COUNT)
    job: Name
    pod: Name | None = None
    pod_uid: Uid | None = None
    node: str | None = Field(None, max_length=253)
    start_time: str | None = Field(None, max_length=32)
    end_time: str | None = Field(None, max_length=32)
    reason: Reason | None = None


class Usage(Record):
    """What the ledger holds for a Run; written by the gateway only. Absent cost means a price is unknown.

    The limits are those in force: the budget's, with what people added; absent means there is none.
    """

    calls: int = Field(0, ge=0)
    tokens: int = Field(0, ge=0)
    cached_prompt_tokens: int = Field(0, ge=0)
    output_tokens: int = Field(0, ge=0)
    cost_micro_usd: int | None = Field(None, ge=0)
    limit_micro_usd: int | None = Field(None, ge=0)
    limit_tokens: int | None = Field(None, ge=0)


class Awaiting(Record):
    """Open questions and approvals; written by the gateway only."""

    questions: int = Field(0, ge=0)
    approvals: int = Field(0, ge=0)


class Archive(Record):
    """How far the api has stored the events, and from where it wants them again; written by the api only."""

    stored_seq: int = Field(0, ge=0)
    resend_from: int | None = Field(None, ge=1)


class Changes(Record):
    """What the Run changed; written by the api only."""

    files: int = Field(0, ge=0)
    added: int = Field(0, ge=0)
    removed: int = Field(0, ge=0)
    patch_sha256: Sha256 | None = None


class Result(Record):
    """How the Run ended, bounded; the whole is in the events. Written by the api only."""

    outcome: Literal["succeeded", "failed", "cancelled"]
    summary: str = Field("", max_length=limits.STATUS_RESULT_MAX_BYTES)
    error_kind: ErrorKind | None = None
    message: str = Field("", max_length=limits.STATUS_MESSAGE_MAX_CHARS)


class Delivery(Record):
    """The branch a Run was told to make; `commit` once it is there."""

    branch: BranchName
    patch_sha256: Sha256
    commit: CommitId | None = None


class RunStatus(Record):
    """One writer per field: operator (first block), gateway (second), api (third)."""

    observed_generation: int = Field(0, ge=0)
    conditions: list[Condition] = Field(default_factory=list, max_length=16)
    phase: Phase | None = None
    reason: Reason | None = None
    guild: str | None = Field(None, max_length=limits.NAME_MAX_CHARS)
    guild_digest: Sha256 | None = None
    entry_role: RoleName | None = None
    budget: Budget | None = None  # as the snapshot has it: what executor and gateway both go by
    source: FetchedSource | None = None
    delivery: Delivery | None = None
    attempts: list[Attempt] = Field(default_factory=list, max_length=limits.ATTEMPTS_MAX_COUNT)
    start_time: str | None = Field(None, max_length=32)
    completion_time: str | None = Field(None, max_length=32)
    duration: str | None = Field(None, max_length=32)

    usage: Usage | None = None
    cost: str | None = Field(None, max_length=32)  # for the printer column, "$0.38"
    awaiting: Awaiting | None = None

    archive: Archive | None = None
    result: Result | None = None
    summary: Summary | None = None
    changes: Changes | None = None
