"""A gateway for tests: a real HTTP server whose answers are scripted, and which remembers what it was asked.

Each entry of `script` answers one model call: a reply (`say`, `one`, `calls`), an `Answer`, or a callable giving one.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from guildhall_contracts.model_api import GatewayError, MailboxPage, ModelReply, ModelRequest

Json = dict[str, Any]


@dataclass
class Answer:
    """What one request gets: a status, and pieces written one after another with pauses between them."""

    status: int = 200
    pieces: list[bytes] = field(default_factory=list)
    pause_seconds: float = 0.0
    hang_seconds: float = 0.0
    close: bool = False  # cut the connection without ending the body
    headers: dict[str, str] = field(default_factory=dict)


Script = list[Json | Answer | Callable[[ModelRequest], "Json | Answer"]]


def tool_call(name: str, arguments: Any, id_: str = "t1") -> Json:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id_, "name": name, "arguments": text}


def calls(*tool_calls: Json, text: str = "", stop: str = "tool_calls") -> Json:
    return {"text": text, "toolCalls": list(tool_calls), "stopReason": stop}


def one(name: str, **arguments: Any) -> Json:
    """A reply that calls one tool."""
    return calls(tool_call(name, arguments))


def say(text: str, stop: str = "end") -> Json:
    return {"text": text, "stopReason": stop}


def failure(
    kind: str,
    message: str,
    *,
    retryable: bool,
    status: int = 503,
    retry_after: float | None = None,
    detail: dict[str, str] | None = None,
) -> Answer:
    error = {"kind": kind, "message": message, "retryable": retryable, "actor": "provider", "detail": detail or {}}
    value = {"error": error} | ({"retryAfterSeconds": retry_after} if retry_after is not None else {})
    GatewayError.model_validate(value)
    return Answer(status, [json.dumps(value).encode()])


@dataclass
class FakeGateway:
    script: Script = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    page: MailboxPage = field(default_factory=lambda: MailboxPage(cursor="0"))
    mailbox_answer: Answer | None = None
    store_everything: bool = True  # acknowledge whatever number; the executor ignores numbers it never wrote
    url: str = ""
    settled: dict[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def post(self, **fields: Any) -> None:
        """Puts a page into the mailbox."""
        with self._changed:
            self.page = MailboxPage(cursor=str(int(self.page.cursor) + 1), **fields)
            self._changed.notify_all()

    def take_page(self, cursor: str, wait_seconds: float) -> MailboxPage:
        with self._changed:
            if self.page.cursor == cursor:
                self._changed.wait(wait_seconds)
            page = self.page if self.page.cursor != cursor else MailboxPage(cursor=cursor)
            stored = 2**53 - 1 if self.store_everything else self.page.stored_seq
            return page.model_copy(update={"stored_seq": stored})

    def answer(self, request: ModelRequest, token: str) -> Answer:
        with self._lock:
            self.requests.append(request)
            self.tokens.append(token)
            self.times.append(time.monotonic())
            if request.call_id in self.settled:
                return Answer(200, [reply_line(request, self.settled[request.call_id] | {"replayed": True})])
            if not self.script:
                return failure("internal", "the script is at its end", retryable=False, status=500)
            entry = self.script.pop(0)
        value = entry(request) if callable(entry) else entry
        if isinstance(value, Answer):
            return value
        with self._lock:
            self.settled[request.call_id] = value
        return Answer(200, [reply_line(request, value)])

    def shown(self, index: int = -1) -> str:
        """Every text of the last message of a request, for looking at what the model saw."""
        return "\n".join(block.text for block in self.requests[index].messages[-1].content)  # type: ignore[union-attr]


def reply_line(request: ModelRequest, value: Json) -> bytes:
    reply = {
        "callId": request.call_id,
        "stopReason": "end",
        "usage": {"tokens": 10, "outputTokens": 5},
        "costMicroUSD": 3,
        "model": request.model,
        "scripted": True,
        "totals": {"calls": 1},
    } | value
    ModelReply.model_validate(reply)
    return b'{"type":"heartbeat"}\n' + json.dumps({"type": "reply", "reply": reply}).encode() + b"\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeGateway

    def log_message(self, *_: Any) -> None:
        return

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in answer.pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
            time.sleep(answer.pause_seconds)
        time.sleep(answer.hang_seconds)
        if answer.close:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self) -> None:
        request = ModelRequest.model_validate_json(self._body())
        self._send(self.fake.answer(request, self.headers.get("Authorization", "")))

    def do_PUT(self) -> None:
        self.fake.blobs[self.path.rsplit("/", 1)[1]] = self._body()
        self._send(Answer(201))

    def do_GET(self) -> None:
        if self.fake.mailbox_answer is not None:
            self._send(self.fake.mailbox_answer)
            return
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        page = self.fake.take_page(query["cursor"][0], min(float(query["waitSeconds"][0]), 1.0))
        self._send(Answer(200, [page.model_dump_json(by_alias=True, exclude_none=True).encode()]))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """A client that went away is what some tests are about."""


@contextmanager
def serving(*script: Any) -> Iterator[FakeGateway]:
    """A gateway on a loopback port for the time of the block."""
    fake = FakeGateway(list(script))
    handler = type("Handler", (_Handler,), {"fake": fake})
    server = _Server(("127.0.0.1", 0), handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
