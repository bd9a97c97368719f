"""A Kubernetes API server of our own, as far as the api needs one: real HTTP on loopback, and every mishap of a log.

It lists, watches, serves and follows logs, applies status, reviews tokens and access. Tests script it: cut a connection
after so many bytes, send pieces of any size, forget the oldest lines as rotation does, speak in the kubelet's own words.
"""  # noqa: E501

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

Wire = dict[str, Any]
COLLECTIONS = ("runs", "pods", "guilds", "interventions")


def log_stamp(number: int, *, second: int = 0) -> str:
    """A runtime's stamp; `number` orders lines within a second."""
    return f"2026-01-05T09:{second // 60:02}:{second % 60:02}.{number:09}Z"


@dataclass
class PodLog:
    """The log of one pod as it stands on the node. `cuts`: after how many bytes each next connection breaks."""

    lines: list[tuple[str, bytes]] = field(default_factory=list)
    ended: bool = False
    cuts: list[int] = field(default_factory=list)
    first_errors: list[tuple[int, str]] = field(default_factory=list)
    kubelet_says: list[bytes] = field(default_factory=list)
    piece_bytes: int = 65_536
    opened: int = 0
    since: list[str | None] = field(default_factory=list)
    open_now: int = 0
    dropped: int = 0

    def write(self, data: bytes, stamp: str | None = None) -> None:
        number = len(self.lines) + self.dropped
        self.lines.append((stamp or log_stamp(number % 100 * 10_000_000, second=number // 100), data))

    def rotate(self, keep: int) -> None:
        """Only the newest `keep` lines are left for whoever connects next."""
        self.dropped += len(self.lines) - keep
        self.lines = self.lines[-keep:] if keep else []


class KubeStub:
    """State, and the server over it."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[tuple[str, str], Wire]] = {kind: {} for kind in COLLECTIONS}
        self.logs: defaultdict[str, PodLog] = defaultdict(PodLog)
        self.statuses: list[Wire] = []
        self.created: list[tuple[str, Wire, bool]] = []
        self.patched: list[tuple[str, Wire]] = []
        self.people: dict[str, Wire] = {}
        self.may: Callable[[str, Wire], bool] = lambda _user, _attributes: True
        self.reviews: list[Wire] = []
        self.refuse_create: tuple[int, str] | None = None
        self.on_create: Callable[[str], Wire | None] = lambda _kind: None  # the status another puts on it at once
        self.gone_watches = 0
        self.hidden_changes: set[tuple[str, str]] = set()
        self.listable: defaultdict[tuple[str, str], asyncio.Event] = defaultdict(_set_event)
        self.failing_statuses = 0
        self.on_status: Callable[[Wire], None] | None = None
        self.url = ""
        self._version = 1
        self._history: list[tuple[int, str, str, Wire]] = []
        self._changed = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()

    # State

    async def put(self, kind: str, resource: Wire) -> None:
        key = (resource["metadata"].get("namespace", ""), resource["metadata"]["name"])
        verb = "MODIFIED" if key in self.objects[kind] else "ADDED"
        await self._record(kind, verb, key, resource)

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        await self._record(kind, "DELETED", (namespace, name), self.objects[kind][namespace, name])

    async def _record(self, kind: str, verb: str, key: tuple[str, str], resource: Wire) -> None:
        self._version += 1
        resource["metadata"]["resourceVersion"] = str(self._version)
        if verb == "DELETED":
            del self.objects[kind][key]
        else:
            self.objects[kind][key] = resource
        self._history.append((self._version, kind, verb, json.loads(json.dumps(resource))))
        await self.wake()

    async def wake(self) -> None:
        """Followers and watches look again."""
        async with self._changed:
            self._changed.notify_all()

    async def write(self, pod: str, *lines: bytes) -> None:
        for line in lines:
            self.logs[pod].write(line)
        await self.wake()

    async def end_log(self, pod: str) -> None:
        self.logs[pod].ended = True
        await self.wake()

    # Server

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["KubeStub"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for writer in list(self._writers):
                writer.transport.abort()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                await self._answer(method, target, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, method: str, target: str, body: bytes, writer: asyncio.StreamWriter) -> None:  # noqa: PLR0911
        parts = urlsplit(target)
        path, query = [unquote(step) for step in parts.path.strip("/").split("/")], dict(parse_qsl(parts.query))
        sent = json.loads(body) if body else {}
        if path[-1] == "tokenreviews":
            return await self._json(writer, 201, self._token_review(sent))
        if path[-1] == "subjectaccessreviews":
            return await self._json(writer, 201, self._access_review(sent))
        namespace, kind, *rest = path[path.index("namespaces") + 1 :]
        if len(rest) == 2 and rest[1] == "log":
            return await self._log(rest[0], query, writer)
        if method == "GET" and query.get("watch"):
            return await self._watch(kind, namespace, query, writer)
        if method == "GET" and not rest:
            await self.listable[kind, namespace].wait()
            items = [each for (where, _), each in sorted(self.objects[kind].items()) if where == namespace]
            version = {"resourceVersion": str(self._version)}
            return await self._json(writer, 200, {"kind": "List", "metadata": version, "items": items})
        if method == "POST":
            return await self._create(kind, namespace, query, sent, writer)
        found = self.objects[kind].get((namespace, rest[0]))
        if found is None:
            return await self._status(writer, 404, "NotFound", f"{kind} {rest[0]} not found")
        if method == "PATCH":
            return await self._patch(kind, rest, found, sent, writer)
        return await self._json(writer, 200, found)

    async def _create(self, kind: str, namespace: str, query: Wire, sent: Wire, writer: asyncio.StreamWriter) -> None:
        if self.refuse_create is not None:
            return await self._status(writer, self.refuse_create[0], "Invalid", self.refuse_create[1])
        metadata = sent["metadata"]
        name = metadata.get("name") or f"{metadata['generateName']}{self._version:05}"
        if (namespace, name) in self.objects[kind]:
            return await self._status(writer, 409, "AlreadyExists", f"{kind} {name} already exists")
        dry = query.get("dryRun") == "All"
        self.created.append((kind, sent, dry))
        made = sent | {"metadata": metadata | {"name": name, "namespace": namespace, "uid": f"uid-{self._version}"}}
        status = self.on_create(kind)
        if not dry:
            await self.put(kind, made | ({"status": status} if status else {}))
        return await self._json(writer, 201, made, 'Warning: 299 - "be careful"\r\n')

    async def _patch(self, kind: str, rest: list[str], found: Wire, sent: Wire, writer: asyncio.StreamWriter) -> None:
        if sent.get("metadata", {}).get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            return await self._status(writer, 409, "Conflict", "uid mismatch")
        if rest[1:] == ["status"] and self.failing_statuses:
            self.failing_statuses -= 1
            return await self._status(writer, 500, "InternalError", "etcd is tired")
        if rest[1:] == ["status"]:
            self.statuses.append(sent["status"])
            if self.on_status is not None:
                self.on_status(sent["status"])
            changed = found | {"status": found.get("status", {}) | sent["status"]}
        else:
            self.patched.append((rest[0], sent))
            changed = found | {"spec": found["spec"] | sent.get("spec", {})}
        await self.put(kind, changed)
        return await self._json(writer, 200, changed)

    def _token_review(self, sent: Wire) -> Wire:
        person = self.people.get(sent["spec"]["token"])
        if person is None:
            return {"status": {"authenticated": False}}
        return {"status": {"authenticated": True, "user": person, "audiences": sent["spec"].get("audiences", [])}}

    def _access_review(self, sent: Wire) -> Wire:
        self.reviews.append(sent["spec"])
        return {"status": {"allowed": self.may(sent["spec"]["user"], sent["spec"]["resourceAttributes"])}}

    async def _watch(self, kind: str, namespace: str, query: Wire, writer: asyncio.StreamWriter) -> None:
        await self._head(writer)
        if self.gone_watches:
            self.gone_watches -= 1
            gone = {
                "type": "ERROR",
                "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"},
            }
            await self._chunk(writer, json.dumps(gone).encode() + b"\n")
            return await self._chunk(writer, b"")
        seen = int(query["resourceVersion"])
        end = asyncio.get_running_loop().time() + int(query["timeoutSeconds"])
        while True:
            for version, of, verb, item in list(self._history):
                hidden = (of, verb) in self.hidden_changes
                if version > seen and of == kind and item["metadata"].get("namespace") == namespace and not hidden:
                    await self._chunk(writer, json.dumps({"type": verb, "object": item}).encode() + b"\n")
            seen = max(seen, self._version)
            try:
                async with asyncio.timeout_at(end), self._changed:
                    while self._version <= seen:
                        await self._changed.wait()
            except TimeoutError:
                return await self._chunk(writer, b"")

    async def _log(self, pod: str, query: Wire, writer: asyncio.StreamWriter) -> None:
        log = self.logs[pod]
        assert query["container"] == "executor"
        assert query["timestamps"] == "true"
        log.opened += 1
        log.since.append(query.get("sinceTime"))
        if log.first_errors:
            status, text = log.first_errors.pop(0)
            return await self._status(writer, status, "BadRequest", text)
        await self._head(writer)
        log.open_now += 1
        try:
            await self._send_log(log, query, writer)
        finally:
            log.open_now -= 1

    async def _send_log(self, log: PodLog, query: Wire, writer: asyncio.StreamWriter) -> None:
        since = query.get("sinceTime")
        budget = log.cuts.pop(0) if log.cuts else None
        if log.kubelet_says:
            await self._chunk(writer, log.kubelet_says.pop(0) + b"\n")
        at = log.dropped
        while True:
            lines = log.lines[max(0, at - log.dropped) :]
            at = log.dropped + len(log.lines)
            fresh = [each for each in lines if since is None or _moment(each[0]) >= _moment(since)]
            data = b"".join(stamp.encode() + b" " + line + b"\n" for stamp, line in fresh)
            if budget is not None and len(data) >= budget:
                await self._pieces(writer, data[:budget], log.piece_bytes)
                writer.transport.abort()
                raise ConnectionResetError
            budget = None if budget is None else budget - len(data)
            await self._pieces(writer, data, log.piece_bytes)
            if (log.ended or "follow" not in query) and at == log.dropped + len(log.lines):
                return await self._chunk(writer, b"")
            async with self._changed:
                try:
                    await asyncio.wait_for(self._changed.wait(), 0.2)
                except TimeoutError:
                    if writer.transport.is_closing():
                        raise ConnectionResetError from None

    async def _pieces(self, writer: asyncio.StreamWriter, data: bytes, size: int) -> None:
        for start in range(0, len(data), size):
            await self._chunk(writer, data[start : start + size])

    @staticmethod
    async def _head(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        await writer.drain()

    @staticmethod
    async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()

    @staticmethod
    async def _json(writer: asyncio.StreamWriter, status: int, body: Wire, extra: str = "") -> None:
        data = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{extra}Content-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()

    async def _status(self, writer: asyncio.StreamWriter, code: int, reason: str, message: str) -> None:
        await self._json(writer, code, {"kind": "Status", "code": code, "reason": reason, "message": message})


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


def _moment(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp[:26].rstrip("Z") + "+00:00")  # noqa: FURB162
