"""A log that is silent for long, as while a Run waits for a person: it is listened to without a break.

The pauses between tries are the product's own here; what is scaled is how long a silence or a connection lasts.
"""

import asyncio
import logging
from pathlib import Path

import pytest
from guildhall_api import follower, watch
from support.api_run import Api, api_over, pod_object, run_object, start_line, until, warn_line
from support.kube_stub import KubeStub

FOLLOWER = "guildhall_api.follower"


async def _following(stub: KubeStub, api: Api) -> None:
    """A Run whose log has said one line."""
    await stub.put("runs", run_object())
    await stub.put("pods", pod_object())
    await stub.write("fix-pod", start_line())
    await until(lambda: _has(api, [1]))


async def _has(api: Api, seqs: list[int]) -> bool:
    return await api.events() == seqs


async def test_however_long_a_log_is_silent_it_is_asked_for_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, FOLLOWER)
    monkeypatch.setattr(watch, "LOG_IDLE_SECONDS", 0.2)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _following(stub, api)
        log = stub.logs["fix-pod"]
        await until(lambda: log.opened >= 12, 6)  # with pauses that double it takes until the sixth silence
        await stub.write("fix-pod", warn_line(2))
        await until(lambda: _has(api, [1, 2]), 2)
    assert [record.getMessage() for record in caplog.records if record.name == FOLLOWER] == []


@pytest.mark.parametrize(("lived", "grows"), [(0.0, True), (1.2, False)])
async def test_only_breaks_that_follow_one_another_make_it_wait_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lived: float, grows: bool
) -> None:
    """A load balancer may cut each connection after its time: each cut is the first."""
    caplog.set_level(logging.INFO, FOLLOWER)
    monkeypatch.setattr(follower, "RETRY_FIRST_SECONDS", 0.02)
    monkeypatch.setattr(follower, "RETRY_MAX_SECONDS", 1.0)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _following(stub, api)
        for _ in range(4):
            before = stub.logs["fix-pod"].opened
            await asyncio.sleep(lived)
            for writer in list(stub._writers):
                writer.transport.abort()
            await until(lambda before=before: stub.logs["fix-pod"].opened > before)  # type: ignore[misc]
    said = [record.args for record in caplog.records if record.name == FOLLOWER]
    pauses = [arguments[2] for arguments in said if isinstance(arguments, tuple)]
    assert pauses[:4] == ([0.02, 0.04, 0.08, 0.16] if grows else [0.02] * 4)
