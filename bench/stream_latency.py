#!/usr/bin/env python3
"""M6: how late an event is at a viewer of the api, beside `kubectl logs -f` on the same pod. One JSON object a round.

    .venv/bin/python bench/stream_latency.py [--rounds 3] [--viewer stream|poll]

Both readers get the same lines of one real Run; lateness is the reader's clock less the stamp the executor wrote into
the line (whole milliseconds, the same machine). What is older than a reader does not count. The api is reached through
`kubectl port-forward`, whose cost is the api's loss here. `--viewer poll` asks for new events once a second instead of
holding a stream: it must miss the target, or the bench measures nothing.
"""

import argparse
import asyncio
import json
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "tests")

from conftest import install  # noqa: E402
from support.cluster import running  # noqa: E402
from support.installation import Installation, one_role_guild, port_forward, run_manifest  # noqa: E402

P50_MORE_MAX_MS, P99_MAX_MS, EVENTS_MIN_COUNT = 25, 500, 100
Late = dict[int, float]  # seq → milliseconds


def note(late: Late, event: dict[str, Any], since: float) -> None:
    """Books one event as it arrives, unless it is older than the reader."""
    stamp = datetime.fromisoformat(event["ts"]).timestamp()
    if stamp >= since:
        late.setdefault(event["seq"], (time.time() - stamp) * 1000)


async def kubectl_reader(here: Installation, pod: str, late: Late) -> None:
    """`kubectl logs -f` until the container ends."""
    argv = ("kubectl", "-n", here.namespace, "logs", "-f", "--since=1s", "-c", "executor", pod)
    process = await asyncio.create_subprocess_exec(
        *argv, env=here.environment, stdout=asyncio.subprocess.PIPE, limit=2**20
    )
    out: Any = process.stdout
    since = time.time()
    while line := await out.readline():
        note(late, json.loads(line), since)
    await process.wait()


async def stream_reader(port: int, here: Installation, run: str, late: Late) -> None:
    """The Run's stream, as a browser holds it, until its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    writer.write(_request(f"/api/runs/{here.namespace}.{run}/stream", here.token))
    since = time.time()
    kind = ""
    while line := await reader.readline():
        if line.startswith(b"event: "):
            kind = line[7:].strip().decode()
        elif line.startswith(b"data: ") and kind == "events":
            for event in json.loads(line[6:]):
                note(late, event, since)
        if kind == "end":
            break
    writer.close()


async def poll_reader(port: int, here: Installation, run: str, late: Late) -> None:
    """The bad variant: asks for what is new once a second."""
    since, after = time.time(), 0
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        writer.write(_request(f"/api/runs/{here.namespace}.{run}/events?after={after}&limit=500", here.token))
        body = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
        page = json.loads(body)
        for event in page["events"]:
            note(late, event, since)
        after = page["last"]
        if page["end"]:
            return
        await asyncio.sleep(1)


def _request(path: str, token: str) -> bytes:
    head = f"GET {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    return head.encode()


def start(here: Installation, name: str) -> str:
    """Starts the Run and waits until its executor is at work; the pod's name."""
    here.delete("run", name)
    here.apply(run_manifest(name, guild=one_role_guild("steady", "list_files"), budget={"steps": 200}))
    run = here.wait_run(name, lambda one: one.get("status", {}).get("phase") == "Running")
    return str(run["status"]["attempts"][-1]["pod"])


def at(values: list[float], part: float) -> float:
    return round(sorted(values)[min(int(len(values) * part), len(values) - 1)], 1)


async def measure(here: Installation, name: str, viewer: str) -> dict[str, Any]:
    """One round: both readers on one Run, lateness over the events both saw."""
    pod = await asyncio.to_thread(start, here, name)
    port = urlsplit(here.url).port or 80
    by_kubectl: Late = {}
    by_api: Late = {}
    read = stream_reader if viewer == "stream" else poll_reader
    await asyncio.gather(kubectl_reader(here, pod, by_kubectl), read(port, here, name, by_api))
    both = sorted(by_kubectl.keys() & by_api.keys())
    if len(both) < EVENTS_MIN_COUNT:
        raise SystemExit(f"only {len(both)} events were seen by both readers")
    kubectl, api = [by_kubectl[seq] for seq in both], [by_api[seq] for seq in both]
    more = at(api, 0.5) - at(kubectl, 0.5)
    return {
        "viewer": viewer, "events": len(both), "kubectlP50Ms": at(kubectl, 0.5), "kubectlP99Ms": at(kubectl, 0.99),
        "apiP50Ms": at(api, 0.5), "apiP99Ms": at(api, 0.99), "p50MoreMs": round(more, 1),
        "met": more <= P50_MORE_MAX_MS and at(api, 0.99) <= P99_MAX_MS,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--viewer", choices=("stream", "poll"), default="stream")
    options = parser.parse_args()
    here = install(running())
    rows = []
    with port_forward(here.environment, "guildhall-api", 80) as url:
        here.url = url
        for number in range(options.rounds):
            rows.append(asyncio.run(measure(here, f"steady-{number}", options.viewer)))
            print(json.dumps(rows[-1]), flush=True)
    out = ROOT / "artifacts" / "bench" / f"stream_latency-{options.viewer}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
