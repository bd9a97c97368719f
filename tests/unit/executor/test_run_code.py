"""`run_code` in a whole executor: real workers, the real workshop, a scripted gateway; and as a process that ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ToolMessage
from support.code import children, is_alive
from support.executor_gateway import FakeGateway, calls, one, serving, tool_call
from support.executor_process import end_all, start, until
from support.executor_run import Outcome, role, run, snapshot
from support.workshop import Workshop, running

pytestmark = pytest.mark.go
TOOLS = ["run_code", "read_file", "write_file", "run_shell"]
GUILD: dict[str, Any] = {"entryRole": "solo", "roles": [role("solo", TOOLS)], "models": {"main": "scripted:test"}}
FINISH = one("finish", result="ok")


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    (tmp_path / "w" / "workspace").mkdir(parents=True)
    (tmp_path / "w" / "workspace" / "a.txt").write_text("one\ntwo\nthree\n")
    with running(tmp_path / "w", "--unconfined") as server:
        yield server


def coded(base: Path, workshop: Workshop, code: str, **more: Any) -> tuple[Outcome, FakeGateway]:
    """A Run whose role runs `code` and finishes."""
    with serving(one("run_code", code=code, **more), FINISH) as gateway:
        outcome = run(base / "x", snapshot(GUILD, url=gateway.url), socket=workshop.socket_path)
    return outcome, gateway


def read(gateway: FakeGateway) -> str:
    """What the model read of its code."""
    (message,) = [m for m in gateway.requests[-1].messages if isinstance(m, ToolMessage)]
    return "\n".join(part.text for part in message.content)


def test_code_calls_a_tool_prints_and_gives_a_value(tmp_path: Path, workshop: Workshop) -> None:
    code = "lines = read_file('a.txt')['text'].splitlines()\nprint('seen', len(lines))\n{'last': lines[-1]}"
    outcome, gateway = coded(tmp_path, workshop, code)
    assert outcome.message.outcome == "succeeded"
    assert read(gateway) == 'done; the value is\n{"last":"three"}\nseen 3'
    outer, inner = outcome.of("tool.started")
    assert (outer.tool, inner.tool, inner.parent) == ("run_code", "read_file", outer.op)
    assert [(e.op, e.outcome) for e in outcome.of("tool.finished")] == [(inner.op, "success"), (outer.op, "success")]


def test_what_is_printed_comes_while_the_code_runs(tmp_path: Path, workshop: Workshop) -> None:
    outcome, _ = coded(tmp_path, workshop, "print('early')\nrun_shell('sleep 1')\nprint('late')")
    (progress, *_) = outcome.of("tool.progress")
    assert "early" in progress.text
    assert progress.seq < outcome.of("tool.finished")[-1].seq


def test_code_writes_by_the_tools_of_its_role(tmp_path: Path, workshop: Workshop) -> None:
    code = (
        "for n in range(3): write_file(f'f{n}.txt', str(n) * 2)\n"
        "r = run_shell('cat f*.txt')\n"
        "[r['exit_code'], r['text'][-6:]]"
    )
    _, gateway = coded(tmp_path, workshop, code)
    assert read(gateway) == 'done; the value is\n[0,"001122"]'
    assert (tmp_path / "w/workspace/f2.txt").read_text() == "22"


def test_a_refused_call_is_a_value_the_code_can_act_on(tmp_path: Path, workshop: Workshop) -> None:
    code = "codes = [read_file(p)['error_code'] for p in ('../x', 'nothing', 'a.txt')]\ncodes"
    _, gateway = coded(tmp_path, workshop, code)
    assert read(gateway) == 'done; the value is\n["permission_denied","not_found",null]'


def test_code_sees_the_conversation_of_its_role(tmp_path: Path, workshop: Workshop) -> None:
    _, gateway = coded(tmp_path, workshop, "[m['role'] for m in messages] + ['tests pass' in messages[0]['content']]")
    assert read(gateway) == 'done; the value is\n["user","assistant",true]'


def test_code_that_is_stopped_does_not_stop_the_run(tmp_path: Path, workshop: Workshop) -> None:
    script = [
        one("run_code", code="while True: pass", timeout_seconds=1),
        one("run_code", code="x = []\nwhile True: x.append('a' * 100)"),
        one("run_code", code="1 + 1"),
        FINISH,
    ]
    with serving(*script) as gateway:
        outcome = run(tmp_path / "x", snapshot(GUILD, url=gateway.url), socket=workshop.socket_path)
    assert outcome.message.outcome == "succeeded"
    assert [e.error_code for e in outcome.of("tool.finished")] == ["code_killed", "code_killed", None]


def test_roles_side_by_side_run_code_of_their_own(tmp_path: Path, workshop: Workshop) -> None:
    names = ["a", "b", "c"]
    guild = {
        "entryRole": "lead",
        "roles": [role("lead", TOOLS, names), *(role(name, TOOLS) for name in names)],
        "models": {"main": "scripted:test"},
    }

    def answer(request: Any) -> Any:
        asked = sum(m.kind == "assistant" for m in request.messages)
        if request.role == "lead":
            briefs = [tool_call("delegate", {"role": n, "brief": "b"}, n) for n in names]
            return calls(*briefs) if not asked else FINISH
        code = f"read_file('a.txt')['text'][:3] + ' {request.role}'"
        return one("run_code", code=code) if not asked else one("finish", result=f"{request.role} done")

    with serving(*[answer] * 8) as gateway:
        outcome = run(tmp_path / "x", snapshot(guild, url=gateway.url), socket=workshop.socket_path)
    assert outcome.message.outcome == "succeeded"
    values = {e.role: e.output for e in outcome.of("tool.finished") if "value is" in e.output}
    assert values == {name: f'done; the value is\n"one {name}"' for name in names}


def test_no_worker_outlives_its_executor(tmp_path: Path, workshop: Workshop) -> None:
    """An executor that is killed leaves nobody to end its worker: the worker ends itself."""
    try:
        code = "read_file('a.txt')\nprint('on')\nrun_shell('sleep 60')"
        with serving(one("run_code", code=code)) as gateway:
            process = start(tmp_path / "x", snapshot(GUILD, url=gateway.url), socket=workshop.socket_path)
            until(lambda: any(e.type == "tool.progress" for e in process.events))
            (worker,) = children(process.popen.pid)
            below = [worker, *children(worker)]
            assert len(below) == 2
            os.kill(process.popen.pid, signal.SIGKILL)
            until(lambda: not any(map(is_alive, below)))
    finally:
        end_all()


def test_the_executor_itself_never_imports_the_interpreter(tmp_path: Path) -> None:
    look = "import sys, guildhall_executor.__main__; print(any('monty' in name for name in sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", look], text=True).strip() == "False"
    control = look.replace("guildhall_executor.__main__", "guildhall_executor.code.worker")
    assert subprocess.check_output([sys.executable, "-c", control], text=True).strip() == "True"
