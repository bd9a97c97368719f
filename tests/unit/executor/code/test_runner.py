"""`run_code` through a real worker: values, prints, calls of the host, errors; and each clock and ceiling by itself."""

import asyncio
import json
import time
from typing import Any

import pytest
from guildhall_executor.code.bounds import within
from support.code import Bench, bounds, children, ended, is_alive

LOOP = "while True: pass"
HANG = "9**9**9"  # one operation that takes for ever: the interpreter never looks at its clock
GROW = "x = []\nwhile True: x.append('a' * 1000)"
DEEP = "def f(n): return f(n + 1)\nf(0)"


async def test_the_last_expression_is_the_value(bench: Bench) -> None:
    result = await bench.run("x = [n * n for n in range(4)]\n{'squares': x, 'none': None}")
    assert result.status == "done"
    assert json.loads(result.value) == {"squares": [0, 1, 4, 9], "none": None}


async def test_code_without_a_value_gives_none(bench: Bench) -> None:
    assert (await bench.run("x = 1")).value == "null"


async def test_prints_come_in_order_and_before_the_end(bench: Bench) -> None:
    seen_at_call: list[str] = []
    bench.answer = lambda *_: seen_at_call.append("".join(bench.printed)) or "x"
    result = await bench.run("print('a')\nread_file('f')\nprint('b', 1)")
    assert seen_at_call == ["a\n"]
    assert "".join(result.stdout) == "a\nb 1\n" == "".join(bench.printed)


async def test_a_long_print_comes_whole(bench: Bench) -> None:
    result = await bench.run("print('é世' * 20_000)")
    assert "".join(result.stdout) == "é世" * 20_000 + "\n"


async def test_a_tool_is_a_function_and_gives_a_dict(bench: Bench) -> None:
    bench.answer = lambda *_: "line one\nline two"
    result = await bench.run("r = read_file('a.py', max_lines=3)\n[len(r['text'].splitlines()), r['error_code']]")
    assert json.loads(result.value) == [2, None]
    assert [(tool, json.loads(text)) for tool, text in bench.calls] == [("read_file", {"path": "a.py", "max_lines": 3})]
    assert result.called == 1


async def test_messages_are_a_copy(bench: Bench) -> None:
    messages = [{"role": "user", "content": "é"}]
    result = await bench.run("messages[0]['content'] += '!'\nmessages.append(1)\nmessages", messages=messages)
    assert json.loads(result.value) == [{"role": "user", "content": "é!"}, 1]
    assert messages == [{"role": "user", "content": "é"}]
    again = await bench.run("messages", messages=messages)
    assert json.loads(again.value) == messages


async def test_nothing_is_left_of_an_earlier_call(bench: Bench) -> None:
    await bench.run("left = 1")
    result = await bench.run("left")
    assert result.status == "error"
    assert "NameError" in result.error
    assert len(bench.started) == 1  # the same worker: what is new is the interpreter below it


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
        ("unknown()", "NameError"),
        ("import subprocess", "ModuleNotFoundError"),
        ("raise ValueError('mine')", "ValueError: mine"),
        ("read_file(1, 2, 3, 4)", "TypeError: read_file() takes 3 arguments"),
        ("read_file({1: 2})", "only str keys"),
        ("import decimal\ndecimal.Decimal('1')", "Decimal is no JSON"),
        ("lambda_ = [float('nan')]\nlambda_", "no JSON"),
        ("{1: 2}", "only str keys"),
        ("b'x'", "bytes is no JSON"),
        ("'a' * 70000", "at most 65536"),
        ("raise TimeoutError('mine')", "TimeoutError: mine"),
    ],
)
async def test_what_goes_wrong_is_an_error_and_the_worker_stays(bench: Bench, code: str, why: str) -> None:
    result = await bench.run(code)
    assert (result.status, why in result.error) == ("error", True), result
    assert (await bench.run("1")).value == "1"
    assert len(bench.started) == 1


async def test_an_error_says_where(bench: Bench) -> None:
    result = await bench.run("x = 1\ny = x / 0\n")
    assert "line 2" in result.error


# Each clock and each ceiling alone: the others are so far away that only this one can have ended it.
@pytest.mark.parametrize(
    ("reason", "code", "alone"),
    [
        ("time", LOOP, bounds(interpreter_seconds=0.3)),
        ("deadline", HANG, bounds(worker_seconds=0.3)),
        ("deadline", LOOP, bounds(worker_seconds=0.3)),
        ("deadline", "import time\ntime.sleep(3600)", bounds(worker_seconds=0.3)),
        ("host", HANG, bounds(host_seconds=0.3)),
        ("host", LOOP, bounds(host_seconds=0.3)),
        ("memory", GROW, bounds(memory_bytes=16 << 20)),
        ("output", "while True: print('x' * 100)", bounds(output_bytes=10_000)),
    ],
)
async def test_each_bound_holds_alone(bench: Bench, reason: str, code: str, alone: Any) -> None:
    await bench.run("1")
    began = time.monotonic()
    result = await bench.run(code, alone)
    assert (result.status, result.reason) == ("killed", reason)
    assert time.monotonic() - began < (0.3 * 1.5 + 0.3 if reason in ("time", "deadline", "host") else 10)
    assert not is_alive(bench.started[0].process.pid)
    assert (await bench.run("2")).value == "2"
    assert len(bench.started) == 2


async def test_the_interpreter_s_stack_bound_holds_alone(bench: Bench) -> None:
    result = await bench.run(DEEP, bounds(depth=50))
    assert result.status == "error"
    assert "RecursionError" in result.error
    control = await bench.run("def f(n): return n if n == 0 else f(n - 1)\nf(40)", bounds(depth=50))
    assert control.value == "0"


@pytest.mark.parametrize("code", [GROW, DEEP])
async def test_the_address_space_holds_alone(code: str) -> None:
    """Without any bound of the interpreter's own the kernel ends it; the worker is replaced."""
    bench = Bench(address_space_bytes=224 << 20)
    result = await bench.run(code, bounds())
    assert result.status == "killed"
    assert result.reason in ("memory", "crashed")
    assert (await bench.run("1")).value == "1"
    assert len(bench.started) == 2
    await bench.pool.close()


async def test_with_all_bounds_the_interpreter_s_comes_first_and_it_is_in_time(bench: Bench) -> None:
    await bench.run("1")
    began = time.monotonic()
    result = await bench.run(LOOP, within(0.5))
    assert (result.status, result.reason) == ("killed", "time")
    assert time.monotonic() - began < 0.5 * 1.5


async def test_the_time_of_a_tool_does_not_count(bench: Bench) -> None:
    bench.answer = lambda *_: asyncio.sleep(0.6, "x")
    result = await bench.run("read_file('a')['text']", within(0.3))
    assert (result.status, result.value) == ("done", '"x"')
    control = await bench.run("import time\ntime.sleep(0.6)", within(0.3))
    assert control.status == "killed"


async def test_calls_are_counted(bench: Bench) -> None:
    code = "codes = [read_file('a')['error_code'] for _ in range(5)]\ncodes"
    result = await bench.run(code, bounds(10, calls=3))
    assert json.loads(result.value) == [None, None, None, "call_limit", "call_limit"]
    assert len(bench.calls) == 3


async def test_stopping_the_call_ends_the_worker_and_the_interpreter(bench: Bench) -> None:
    running = asyncio.create_task(bench.run("print('on')\nwhile True: pass", bounds()))
    await bench.spoke.wait()
    pid = bench.started[0].process.pid
    below = children(pid)
    assert is_alive(pid)
    assert below
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_alive(pid)
    assert all([await ended(one) for one in below])
    assert (await bench.run("1")).value == "1"


async def test_a_request_over_the_bound_is_no_worker_s_fault(bench: Bench) -> None:
    with pytest.raises(ValueError, match="at most"):
        await bench.run("1", messages=[{"role": "user", "content": "x" * (2 << 20)}])
    assert (await bench.run("1")).value == "1"
