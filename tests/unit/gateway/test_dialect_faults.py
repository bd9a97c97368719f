"""Every provider when things go wrong: each fault has its word in the taxonomy, costs what it may have, and ends."""

import json
import logging
import ssl
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from guildhall_gateway.live import Timeouts
from guildhall_gateway.prices import TokenCount
from guildhall_gateway.providers.faults import retry_after_seconds
from guildhall_gateway.providers.pydantic_ai import REPLY_MAX_CHARS
from support.certificates import certificate
from support.providers import server as wire
from support.providers.chat import chat
from support.providers.dialect import Call, Dialect, Problem, Say
from support.providers.server import Provider
from unit.gateway import kit
from unit.gateway.asking import BOTH_WAYS, DIALECTS, EVERY, KEY, adapter, asked, failed, gathered, keys

FINE = Say("fine")


@pytest.fixture
async def server() -> AsyncIterator[Provider]:
    async with wire.provider() as made:
        yield made


MEANINGS: dict[Problem, tuple[str, bool]] = {
    "overflow": ("context_overflow", False),
    "throttled": ("llm_unavailable", True),
    "overloaded": ("llm_unavailable", True),
    "broken": ("llm_unavailable", True),
    "key": ("llm_refused", False),
    "quota": ("llm_refused", False),
    "absent": ("llm_refused", False),
    "odd": ("llm_refused", False),
}


@EVERY
@BOTH_WAYS
async def test_every_problem_has_its_word_is_free_and_is_asked_about_once(
    server: Provider, tmp_path: Path, dialect: Dialect, whole: bool
) -> None:
    provider = adapter(dialect, server, tmp_path, whole=whole)
    found: dict[Problem, tuple[str, bool]] = {}
    for kind, meaning in MEANINGS.items():
        if kind == "quota" and dialect.name == "google":
            found[kind] = meaning  # its quota of a minute and of an account look the same
            continue
        server.script = [dialect.problem(kind, f"your key {KEY}")]
        failure = await failed(provider, asked(dialect))
        assert failure.billed == "nothing"
        assert KEY not in failure.error.model_dump_json()
        assert not server.script
        found[kind] = (failure.error.error.kind, failure.error.error.retryable)
    assert found == MEANINGS
    server.behave = dialect.whole(FINE) if whole else dialect.streamed(FINE)
    assert (await gathered(provider, asked(dialect)))[1].text == "fine", "the control: the same adapter still works"


@EVERY
async def test_retry_after_in_seconds_and_as_a_date(server: Provider, tmp_path: Path, dialect: Dialect) -> None:
    provider = adapter(dialect, server, tmp_path)
    wrong_clock = datetime(2001, 1, 1, tzinfo=UTC)  # the provider's clock; only the difference counts
    until = {
        "Date": format_datetime(wrong_clock, usegmt=True),
        "Retry_After": format_datetime(wrong_clock + timedelta(seconds=7), usegmt=True),
    }
    for headers, seconds, retryable in (
        ({"Retry_After": "4"}, 4.0, True),
        (until, 7.0, True),
        ({"Retry_After": "86400"}, 86_400.0, False),
        ({"Retry_After": "0"}, 0.0, True),
        ({}, None, True),
        ({"Retry_After": "soon"}, None, True),
    ):
        server.script = [dialect.problem("throttled", **headers)]
        failure = await failed(provider, asked(dialect))
        assert (failure.error.retry_after_seconds, failure.error.error.retryable) == (seconds, retryable), headers


@pytest.mark.parametrize(
    ("headers", "otherwise", "seconds"),
    [
        (None, None, None),
        (None, 3.0, 3.0),
        ({"retry-after": "Wed, 99 Foo 2026"}, None, None),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT", "date": "Mon, 01 Jan 2001 00:01:00 GMT"}, 9.0, 0.0),
        ({}, float("nan"), None),
        ({}, -1.0, None),
    ],
)
def test_a_wait_is_a_number_of_seconds_or_unknown(
    headers: dict[str, str] | None, otherwise: float | None, seconds: float | None
) -> None:
    assert retry_after_seconds(headers, otherwise) == seconds


OVERFLOWS = {
    "vllm": (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you "
                   "requested 5000 tokens", "type": "BadRequestError", "code": 400}),
    "vllm-nested": (400, {"error": {"message": "This model's maximum context length is 4096 tokens.", "code": 400}}),
    "llama.cpp": (400, {"error": {"code": 400, "message": "the request exceeds the available context size",
                                  "type": "exceed_context_size_error"}}),
    "tgi": (422, {"error": {"message": "`inputs` tokens + `max_new_tokens` must be <= 4096; exceeds context window",
                            "type": "validation"}}),
    "proxy": (413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", OVERFLOWS)
async def test_compatible_servers_say_overflow_in_their_own_words(server: Provider, tmp_path: Path, name: str) -> None:
    local = DIALECTS[2]
    server.behave = wire.status(*OVERFLOWS[name])
    assert (await failed(adapter(local, server, tmp_path), asked(local))).error.error.kind == "context_overflow"


HALVES = {
    "text": Say("half of it"),
    "call": Say("", (Call("c1", '{"path":"abcdef"}'),)),
    "calls": Say("I will", (Call("c1"), Call("c2"))),
    "refusal": Say("I will n", stop="refusal"),
    "thought": Say("half", thought="hm", signature="s"),
}


@EVERY
@pytest.mark.parametrize("then", ["reset", "short"])
@pytest.mark.parametrize("say", HALVES.values(), ids=HALVES)
async def test_a_stream_cut_midway_is_a_failure_that_may_have_been_billed(
    server: Provider, tmp_path: Path, dialect: Dialect, say: Say, then: str
) -> None:
    """Whether the connection broke, or its body ended as HTTP has it and only the provider's own end is missing."""
    provider = adapter(dialect, server, tmp_path)
    server.behave = dialect.streamed(say, then=then)
    failure = await failed(provider, asked(dialect))
    assert (failure.error.error.kind, failure.error.error.retryable) == ("llm_unavailable", True)
    assert failure.error.retry_after_seconds is None
    assert failure.billed == "unknown"
    server.behave = dialect.streamed(say)
    _, reply = await gathered(provider, asked(dialect))
    assert reply.text or reply.tool_calls or reply.stop_reason in ("refusal", "content_filter"), "control: with its end"


@EVERY
@pytest.mark.parametrize("say", HALVES.values(), ids=HALVES)
async def test_half_of_an_answer_in_one_piece_is_a_failure_too(
    server: Provider, tmp_path: Path, dialect: Dialect, say: Say
) -> None:
    async def halved(write: wire.Write) -> None:
        pieces: list[bytes] = []

        async def kept(data: bytes) -> None:
            pieces.append(data)

        await dialect.whole(say)(kept)
        body = b"".join(pieces).partition(b"\r\n\r\n")[2]
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
        await write(head + body[: len(body) // 2])

    server.behave = halved
    failure = await failed(adapter(dialect, server, tmp_path, whole=True), asked(dialect))
    assert (failure.error.error.kind, failure.error.error.retryable) == ("llm_unavailable", True)
    assert failure.billed == "unknown"


@EVERY
@BOTH_WAYS
async def test_what_its_provider_calls_failed_is_no_reply(
    server: Provider, tmp_path: Path, dialect: Dialect, whole: bool
) -> None:
    say = Say("half of it", (Call("c1"),), stop="failed")
    server.behave = dialect.whole(say) if whole else dialect.streamed(say)
    failure = await failed(adapter(dialect, server, tmp_path, whole=whole), asked(dialect))
    assert (failure.error.error.kind, failure.error.error.retryable) == ("llm_unavailable", True)
    assert failure.billed == "unknown"


@EVERY
@BOTH_WAYS
async def test_what_does_not_say_that_it_ended_is_a_reply_only_of_a_chat_server_asked_for_whole_ones(
    server: Provider, tmp_path: Path, dialect: Dialect, whole: bool
) -> None:
    """Some compatible servers never say it: as one piece of JSON their answer is whole all the same."""
    say = Say("half of it", stop="unsaid")
    server.behave = dialect.whole(say) if whole else dialect.streamed(say)
    provider = adapter(dialect, server, tmp_path, whole=whole)
    if whole and dialect.name in ("openai-chat", "local"):
        _, reply = await gathered(provider, asked(dialect))
        assert (reply.text, reply.stop_reason) == ("half of it", "end")
        return
    failure = await failed(provider, asked(dialect))
    assert (failure.error.error.kind, failure.error.error.retryable, failure.billed) == (
        "llm_unavailable",
        True,
        "unknown",
    )
    assert "wholeReplies" in failure.error.error.message, "it says what makes such a server usable"


@EVERY
@BOTH_WAYS
async def test_an_end_for_a_reason_nobody_knows_is_called_so(
    server: Provider, tmp_path: Path, dialect: Dialect, whole: bool
) -> None:
    say = Say("half of it", stop="odd")
    server.behave = dialect.whole(say) if whole else dialect.streamed(say)
    _, reply = await gathered(adapter(dialect, server, tmp_path, whole=whole), asked(dialect))
    assert (reply.text, reply.stop_reason) == ("half of it", "other")


@EVERY
@BOTH_WAYS
async def test_the_end_of_the_context_window_is_an_overflow_where_the_provider_has_a_word_for_it(
    server: Provider, tmp_path: Path, dialect: Dialect, whole: bool
) -> None:
    say = Say("half of it", stop="window")
    server.behave = dialect.whole(say) if whole else dialect.streamed(say)
    provider = adapter(dialect, server, tmp_path, whole=whole)
    if dialect.name in ("openai", "google"):
        assert (await gathered(provider, asked(dialect)))[1].stop_reason == "max_tokens", "the executor makes room"
        return
    failure = await failed(provider, asked(dialect))
    assert failure.error.error.kind == "context_overflow"
    assert failure.billed == TokenCount(prompt=100, cached=60, output=7), "its tokens are known, and paid"


@pytest.mark.parametrize("word", ["eos_token", "stop_sequence", "COMPLETE", "end_turn"])
async def test_compatible_servers_say_end_in_their_own_words(server: Provider, tmp_path: Path, word: str) -> None:
    local = DIALECTS[2]
    server.behave = chat({"content": "all of it"}, finish=word)
    _, reply = await gathered(adapter(local, server, tmp_path), asked(local))
    assert reply.stop_reason == "end"


@EVERY
async def test_half_a_reply_is_settled_at_its_worst_and_never_kept(
    server: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    keys(tmp_path)
    urls, allow = {dialect.name: server.url + dialect.base}, {"allow": [f"{dialect.name}:*"]}
    half = Say("half of it", (Call("c1"),))
    server.script = [dialect.streamed(half, then="short"), dialect.streamed(Say("all of it"))]
    async with kit.serve(tmp_path, models=allow, base_urls=urls) as served:
        served.cluster.add_run()
        first, second = [(await served.model(kit.request("c1", model=dialect.model)))[-1] for _ in range(2)]
        cut, made = await served.gateway.ledger.calls("run-1")
    assert first["failure"]["error"]["kind"] == "llm_unavailable"
    assert second["reply"]["text"] == "all of it", "the same call is asked again, not replayed"
    assert (cut.state, made.state) == ("failed", "settled")
    assert cut.usage.tokens > 1_000, (
        "the whole prompt, and all the output it might have had: the 7 it said are of a half"
    )


@pytest.mark.parametrize("dialect", DIALECTS[1:4], ids=lambda dialect: dialect.name)
async def test_a_reply_that_met_the_window_is_settled_at_what_it_used(
    server: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    keys(tmp_path)
    urls, allow = {dialect.name: server.url + dialect.base}, {"allow": [f"{dialect.name}:*"]}
    server.behave = dialect.streamed(Say("half of it", stop="window"))
    async with kit.serve(tmp_path, models=allow, base_urls=urls) as served:
        served.cluster.add_run()
        last = (await served.model(kit.request("c1", model=dialect.model)))[-1]
        (row,) = await served.gateway.ledger.calls("run-1")
    assert last["failure"]["error"]["kind"] == "context_overflow"
    assert (row.state, row.usage.tokens, row.usage.output_tokens) == ("failed", 100, 7)


GARBAGE = {
    "html": wire.status(200, "<html>welcome to the proxy</html>"),
    "nothing": wire.status(200, ""),
    "not-json": wire.sse((None, "{not json")),
    "another-shape": wire.sse((None, {"surprise": [1, 2]})),
    "a-list": wire.sse(("message_start", [])),
    "a-number": wire.status(200, "7"),
    "deep": wire.status(200, "[" * 100_000),
    "cut": wire.sse(then="reset"),
    "no-event": wire.sse(),
}


@EVERY
@BOTH_WAYS
async def test_garbage_is_a_failure_of_the_provider(
    server: Provider, tmp_path: Path, dialect: Dialect, whole: bool
) -> None:
    provider = adapter(dialect, server, tmp_path, whole=whole)
    for name, behave in GARBAGE.items():
        server.script = [behave]
        failure = await failed(provider, asked(dialect))
        assert (failure.error.error.kind, failure.error.error.retryable) == ("llm_unavailable", True), name
    server.behave = dialect.whole(FINE) if whole else dialect.streamed(FINE)
    assert (await gathered(provider, asked(dialect)))[1].text == "fine"


@EVERY
@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_no_redirect_is_followed(server: Provider, tmp_path: Path, dialect: Dialect, code: int) -> None:
    async with wire.provider() as elsewhere:
        elsewhere.behave = dialect.streamed(FINE)
        server.behave = wire.status(code, "", Location=elsewhere.url + dialect.path)
        failure = await failed(adapter(dialect, server, tmp_path), asked(dialect))
        assert failure.error.error.kind == "llm_unavailable"
        assert elsewhere.requests == [], "the key went nowhere else"
        assert len(server.requests) == 1
        assert (await gathered(adapter(dialect, elsewhere, tmp_path), asked(dialect)))[1].text == "fine", "control"


@EVERY
async def test_a_flood_is_cut(server: Provider, tmp_path: Path, dialect: Dialect) -> None:
    """One line without an end, and pieces of text without an end: neither fills the gateway."""
    provider = adapter(dialect, server, tmp_path)
    server.script = [wire.flood(b"data: ", b"x" * 65_536)]
    began = time.monotonic()
    failure = await failed(provider, asked(dialect))
    assert failure.error.error.kind == "llm_unavailable"
    server.script = [dialect.streamed(Say("y" * (REPLY_MAX_CHARS + 10_000)))]
    _, reply = await gathered(provider, asked(dialect))
    assert reply.stop_reason == "max_tokens"
    assert len(reply.text) <= REPLY_MAX_CHARS + 10_000
    assert time.monotonic() - began < 20


@EVERY
async def test_packed_answers_are_not_unpacked(server: Provider, tmp_path: Path, dialect: Dialect) -> None:
    server.behave = wire.status(200, "bomb", Content_Encoding="gzip")
    failure = await failed(adapter(dialect, server, tmp_path), asked(dialect))
    assert failure.error.error.kind == "llm_unavailable"


def on_disk(folder: Path) -> str:
    """Everything the gateway's database holds."""
    files = list(folder.glob("gateway.db*"))
    assert files
    return "".join(path.read_bytes().decode("latin-1") for path in files)


@EVERY
async def test_silence_ends_at_the_idle_limit_and_is_charged(
    server: Provider, tmp_path: Path, dialect: Dialect, caplog: pytest.LogCaptureFixture
) -> None:
    """Before the first byte, and in the middle; and no key is in what anybody reads afterwards, or on disk."""
    caplog.set_level(logging.INFO)  # what the gateway runs with; SDKs print headers below that
    keys(tmp_path)
    urls, allow = {dialect.name: server.url + dialect.base}, {"allow": [f"{dialect.name}:*"]}
    server.script = [
        wire.silence,
        dialect.streamed(Say("two pieces"), then="hang"),
        dialect.problem("key", f"bad key {KEY}", X_Echo=KEY),
        dialect.streamed(FINE),
    ]
    times = Timeouts(idle=0.3, call=20, heartbeat=0.1)
    async with kit.serve(tmp_path, timeouts=times, models=allow, base_urls=urls) as served:
        served.cluster.add_run()
        answers = [await served.model(kit.request(f"c{number}", model=dialect.model)) for number in range(4)]
        rows = {row.call_id: row for row in await served.gateway.ledger.calls("run-1")}
    for lines in answers[:2]:
        assert "silent" in lines[-1]["failure"]["error"]["message"]
        assert lines[-1]["failure"]["error"]["retryable"] is True
    assert any(line["type"] == "heartbeat" for line in answers[0])
    assert [rows[f"c{number}"].state for number in range(4)] == ["failed", "failed", "failed", "settled"]
    assert rows["c0"].usage.tokens > 0, "what may have been billed is charged at its worst"
    assert rows["c2"].usage.tokens == 0
    assert answers[3][-1]["reply"]["text"] == "fine"
    assert KEY in json.dumps(server.requests), "the control: the key was really sent"
    assert KEY not in json.dumps(answers)
    assert KEY not in "".join(record.getMessage() for record in caplog.records)
    assert KEY not in on_disk(tmp_path)


async def test_nobody_there_is_free_and_quick(tmp_path: Path) -> None:
    for dialect in DIALECTS:
        gone = Provider("http://127.0.0.1:1")
        failure = await failed(adapter(dialect, gone, tmp_path), asked(dialect))
        assert (failure.error.error.kind, failure.billed) == ("llm_unavailable", "nothing")


async def test_a_connection_that_is_never_accepted_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guildhall_gateway.providers.transport.CONNECT_SECONDS", 0.3)
    local = DIALECTS[2]
    with wire.deaf() as url:
        began = time.monotonic()
        failure = await failed(adapter(local, Provider(url), tmp_path), asked(local))
    assert (failure.error.error.kind, failure.billed) == ("llm_unavailable", "nothing")
    assert time.monotonic() - began < 5


def serving(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS, and the certificate to trust it by."""
    cert, key = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


@EVERY
async def test_over_tls_a_stranger_gets_no_key(
    tmp_path: Path, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, cert = serving(tmp_path)
    async with wire.provider(context) as server:
        server.behave = dialect.streamed(FINE)
        unknown = adapter(dialect, server, tmp_path)
        failure = await failed(unknown, asked(dialect))
        assert (failure.error.error.kind, server.requests) == ("llm_unavailable", [])
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))  # the platform team's own CA
        known = adapter(dialect, server, tmp_path)
        assert (await gathered(known, asked(dialect)))[1].text == "fine"
        await unknown.close()
        await known.close()
