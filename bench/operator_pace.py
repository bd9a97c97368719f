#!/usr/bin/env python3
"""How fast the operator makes Jobs at five Runs a second (M3), and what a Run costs it beside a bare kopf (M2).

The Runs ask for a memory no node has, so that no pod starts and what is measured is the operator. Times are stamps of
this one process: a Run's creation answered, its Job seen by a watch. CPU is the process's own, of our operator and of
one that does nothing but be told of Runs by kopf, both on the very same Runs; each round has the load the machine had.
The floor is the operator's six calls for a Run, made by this script with the operator's own client at the same pace:
nothing is watched, decided or remembered.
`.venv/bin/python bench/operator_pace.py [RUNS]` prints a table and writes artifacts/bench/operator_pace.json.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "tests")

import kopf  # noqa: E402
from guildhall_operator.client import Kube, access_of  # noqa: E402
from support.cluster import running  # noqa: E402
from support.operator_process import GUILD, OperatorProcess, installed  # noqa: E402

PER_SECOND: Final = 5
NOTHING = """
import kopf
@kopf.on.event("guildhall.dev", "v1alpha1", "runs")
async def told(**_): pass
"""
QUIET_SECONDS: Final = 3.0
SNAPSHOT_BYTES, CLAIM_BYTES, JOB_BYTES, STATUS_BYTES = 2_500, 500, 7_000, 1_800  # as the bench's Runs have them


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_body(name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"guild": GUILD, "task": "Wait.", "resources": {"memory": "900Gi"}},
    }


async def seen_jobs(kube: Kube, namespace: str, seen: dict[str, float]) -> None:
    """Stamps each Job of a Run as its watch shows it."""
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    async for event in kube.watch(path, {"resourceVersion": "0"}, 300):
        if event["type"] == "ADDED":
            seen.setdefault(event["object"]["metadata"]["annotations"]["guildhall.dev/run-name"], time.monotonic())


async def burst(kube: Kube, namespace: str, count: int, pace: float, mark: str) -> list[float]:
    """Seconds from each Run to its Job."""
    made: dict[str, float] = {}
    seen: dict[str, float] = {}
    watching = asyncio.create_task(seen_jobs(kube, namespace, seen))
    await asyncio.sleep(1)
    begin = time.monotonic()

    async def create(number: int) -> None:
        name = f"pace-{mark}-{number}"
        await asyncio.sleep(max(0.0, begin + number / pace - time.monotonic()))
        await kube.call("POST", f"/apis/guildhall.dev/v1alpha1/namespaces/{namespace}/runs", run_body(name, namespace))
        made[name] = time.monotonic()

    await asyncio.gather(*(create(number) for number in range(count)))
    async with asyncio.timeout(60):
        while not made.keys() <= seen.keys():  # noqa: ASYNC110  the watch knows nothing of our names
            await asyncio.sleep(0.05)
    watching.cancel()
    return [seen[name] - at for name, at in made.items()]


async def calls_alone(kube: Kube, namespace: str, count: int, pace: float) -> float:
    """CPU milliseconds for as many calls of such sizes as a Run costs the operator, per Run. Nothing is stored."""
    maps = f"/api/v1/namespaces/{namespace}/configmaps"

    async def make(name: str, size: int) -> None:
        await kube.call("POST", maps, {"metadata": {"name": name}, "data": {"x": "y" * size}}, params={"dryRun": "All"})

    begin, before = time.monotonic(), time.process_time()
    for number in range(count):
        await asyncio.sleep(max(0.0, begin + number / pace - time.monotonic()))
        await asyncio.gather(make("snapshot", SNAPSHOT_BYTES), make("claim", CLAIM_BYTES))
        for name, size in (
            ("job", JOB_BYTES),
            ("status", STATUS_BYTES),
            ("status", STATUS_BYTES),
            ("event", CLAIM_BYTES),
        ):
            await make(name, size)
    return (time.process_time() - before) / count * 1_000


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def administrator(kubeconfig: Path) -> Kube:
    os.environ["KUBECONFIG"] = str(kubeconfig)
    info = kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
    if info is None:
        raise SystemExit(f"{kubeconfig} names no cluster")
    return Kube(access_of(info))


async def measured(operator: OperatorProcess, bare: int, count: int, mark: str) -> dict[str, float]:
    """One round; `bare` is the process id of the operator that does nothing."""
    ours = operator.process.pid if operator.process else 0
    kube, pace = administrator(operator.cluster.kubeconfig), float(PER_SECOND)
    try:
        before = cpu_seconds(ours), cpu_seconds(bare)
        waits = await burst(kube, operator.runs, count, pace, mark)
        await asyncio.sleep(QUIET_SECONDS)
        used = cpu_seconds(ours) - before[0], cpu_seconds(bare) - before[1]
        floor = await calls_alone(kube, operator.runs, count, pace)
    finally:
        await kube.close()
    return {
        "runs": count,
        "runsPerSecond": pace,
        "p50Milliseconds": round(statistics.median(waits) * 1_000),
        "p99Milliseconds": round(percentile(waits, 0.99) * 1_000),
        "operatorCpuMillisecondsPerRun": round(used[0] / count * 1_000, 2),
        "bareKopfCpuMillisecondsPerRun": round(used[1] / count * 1_000, 2),
        "sixCallsAloneCpuMilliseconds": round(floor, 2),
        "loadAverage": round(os.getloadavg()[0], 2),
    }


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    cluster, rounds = running(), []
    with tempfile.TemporaryDirectory() as name, installed(cluster, Path(name)) as operator, cluster.enforced():
        folder = Path(name)
        operator.start(maxConcurrentRuns=10_000)
        (folder / "nothing.py").write_text(NOTHING)
        command = [
            sys.executable,
            "-m",
            "kopf",
            "run",
            "--standalone",
            "-n",
            operator.runs,
            "-q",
            folder / "nothing.py",
        ]
        bare = subprocess.Popen(
            command, env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            time.sleep(5)
            for mark in ("a", "b"):
                rounds.append(asyncio.run(measured(operator, bare.pid, count, mark)))
                print(json.dumps(rounds[-1]), flush=True)
        finally:
            bare.terminate()
            bare.wait(10)
    out = ROOT / "artifacts" / "bench" / "operator_pace.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(rounds, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
