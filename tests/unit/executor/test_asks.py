"""Using a yes up: a gateway that is away for a while takes it from nobody, and a no is believed at once."""

import asyncio
import time

import pytest
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.canonical import arguments_hash
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_executor import asks

REQUEST = ApprovalRequest(
    approval_id="a1", run="run-1", call_id="c1", role="coder", tool="run_shell", effect="write", arguments={"a": 1},
    arguments_hash=arguments_hash({"a": 1}),
)  # fmt: skip
AWAY = error_info("llm_unavailable", "the gateway does not answer")
NO = error_info("tool_denied", "the approval is consumed")


class Answers:
    """A gateway that gives these answers, the last one for ever."""

    def __init__(self, *answers: ErrorInfo | None) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def consume(self, request: ApprovalRequest) -> ErrorInfo | None:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asks, "RETRY_FIRST_SECONDS", 0.001)
    monkeypatch.setattr(asks, "CONSUME_PAUSE_MAX_SECONDS", 0.01)


async def test_a_yes_outlives_a_gateway_that_is_restarted() -> None:
    gateway = Answers(*[AWAY] * 12, None)
    assert await asks.use_up(gateway, REQUEST) is None
    assert gateway.asked == 13


async def test_a_gateway_that_stays_away_is_a_refusal_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asks, "CONSUME_WAIT_MAX_SECONDS", 0.05)
    refused = await asks.use_up(Answers(AWAY), REQUEST)
    assert refused is not None
    assert refused.error_code == "tool_denied"


async def test_a_no_is_not_asked_again() -> None:
    gateway = Answers(AWAY, NO, None)
    refused = await asks.use_up(gateway, REQUEST)
    assert refused is not None
    assert gateway.asked == 2


def waiting(seconds: str) -> ErrorInfo:
    return error_info("llm_unavailable", "busy", detail={"retryAfterSeconds": seconds})


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [("0.2", 0.2, 0.6), ("86400", 0.3, 0.8), ("-1", 0, 0.15), ("nan", 0, 0.15), ("inf", 0.3, 0.8), ("soon", 0, 0.15)],
)
async def test_the_time_the_gateway_asks_for_is_waited_within_bounds(asked: str, least: float, most: float) -> None:
    answers = [waiting(asked), None]

    async def ask() -> ErrorInfo | None:
        return answers.pop(0)

    began = time.monotonic()
    assert await asks.until_taken(ask, 0.3) is None
    assert least <= time.monotonic() - began < most


async def test_a_yes_waits_as_long_as_it_is_asked_to_and_not_beyond_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asks, "CONSUME_WAIT_MAX_SECONDS", 0.4)
    began = time.monotonic()
    assert await asks.use_up(Answers(waiting("0.2"), None), REQUEST) is None
    assert time.monotonic() - began >= 0.2
    began = time.monotonic()
    assert await asks.use_up(Answers(waiting("3600"), None), REQUEST) is not None
    assert time.monotonic() - began < 0.4


async def test_what_is_being_asked_arrives_before_it_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asks, "LET_GO_SECONDS", 0.2)
    arrived = []

    async def ask(seconds: float) -> None:
        await asyncio.sleep(seconds)
        arrived.append(seconds)

    quick, stuck = asyncio.create_task(ask(0.05)), asyncio.create_task(ask(600))
    await asks.let_go(quick)
    assert arrived == [0.05]
    await asks.let_go(stuck)
    await asyncio.gather(stuck, return_exceptions=True)
    assert stuck.cancelled()
    await asks.let_go(None)
