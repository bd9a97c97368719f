"""What the publisher is asked to push, and its one word to the operator (strict schema, at most 2 KiB).

Guards against a branch that holds anything but the patch people were shown: the patch is named by its hash, the branch
can only be one of Guildhall's own.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import Name, Record, Sha256, Uid
from guildhall_contracts.fetch import CommitId, Scheme

BRANCH_FOLDER: Final = "guildhall/"
BRANCH_NAME_PART_MAX_CHARS: Final = 100
BRANCH_UID_PART_CHARS: Final = 8

BranchName = Annotated[
    str, StringConstraints(max_length=limits.GIT_REF_MAX_CHARS, pattern=r"^guildhall/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]


def branch_of(run_name: str, uid: str) -> str:
    """The branch a Run may make: its own by its uid, readable by its name."""
    part = run_name[:BRANCH_NAME_PART_MAX_CHARS].replace("..", "-").strip("-.") or "run"
    return f"{BRANCH_FOLDER}{part}-{uid.replace('-', '').lower()[:BRANCH_UID_PART_CHARS]}"


class PublishRequest(Record):
    """Environment variable `GUILDHALL_PUBLISH` of the publisher. Bytes bound everything it writes to its scratch."""

    url: str = Field(min_length=1, max_length=limits.URL_MAX_CHARS)
    secret: bool = False
    schemes: list[Scheme] = Field(min_length=1, max_length=3)
    commit: CommitId
    branch: BranchName
    patch_sha256: Sha256
    title: str = Field("", max_length=limits.PUBLISH_TITLE_MAX_CHARS)
    namespace: Annotated[str, Field(min_length=1, max_length=63)]
    name: Name
    run: Uid
    at: str = Field(max_length=20, pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")
    max_bytes: int = Field(ge=1)
    memory_bytes: int = Field(ge=limits.MIB)
    timeout_seconds: int = Field(limits.FETCH_TIMEOUT_SECONDS, ge=1, le=limits.FETCH_TIMEOUT_MAX_SECONDS)


PublishOutcome = Literal[
    "published",
    "branch_taken",  # the branch is there and holds something else
    "unsound",  # the patch is not the one that was recorded, does not fit the commit, or holds what no branch may
    "failed",  # address, credentials, server or network; the message says which
]


class PublishMessage(Record):
    """Termination message of the publisher."""

    v: Literal[1] = 1
    outcome: PublishOutcome
    message: str = Field("", max_length=600)
    commit: CommitId | None = None
    elapsed_milliseconds: int = Field(0, ge=0)
