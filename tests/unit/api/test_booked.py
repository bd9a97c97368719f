"""What the gateway has booked reaches who watches, within two seconds of the model call, whatever Run status says."""

import time
from pathlib import Path

import pytest
from guildhall_api.gateway import GatewayUnavailable
from guildhall_contracts.model_api import LedgerTotals, LedgerView
from support.api_run import Api, api_over, line, pod_object, run_object, start_line, until, warn_line
from support.api_socket import served
from support.kube_stub import KubeStub
from unit.api.test_stream import Reader, hanging_up, watch


class Ledger:
    """A gateway's ledger that counts who asks."""

    def __init__(self) -> None:
        self.calls = 0
        self.asked = 0
        self.silent = False

    async def ledger(self, _uid: str) -> LedgerView | None:
        self.asked += 1
        if self.silent:
            raise GatewayUnavailable("silent")
        totals = LedgerTotals(calls=self.calls, tokens=10 * self.calls, cost_micro_usd=5 * self.calls, left_tokens=9)
        return LedgerView(totals=totals)


def _call(seq: int) -> tuple[bytes, bytes]:
    """A model call as the log tells it."""
    op = f"o{seq}"
    started = line(
        seq, "model.started", op=op, parent="o1", source="role:coder", destination="role:coder", callId=f"c{seq}", model="m"  # noqa: E501
    )  # fmt: skip
    return started, line(
        seq + 1, "model.finished", op=op, outcome="success", usage={"tokens": 10, "outputTokens": 0}, costMicroUSD=5
    )


async def _usage(viewer: Reader, calls: int, seconds: float = 2.0) -> dict[str, int]:
    """The `usage` of the first `status` frame that knows of `calls`, which must come in time."""
    end = time.monotonic() + seconds
    while True:
        name, data = await viewer.frame(end - time.monotonic())
        if name == "status" and data.get("usage", {}).get("calls") == calls:
            found: dict[str, int] = data["usage"]
            return found


async def _watched(stub: KubeStub, api: Api, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.gateway, "ledger", ledger.ledger)
    await stub.put("runs", run_object())
    await stub.put("pods", pod_object())
    await stub.write("fix-pod", start_line())
    await until(lambda: _has(api, 1))


async def _has(api: Api, seq: int) -> bool:
    return (await api.events())[-1:] == [seq]


async def test_status_frames_carry_what_is_booked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger()
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api, served(api) as port:
        with hanging_up():
            await _watched(stub, api, ledger, monkeypatch)
            assert ledger.asked == 0  # nobody watches
            viewer = await watch(port, after="1")
            ledger.calls = 1
            await stub.write("fix-pod", *_call(2))
            assert await _usage(viewer, 1) == {
                "calls": 1, "tokens": 10, "cachedPromptTokens": 0, "outputTokens": 0, "costMicroUSD": 5
            }  # fmt: skip
            ledger.calls = 2
            await stub.write("fix-pod", *_call(4))
            assert (await _usage(viewer, 2))["costMicroUSD"] == 10
            late = await watch(port, after="1")
            assert (await _usage(late, 2))["tokens"] == 20  # at once, in the first frame
            assert (await api.http.get("/api/runs/team.fix")).json()["summary"]["usage"]["calls"] == 2
            asked = ledger.asked
            await stub.write("fix-pod", warn_line(6))
            with pytest.raises(TimeoutError):
                await _usage(viewer, 3, 1.5)
            assert ledger.asked == asked  # no call ended


async def test_a_status_that_lags_takes_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger()
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api, served(api) as port:
        with hanging_up():
            await _watched(stub, api, ledger, monkeypatch)
            viewer = await watch(port, after="1")
            ledger.silent = True
            await stub.write("fix-pod", *_call(2))
            await until(lambda: ledger.asked >= 2)  # a silent gateway is asked again
            ledger.silent, ledger.calls = False, 3
            await _usage(viewer, 3)
            for calls in (2, 4):
                run = run_object()
                run["status"] |= {"usage": {"calls": calls, "tokens": 10 * calls}, "message": str(calls)}
                await stub.put("runs", run)
                name, data = await viewer.frame()
                assert (name, data["usage"]["calls"]) == ("status", max(3, calls))
