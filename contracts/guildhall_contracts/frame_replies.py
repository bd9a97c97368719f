"""What the workshop answers, one record for each result. Claims of the workspace: `frames` parses them as hostile."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import Record, Sha256
from guildhall_contracts.frame_requests import Base64Data, PathB64, RequestId, WirePath

FileMode = Annotated[int, Field(ge=0, le=0o7777)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Number = Annotated[int, Field(ge=1, le=2**53 - 1)]
ExitCode = Annotated[int, Field(ge=0, le=255)]
SignalName = Annotated[str, StringConstraints(max_length=16, pattern=r"^(SIG[A-Z0-9]+)?$")]

FrameErrorCode = Literal[
    "permission_denied",  # leaves /workspace, or is the top-level .orchestration, or the kernel said EACCES/EPERM
    "not_found",
    "exists",
    "is_directory",
    "not_directory",
    "not_regular",  # FIFO, socket, device
    "too_large",
    "binary",  # an edit that needs text met bytes it could not keep
    "no_match",
    "ambiguous",
    "invalid_argument",
    "stale",  # expectSHA256 differs: the file changed since it was read
    "no_space",
    "io_error",
    "cancelled",
    "busy",  # too many requests in flight
    "unsupported",
]


class Reply(Record):
    id: RequestId


class ErrorReply(Reply):
    type: Literal["error"] = "error"
    code: FrameErrorCode
    message: str = Field(max_length=2_000)


class OutputReply(Reply):
    """A live piece of a command's output; pieces over the rate are left out (`skippedBytes` says how many)."""

    type: Literal["output"] = "output"
    data: Base64Data
    skipped_bytes: Count = 0


class ChunkReply(Reply):
    """A piece of a patch, in order from `index` 0."""

    type: Literal["chunk"] = "chunk"
    index: Count
    data: Base64Data


class HelloResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["hello"] = "hello"
    version: int
    landlock_abi: Count
    seccomp: bool
    openat2: bool
    shell: Literal["bash", "sh", ""]
    uid: Count


class ReadResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["read"] = "read"
    data: Base64Data
    size: Count
    mode: FileMode
    sha256: Sha256 | None = None  # of the whole file, when it was read whole
    utf8: bool  # whether this piece is valid UTF-8 without NUL
    offset: Count = 0
    lines: Count | None = None


class WriteResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["write"] = "write"
    created: bool
    size: Count
    sha256: Sha256
    kept: list[Literal["bom", "utf-16", "crlf"]] = Field(default_factory=list, max_length=3)


class EditResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["edit"] = "edit"
    replacements: Number
    lines: list[int] = Field(max_length=100)  # 1-based first lines of the replacements
    size: Count
    sha256: Sha256


class Entry(Record):
    """One directory entry; `path` has bytes that are not UTF-8 and control characters escaped as `\\xNN`."""

    path: WirePath
    path_b64: PathB64 | None = None
    kind: Literal["file", "directory", "symlink", "other"]
    size: Count
    mode: FileMode
    target: WirePath | None = None


class ListResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["list"] = "list"
    entries: list[Entry] = Field(max_length=limits.LIST_MAX_ENTRIES)
    truncated: bool


class Match(Record):
    path: WirePath
    path_b64: PathB64 | None = None
    line: Number
    text: str = Field(max_length=limits.SEARCH_LINE_MAX_BYTES)


class SearchResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["search"] = "search"
    matches: list[Match] = Field(max_length=limits.SEARCH_MAX_MATCHES)
    truncated: bool
    files_searched: Count
    files_too_large: Count = 0


class DoneResult(Reply):
    """The empty success of mkdir, delete, stdin, kill and cancel."""

    type: Literal["result"] = "result"
    op: Literal["mkdir", "delete", "stdin", "kill", "cancel"]


class StatResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["stat"] = "stat"
    entry: Entry


class ExecResult(Reply):
    """How a command ended. `exitCode` and `signal` exclude each other; both are absent for a background start."""

    type: Literal["result"] = "result"
    op: Literal["exec"] = "exec"
    ended: Literal["exited", "signalled", "wall_timeout", "idle_timeout", "cancelled", "process_limit", "started"]
    exit_code: ExitCode | None = None
    signal: SignalName | None = None  # empty or absent for one without a name
    head: Base64Data = ""
    tail: Base64Data = ""
    omitted_bytes: Count = 0
    total_bytes: Count = 0
    elapsed_milliseconds: Count = 0
    killed_processes: Count = 0  # background children ended with the call
    job: Number | None = None  # the number of a background command that runs on


class JobState(Record):
    """A background command. `stopped` ended because it was asked to, with the connection or with the Run."""

    job: Number
    command: str = Field(max_length=limits.BACKGROUND_COMMAND_SHOWN_CHARS)
    state: Literal["running", "exited", "signalled", "stopped", "process_limit"]
    exit_code: ExitCode | None = None
    signal: SignalName | None = None
    total_bytes: Count = 0


class JobsResult(Reply):
    """The background commands in the order of their start; output only where one was asked for."""

    type: Literal["result"] = "result"
    op: Literal["jobs"] = "jobs"
    jobs: list[JobState] = Field(max_length=limits.BACKGROUND_KEPT_MAX_COUNT)
    head: Base64Data = ""
    tail: Base64Data = ""
    omitted_bytes: Count = 0


class DiffResult(Reply):
    """The end of a diff: size and hash of the patch sent in chunks, and what the patch leaves out, each with why.

    `lacking` counts what is left out and is content: neither a tool's cache nor git's own file.
    """

    type: Literal["result"] = "result"
    op: Literal["diff"] = "diff"
    size: Count
    sha256: Sha256
    omitted: list[str] = Field(default_factory=list, max_length=100)
    lacking: Count = 0
    too_large: bool = False


AnyResult = Annotated[
    HelloResult
    | ReadResult
    | WriteResult
    | EditResult
    | ListResult
    | SearchResult
    | DoneResult
    | StatResult
    | ExecResult
    | JobsResult
    | DiffResult,
    Field(discriminator="op"),
]
AnyReply = Annotated[AnyResult | ErrorReply | OutputReply | ChunkReply, Field(union_mode="left_to_right")]
