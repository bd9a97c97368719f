"""What the gate is told to try, and the two termination messages the operator reads (strict schema, at most 2 KiB).

Guards against a cluster that accepts NetworkPolicies without enforcing them: a denial is believed only from a target
that is known to answer.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from guildhall_contracts import limits
from guildhall_contracts.base import Record, Sha256, Uid
from guildhall_contracts.errors import ErrorKind

Host = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9.:-]+$")]
Port = Annotated[int, Field(ge=1, le=65_535)]


class Target(Record):
    """One TCP address to try. A *required* one that answers ends the Run; a *reported* one is only shown."""

    name: str = Field(min_length=1, max_length=40, pattern=r"^[a-z0-9-]+$")
    host: Host
    port: Port
    required: bool = True


class GateConfig(Record):
    """Environment variable `GUILDHALL_GATE` of `prepare`: what must not answer, and who must.

    With `own_node_port`, the pod's own node is tried there as the reported target `own-node`. Its address, which nobody
    knows before the pod has a node, is in `GUILDHALL_NODE_IP`.
    """

    targets: list[Target] = Field(min_length=1, max_length=limits.GATE_TARGETS_MAX_COUNT)
    gateway_host: Host
    gateway_port: Port
    consecutive_denials: int = Field(limits.GATE_CONSECUTIVE_DENIALS_COUNT, ge=1, le=20)
    attempt_timeout_milliseconds: int = Field(1_000, ge=50, le=10_000)
    timeout_seconds: int = Field(limits.GATE_TIMEOUT_SECONDS, ge=1, le=600)
    own_node_port: Port | None = None
    enforce: bool = True


class TargetEvidence(Record):
    """What happened at one target: `answered` means a TCP connection was made at least once after isolation was due."""

    name: str = Field(max_length=40)
    required: bool
    attempts: int = Field(ge=0)
    denied_in_a_row: int = Field(ge=0)
    last: Literal["refused", "timeout", "unreachable", "answered"]


class WorkspaceEvidence(Record):
    """What `prepare` found in the workspace and kept as the baseline."""

    files: int = Field(ge=0)
    content_bytes: int = Field(ge=0)
    hashed_only_files: int = Field(0, ge=0)
    baseline_sha256: Sha256 | None = None


class PrepareMessage(Record):
    """Termination message of `prepare`: the evidence for IsolationVerified, or why the pod may not go on."""

    v: Literal[1] = 1
    outcome: Literal[
        "passed", "not_enforced", "gateway_unreachable", "workspace_failed", "source_too_large", "internal"
    ]
    message: str = Field("", max_length=600)
    targets: list[TargetEvidence] = Field(default_factory=list, max_length=limits.GATE_TARGETS_MAX_COUNT)
    workspace: WorkspaceEvidence | None = None
    elapsed_milliseconds: int = Field(0, ge=0)


class PatchWord(Record):
    """What the last look at the workspace came to. No hash: nothing changed, or the patch is too large to keep."""

    sha256: Sha256 | None = None
    omitted: int = Field(0, ge=0)  # paths whose content the patch lacks
    will_run: int = Field(0, ge=0)  # files that something runs or obeys unasked


class ExecutorMessage(Record):
    """Termination message of the executor: how the Run ended and the last event it wrote.

    `patch` is there where the Run delivers a branch and its last change set is told, kept and durable.
    """

    v: Literal[1] = 1
    run: Uid
    attempt: int = Field(ge=1, le=limits.ATTEMPTS_MAX_COUNT)
    outcome: Literal["succeeded", "failed", "cancelled"]
    error_kind: ErrorKind | None = None
    reason: str = Field("", max_length=40)  # a reason of conditions.Reason the executor may choose, or empty
    message: str = Field("", max_length=600)
    last_seq: int = Field(ge=0)
    patch: PatchWord | None = None


class ReprintMessage(Record):
    """Termination message of the pod that prints a journal again: the last event the journal holds, 0 for none.

    What an executor that died without a word had to say about the end of its record.
    """

    v: Literal[1] = 1
    run: Uid
    last_seq: int = Field(ge=0)


M = TypeVar("M", bound=Record)


def decode_message(model: type[M], text: str) -> M | None:
    """`text` as a termination message of type `model`; None for anything else (size is checked first)."""
    if len(text.encode("utf-8", "replace")) > limits.TERMINATION_MESSAGE_MAX_BYTES:
        return None
    try:
        return model.model_validate_json(text, strict=True)  # "5" is no number: others read the same message
    except ValidationError:
        return None
