"""What the executor asks the workshop, one record for each operation; `frames` says how they travel."""

from typing import Annotated, Final, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import Record, Sha256

PROTOCOL_VERSION: Final = 1

RequestId = Annotated[int, Field(ge=1, le=2**53 - 1)]
WirePath = Annotated[str, Field(max_length=limits.PATH_MAX_CHARS)]
Base64Data = Annotated[
    str, Field(max_length=(limits.FRAME_DATA_MAX_BYTES + 2) // 3 * 4, pattern=r"^[A-Za-z0-9+/]*={0,2}$")
]
PathB64 = Annotated[str, Field(max_length=6_000)]  # a name that is not UTF-8


class Request(Record):
    """The head every request shares."""

    id: RequestId


class PathRequest(Request):
    """A request about one path: `path`, or `pathB64` when the name is not UTF-8."""

    path: WirePath = ""
    path_b64: PathB64 | None = None


class HelloRequest(Request):
    op: Literal["hello"] = "hello"
    version: int = PROTOCOL_VERSION


class ReadRequest(PathRequest):
    """Bytes `offset .. offset+limit` of a regular file; the result carries the size of the whole.

    With `line`, `offset` counts from the first byte of that line, and the result says how many lines the file has when
    its end is not far: a line behind the last gives no bytes.
    """

    op: Literal["read"] = "read"
    offset: int = Field(0, ge=0)
    limit: int = Field(limits.FRAME_DATA_MAX_BYTES, ge=1, le=limits.FRAME_DATA_MAX_BYTES)
    line: int | None = Field(None, ge=1, le=2**53 - 1)


class WriteRequest(PathRequest):
    """Atomic whole-file write; keeps the mode of an existing file; `mustCreate` refuses an existing one.

    With `text`, `data` is UTF-8 and takes the form of the file it replaces: byte order mark, UTF-16, CRLF.
    """

    op: Literal["write"] = "write"
    data: Base64Data
    must_create: bool = False
    make_parents: bool = True
    text: bool = False
    expect_sha256: Sha256 | None = None


class EditRequest(PathRequest):
    """Replace `old` by `new`, byte for byte; line endings, encoding, mode and every other byte stay.

    `old` given with LF matches CRLF text (and `new` is written with the ending found there). Zero matches are
    `no_match`, more than one without `all` is `ambiguous`; both errors say the line numbers.
    """

    op: Literal["edit"] = "edit"
    old: Base64Data
    new: Base64Data
    all: bool = False
    expect_sha256: Sha256 | None = None


class ListRequest(PathRequest):
    op: Literal["list"] = "list"
    depth: int = Field(1, ge=1, le=32)
    limit: int = Field(limits.LIST_MAX_ENTRIES, ge=1, le=limits.LIST_MAX_ENTRIES)


class SearchRequest(PathRequest):
    """RE2 or literal search below `path`; `.git` and binary files are passed over."""

    op: Literal["search"] = "search"
    pattern: str = Field(min_length=1, max_length=4_096)
    literal: bool = False
    ignore_case: bool = False
    glob: str | None = Field(None, max_length=256)
    limit: int = Field(100, ge=1, le=limits.SEARCH_MAX_MATCHES)


class MkdirRequest(PathRequest):
    op: Literal["mkdir"] = "mkdir"
    parents: bool = True


class DeleteRequest(PathRequest):
    op: Literal["delete"] = "delete"
    recursive: bool = False


class StatRequest(PathRequest):
    op: Literal["stat"] = "stat"


class ExecRequest(Request):
    """One shell command. stdout and stderr are one stream, in order; a live copy comes as `output` replies."""

    op: Literal["exec"] = "exec"
    command: str = Field(min_length=1, max_length=limits.COMMAND_MAX_BYTES)
    cwd: WirePath = ""
    env: dict[str, str] = Field(default_factory=dict, max_length=limits.ENV_MAX_COUNT)
    stdin: bool = False
    background: bool = False
    wall_seconds: float = Field(limits.COMMAND_WALL_DEFAULT_SECONDS, gt=0, le=limits.COMMAND_WALL_MAX_SECONDS)
    idle_seconds: float = Field(limits.COMMAND_IDLE_DEFAULT_SECONDS, gt=0, le=limits.COMMAND_WALL_MAX_SECONDS)
    head_bytes: int = Field(limits.COMMAND_OUTPUT_HEAD_BYTES, ge=0, le=256 * 1024)
    tail_bytes: int = Field(limits.COMMAND_OUTPUT_TAIL_BYTES, ge=0, le=256 * 1024)


class JobsRequest(Request):
    """The background commands of the server's life, or one of them with its output; `stop` ends that one first.

    `stop` without `job` kills them all: the Run is over.
    """

    op: Literal["jobs"] = "jobs"
    job: int | None = Field(None, ge=1, le=2**53 - 1)
    stop: bool = False


class StdinRequest(Request):
    op: Literal["stdin"] = "stdin"
    target: RequestId
    data: Base64Data = ""
    eof: bool = False


class KillRequest(Request):
    op: Literal["kill"] = "kill"
    target: RequestId
    signal: Literal["TERM", "KILL", "INT"] = "TERM"


class CancelRequest(Request):
    """Give up request `target`; it ends with `error cancelled` (a command is killed with its whole session)."""

    op: Literal["cancel"] = "cancel"
    target: RequestId


class DiffRequest(Request):
    """The change set against the baseline as one git-style patch, in `chunk` replies; the result carries its hash."""

    op: Literal["diff"] = "diff"
    limit_bytes: int = Field(limits.PATCH_MAX_BYTES, ge=1, le=limits.PATCH_MAX_BYTES)


AnyRequest = Annotated[
    HelloRequest
    | ReadRequest
    | WriteRequest
    | EditRequest
    | ListRequest
    | SearchRequest
    | MkdirRequest
    | DeleteRequest
    | StatRequest
    | ExecRequest
    | JobsRequest
    | StdinRequest
    | KillRequest
    | CancelRequest
    | DiffRequest,
    Field(discriminator="op"),
]
