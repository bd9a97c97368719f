"""Using a yes up: a gateway that is away for a while takes it from nobody, and a no is believed at once."""

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
