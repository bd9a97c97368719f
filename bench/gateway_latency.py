"""The gateway's own latency for a model call: TLS, token check, reserve and settle synced to disk, a scripted reply.

    python bench/gateway_latency.py [--calls 500] [--parallel 1] [--database URL]

Prints P50 and P99 in milliseconds of whole calls on one kept connection, of the same call against a server that only
streams a constant (the floor), and their difference. The target is P50 <= 5 ms and P99 <= 20 ms.
"""

import argparse
import asyncio
import contextlib
import json
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from guildhall_gateway.__main__ import server
from guildhall_gateway.app import make_app
from guildhall_gateway.config import Tls
from guildhall_gateway.gateway import Doors, Gateway
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from unit.gateway import kit

P50_TARGET_MS = 5.0
P99_TARGET_MS = 20.0


def certificate(folder: Path) -> Tls:
    """A self-signed certificate for localhost."""
    cert, key = folder / "tls.crt", folder / "tls.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
    ]
    names = ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return Tls(cert=str(cert), key=str(key))


async def timed(client: httpx.AsyncClient, body: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds of wall and of CPU (client and server: they share this process)."""
    started, worked = time.perf_counter(), time.process_time()
    async with client.stream("POST", "/v1/model", json=body) as response:
        data = await response.aread()
    if response.status_code != 200:
        raise RuntimeError(f"the gateway answered {response.status_code}: {data[:300]!r}")
    return (time.perf_counter() - started) * 1_000, (time.process_time() - worked) * 1_000


async def measure(
    clients: dict[str, httpx.AsyncClient], calls: int, worker: int
) -> dict[str, list[tuple[float, float]]]:
    """Times of each label's calls, made in turn so that a busy machine slows both alike."""
    times: dict[str, list[tuple[float, float]]] = {label: [] for label in clients}
    for index in range(calls):
        for label, client in clients.items():
            times[label].append(await timed(client, kit.request(f"{worker}-{index}")))
    return times


def constant() -> Starlette:
    """The floor: the same HTTP work and nothing else."""

    async def answer(request: Request) -> Response:
        await request.body()

        async def lines() -> Any:
            yield b'{"type":"text","text":"hi"}\n'
            yield b'{"type":"reply"}\n'

        return StreamingResponse(lines())

    return Starlette(routes=[Route("/v1/model", answer, methods=["POST"])])


@contextlib.asynccontextmanager
async def serving(app: Starlette, tls: Tls) -> AsyncIterator[httpx.AsyncClient]:
    """A client of `app`, served over TLS on loopback."""
    listener = server(app, "127.0.0.1", 0, tls)
    task = asyncio.create_task(listener.serve())
    await kit.until(lambda: listener.started)
    port = listener.servers[0].sockets[0].getsockname()[1]
    context = ssl.create_default_context(cafile=tls.cert)
    headers = {"Authorization": f"Bearer {kit.TOKEN}"}
    url = f"https://localhost:{port}"
    async with httpx.AsyncClient(base_url=url, headers=headers, verify=context, timeout=30, trust_env=False) as client:
        yield client
    listener.should_exit = True
    await task


def figures(times: list[tuple[float, float]]) -> dict[str, float]:
    wall = [took for took, _ in times]
    cpu = statistics.median(took for _, took in times)
    return {"p50": statistics.median(wall), "p99": statistics.quantiles(wall, n=100)[98], "cpu": cpu}


async def run(calls: int, parallel: int, database: str | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kit.scenario(folder, "hi", [kit.SAY_HI])
        tls = certificate(folder)
        cluster = kit.Cluster()
        cluster.add_run(budget={"cost_micro_usd": 10**9, "steps": 10_000})
        fields = {"database_url": database} if database else {}
        gateway = Gateway(kit.config(folder, **fields), Doors(cluster, cluster, cluster))
        await gateway.start()
        async with contextlib.AsyncExitStack() as stack:
            clients = {
                label: await stack.enter_async_context(serving(app, tls))
                for label, app in (("floor", constant()), ("gateway", make_app(gateway)))
            }
            await measure(clients, 20, -1)
            shares = await asyncio.gather(*(measure(clients, calls // parallel, number) for number in range(parallel)))
            results = {label: figures([took for share in shares for took in share[label]]) for label in clients}
        await gateway.stop(1)
    own = {name: results["gateway"][name] - results["floor"][name] for name in results["floor"]}
    shown = {label: {name: round(value, 2) for name, value in row.items()} for label, row in results.items()}
    if parallel > 1:
        own.pop("cpu")  # calls at once share the process: its CPU time is not one call's
    return {
        "calls": calls,
        "parallel": parallel,
        "milliseconds": shown | {"own": {name: round(value, 2) for name, value in own.items()}},
        "withinTarget": own["p50"] <= P50_TARGET_MS and own["p99"] <= P99_TARGET_MS,
    }


def main() -> int:
    """0 when within the target, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--database")
    options = parser.parse_args()
    result = asyncio.run(run(options.calls, options.parallel, options.database))
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    return 0 if result["withinTarget"] else 1


if __name__ == "__main__":
    sys.exit(main())
