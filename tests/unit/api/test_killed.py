"""`kill -9` while events are being stored: none lost, none doubled, whatever the moment."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import yaml
from support.api_run import UID, finish_line, pod_object, run_object, start_line, until, warn_line
from support.kube_stub import KubeStub

KILLS = 5


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _configured(folder: Path, url: str, port: int) -> dict[str, str]:
    """Files for the real program, and the environment that names them."""
    config = {
        "namespace": "guildhall", "runNamespaces": ["team"], "gateway": {"url": "http://127.0.0.1:9"}, "port": port,
        "listen": "127.0.0.1", "databaseUrl": f"sqlite:///{folder}/api.db", "signIn": {"mode": "none"},
        "consoleDir": str(folder),
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "index.html").write_text("<!doctype html>")
    kubeconfig = {
        "current-context": "stub",
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        "clusters": [{"name": "stub", "cluster": {"server": url}}],
        "users": [{"name": "stub", "user": {"token": "t"}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    return {
        "GUILDHALL_CONFIG": str(folder / "config.json"), "KUBECONFIG": str(folder / "kubeconfig"),
        "PATH": os.environ["PATH"],
    }  # fmt: skip


async def _get(port: int, path: str, **params: Any) -> Any:
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            answer = await http.get(path, params=params)
            return answer.json() if answer.status_code == 200 else None
    except httpx.HTTPError:
        return None


async def _last_seq(port: int) -> int:
    detail = await _get(port, "/api/runs/team.fix")
    return int(detail["lastSeq"]) if detail else 0


class Writer:
    """An executor that writes without a pause until it is told to finish."""

    def __init__(self, stub: KubeStub) -> None:
        self._stub = stub
        self._log = stub.logs["fix-pod"]
        self._log.write(start_line())
        self.last = 1
        self.noise = 0
        self.finishing = False

    async def run(self) -> None:
        while not self.finishing:
            for _ in range(20):
                self.last += 1
                self._log.write(warn_line(self.last))
            self.noise += 1
            self._log.write(b"noise %d" % self.noise)
            await self._stub.wake()
            await asyncio.sleep(0.05)
        self.last += 1
        self._log.write(finish_line(self.last))
        await self._stub.end_log("fix-pod")


@asynccontextmanager
async def _api(environment: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """The real program; killed at the end unless it has ended."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "guildhall_api", env=environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_kill_9_at_five_points_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub:
        port = _free_port()
        environment = _configured(tmp_path, stub.url, port)
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        writer = Writer(stub)
        writing = asyncio.create_task(writer.run())
        seen = [0]
        for _ in range(KILLS):
            async with _api(environment):
                await until(partial(_grown, port, seen[-1]), 60)
                seen.append(await _last_seq(port))
        await until(lambda: writer.last > seen[-1], 10)  # control: the log went on while nobody read it
        writer.finishing = True
        await writing
        async with _api(environment) as process:
            await until(lambda: _sealed(port), 60)
            seqs, rows = await _all_events(port)
            flow = await _get(port, "/api/runs/team.fix/flow")
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 30) == 0
    assert seqs == list(range(1, writer.last + 1))
    assert rows == flow["model"]["run"]["unreadable"] == writer.noise
    assert flow["model"]["run"]["status"] == "succeeded"
    assert flow["model"]["run"]["uid"] == UID
    stored = [status["archive"]["storedSeq"] for status in stub.statuses]
    assert stored == sorted(stored), "what was said to be stored stayed stored"
    assert stored[-1] == writer.last


async def _all_events(port: int) -> tuple[list[int], int]:
    seqs: list[int] = []
    rows = 0
    while page := await _get(port, "/api/runs/team.fix/events", after=f"{len(seqs)}.{rows}", limit=1000):
        seqs += [event["seq"] for event in page["events"]]
        rows += len(page["unreadable"])
        if page["end"]:
            break
    return seqs, rows


async def _grown(port: int, before: int) -> bool:
    return await _last_seq(port) > before


async def _sealed(port: int) -> bool:
    detail = await _get(port, "/api/runs/team.fix")
    return bool(detail and detail["sealed"])
