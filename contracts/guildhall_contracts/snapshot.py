"""The frozen Run and Guild an executor works from: key `snapshot.json` of an immutable ConfigMap."""

from typing import Annotated, Final, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import Name, Record, RoleName, Sha256, Task, ToolName, Uid
from guildhall_contracts.gate import Target
from guildhall_contracts.guild import Budget, GuildSpec
from guildhall_contracts.policy import ToolPolicy

SNAPSHOT_FILE: Final = "snapshot.json"

RUN_LABEL: Final = (
    "guildhall.dev/run"  # value: the Run's uid; selected by the static NetworkPolicy, reserved by admission
)
ATTEMPT_LABEL: Final = "guildhall.dev/attempt"
RESEND_LABEL: Final = "guildhall.dev/resend"  # on a pod that prints the journal again; value: the round
FETCH_LABEL: Final = "guildhall.dev/fetch"  # on the fetch pod instead of the Run's; selected by the fetchers' policy
PUBLISH_LABEL: Final = "guildhall.dev/publish"  # beside the fetch label on the pod that pushes; value: its number
RUN_NAME_ANNOTATION: Final = "guildhall.dev/run-name"

EXECUTOR_UID: Final = 10_001
WORKSHOP_UID: Final = 10_002
SHARED_GID: Final = 10_003  # fsGroup: owns the socket folder and the volumes

# Paths inside the run pod
WORKSPACE_PATH: Final = "/workspace"
BIN_PATH: Final = "/guildhall/bin"
SOCKET_PATH: Final = "/guildhall/socket/workshop.sock"
BASELINE_PATH: Final = "/guildhall/baseline"
SNAPSHOT_PATH: Final = "/guildhall/snapshot"
JOURNAL_PATH: Final = "/guildhall/journal"
TOKEN_PATH: Final = "/guildhall/token/token"  # noqa: S105  a path, not a token
CA_PATH: Final = "/guildhall/ca/ca.crt"

# Paths inside the fetch pod, whose workspace volume is mounted whole
SOURCE_TREE: Final = "tree"  # the folder of the volume that becomes the run pod's /workspace
SOURCE_BASELINE: Final = "baseline"  # the folder beside it that becomes /guildhall/baseline
FETCH_SECRET_PATH: Final = "/guildhall/secret"  # noqa: S105  a path
FETCH_CA_PATH: Final = "/guildhall/ca/ca.crt"

# The patch that may become a branch: the executor's `<journal>/<run>/delivery/patch`, the publish pod's mount of it
DELIVERY_FOLDER: Final = "delivery"
DELIVERY_FILE: Final = "patch"
DELIVERY_PATH: Final = "/guildhall/delivery"
PUBLISH_SCRATCH_PATH: Final = "/guildhall/scratch"


class RoleTools(Record):
    role: RoleName
    tools: list[ToolName] = Field(max_length=limits.TOOLS_PER_ROLE_MAX_COUNT + 1)


class GatewayAddress(Record):
    """Where the gateway answers; the name is in `hostAliases`, the certificate is checked against it."""

    url: str = Field(min_length=9, max_length=300, pattern=r"^https?://")
    canary: list[Target] = Field(default_factory=list, max_length=limits.GATE_TARGETS_MAX_COUNT)
    recheck_seconds: int = Field(limits.GATE_RECHECK_SECONDS, ge=1, le=600)


class RunSnapshot(Record):
    """Everything an executor knows about its Run; resolved, so that nothing is looked up twice."""

    v: Literal[1] = 1
    run: Uid
    namespace: Annotated[str, Field(min_length=1, max_length=63)]
    name: Name
    guild_name: str = Field("", max_length=limits.NAME_MAX_CHARS)
    guild: GuildSpec
    guild_digest: Sha256
    role_tools: list[RoleTools] = Field(min_length=1, max_length=limits.ROLES_MAX_COUNT)
    policies: dict[ToolName, ToolPolicy]
    task: Task
    origin: Literal["person", "schedule"] = "person"  # who gave the task: a RunSchedule's Runs are nobody's act
    budget: Budget
    mode: Literal["interactive", "scheduled"] = "interactive"
    private: bool = False
    deliver: Literal["none", "patch", "branch"] = "patch"
    isolation_required: bool = True
    gateway: GatewayAddress
