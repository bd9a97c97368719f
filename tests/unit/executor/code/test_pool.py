"""Workers: what they are started with, who gets which, and what becomes of one that is not to be trusted."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_executor.code import pool as pool_module
from guildhall_executor.code.bounds import within
from guildhall_executor.code.pool import NoWorker, Pool, Worker, WorkerLost, environment, start_worker
from guildhall_executor.code.runner import CodeRequest, run
from support.code import Bench, is_alive


async def test_a_role_keeps_its_worker_and_shares_it_with_nobody(bench: Bench) -> None:
    for role in ("coder", "coder", "reviewer", "coder", "reviewer"):
        await bench.run("1", role=role)
    assert [worker.uses for worker in bench.started] == [3, 2]


async def test_at_most_so_many_live_and_the_idle_ones_make_room(bench: Bench) -> None:
    for role in ("a", "b", "c"):
        await bench.run("1", role=role)
    alive = [is_alive(worker.process.pid) for worker in bench.started]
    assert alive == [False, True, True]
    assert sum(alive) == limits.CODE_WORKERS_MAX_COUNT


async def test_further_code_waits_until_a_worker_is_free(bench: Bench) -> None:
    held: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    bench.answer = lambda *_: held
    first = [asyncio.create_task(bench.run("read_file('a')['text']", role=role)) for role in ("a", "b")]
    while len(bench.calls) < 2:  # noqa: ASYNC110  both are inside a call
        await asyncio.sleep(0.01)
    third = asyncio.create_task(bench.run("3", role="c"))
    await asyncio.sleep(0.1)
    assert not third.done()
    assert len(bench.started) == 2
    held.set_result("x")
    assert [(await one).value for one in (*first, third)] == ['"x"', '"x"', "3"]


async def test_a_worker_is_used_so_often_and_then_replaced(bench: Bench) -> None:
    await bench.run("1")
    bench.started[0].uses = limits.CODE_WORKER_USES_MAX_COUNT - 1
    await bench.run("1")
    await bench.run("1")
    assert len(bench.started) == 2
    assert not is_alive(bench.started[0].process.pid)


async def test_closing_ends_every_worker(bench: Bench) -> None:
    await bench.run("1", role="a")
    await bench.run("1", role="b")
    await bench.pool.close()
    assert [is_alive(worker.process.pid) for worker in bench.started] == [False, False]


def test_the_environment_is_a_list_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("GUILDHALL_ATTEMPT", "1")
    monkeypatch.setenv("SECRET", "x")
    assert set(environment()) <= {
        "LC_ALL",
        "MALLOC_ARENA_MAX",
        "PYTHONPATH",
        "PYTHONSAFEPATH",
        "PYTHONNOUSERSITE",
        "PYTHONDONTWRITEBYTECODE",
    }
    assert environment()["PYTHONPATH"] == "/somewhere"


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Another program in the worker's place."""
    (folder / "impostor.py").write_text(f"import sys, os, time, json, struct\n{PRELUDE}\n{body}\n")
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(pool_module, "MODULE", "impostor")


PRELUDE = """
def say(**value):
    body = json.dumps(value).encode()
    os.write(1, struct.pack(">I", len(body)) + body)
READY = {"files": True, "calls": True, "privileges": True}
"""


@pytest.mark.parametrize(
    ("held", "lacks"),
    [
        ("{}", "Landlock and no seccomp"),
        ("READY | {'files': False}", "Landlock"),
        ("READY | {'calls': False}", "seccomp"),
    ],
)
async def test_a_node_that_cannot_confine_runs_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str, lacks: str
) -> None:
    stand_in(tmp_path, monkeypatch, f"say(kind='ready', held={held})\ntime.sleep(60)")
    with pytest.raises(NoWorker, match=lacks):
        await start_worker()
    stand_in(tmp_path, monkeypatch, "say(kind='ready', held=READY)\ntime.sleep(60)")
    worker = await start_worker()
    assert is_alive(worker.process.pid)
    await worker.end()


@pytest.mark.parametrize("body", ["", "os.write(1, b'hello world')", "say(kind='print', text='x')", "sys.exit(3)"])
async def test_what_does_not_come_up_as_a_worker_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    stand_in(tmp_path, monkeypatch, body)
    with pytest.raises(NoWorker):
        await start_worker()


async def test_a_worker_that_never_comes_up_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    monkeypatch.setattr(pool_module, "START_SECONDS", 1.0)
    with pytest.raises(NoWorker, match="time is over"):
        await start_worker()
    assert not is_alive(int((tmp_path / "pid").read_text()))


ANSWERS: dict[str, tuple[str, str]] = {
    "nonsense": ("os.write(1, b'\\0\\0\\0\\2{]')", "nonsense"),
    "a frame without end": ("os.write(1, b'\\xff\\xff\\xff\\xff' + b'x' * 100)", "nonsense"),
    "ready again": ("say(kind='ready', held=READY)", "nonsense"),
    "a flood of prints": ("\nwhile True: say(kind='print', text='x' * 10000)", "output"),
    "empty prints": ("\nwhile True: say(kind='print', text='')", "output or host"),
    "silence": ("time.sleep(60)", "host"),
    "its end": ("sys.exit(0)", "crashed"),
}


@pytest.mark.parametrize("what", ANSWERS)
async def test_a_worker_that_was_taken_over_can_only_end_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    body, reason = ANSWERS[what]
    stand_in(tmp_path, monkeypatch, f"say(kind='ready', held=READY)\nsys.stdin.buffer.read(4)\n{body}")
    pool, started = recorded()
    result = await run(pool, "coder", CodeRequest("1", [], {}, within(0.5)), refuse, lambda _: None)
    assert result.status == "killed"
    assert result.reason in reason.split(" or ")
    assert not is_alive(started[0].process.pid)


async def test_a_worker_that_was_taken_over_calls_only_what_the_code_was_lent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = "\n".join(
        f"say(kind='call', id={n}, tool={t!r}, arguments='{{}}')" for n, t in enumerate(["run_shell", "ok"], 1)
    )
    stand_in(
        tmp_path,
        monkeypatch,
        f"say(kind='ready', held=READY)\nsys.stdin.buffer.read(4)\n{calls}\n"
        "say(kind='result', status='done', value='1')\ntime.sleep(60)",
    )
    heard: list[str] = []

    async def host(tool: str, arguments: str) -> dict[str, Any]:
        heard.append(tool)
        return {"text": "", "error_code": None, "exit_code": None}

    pool, _ = recorded()
    result = await run(pool, "coder", CodeRequest("1", [], {"ok": []}, within(5)), host, lambda _: None)
    await pool.close()
    assert (result.status, heard) == ("done", ["ok"])


async def refuse(tool: str, arguments: str) -> dict[str, Any]:
    raise AssertionError("nothing is called here")


def recorded() -> tuple[Pool, list[Worker]]:
    started: list[Worker] = []

    async def start() -> Worker:
        started.append(await start_worker())
        return started[-1]

    return Pool(start), started


def test_a_worker_that_leads_no_group_does_not_begin() -> None:
    command = [sys.executable, "-m", "guildhall_executor.code.worker", str(1 << 28)]
    made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert (made.returncode, made.stdout) == (1, "")
    assert "process group" in made.stderr


async def test_a_dead_worker_takes_no_requests(bench: Bench) -> None:
    worker = await start_worker()
    await worker.end()
    with pytest.raises(WorkerLost):
        await worker.read()


async def test_python_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(NoWorker, match="FileNotFoundError"):
        await start_worker()
