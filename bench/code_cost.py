"""What `run_code` costs: CPU of a call in a warm worker and in a new one, of a call of a tool from code, and memory.

    python bench/code_cost.py [--calls 200]

CPU is that of all processes of a call: this one, worker and interpreter. Floor: one plain Python process for each call,
which is what running the code without confinement would cost. Bad variant: a new worker for every call; it must be over
the target that a warm worker keeps, or the target says nothing.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.code import Bench, children

WARM_TARGET_MS = 15.0
MEMORY_TARGET_MIB = 64.0
CODE = "sum(n * n for n in range(100))"
_TICK_MS = 1_000 / os.sysconf("SC_CLK_TCK")


def cpu_milliseconds(pids: list[int]) -> float:
    """CPU that live processes and those they waited for have used."""
    total = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += sum(map(int, fields[11:15])) * _TICK_MS
    return total


def own_cpu_milliseconds() -> float:
    times = os.times()
    return (times.user + times.system + times.children_user + times.children_system) * 1_000


def resident_mib(pid: int) -> float:
    """Its share of memory; nothing for an interpreter that has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


async def wall_of(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1_000


async def warm(calls: int, code: str) -> dict[str, float]:
    """One worker, kept: milliseconds of wall and CPU for each call."""
    bench = Bench()
    await bench.run(code)
    own, before = own_cpu_milliseconds(), cpu_milliseconds([bench.started[0].process.pid])
    walls = []
    for _ in range(calls):
        bench.started[0].uses = 1  # kept beyond the count at which it would be replaced
        walls.append(await wall_of(lambda: bench.run(code)))
    worker = bench.started[0].process.pid
    cpu = own_cpu_milliseconds() - own + cpu_milliseconds([worker]) - before
    memory = sum(resident_mib(pid) for pid in (worker, *children(worker)))
    await bench.pool.close()
    if len(bench.started) != 1:
        raise RuntimeError("the worker was replaced: nothing warm was measured")
    return {"p50_ms": statistics.median(walls), "p99_ms": _p99(walls), "cpu_ms": cpu / calls, "memory_mib": memory}


async def cold(calls: int) -> dict[str, float]:
    """A new worker for every call."""
    own, walls = own_cpu_milliseconds(), []
    for _ in range(calls):
        bench = Bench()
        walls.append(await wall_of(lambda bench=bench: bench.run(CODE)))  # type: ignore[misc]
        await bench.pool.close()
    return {"p50_ms": statistics.median(walls), "p99_ms": _p99(walls), "cpu_ms": (own_cpu_milliseconds() - own) / calls}


async def plain(calls: int) -> dict[str, float]:
    """A Python process for every call, without site packages: the least that a process of one's own costs."""
    own, walls = own_cpu_milliseconds(), []
    for _ in range(calls):
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", CODE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        await process.wait()
        walls.append((time.perf_counter() - began) * 1_000)
    return {"p50_ms": statistics.median(walls), "p99_ms": _p99(walls), "cpu_ms": (own_cpu_milliseconds() - own) / calls}


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else values[0]


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=200)
    calls = parser.parse_args().calls
    ten_calls = "for _ in range(10): read_file('a')"
    found = {
        "warm worker": await warm(calls, CODE),
        "warm worker, ten calls of a tool": await warm(calls // 4, ten_calls),
        "new worker (bad variant)": await cold(max(calls // 10, 5)),
        "plain Python process (floor)": await plain(max(calls // 10, 5)),
    }
    print(json.dumps({name: {k: round(v, 2) for k, v in row.items()} for name, row in found.items()}, indent=1))
    one, bad = found["warm worker"], found["new worker (bad variant)"]
    kept = one["cpu_ms"] <= WARM_TARGET_MS < bad["cpu_ms"] and one["memory_mib"] <= MEMORY_TARGET_MIB
    print(f"warm ÷ floor: {one['cpu_ms'] / found['plain Python process (floor)']['cpu_ms']:.2f} of CPU")
    print("target kept, bad variant over it" if kept else "TARGET MISSED, or the bad variant keeps it too")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
