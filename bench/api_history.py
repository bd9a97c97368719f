"""M8 and M9: decode and fold per CPU-second, and opening a long Run cold. Prints one JSON object.

    .venv/bin/python bench/api_history.py [--events 40000]

The floor is `json.loads` of the same lines; the bad variant folds from the start after each 1 % of the lines and must
cost many times as much.
"""

import argparse
import asyncio
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guildhall_api.fold import fold
from guildhall_api.history import History
from guildhall_api.intake import Intake, Taken
from guildhall_api.lines import Line
from guildhall_api.live import fold_stored, seal
from guildhall_api.model import Model
from guildhall_api.records import ListFilter, RunFacts
from guildhall_contracts.events import decode_event

UID = "0b9ff0d6-6f0c-4c59-8d0a-6d5f9f3f7a11"
ROUNDS = 5


def _stamp(seq: int) -> str:
    seconds = seq // 10
    return f"2026-01-05T{9 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{seq % 10}00Z"


def _line(seq: int, type_: str, **fields: Any) -> bytes:
    event = {"v": 1, "run": UID, "attempt": 1, "seq": seq, "ts": _stamp(seq), "type": type_, "role": "coder"} | fields
    return json.dumps(event, separators=(",", ":")).encode()


def lines(count: int) -> list[bytes]:
    """A Run of `count` events in the mix of a working agent: calls with two pieces of text, a tool with progress."""
    tools = ["read_file", "edit_file", "run_shell", "finish"]
    role = {"name": "coder", "label": "Coder", "kind": "role", "tools": tools, "delegates": []}
    opening = {"op": "o1", "source": "human", "destination": "role:coder"}
    made = [
        _line(1, "run.started", **opening, guild="g", guildDigest="a" * 64, entryRole="coder", roles=[role], task="Fix it",  # noqa: E501
              mode="interactive", budget={}),
    ]  # fmt: skip
    while len(made) + 7 <= count:
        seq, own = len(made) + 1, {"parent": "o1", "source": "role:coder"}
        call, tool = f"o{seq}", f"o{seq + 4}"
        made += [
            _line(seq, "model.started", op=call, **own, destination="role:coder", callId=f"c{seq}", model="scripted:x"),
            _line(seq + 1, "model.text", op=call, text="Let me look at the parser. " * 4),
            _line(seq + 2, "model.text", op=call, text="It drops the last token. " * 4),
            _line(seq + 3, "model.finished", op=call, outcome="success", text="Let me look. " * 16, costMicroUSD=120,
                  usage={"tokens": 4000, "cachedPromptTokens": 3000, "outputTokens": 90},
                  calls=[{"call": "t", "name": "run_shell"}]),
            _line(seq + 4, "tool.started", op=tool, **own, destination="tool:run_shell", call="t", tool="run_shell",
                  title="run_shell", effect="write", arguments='{"command":"pytest -q"}', argumentsSHA256="b" * 64),
            _line(seq + 5, "tool.progress", op=tool, text="....F..."),
            _line(seq + 6, "tool.finished", op=tool, outcome="success", output="x" * 400, exitCode=0),
        ]  # fmt: skip
    return made


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _fold(data: list[bytes]) -> Model:
    model = Model()
    for line in data:
        fold(model, decode_event(line, model.last_seq))
    return model


def _from_the_start(data: list[bytes]) -> None:
    for end in range(len(data) // 100, len(data) + 1, max(1, len(data) // 100)):
        _fold(data[:end])


def folding(count: int) -> dict[str, float]:
    """Events per CPU-second, the best of some rounds, and the ratios."""
    big, small = lines(count), lines(400)
    at_big = min(_cpu(lambda: _fold(big)) for _ in range(ROUNDS)) / len(big)
    at_small = min(_cpu(lambda: [_fold(small) for _ in range(count // 400)]) for _ in range(ROUNDS)) / (
        count // 400 * len(small)
    )
    floor = min(_cpu(lambda: [json.loads(line) for line in big]) for _ in range(ROUNDS)) / len(big)
    bad = _cpu(lambda: _from_the_start(lines(count // 10))) / (count // 10)
    return {
        "eventsPerCpuSecond": round(1 / at_big), "eventsPerCpuSecondAt400": round(1 / at_small),
        "ratioBigToSmall": round(at_big / at_small, 2), "jsonLoadsPerCpuSecond": round(1 / floor),
        "badVariantTimesDearer": round(bad / at_big, 1), "meanLineBytes": round(sum(map(len, big)) / len(big)),
    }  # fmt: skip


async def fill(url: str, count: int, runs: int) -> None:
    """A database with one sealed Run of `count` events and `runs` rows besides."""
    history = History(url)
    await history.open()
    intake = Intake(UID)
    intake.follow("pod", 1)
    facts = RunFacts(
        UID, "team", "big", "2026-01-05T09:00:00Z", "Succeeded", "g", "big", False, False, {"id": "team.big"}, {}
    )
    key = await history.put_run(facts)
    batch: list[Taken] = []
    for number, data in enumerate(lines(count)):
        head = f"2026-01-05T09:00:00.{number:09}Z ".encode()
        taken = intake.take(Line(head + data, len(head) + len(data)))
        assert isinstance(taken, Taken)  # noqa: S101
        batch.append(taken)
        if len(batch) == 500:
            await history.append(key, intake, batch, [])
            batch = []
    await history.append(key, intake, batch, [])
    await seal(history, key, await fold_stored(history, key, 0))
    for number in range(runs):
        created = f"2026-01-06T09:{number // 60 % 60:02}:{number % 60:02}Z"
        summary = {"id": f"team.r{number}", "label": f"Run {number}", "task": "t" * 500}
        await history.put_run(
            RunFacts(f"u{number}", "team", f"r{number}", created, "Succeeded", "g", "t", False, False, summary, {})
        )
    await history.close()


async def opening(url: str, *, sealed: bool) -> dict[str, float]:
    """A cold process opens the Run: wall seconds, bytes on the wire, memory."""
    begun = time.monotonic()
    history = History(url)
    await history.open()
    found = await history.find(uid=UID)
    assert found is not None  # noqa: S101
    if sealed:
        body = await history.snapshot(found.key, slim_above=2_000)
    else:
        model = await fold_stored(history, found.key, 0)
        body = json.dumps(model.to_wire()).encode()
    assert body is not None  # noqa: S101
    packed = gzip.compress(body, 4)
    opened = time.monotonic() - begun
    begun = time.monotonic()
    listed = len(await history.list_runs(ListFilter(namespaces=["team"], limit=1_000)))
    listing = time.monotonic() - begun
    await history.close()
    return {
        "seconds": round(opened, 2), "bytesJson": len(body), "bytesGzip": len(packed), "listSeconds": round(listing, 3),
        "listed": listed, "maxRssMiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=40_000)
    parser.add_argument("--open", choices=["sealed", "folded"])
    parser.add_argument("--database")
    options = parser.parse_args()
    if options.open:
        print(json.dumps(asyncio.run(opening(options.database, sealed=options.open == "sealed"))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder)}/api.db"
        asyncio.run(fill(url, options.events, 1_000))
        figures: dict[str, Any] = {"events": options.events, "fold": folding(options.events)}
        for kind in ("sealed", "folded"):
            command = [sys.executable, __file__, "--open", kind, "--database", url]
            figures[kind] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        figures["databaseMiB"] = round((Path(folder) / "api.db").stat().st_size / 2**20, 1)
    print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
