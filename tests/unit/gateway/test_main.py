"""The whole process: TLS, canary, health, metrics, a clean stop, and clear words when it cannot start."""

import asyncio
import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from guildhall_gateway import __main__ as program
from guildhall_gateway.canary import Canary
from guildhall_gateway.config import ConfigError, read_config
from guildhall_gateway.health import make_health
from guildhall_gateway.kube import KubeClient
from guildhall_gateway.runs import RunView
from support.certificates import certificate
from support.postgres import free_port
from unit.gateway import kit
from unit.gateway.test_watch import ApiServer


@contextlib.asynccontextmanager
async def running(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[dict[str, int]]:
    """The program as in a pod, but for the API server; stopped by SIGTERM."""
    certificate(folder)
    api = ApiServer()
    listener = program.server(api.app(), "127.0.0.1", 0)
    fake = asyncio.create_task(listener.serve())
    await kit.until(lambda: listener.started)
    url = f"http://127.0.0.1:{listener.servers[0].sockets[0].getsockname()[1]}"
    monkeypatch.setattr(program, "in_cluster", lambda: KubeClient(url, context=True, token_file=None))
    ports = {name: free_port() for name in ("https", "canary", "health")}
    tls = {"cert": str(folder / "tls.crt"), "key": str(folder / "tls.key")}
    task = asyncio.create_task(program.serve(kit.config(folder, ports=ports, tls=tls)))
    try:
        await answering(ports["health"])
        yield ports
    finally:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            task.cancel()  # it never came up: its signal would end the tests instead
        else:
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), 30)
        assert not task.cancelled()
        assert task.exception() is None
        listener.should_exit = listener.force_exit = True
        await fake


async def answering(port: int) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(600):
            with contextlib.suppress(httpx.HTTPError):
                if (await client.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.05)
    raise AssertionError("not ready within 30 s")


async def test_the_process_serves_its_three_ports_and_stops_on_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, monkeypatch) as ports:
        context = ssl.create_default_context(cafile=str(tmp_path / "tls.crt"))
        async with httpx.AsyncClient(verify=context, trust_env=False) as client:
            answer = await client.get(f"https://localhost:{ports['https']}/v1/mailbox")
            assert answer.status_code == 401
            assert "server" not in answer.headers
            with pytest.raises(httpx.ConnectError):
                await client.get(
                    f"https://127.0.0.1:{ports['https']}/v1/mailbox"
                )  # another name than the certificate's
            health = f"http://127.0.0.1:{ports['health']}"
            assert (await client.get(health + "/healthz")).text == "ok"
            metrics = (await client.get(health + "/metrics")).text
            assert 'guildhall_gateway_requests_total{route="mailbox",status="401"}' in metrics
            assert (await client.get(health + "/v1/mailbox")).status_code == 404
        reader, writer = await asyncio.open_connection("127.0.0.1", ports["canary"])
        assert b"canary" in await asyncio.wait_for(reader.read(), 5)
        writer.close()
        with pytest.raises(httpx.HTTPError):
            async with httpx.AsyncClient(trust_env=False) as client:
                await client.get(f"http://127.0.0.1:{ports['https']}/v1/mailbox")
    for port in ports.values():
        with pytest.raises(OSError, match="Connect call failed"):
            await asyncio.open_connection("127.0.0.1", port)


async def test_the_canary_answers_many_and_reads_none() -> None:
    canary = Canary()
    port = await canary.start("127.0.0.1", 0)

    async def once() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x" * 100_000)
        data = await asyncio.wait_for(reader.readline(), 5)
        writer.close()
        return data

    assert set(await asyncio.gather(*(once() for _ in range(50)))) == {
        b"guildhall canary: if a run pod reads this, its network is open\n"
    }
    await canary.stop()


async def test_health_turns_red_with_the_watch() -> None:
    state = {"healthy": True, "ready": False}
    app = make_health(lambda: state["healthy"], lambda: state["ready"])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x") as client:
        assert [(await client.get(path)).status_code for path in ("/healthz", "/readyz")] == [200, 503]
        state["ready"] = True
        assert (await client.get("/readyz")).status_code == 200
        state["healthy"] = False
        assert [(await client.get(path)).status_code for path in ("/healthz", "/readyz")] == [503, 503]


async def test_a_dead_worker_or_watch_makes_the_gateway_unhealthy(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        assert served.gateway.healthy()
        served.cluster.alive = False
        assert not served.gateway.healthy()
        served.cluster.alive = True
        served.gateway._tasks[0].cancel()
        await kit.until(lambda: not served.gateway.healthy())


async def test_stopping_settles_what_is_in_flight(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [{"fault": "hang"}])
    cluster = kit.Cluster()
    async with kit.serve(tmp_path, cluster) as served:
        cluster.add_run()
        call = asyncio.create_task(served.model(kit.request()))
        await kit.until(served.gateway.calls.busy)
        await asyncio.sleep(0.1)
        await served.gateway.calls.close(0.1)
        failure = (await call)[-1]["failure"]["error"]
        assert (failure["kind"], failure["retryable"]) == ("llm_unavailable", True)
        assert [row.state for row in await served.gateway.ledger.calls("run-1")] == ["failed"]


GOOD: dict[str, Any] = {
    "namespace": "guildhall",
    "runNamespaces": ["team"],
    "apiAccount": kit.API_ACCOUNT,
    "models": {"allow": ["scripted:*"]},
}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"runNamespaces": []}, "runNamespaces"),
        ({"surprise": 1}, "surprise"),
        ({"apiAccount": "admin"}, "apiAccount"),
        ({"ports": {"https": 99_999}}, "ports.https"),
        ({"baseUrls": {"x": "ftp://x"}}, "baseUrls.x"),
        ({"budgets": {"dayMicroUSD": -1}}, "budgets.dayMicroUSD"),
    ],
)
def test_a_bad_configuration_names_its_field(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GOOD))
    assert read_config(str(path)).run_namespaces == ["team"]
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(ConfigError, match=word):
        read_config(str(path))


def test_the_command_ends_with_words_and_a_code(tmp_path: Path) -> None:
    def run(path: Path) -> subprocess.CompletedProcess[str]:
        environment = {"GUILDHALL_CONFIG": str(path), "PATH": os.environ["PATH"]}
        command = [sys.executable, "-m", "guildhall_gateway"]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    missing = run(tmp_path / "none.json")
    assert missing.returncode == 2
    assert "none.json" in missing.stderr
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GOOD))
    outside = run(path)
    assert outside.returncode == 1
    assert "not in a cluster" in outside.stderr
    assert "Traceback" not in missing.stderr + outside.stderr


async def test_a_failed_status_write_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guildhall_gateway.usage.FAILED_RETRY_SECONDS", 0.1)
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    cluster = kit.Cluster()
    failures = [OSError("no"), OSError("no")]
    write = cluster.write_run

    async def sometimes(run: RunView, status: dict[str, Any]) -> None:
        if failures:
            raise failures.pop()
        await write(run, status)

    cluster.write_run = sometimes  # type: ignore[method-assign]
    async with kit.serve(tmp_path, cluster) as served:
        cluster.add_run()
        await served.model(kit.request())
        await kit.until(lambda: cluster.run_statuses)
        assert cluster.run_statuses[-1][1]["usage"]["calls"] == 1
