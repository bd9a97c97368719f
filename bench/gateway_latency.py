"""The gateway's own latency for a model call: TLS, token check, reserve and settle synced to disk, the adapter.

    python bench/gateway_latency.py [--calls 300] [--parallel 1] [--database URL]

The same question goes to one provider on loopback that speaks OpenAI's wire format: directly (the same library, the key
at hand), through the gateway, through the gateway, directly (ABBA); then so through one that is bad on purpose: it
holds its event loop for 30 ms a call. A pair's difference is the gateway's own time. Prints milliseconds as JSON. The
target is P50 <= 5 ms and P99 <= 20 ms; the bad one must miss it, else the bench itself is at fault (exit 2).
"""

import argparse
import asyncio
import contextlib
import json
import os
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guildhall_contracts.model_api import ModelRequest
from guildhall_executor.http1 import Address, Http
from guildhall_gateway.__main__ import server
from guildhall_gateway.app import make_app
from guildhall_gateway.config import Tls
from guildhall_gateway.gateway import Doors, Gateway
from guildhall_gateway.providers.base import ProviderReply
from guildhall_gateway.providers.pydantic_ai import PydanticAiProvider, connect

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.certificates import certificate
from support.providers import server as wire
from support.providers.chat import Chat
from support.providers.dialect import Say
from unit.gateway import kit

P50_TARGET_MS = 5.0
P99_TARGET_MS = 20.0
BAD_SECONDS = 0.03
LOCAL = Chat("local", "qwen")
Ask = Callable[[str], Awaitable[None]]


@dataclass
class Took:
    """Milliseconds of wall, and of CPU of everything that takes part (one process)."""

    wall: float
    cpu: float


async def timed(ask: Ask, call_id: str) -> Took:
    started, worked = time.perf_counter(), time.process_time()
    await ask(call_id)
    return Took((time.perf_counter() - started) * 1_000, (time.process_time() - worked) * 1_000)


async def pairs(direct: Ask, through: Ask, calls: int, label: str) -> list[tuple[Took, Took]]:
    """ABBA: (direct, through) for each call."""
    found = []
    for number in range(calls // 2):
        first = await timed(direct, "-"), await timed(through, f"{label}-{number}a")
        second = await timed(through, f"{label}-{number}b"), await timed(direct, "-")
        found += [first, (second[1], second[0])]
    return found


def posting(http: Http) -> Ask:
    """The call as an executor makes it, on its own HTTP client and one kept connection."""
    headers = [("Authorization", f"Bearer {kit.TOKEN}"), ("Content-Type", "application/json")]

    async def ask(call_id: str) -> None:
        body = json.dumps(kit.request(call_id, LOCAL.model)).encode()
        answer = await http.ask("POST", "/v1/model", headers, (body,), idle_seconds=30)
        data = b"".join([piece async for piece in answer.pieces()])
        answer.close()
        if answer.status != 200 or b'"text":"fine"' not in data:
            raise RuntimeError(f"the gateway answered {answer.status}: {data[:300]!r}")

    return ask


def straight(adapter: PydanticAiProvider) -> Ask:
    """The call as a program without a gateway makes it: the same library, the same request, the key at hand."""

    async def ask(call_id: str) -> None:
        request = ModelRequest.model_validate(kit.request(call_id, LOCAL.model))
        last = [piece async for piece in adapter.stream(request, 1)][-1]
        if not isinstance(last, ProviderReply) or last.text != "fine":
            raise RuntimeError(f"the provider answered {last!r}")

    return ask


@contextlib.asynccontextmanager
async def serving(folder: Path, url: str, *, database: str | None, bad: bool) -> AsyncIterator[Ask]:
    """A gateway over TLS that asks the provider at `url`."""
    cert, key = certificate(folder)
    cluster = kit.Cluster()
    cluster.add_run(budget={"tokens": 10**9, "steps": 10_000})
    more = {"database_url": database} if database else {}
    config = kit.config(folder, models={"allow": ["local:*"]}, base_urls={"local": f"{url}/v1"}, **more)
    gateway = Gateway(config, Doors(cluster, cluster, cluster, cluster))
    if bad:
        hold(gateway)
    await gateway.start()
    listener = server(make_app(gateway), "127.0.0.1", 0, Tls(cert=str(cert), key=str(key)))
    task = asyncio.create_task(listener.serve())
    await kit.until(lambda: listener.started)
    port = listener.servers[0].sockets[0].getsockname()[1]
    address = Address("127.0.0.1", port, "localhost", f"localhost:{port}")
    http = Http(address, ssl.create_default_context(cafile=str(cert)), 10.0)
    yield posting(http)
    http.close()
    await gateway.stop(1)
    listener.should_exit = True
    await task


def hold(gateway: Gateway) -> None:
    """The bad variant: something blocks the loop in every reserve."""
    reserve = gateway.ledger.reserve

    async def slowly(*given: Any) -> Any:
        time.sleep(BAD_SECONDS)  # noqa: ASYNC251  this is the fault
        return await reserve(*given)

    gateway.ledger.reserve = slowly  # type: ignore[method-assign,assignment]


def quantiles(found: list[Took]) -> dict[str, float]:
    """Of wall time, and the median of CPU time, which says more on a busy machine."""
    walls = [took.wall for took in found]
    p50, p99 = statistics.median(walls), statistics.quantiles(walls, n=100)[98]
    cpu = statistics.median(took.cpu for took in found)
    return {"p50": round(p50, 2), "p99": round(p99, 2), "cpu": round(cpu, 2)}


def figures(found: list[tuple[Took, Took]]) -> dict[str, Any]:
    own = quantiles([Took(through.wall - direct.wall, through.cpu - direct.cpu) for direct, through in found])
    return {
        "direct": quantiles([direct for direct, _ in found]),
        "through": quantiles([through for _, through in found]),
        "own": own,
        "withinTarget": own["p50"] <= P50_TARGET_MS and own["p99"] <= P99_TARGET_MS,
    }


async def run(calls: int, parallel: int, database: str | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        good, bad = Path(name) / "good", Path(name) / "bad"
        good.mkdir()
        bad.mkdir()
        async with contextlib.AsyncExitStack() as stack:
            provider = await stack.enter_async_context(wire.provider())
            provider.behave = LOCAL.streamed(Say("fine"))
            adapter = connect("local", good, {"local": f"{provider.url}/v1"})
            if adapter is None:
                raise RuntimeError("no adapter for a provider with a base URL")
            direct = straight(adapter)
            through = await stack.enter_async_context(serving(good, provider.url, database=database, bad=False))
            slow = await stack.enter_async_context(serving(bad, provider.url, database=None, bad=True))
            await pairs(direct, through, 20, "warm")
            shares = [pairs(direct, through, calls // parallel, f"w{n}") for n in range(parallel)]
            found = [pair for share in await asyncio.gather(*shares) for pair in share]
            worse = await pairs(direct, slow, max(calls // 10, 20), "bad")
            await adapter.close()
    load = [round(value, 1) for value in os.getloadavg()]
    return {"calls": calls, "parallel": parallel, "load": load, "gateway": figures(found), "bad": figures(worse)}


def main() -> int:
    """0 when within the target, 1 when not, 2 when the bad variant is not found out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--database")
    options = parser.parse_args()
    result = asyncio.run(run(options.calls, options.parallel, options.database))
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    if result["bad"]["withinTarget"]:
        return 2
    return 0 if result["gateway"]["withinTarget"] else 1


if __name__ == "__main__":
    sys.exit(main())
