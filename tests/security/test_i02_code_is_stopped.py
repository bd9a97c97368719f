"""I2: code that does not end, eats memory or floods is stopped in time; its worker is replaced, the executor lives.

That each clock and ceiling holds alone is `tests/unit/executor/code/test_runner.py`; here all are as in a Run.
"""

import time
from collections.abc import AsyncIterator

import pytest
from guildhall_contracts import limits
from guildhall_executor.code.bounds import within
from support.code import Bench, Peaks, is_alive

SECONDS = 1.0
OWN_MAX_BYTES = 16 << 20  # of the executor's own: frames of at most 1 MiB, and what is kept of the output


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.pool.close()


ATTACKS: dict[str, str] = {
    "an endless loop": "while True: pass",
    "an endless loop that catches everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass"
    ),
    "a string of 10 GB": "x = 'a' * 10_000_000_000",
    "a string doubled": "x = 'a'\nwhile True: x += x",
    "a list of 10 GB": "x = [0] * 10_000_000_000",
    "10**10**8": "x = 10 ** 10 ** 8",
    "9**9**9": "x = 9 ** 9 ** 9",
    "a number squared": "x = 3\nwhile True: x = x * x",
    "a factorial": "x = 1\nfor i in range(1, 10 ** 9): x *= i",
    "digits of a number": "x = str(7 ** 10_000_000)",
    "shifts": "x = 1 << (1 << 40)",
    "a growing list": "x = []\nwhile True: x.append(x[:])",
    "a growing dict": "x = {}\nwhile True: x[len(x)] = 'a' * 100",
    "a generator without end": "sum(1 for _ in iter(int, 1))",
    "a sort": "sorted(range(10 ** 9))",
    "a format": "x = f'{1:>10000000000}'",
    "a join": "x = ','.join(['a' * 1000] * 10 ** 8)",
    "a replace": "x = ('a' * 10 ** 6).replace('a', 'b' * 10 ** 6)",
    "a loop of 10**9": "for i in range(10 ** 9): pass",
    "leaving the process": "import os\nos._exit(0)",
    "a thread that outlives the call": "import threading\nthreading.Thread(target=print).start()",
    "sleep": "import time\nwhile True: time.sleep(1)",
    "prints": "while True: print('x' * 1000)",
    "one print of everything": "print('x' * 50_000_000)",
    "prints of nothing": "while True: print(end='')",
    "recursion that catches": ("def f():\n    try:\n        f()\n    finally:\n        f()\nf()"),
    "a value that is too deep": "x = []\nfor _ in range(10 ** 7): x = [x]\nx",
    "a value that is too wide": "[[]] * 10 ** 7",
    "calls without end": "while True: read_file('a')",
}

HOARDS = frozenset({"a growing list", "a growing dict", "a value that is too deep"})
HOARD_BYTES = 48 << 20  # half of what the interpreter may have


@pytest.mark.parametrize("what", ATTACKS)
async def test_it_is_stopped_and_the_next_code_runs(bench: Bench, what: str) -> None:
    await bench.run("1")
    began = time.monotonic()
    async with Peaks(bench) as peaks:
        result = await bench.run(ATTACKS[what], within(SECONDS))
    took = time.monotonic() - began
    assert result.status in ("killed", "error"), result.value[:100]
    assert took <= 1.5 * SECONDS
    assert sum(map(len, result.stdout)) <= limits.CODE_OUTPUT_MAX_BYTES
    assert peaks.own_growth_bytes < OWN_MAX_BYTES, "nothing of it came here"
    assert peaks.below_bytes <= limits.CODE_ADDRESS_SPACE_MAX_BYTES
    assert peaks.below_bytes > (HOARD_BYTES if what in HOARDS else 0), "and where it was, it was seen"
    if result.status == "killed":
        assert not is_alive(bench.started[0].process.pid)
    control = await bench.run("sum(range(1000))", within(SECONDS))
    assert (control.status, control.value) == ("done", "499500")
    assert len(bench.started) == (2 if result.status == "killed" else 1)


async def test_positive_control_memory_that_comes_here_is_seen(bench: Bench) -> None:
    """Also where an earlier test had more, and where it is gone again before anybody looks."""
    assert taken(OWN_MAX_BYTES * 4)
    async with Peaks(bench) as peaks:
        assert taken(OWN_MAX_BYTES * 2)
    assert peaks.own_growth_bytes > OWN_MAX_BYTES


def taken(size_bytes: int) -> bool:
    """Holds so much memory, and gives it back."""
    return (b"x" * size_bytes).endswith(b"x")


async def test_plain_recursion_is_an_error_the_code_can_read(bench: Bench) -> None:
    result = await bench.run("def f(n): return f(n + 1)\nf(0)")
    assert result.status == "error"
    assert "RecursionError" in result.error
    assert (await bench.run("def f(n): return n and f(n - 1)\nf(150)")).value == "0"
