#!/usr/bin/env python3
"""Memory and CPU of an operator that starts among many Runs that are over (M5): nothing is written, little is kept.

The Runs are made by the operator itself (each refused for a Guild that is not there, which makes no pod) and stay.
`.venv/bin/python bench/operator_memory.py [RUNS]` prints one line and writes artifacts/bench/operator_memory.json.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "tests")
sys.path.append(str(ROOT / "bench"))

from drain_on_kwok import drained, resident_mib  # noqa: E402
from operator_pace import administrator, cpu_seconds  # noqa: E402
from support.cluster import running  # noqa: E402
from support.operator_process import OperatorProcess, installed  # noqa: E402

TASK: Final = "Read the failing test, find its cause, mend it and run everything again. " * 60  # 4 KiB
QUIET_SECONDS: Final = 10.0


def run_body(number: int, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": f"over-{number}", "namespace": namespace},
        "spec": {"guildRef": {"name": "gone"}, "task": TASK},
    }


async def end_all(operator: OperatorProcess, count: int) -> None:
    """Makes the Runs, and waits until each is over."""
    kube = administrator(operator.cluster.kubeconfig)
    path = f"/apis/guildhall.dev/v1alpha1/namespaces/{operator.runs}/runs"
    try:
        await drained(kube, path, [run_body(number, operator.runs) for number in range(count)], "Sealed")
    finally:
        await kube.close()


def writes(operator: OperatorProcess) -> int:
    """Writes of the operator so far, its Lease's and Events apart."""
    kinds = ("leases", "events")
    return sum(
        "guildhall-operator" in event["user"]["username"] and event["objectRef"]["resource"] not in kinds
        for event in operator.cluster.writes(operator.runs)
    )


def measured(operator: OperatorProcess, count: int) -> dict[str, float]:
    operator.start(maxConcurrentRuns=10_000)
    empty = resident_mib(operator.process.pid if operator.process else 0)
    asyncio.run(end_all(operator, count))
    operator.stop()
    before = writes(operator)
    operator.start(maxConcurrentRuns=10_000)
    time.sleep(QUIET_SECONDS)
    pid = operator.process.pid if operator.process else 0
    return {
        "runs": count,
        "residentMiBWithoutRuns": round(empty, 1),
        "residentMiB": round(resident_mib(pid), 1),
        "restartCpuSeconds": round(cpu_seconds(pid), 2),
        "writesAfterRestart": writes(operator) - before,
        "loadAverage": round(os.getloadavg()[0], 2),
    }


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    cluster = running()
    with tempfile.TemporaryDirectory() as name, installed(cluster, Path(name)) as operator, cluster.enforced():
        found = measured(operator, count)
        print(json.dumps(found), flush=True)
    out = ROOT / "artifacts" / "bench" / "operator_memory.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
