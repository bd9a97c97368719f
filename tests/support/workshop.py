"""A small synchronous client of the real workshop binary for tests; every reply goes through the contract's decoder."""

import base64
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cluster.embedded.layout import user_cache
from guildhall_contracts import frames

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "workshop"


@cache
def workshop_binary() -> Path:
    """The binary, built from the sources beside these tests (the Go build cache makes the second time cheap)."""
    target = user_cache() / "workshop-tests" / "guildhall-workshop"
    subprocess.run(["sh", str(SOURCES / "build.sh"), str(target)], check=True, capture_output=True)
    return target


def b64(data: bytes | str) -> str:
    raw = data.encode() if isinstance(data, str) else data
    return base64.b64encode(raw).decode()


def unb64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


@dataclass
class Answer:
    """The last reply to one request, and what came before it."""

    last: Any
    output: bytes = b""
    skipped: int = 0
    chunks: bytes = b""

    @property
    def code(self) -> str:
        """The error code, or "" for a result."""
        return self.last.code if isinstance(self.last, frames.ErrorReply) else ""

    @property
    def text(self) -> bytes:
        """Head and tail of an exec result."""
        return unb64(self.last.head) + unb64(self.last.tail)


@dataclass
class Client:
    """One connection; requests may be in flight together (`start`, then `finish`)."""

    sock: socket.socket
    next_id: int = 1
    partial: dict[int, Answer] = field(default_factory=dict)
    ready: dict[int, Answer] = field(default_factory=dict)
    on_output: Callable[[int, bytes], None] | None = None

    def start(self, request: type[frames.Request], **fields: Any) -> int:
        number = self.next_id
        self.next_id += 1
        self.sock.sendall(frames.encode_frame(request(id=number, **fields)))
        return number

    def finish(self, number: int, seconds: float = 60) -> Answer:
        end = time.monotonic() + seconds
        while number not in self.ready:
            self.sock.settimeout(max(0.01, end - time.monotonic()))
            self._take(self._reply())
        return self.ready.pop(number)

    def call(self, request: type[frames.Request], seconds: float = 60, **fields: Any) -> Answer:
        return self.finish(self.start(request, **fields), seconds)

    def sh(self, command: str, seconds: float = 60, **fields: Any) -> Answer:
        return self.call(frames.ExecRequest, seconds, command=command, **fields)

    def exchange(self, raw: bytes) -> Any:
        """Sends raw bytes and gives the next reply, or None when the connection was closed."""
        self.sock.settimeout(10)
        try:
            self.sock.sendall(raw)
            return self._reply()
        except (ConnectionError, EOFError):
            return None

    def _bytes(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = self.sock.recv(count - len(data))
            if not piece:
                raise EOFError("the workshop closed the connection")
            data += piece
        return bytes(data)

    def _reply(self) -> Any:
        length = frames.frame_length(self._bytes(4))
        assert isinstance(length, int), length
        reply = frames.decode_reply(self._bytes(length))
        assert not isinstance(reply, frames.FrameRefused), reply
        return reply

    def _take(self, reply: Any) -> None:
        answer = self.partial.setdefault(reply.id, Answer(None))
        if isinstance(reply, frames.OutputReply):
            answer.output += unb64(reply.data)
            answer.skipped += reply.skipped_bytes
            if self.on_output:
                self.on_output(reply.id, unb64(reply.data))
        elif isinstance(reply, frames.ChunkReply):
            answer.chunks += unb64(reply.data)
        else:
            answer.last = reply
            self.ready[reply.id] = self.partial.pop(reply.id)


@dataclass
class Workshop:
    """A running server on directories of its own."""

    process: subprocess.Popen[bytes]
    workspace: Path
    tmp: Path
    baseline: Path
    socket_path: Path

    def connect(self) -> Client:
        end = time.monotonic() + 10
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.connect(str(self.socket_path))
            except OSError:
                sock.close()
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.01)
            else:
                return Client(sock)

    @contextmanager
    def client(self) -> Iterator[Client]:
        client = self.connect()
        try:
            yield client
        finally:
            client.sock.close()

    def rss_bytes(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def prepare(
    workspace: Path, baseline: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs `prepare` without a gate unless `env` holds one."""
    gate = [] if env and "GUILDHALL_GATE" in env else ["--no-gate"]
    return subprocess.run(
        [
            str(workshop_binary()),
            "prepare",
            *gate,
            "--workspace",
            str(workspace),
            "--baseline",
            str(baseline),
            *arguments,
        ],
        env={"PATH": os.environ["PATH"], **(env or {})},
        check=False,
        capture_output=True,
        timeout=120,
    )


def snapshot(folder: Path) -> dict[str, str]:
    """Every name below `folder` with its type, mode and content: what must be the same after a refused attack."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes().hex() if path.is_file() else ""
        found[str(path.relative_to(folder))] = f"{info.st_mode:o} {content}"
    return found


def gone(pid_pattern: str, seconds: float = 2) -> bool:
    """Whether, within `seconds`, no process has `pid_pattern` in its command line."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not alive(pid_pattern):
            return True
        time.sleep(0.02)
    return not alive(pid_pattern)


def alive(pattern: str) -> list[int]:
    """Processes with `pattern` in their command line, workshop's own (which carry the whole command) left out."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if pattern in line and "guildhall-workshop" not in line:
            found.append(int(place.name))
    return found


@contextmanager
def running(
    base: Path, *arguments: str, env: dict[str, str] | None = None, with_baseline: bool = True, user: int | None = None
) -> Iterator[Workshop]:
    """A server below `base` (its workspace may be filled before); ends with the block, by SIGTERM."""
    places = {name: base / name for name in ("workspace", "tmp", "baseline")}
    for place in places.values():
        place.mkdir(exist_ok=True)
    binary = workshop_binary()
    if user is not None:  # the user may not enter the cache; the binary goes where the pod has it, by the same way
        subprocess.run([str(binary), "inject", "--bin", str(base)], check=True)
        binary = base / "guildhall-workshop"
        for place in (base, *places.values()):
            os.chown(place, user, user)
    with_arguments = list(arguments)
    if with_baseline:
        done = prepare(places["workspace"], places["baseline"])
        assert done.returncode == 0, done.stderr
        with_arguments += ["--baseline", str(places["baseline"])]
    path = base / "w.sock"
    process = subprocess.Popen(
        [
            str(binary),
            "serve",
            "--socket",
            str(path),
            "--workspace",
            str(places["workspace"]),
            "--tmp",
            str(places["tmp"]),
            "--peer-uid",
            str(os.getuid()),
            *with_arguments,
        ],
        env={"PATH": os.environ["PATH"], **(env or {})},
        stdin=subprocess.DEVNULL,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )
    try:
        yield Workshop(process, places["workspace"], places["tmp"], places["baseline"], path)
    finally:
        process.terminate()
        process.wait(timeout=10)


@contextmanager
def with_one_file(base: Path) -> Iterator[Workshop]:
    """A server below `base` whose workspace holds `a.txt`."""
    (base / "workspace").mkdir(parents=True)
    (base / "workspace" / "a.txt").write_text("one\n")
    with running(base, "--unconfined") as server:
        yield server
