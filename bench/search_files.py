"""`search_files` on 100,000 files, beside GNU grep on the same tree: time, processor time, memory.

    python bench/search_files.py [--files 100000] [--rounds 2]

The tree is warm in the page cache: what is measured is the walk, the reading and the matching. Rounds go workshop,
grep, grep, workshop (ABBA), since other work on the machine moves both alike; the processor time of all threads is
read from the kernel's counters. `bad variant` is a search in Python, one file after the other, which must fail
the targets. Exit status 1 when a target is missed.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from guildhall_contracts import frames
from support.workshop import Client, Workshop, running

WORDS = ["the", "quick", "brown", "fox", "returns", "value", "self", "import", "class", "error", "request", "Total"]
MEMORY = Path("/dev/shm")  # noqa: S108  a disk takes minutes to make the files
RSS_MAX_MIB = 64
CPU_MAX_RATIO = 3.0  # processor time, to grep's for the same question
QUESTIONS: dict[str, tuple[dict[str, object], list[str]]] = {
    "rare text": ({"pattern": "needle_in_it", "literal": True}, ["-F", "needle_in_it"]),
    "expression": ({"pattern": r"needle_\w+ = [0-9]+$"}, ["-E", r"needle_\w+ = [0-9]+$"]),
    "any case": ({"pattern": "NEEDLE_in_IT", "ignore_case": True}, ["-iF", "NEEDLE_in_IT"]),
    "by name": ({"pattern": "needle_in_it", "glob": "*.py"}, ["-F", "--include=*.py", "needle_in_it"]),
}


def build(root: Path, files: int) -> None:
    """Small sources in folders of 100, a `.git` and binaries that must be passed over, ten files that match."""
    chance = random.Random(7)  # noqa: S311
    body = "\n".join(" ".join(chance.choices(WORDS, k=8)) for _ in range(4_000))
    for number in range(files):
        folder = root / f"d{number // 10_000}" / f"p{number // 100 % 100}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        at = chance.randrange(len(body) - 4_000)
        text = body[at : at + chance.randrange(200, 3_000)]
        if number % (files // 10) == 8:
            text += f"\nneedle_in_it = {number}\n"
        (folder / f"f{number}.{'py' if number % 4 == 0 else 'txt'}").write_text(text)
    objects = root / ".git" / "objects"
    objects.mkdir(parents=True)
    (objects / "x").write_text("needle_in_it = 1\n")
    (root / "binary").write_bytes(b"\0needle_in_it = 2\n")


def cpu_seconds(pid: int) -> float:
    """Of every thread the process has or had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ours(shop: Workshop, client: Client, question: dict[str, object]) -> tuple[float, float, int]:
    began, used = time.monotonic(), cpu_seconds(shop.process.pid)
    reply = client.call(frames.SearchRequest, 120, limit=500, **question).last
    if not isinstance(reply, frames.SearchResult) or reply.truncated:
        raise SystemExit(f"the search did not end: {reply}")
    return time.monotonic() - began, cpu_seconds(shop.process.pid) - used, len(reply.matches)


def grep(root: Path, arguments: list[str]) -> tuple[float, float, int]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        ["grep", "-rnI", "--exclude-dir=.git", *arguments, "."],
        cwd=root,
        env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
        check=False,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, cpu, done.stdout.count(b"\n")


def bad_variant(root: Path, pattern: str) -> tuple[float, float, int]:
    """One file after the other, text decoded, every line matched."""
    began, used, found = time.monotonic(), time.process_time(), 0
    wanted = re.compile(pattern)
    for path in sorted(root.rglob("*")):
        if path.is_file() and ".git" not in path.parts:
            text = path.read_text(errors="replace")
            found += sum(1 for line in text.split("\n") if wanted.search(line)) if "\0" not in text else 0
    return time.monotonic() - began, time.process_time() - used, found


def abba(
    one: Callable[[], tuple[float, float, int]], other: Callable[[], tuple[float, float, int]], rounds: int
) -> list[dict[str, float]]:
    """Medians of both in the order one, other, other, one."""
    seen: list[list[tuple[float, float, int]]] = [[], []]
    for _ in range(rounds):
        for which in (0, 1, 1, 0):
            seen[which].append((one, other)[which]())
    found = []
    for rows in seen:
        wall, cpu = (sorted(row[at] for row in rows)[len(rows) // 2] for at in (0, 1))
        found.append({"wallSeconds": round(wall, 2), "cpuSeconds": round(cpu, 2), "matches": rows[0][2]})
    return found


def measure(files: int, rounds: int) -> tuple[dict[str, object], bool]:
    base = Path(tempfile.mkdtemp(prefix="guildhall-search-", dir=MEMORY if MEMORY.is_dir() else None))
    sound, report = True, {}
    try:
        (base / "workspace").mkdir()
        build(base / "workspace", files)
        with running(base, with_baseline=False) as shop, shop.client() as client:
            before = shop.rss_bytes()
            for name, (question, arguments) in QUESTIONS.items():
                a, b = abba(lambda: ours(shop, client, question), lambda: grep(shop.workspace, arguments), rounds)  # noqa: B023
                ratio = round(a["cpuSeconds"] / max(b["cpuSeconds"], 0.01), 2)
                sound &= a["matches"] == b["matches"] and ratio <= CPU_MAX_RATIO
                report[name] = {"workshop": a, "grep": b, "cpuRatio": ratio}
            grown = (shop.rss_bytes() - before) / 2**20
            sound &= grown <= RSS_MAX_MIB
            report["memoryMiB"] = round(grown, 1)
            bad = bad_variant(shop.workspace, r"needle_\w+ = [0-9]+$")
            floor = report["expression"]["grep"]["cpuSeconds"]
            report["badVariant"] = {"cpuSeconds": round(bad[1], 2), "cpuRatio": round(bad[1] / floor, 2)}
            sound &= bad[1] / floor > CPU_MAX_RATIO
    finally:
        shutil.rmtree(base)
    return {"files": files, **report}, sound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    report, sound = measure(args.files, args.rounds)
    print(json.dumps(report, indent=2))
    return 0 if sound else 1


if __name__ == "__main__":
    raise SystemExit(main())
