"""M10: 200 viewers of one Run at ten events a second, with and without one who never reads. Prints one JSON object.

    .venv/bin/python bench/api_viewers.py [--viewers 200] [--seconds 20]

The whole way is measured: from the line in the (stub) pod's log to the parsed event at the viewer, which is another
process. The floor is the same with a single viewer; latency is the difference of two stamps of one machine's clock.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from guildhall_api.routes import stream
from support.api_run import ADA, api_over, pod_object, run_object, start_line, until, warn_line
from support.api_socket import served
from support.kube_stub import KubeStub

RATE_PER_SECOND = 10


async def _view(port: int, late: list[float], *, stalled: bool) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096 if stalled else 2**20)
    head = f"GET /api/runs/team.fix/stream?after=1 HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {ADA}\r\n\r\n"
    writer.write(head.encode())
    if stalled:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(3_600)
    while line := await reader.readline():
        if line.startswith(b"data: [") and b'"sent":' in line:
            now = time.monotonic()
            late += [now - event["sent"] for event in json.loads(line[6:])]


async def view(port: int, viewers: int, stalled: int, seconds: float) -> list[float]:
    """Latencies in seconds as all viewers saw them."""
    late: list[float] = []
    tasks = [asyncio.create_task(_view(port, late, stalled=number < stalled)) for number in range(viewers)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    return late


def _event(seq: int, size: int) -> bytes:
    event = {name: value for name, value in json.loads(warn_line(seq)).items() if name not in {"kind", "used", "limit"}}
    return json.dumps(event | {"type": "note.taken", "text": "x" * size, "sent": time.monotonic()}).encode()


async def measure(viewers: int, stalled: int, seconds: float, size: int) -> dict[str, Any]:
    """One run of the whole way with the viewers in a process of their own."""
    stream.STREAMS_PER_USER_MAX_COUNT = 10_000  # type: ignore[misc]
    async with AsyncExitStack() as stack:
        stub = await stack.enter_async_context(KubeStub().serving())
        api = await stack.enter_async_context(api_over(stub, Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        port = await stack.enter_async_context(served(api))
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line())
        command = [sys.executable, __file__, "--view", str(port), "--viewers", str(viewers), "--stalled", str(stalled)]
        command += ["--seconds", str(seconds + 6)]
        reader = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        channel = None
        await until(lambda: bool(api.services.keeper.runs), 10)
        channel = next(iter(api.services.keeper.runs.values())).channel
        await until(lambda: len(channel.viewers) >= viewers, 60)
        begun, cpu = time.monotonic(), time.process_time()
        for number in range(int(seconds * RATE_PER_SECOND)):
            await asyncio.sleep(max(0, begun + number / RATE_PER_SECOND - time.monotonic()))
            await stub.write("fix-pod", _event(number + 2, size))
        used = time.process_time() - cpu
        output, _ = await reader.communicate()
    late = sorted(json.loads(output))
    at = [late[int(len(late) * part)] * 1000 for part in (0.5, 0.99)] if late else [0.0, 0.0]
    return {
        "viewers": viewers, "stalled": stalled, "delivered": len(late), "p50Ms": round(at[0], 1), "p99Ms": round(at[1], 1),  # noqa: E501
        "serverCpuShare": round(used / seconds, 2),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--stalled", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--size", type=int, default=400)
    parser.add_argument("--view", type=int)
    options = parser.parse_args()
    if options.view:
        print(json.dumps(asyncio.run(view(options.view, options.viewers, options.stalled, options.seconds))))
        return 0
    for viewers, stalled in (
        (1, 0),
        (options.viewers, 0),
        (options.viewers, 1),
        (options.viewers, 0),
        (options.viewers, 1),
    ):
        print(json.dumps(asyncio.run(measure(viewers, stalled, options.seconds, options.size))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
