"""The frames between executor and workshop; every reply is the workspace's claim and is parsed as hostile input.

A frame is a 4-byte big-endian length and that many bytes of UTF-8 JSON, at most `FRAME_MAX_BYTES`. The executor sends
requests with a fresh positive `id`; replies name it and may interleave. Every request ends in exactly one `result` or
`error` reply; `chunk` and `output` replies may come before it. Paths are relative to `/workspace`; a name that is not
UTF-8 travels in `pathB64`. Bytes travel as base64 (`data`).
"""

import json
import struct
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from guildhall_contracts import limits
from guildhall_contracts.base import Record, Sha256

PROTOCOL_VERSION: Final = 1
_LENGTH: Final = struct.Struct(">I")

RequestId = Annotated[int, Field(ge=1, le=2**53 - 1)]
WirePath = Annotated[str, Field(max_length=limits.PATH_MAX_CHARS)]
Base64Data = Annotated[
    str, Field(max_length=(limits.FRAME_DATA_MAX_BYTES + 2) // 3 * 4, pattern=r"^[A-Za-z0-9+/]*={0,2}$")
]
FileMode = Annotated[int, Field(ge=0, le=0o7777)]

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


class Request(Record):
    """The head every request shares."""

    id: RequestId


class PathRequest(Request):
    """A request about one path: `path`, or `pathB64` when the name is not UTF-8."""

    path: WirePath = ""
    path_b64: Annotated[str, Field(max_length=6_000)] | None = None


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
    skipped_bytes: int = Field(0, ge=0)


class ChunkReply(Reply):
    """A piece of a patch, in order from `index` 0."""

    type: Literal["chunk"] = "chunk"
    index: int = Field(ge=0)
    data: Base64Data


class HelloResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["hello"] = "hello"
    version: int
    landlock_abi: int = Field(ge=0)
    seccomp: bool
    openat2: bool
    shell: Literal["bash", "sh", ""]
    uid: int = Field(ge=0)


class ReadResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["read"] = "read"
    data: Base64Data
    size: int = Field(ge=0)
    mode: FileMode
    sha256: Sha256 | None = None  # of the whole file, when it was read whole
    utf8: bool  # whether this piece is valid UTF-8 without NUL
    offset: int = Field(0, ge=0)
    lines: int | None = Field(None, ge=0)


class WriteResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["write"] = "write"
    created: bool
    size: int = Field(ge=0)
    sha256: Sha256
    kept: list[Literal["bom", "utf-16", "crlf"]] = Field(default_factory=list, max_length=3)


class EditResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["edit"] = "edit"
    replacements: int = Field(ge=1)
    lines: list[int] = Field(max_length=100)  # 1-based first lines of the replacements
    size: int = Field(ge=0)
    sha256: Sha256


class Entry(Record):
    """One directory entry; `path` has bytes that are not UTF-8 and control characters escaped as `\\xNN`."""

    path: WirePath
    path_b64: Annotated[str, Field(max_length=6_000)] | None = None
    kind: Literal["file", "directory", "symlink", "other"]
    size: int = Field(ge=0)
    mode: FileMode
    target: WirePath | None = None


class ListResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["list"] = "list"
    entries: list[Entry] = Field(max_length=limits.LIST_MAX_ENTRIES)
    truncated: bool


class Match(Record):
    path: WirePath
    path_b64: Annotated[str, Field(max_length=6_000)] | None = None
    line: int = Field(ge=1)
    text: str = Field(max_length=limits.SEARCH_LINE_MAX_BYTES)


class SearchResult(Reply):
    type: Literal["result"] = "result"
    op: Literal["search"] = "search"
    matches: list[Match] = Field(max_length=limits.SEARCH_MAX_MATCHES)
    truncated: bool
    files_searched: int = Field(ge=0)
    files_too_large: int = Field(0, ge=0)


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
    exit_code: int | None = Field(None, ge=0, le=255)
    signal: str | None = Field(None, max_length=16)
    head: Base64Data = ""
    tail: Base64Data = ""
    omitted_bytes: int = Field(0, ge=0)
    total_bytes: int = Field(0, ge=0)
    elapsed_milliseconds: int = Field(0, ge=0)
    killed_processes: int = Field(0, ge=0)  # background children ended with the call
    job: int | None = Field(None, ge=1)  # the number of a background command that runs on


class JobState(Record):
    """A background command. `stopped` ended because it was asked to, with the connection or with the Run."""

    job: int = Field(ge=1)
    command: str = Field(max_length=limits.BACKGROUND_COMMAND_SHOWN_CHARS)
    state: Literal["running", "exited", "signalled", "stopped", "process_limit"]
    exit_code: int | None = Field(None, ge=0, le=255)
    signal: str | None = Field(None, max_length=16)
    total_bytes: int = Field(0, ge=0)


class JobsResult(Reply):
    """The background commands in the order of their start; output only where one was asked for."""

    type: Literal["result"] = "result"
    op: Literal["jobs"] = "jobs"
    jobs: list[JobState] = Field(max_length=limits.BACKGROUND_KEPT_MAX_COUNT)
    head: Base64Data = ""
    tail: Base64Data = ""
    omitted_bytes: int = Field(0, ge=0)


class DiffResult(Reply):
    """The end of a diff: size and hash of the patch sent in chunks, and what the patch leaves out, each with why."""

    type: Literal["result"] = "result"
    op: Literal["diff"] = "diff"
    size: int = Field(ge=0)
    sha256: Sha256
    omitted: list[str] = Field(default_factory=list, max_length=100)
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

_REQUESTS: TypeAdapter[AnyRequest] = TypeAdapter(AnyRequest)
_RESULTS: TypeAdapter[AnyResult] = TypeAdapter(AnyResult)
_OTHERS: Final[dict[str, TypeAdapter[Any]]] = {
    "error": TypeAdapter(ErrorReply),
    "output": TypeAdapter(OutputReply),
    "chunk": TypeAdapter(ChunkReply),
}


class FrameRefused(Record):
    """Why bytes were not a frame: the connection cannot be trusted any further and is closed."""

    reason: str = Field(max_length=500)


def encode_frame(record: Record) -> bytes:
    """`record` as one frame. Raises ValueError when it is larger than `FRAME_MAX_BYTES`."""
    body = record.model_dump_json(by_alias=True, exclude_none=True).encode()
    if len(body) > limits.FRAME_MAX_BYTES:
        raise ValueError(f"frame of {len(body)} bytes; at most {limits.FRAME_MAX_BYTES} are allowed")
    return _LENGTH.pack(len(body)) + body


def frame_length(head: bytes) -> int | FrameRefused:
    """The body length announced by a 4-byte head, or why it is refused."""
    if len(head) != _LENGTH.size:
        return FrameRefused(reason=f"frame head of {len(head)} bytes; 4 are needed")
    length: int = _LENGTH.unpack(head)[0]
    if not 2 <= length <= limits.FRAME_MAX_BYTES:
        return FrameRefused(reason=f"frame length {length} is outside 2..{limits.FRAME_MAX_BYTES}")
    return length


def _load(body: bytes) -> dict[str, Any] | FrameRefused:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        return FrameRefused(reason=f"frame is not JSON: {type(error).__name__}")
    if not isinstance(value, dict):
        return FrameRefused(reason="frame is not a JSON object")
    return value


def _refusal(error: ValidationError) -> FrameRefused:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:200]
    return FrameRefused(reason=f"frame does not fit the protocol at '{where}': {first['msg'][:200]}")


def decode_request(body: bytes) -> AnyRequest | FrameRefused:
    """Any bytes give a request or a typed refusal, never an exception."""
    value = _load(body)
    if isinstance(value, FrameRefused):
        return value
    try:
        return _REQUESTS.validate_python(value, strict=True)
    except ValidationError as error:
        return _refusal(error)


def decode_reply(body: bytes) -> AnyResult | ErrorReply | OutputReply | ChunkReply | FrameRefused:
    """Any bytes give a reply or a typed refusal, never an exception."""
    value = _load(body)
    if isinstance(value, FrameRefused):
        return value
    kind = value.get("type")
    adapter: TypeAdapter[Any] | None = (
        _RESULTS if kind == "result" else _OTHERS.get(kind) if isinstance(kind, str) else None
    )
    if adapter is None:
        return FrameRefused(reason="frame has no known 'type'")
    try:
        reply: AnyResult | ErrorReply | OutputReply | ChunkReply = adapter.validate_python(value, strict=True)
    except ValidationError as error:
        return _refusal(error)
    return reply
