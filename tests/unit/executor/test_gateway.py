"""The gateway's client against a server that is slow, wrong, silent or gone; every outcome is a value."""

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.model_api import MADE_ELSEWHERE, GatewayError, ModelReply
from guildhall_executor import prompt, retry
from guildhall_executor.effects import CallModel
from guildhall_executor.gateway import Gateway
from guildhall_executor.gateway_answer import lines_of
from guildhall_executor.hosts import address_of
from guildhall_executor.places import Patience
from guildhall_executor.retry import Failure, GiveUp, Pace, Tally, Wait, away, decide, unavailable
from hypothesis import given, settings
from hypothesis import strategies as st
from support.executor_gateway import Answer, FakeGateway, _Handler, failure, one, reply_line, say, serving
from support.executor_run import QUICK, places, run, snapshot

CALL = CallModel("o3", "c1", "solo", "scripted:test", (prompt.task_message("do it", "person"),), b"[]", 10)


class Talk:
    """One model call and what was heard during it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.retries: list[tuple[ErrorInfo, float]] = []

    def ask(self, base: Path, gateway: FakeGateway, patience: Patience = QUICK) -> ModelReply | ErrorInfo:
        return asyncio.run(self._ask(base, gateway, patience))

    async def _ask(self, base: Path, gateway: FakeGateway, patience: Patience) -> ModelReply | ErrorInfo:
        client = Gateway(gateway.url, places(base, snapshot(url=gateway.url)), patience, jitter=lambda: 0.5)
        try:
            return await client.model(CALL, self.texts.append, lambda e, s: self.retries.append((e, s)))
        finally:
            client.close()


def delta(text: str) -> bytes:
    return json.dumps({"type": "text", "text": text}).encode() + b"\n"


def test_text_streams_and_the_reply_ends_it(tmp_path: Path) -> None:
    def slowly(request: Any) -> Answer:
        whole = delta("Hel") + delta("lo \U0001f600") + reply_line(request, say("Hello"))
        return Answer(200, [whole[n : n + 3] for n in range(0, len(whole), 3)])

    talk = Talk()
    with serving(slowly) as gateway:
        reply = talk.ask(tmp_path / "x", gateway)
    assert isinstance(reply, ModelReply)
    assert reply.text == "Hello"
    assert "".join(talk.texts) == "Hello \U0001f600"


def test_waiting_is_at_least_what_was_asked_for(tmp_path: Path) -> None:
    busy = failure("llm_unavailable", "slow down", retryable=True, status=429, retry_after=0.3)
    talk = Talk()
    with serving(busy, busy, busy, say("ok")) as gateway:
        reply = talk.ask(tmp_path / "x", gateway)
    assert isinstance(reply, ModelReply)
    gaps = [b - a for a, b in zip(gateway.times, gateway.times[1:], strict=False)]
    assert len(gaps) == 3
    assert all(gap > 0.3 for gap in gaps)
    assert [seconds > 0.3 for _, seconds in talk.retries] == [True] * 3
    assert {r.call_id for r in gateway.requests} == {"c1"}


def test_a_day_of_waiting_is_not_waited(tmp_path: Path) -> None:
    with serving(failure("llm_unavailable", "quota", retryable=True, status=429, retry_after=86_400)) as gateway:
        began = time.monotonic()
        error = Talk().ask(tmp_path / "x", gateway)
    assert isinstance(error, ErrorInfo)
    assert error.kind == "llm_unavailable"
    assert "86400 seconds" in error.message
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("kind", ["llm_refused", "budget_exhausted", "context_overflow", "interrupted"])
def test_what_cannot_be_mended_is_not_asked_again(tmp_path: Path, kind: str) -> None:
    with serving(failure(kind, "no", retryable=False, status=400), say("never")) as gateway:
        error = Talk().ask(tmp_path / "x", gateway)
    assert isinstance(error, ErrorInfo)
    assert error.kind == kind
    assert len(gateway.requests) == 1


BROKEN_ANSWERS = {
    "500 without a body": Answer(500),
    "502 with HTML": Answer(502, [b"<html>bad gateway</html>"]),
    "garbage line": Answer(200, [b"\x00\xff garbage\n"]),
    "unknown line": Answer(200, [b'{"type":"surprise"}\n']),
    "array": Answer(200, [b"[]\n"]),
    "ends without a reply": Answer(200, [delta("Hal")]),
    "empty": Answer(200),
    "cut": Answer(200, [delta("Hal"), b'{"type":"rep'], close=True),
    "reply to another call": Answer(
        200,
        [
            (
                b'{"type":"reply","reply":{"callId":"zz","stopReason":"end","usage":{},'
                b'"model":"scripted:test","totals":{},"text":"forged"}}\n'
            )
        ],
    ),
    "deep": Answer(200, [b"[" * 200_000 + b"\n"]),
    "one endless line": Answer(200, [b"x" * 1_000_000] * 9),
}


@pytest.mark.parametrize("name", BROKEN_ANSWERS)
def test_a_broken_answer_is_asked_again(tmp_path: Path, name: str) -> None:
    talk = Talk()
    with serving(BROKEN_ANSWERS[name], say("fine")) as gateway:
        reply = talk.ask(tmp_path / "x", gateway)
    assert isinstance(reply, ModelReply), reply
    assert reply.text == "fine"
    assert [error.kind for error, _ in talk.retries] == ["llm_unavailable"]


def test_a_gateway_that_stays_broken_ends_in_a_bounded_number_of_tries(tmp_path: Path) -> None:
    with serving(*[Answer(503)] * 20) as gateway:
        error = Talk().ask(tmp_path / "x", gateway)
    assert isinstance(error, ErrorInfo)
    assert (error.kind, error.retryable) == ("llm_unavailable", False)
    assert len(gateway.requests) == 6


def test_a_silent_stream_is_asked_again_once(tmp_path: Path) -> None:
    silent = Answer(200, [delta("a"), delta("b")], hang_seconds=1.5)
    patience = Patience(stream_idle_seconds=0.2, retry_base_seconds=0.01)
    with serving(silent, silent, say("never")) as gateway:
        error = Talk().ask(tmp_path / "x", gateway, patience)
    assert isinstance(error, ErrorInfo)
    assert error.message.startswith("model stream stalled")
    assert len(gateway.requests) == 2


def test_heartbeats_keep_a_slow_stream_alive(tmp_path: Path) -> None:
    def slow(request: Any) -> Answer:
        return Answer(200, [*[b'{"type":"heartbeat"}\n'] * 6, reply_line(request, say("late"))], pause_seconds=0.1)

    patience = Patience(stream_idle_seconds=0.4, retry_base_seconds=0.01)
    with serving(slow) as gateway:
        reply = Talk().ask(tmp_path / "x", gateway, patience)
    assert isinstance(reply, ModelReply)


def test_a_refusal_without_words_names_its_status(tmp_path: Path) -> None:
    with serving(Answer(401)) as gateway:
        error = Talk().ask(tmp_path / "x", gateway)
    assert isinstance(error, ErrorInfo)
    assert (error.kind, error.retryable) == ("internal", False)
    assert "401" in error.message


def test_the_token_is_read_for_every_call(tmp_path: Path) -> None:
    base = tmp_path / "x"

    def rotate(_: Any) -> Any:
        (base / "token").write_text("token-2\n")
        return one("update_plan", items=[])

    with serving(rotate, say("done")) as gateway:
        run(base, snapshot(url=gateway.url))
    assert gateway.tokens == ["Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize("token", [None, "with\r\nheader", "caf\u00e9 \u2603", "\0"])
def test_a_token_that_is_none_is_an_error_and_no_crash(tmp_path: Path, token: str | None) -> None:
    async def ask() -> ModelReply | ErrorInfo:
        at = places(tmp_path / "x", snapshot())
        at.token.unlink() if token is None else at.token.write_text(token)
        client = Gateway("http://127.0.0.1:9", at, QUICK)
        try:
            return await client.model(CALL, lambda _: None, lambda *_: None)
        finally:
            client.close()

    outcome = asyncio.run(ask())
    assert isinstance(outcome, ErrorInfo)


def test_only_the_hosts_file_is_asked_for_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    looked_up: list[Any] = []
    real = socket.getaddrinfo

    def spy(host: Any, *rest: Any, **more: Any) -> Any:
        looked_up.append(host)
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", spy)
    with serving(say("ok")) as gateway:
        named = gateway.url.replace("127.0.0.1", "gateway.test.svc")
        base = tmp_path / "x"
        places(base, snapshot(url=named))
        got = run_named(base, named)
        assert isinstance(got, ErrorInfo)
        assert "hosts file" in got.message
        (base / "hosts").write_text("127.0.0.1\tother gateway.test.svc # comment\n")
        control = run_named(base, named)
    assert isinstance(control, ModelReply)
    assert {str(host) for host in looked_up} <= {"127.0.0.1"}


def run_named(base: Path, url: str) -> ModelReply | ErrorInfo:
    async def ask() -> ModelReply | ErrorInfo:
        at = places_as_they_are(base)
        client = Gateway(url, at, QUICK)
        try:
            return await client.model(CALL, lambda _: None, lambda *_: None)
        finally:
            client.close()

    return asyncio.run(ask())


def places_as_they_are(base: Path) -> Any:
    hosts = (base / "hosts").read_text()
    at = places(base, snapshot())
    at.hosts.write_text(hosts if "gateway.test.svc" in hosts else "127.0.0.1 localhost\n")
    return at


def test_hosts_lines() -> None:
    text = "# x\n10.0.0.7  gw.svc gw # gateway\n::1 six\nbroken\n"
    assert address_of("gw.svc", text) == "10.0.0.7"
    assert address_of("GW", text) == "10.0.0.7"
    assert address_of("six", text) == "::1"
    assert address_of("gateway", text) is None
    assert address_of("broken", text) is None
    assert address_of("192.0.2.9", text) == "192.0.2.9"
    assert address_of("[2001:db8::1]", text) == "2001:db8::1"


async def _pieces(data: list[bytes]) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_lines_come_out_whole_wherever_the_stream_is_cut(pieces: list[bytes]) -> None:
    async def collect() -> list[bytes]:
        return [line async for line in lines_of(_pieces(pieces), 10_000)]

    expected = [line for line in b"".join(pieces).split(b"\n") if line.strip()]
    assert asyncio.run(collect()) == expected


def test_an_endless_line_is_cut_and_nothing_after_it_is_believed() -> None:
    async def collect() -> list[bytes]:
        return [line async for line in lines_of(_pieces([b"x" * 50] * 10 + [b"\n{}\n"]), 100)]

    assert asyncio.run(collect()) == [b"x" * 100]


@given(
    st.integers(0, 10),
    st.integers(0, 3),
    st.integers(0, 40),
    st.one_of(st.none(), st.floats(0, 1_000)),
    st.floats(0, 1),
    st.booleans(),
    st.booleans(),
)
def test_retries_end_and_never_wait_less_than_asked(  # noqa: PLR0917
    tries: int, stalls: int, absences: int, asked: float | None, jitter: float, retryable: bool, away: bool
) -> None:
    error = unavailable("x").error.model_copy(update={"retryable": retryable})
    tally = Tally(tries, stalls, absences, away_since=100.0)
    decision = decide(Failure(error, asked, away=away), tally, Pace(1, 300, 300, jitter), 399.0)
    if isinstance(decision, Wait):
        assert retryable
        assert tries < 6
        assert decision.seconds >= (asked or 0)
        assert decision.seconds <= 400
    else:
        assert isinstance(decision, GiveUp)
    assert isinstance(decide(Failure(error, asked, away=True), tally, Pace(1, 300, 300, jitter), 401.0), GiveUp)


def test_a_gateway_that_is_away_costs_no_tries_and_is_not_waited_for_for_ever() -> None:
    tally, now = Tally(tries=5), 1_000.0
    pauses = []
    while isinstance(decision := decide(away("gone"), tally := tally.after(away("gone"), now), PACE, now), Wait):
        pauses.append(decision.seconds)
        now += decision.seconds
    assert 300 < now - 1_000 < 400
    assert max(pauses) <= 60
    assert len(pauses) < 20
    assert isinstance(decide(unavailable("x"), tally.after(unavailable("x"), now), PACE, now), GiveUp), (
        "that was try six"
    )
    again = tally.after(unavailable("x"), now).after(away("gone"), now)
    assert again.away_since == now, "an answer in between begins the wait anew"


def elsewhere() -> Failure:
    said = GatewayError(
        error=error_info("llm_unavailable", "being made", detail={"cause": MADE_ELSEWHERE}), retry_after_seconds=1.0
    )
    return retry.from_gateway(said)


def test_a_call_that_another_gateway_makes_is_waited_for_as_long_as_a_call_may_take() -> None:
    """Each refusal comes after the gateway itself has waited 20 seconds, as after a drain with two gateways."""
    tally, now = Tally(tries=5), 1_000.0
    while isinstance(decision := decide(elsewhere(), tally := tally.after(elsewhere(), now), PACE, now), Wait):
        now += decision.seconds + 20
    assert limits.MODEL_CALL_MAX_SECONDS < now - 1_000 < limits.MODEL_CALL_MAX_SECONDS + 30
    assert isinstance(decision, GiveUp)
    assert "600 seconds" in decision.error.message
    assert not decision.error.retryable
    assert tally.tries == 5, "it is no failed try"
    failed = unavailable("x")
    assert isinstance(decide(failed, tally.after(failed, now), PACE, now), GiveUp), "control: that was try six"


def held() -> Failure:
    said = error_info("budget_exhausted", "calls under way hold it", retryable=True)
    return retry.from_gateway(GatewayError(error=said, retry_after_seconds=1.0))


def test_money_that_calls_under_way_hold_is_waited_for_while_each_of_them_may_take_its_time() -> None:
    tally, now, pauses = Tally(tries=5), 1_000.0, []
    while isinstance(decision := decide(held(), tally := tally.after(held(), now), PACE, now), Wait):
        pauses.append(decision.seconds)
        now += decision.seconds + 20
    most = limits.MODEL_CALLS_AT_ONCE_MAX_COUNT * limits.MODEL_CALL_MAX_SECONDS
    assert most < now - 1_000 < most + 30
    assert tally.tries == 5, "it is no failed try"
    assert max(pauses) < 3, "the gateway has waited already"
    assert isinstance(decision, GiveUp)
    assert (decision.error.kind, decision.error.retryable) == ("budget_exhausted", False)
    stop = retry.from_gateway(GatewayError(error=error_info("budget_exhausted", "spent", detail={"stop": "soft"})))
    assert isinstance(decide(stop, Tally().after(stop, 0.0), PACE, 0.0), GiveUp), "control: what is spent is a stop"


def test_a_call_whose_money_is_held_is_made_after_more_refusals_than_tries(tmp_path: Path) -> None:
    busy = failure("budget_exhausted", "held", retryable=True, status=402, retry_after=0.01)
    with serving(*[busy] * 12, say("made")) as gateway:
        reply = Talk().ask(tmp_path / "x", gateway)
    assert isinstance(reply, ModelReply)
    assert reply.text == "made"


@pytest.mark.parametrize("asked", [None, 0.0, 0.5, 1.0, 10.0])
def test_a_storm_is_sat_out_whatever_little_was_asked_for(asked: float | None) -> None:
    """A provider that is overloaded for half a minute, with or without a word on how long it wants to be left alone."""
    tally, now, pauses = Tally(), 0.0, []
    while True:
        failure_ = Failure(error_info("llm_unavailable", "overloaded"), asked)
        tally = tally.after(failure_, now)
        decision = decide(failure_, tally, Pace(1, 300, 300, 0.0), now)
        if isinstance(decision, GiveUp):
            break
        pauses.append(decision.seconds)
        now += decision.seconds
    assert pauses == [max(asked or 0.0, 2.0**n) for n in range(5)]
    assert now >= 31


def test_neither_absences_nor_failures_in_between_make_the_wait_for_it_endless() -> None:
    tally, now, count = Tally(), 0.0, 0
    failures = [elsewhere(), away("gone")]
    while isinstance(
        decision := decide(failures[count % 2], tally := tally.after(failures[count % 2], now), PACE, now), Wait
    ):
        now += decision.seconds + 20
        count += 1
    assert now < limits.MODEL_CALL_MAX_SECONDS + 100


def test_the_reply_of_a_call_made_elsewhere_is_had_after_more_refusals_than_tries(tmp_path: Path) -> None:
    busy = failure(
        "llm_unavailable", "x", retryable=True, status=409, retry_after=0.01, detail={"cause": MADE_ELSEWHERE}
    )
    talk = Talk()
    with serving(*[busy] * 12, say("made there")) as gateway:
        reply = talk.ask(tmp_path / "x", gateway)
    assert isinstance(reply, ModelReply)
    assert reply.text == "made there"


PACE = Pace(1, 300, 300, 0.5)


def test_executors_that_lost_one_gateway_do_not_come_back_in_one_moment() -> None:
    """500 of them, five tries each: in no tenth of a second do more than a fifth of the share of one round arrive."""
    chance, arrivals = random.Random(7), []  # noqa: S311
    for _ in range(500):
        tally, now = Tally(), 0.0
        for _ in range(5):
            tally = tally.after(away("gone"), now)
            decision = decide(away("gone"), tally, Pace(1, 300, 300, chance.random()), now)
            assert isinstance(decision, Wait)
            now += decision.seconds
            arrivals.append(int(now * 10))
    assert max(Counter(arrivals).values()) < 100
    together = Counter(int(2**n * 10) for n in range(5) for _ in range(500))
    assert max(together.values()) == 500, "the control: without chance all would"


def test_a_gateway_that_comes_back_answers_the_same_call(tmp_path: Path) -> None:
    """The port is taken, refuses for a while, and then serves: one call id, no try lost."""
    with serving(say("ok")) as gateway:
        port = int(gateway.url.rsplit(":", 1)[1])
    talk, patience = Talk(), Patience(retry_base_seconds=0.004, gateway_away_seconds=20)
    later = FakeGateway([say("back")], url=f"http://127.0.0.1:{port}")

    def come_back() -> None:
        while len(talk.retries) < 7:  # more than a broken gateway is given
            time.sleep(0.01)
        server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"fake": later}))
        server.daemon_threads = True
        servers.append(server)
        server.serve_forever(poll_interval=0.02)

    servers: list[ThreadingHTTPServer] = []
    thread = threading.Thread(target=come_back, daemon=True)
    thread.start()
    reply = talk.ask(tmp_path / "x", later, patience)
    servers[0].shutdown()
    servers[0].server_close()
    thread.join()
    assert isinstance(reply, ModelReply)
    assert reply.text == "back"
    assert len(later.requests) == 1
    assert len(talk.retries) >= 7
    assert {error.kind for error, _ in talk.retries} == {"llm_unavailable"}


@pytest.mark.parametrize(("header", "waited"), [("1", True), ("soon", False), ("-5", False), ("9" * 40, False)])
def test_a_wait_in_the_head_of_an_answer_without_words(tmp_path: Path, header: str, waited: bool) -> None:
    talk = Talk()
    with serving(Answer(503, headers={"Retry-After": header}), say("ok")) as gateway:
        reply = talk.ask(tmp_path / "x", gateway)
    assert isinstance(reply, ModelReply)
    assert (talk.retries[0][1] >= 1.0) is waited


@pytest.mark.parametrize("words", [True, False], ids=["with words", "without"])
async def test_a_wait_asked_for_by_any_address_is_heard(tmp_path: Path, words: bool) -> None:
    said = failure("llm_unavailable", "busy", retryable=True, status=503).pieces if words else []
    busy = Answer(503, said, headers={"Retry-After": "7"})
    with serving() as fake:
        fake.mailbox_answer = busy
        gateway = Gateway(fake.url, places(tmp_path / "x", snapshot(url=fake.url)), Patience())
        page = await gateway.mailbox("", 0)
        gateway.close()
        await asyncio.sleep(0)
    assert isinstance(page, ErrorInfo)
    assert page.retryable
    assert retry.pause_after(page, 0.5, 10) == 7
    assert retry.pause_after(page, 0.5, 3) == 3
    assert retry.pause_after(page, 8, 10) == 8


def test_a_full_detail_gains_nothing() -> None:
    full = error_info("llm_unavailable", "x", detail={f"k{n}": "v" for n in range(8)})
    assert retry.told(retry.Failure(full, 3.0)) == full


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=300))
def test_any_answer_is_a_value(data: bytes) -> None:
    import tempfile

    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Answer(200, [data]), failure("internal", "x", retryable=False)) as gateway,
    ):
        assert isinstance(Talk().ask(Path(folder) / "x", gateway), ErrorInfo)
