"""The executor killed at every event of a Run, and in the middle of what takes time: it is taken up again, nothing done
is done again, and it ends as it would have."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ModelRequest, ToolMessage
from support.executor_forks import KILLED, Nursery, nursery
from support.executor_gateway import FakeGateway, one, serving
from support.executor_process import Process, end_all, start, until
from support.executor_run import snapshot
from support.workshop import Workshop, with_one_file

pytestmark = pytest.mark.go

EVENTS_COUNT = 25  # of the Run below when nobody kills it; `test_the_run_when_nobody_kills_it` holds it
TOOLS = ("run_shell", "edit_file", "run_shell", "read_file")
ASKED = [f"{name} c{number}" for number, name in enumerate(("first", "second", "third", "fourth", "fifth"), 1)]


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with with_one_file(tmp_path / "w") as server:
        yield server


@pytest.fixture(scope="module")
def forks() -> Iterator[Nursery]:
    with nursery() as made:
        yield made


def script(log: list[str], third: str = "echo y >> log.txt; echo third") -> list[Any]:
    """Five replies; each is given again for the same call id, as the gateway does."""

    def noted(name: str, value: Any) -> Any:
        def answer(request: ModelRequest) -> Any:
            log.append(f"{name} {request.call_id}")
            return value

        return answer

    return [
        noted("first", one("run_shell", command="echo x >> log.txt; echo first")),
        noted("second", one("edit_file", path="a.txt", old_text="one", new_text="two")),
        noted("third", one("run_shell", command=third)),
        noted("fourth", one("read_file", path="a.txt")),
        noted("fifth", one("finish", result="done")),
    ]


def ended_right(last: Process, workshop: Workshop, gateway: FakeGateway) -> list[str]:
    """Asserts what holds however often the Run was killed; gives the operations whose tool was cut off."""
    events = last.journal
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), "each once and without a gap"
    assert [event.type for event in events].count("run.finished") == 1
    assert (events[-1].type, events[-1].outcome, events[-1].result) == ("run.finished", "succeeded", "done")
    started = [event for event in events if event.type == "tool.started"]
    assert tuple(event.tool for event in started) == TOOLS
    cut = [event.op for event in events if event.type == "tool.finished" and event.error_code == "interrupted"]
    assert len(cut) <= 1
    done = {event.op: int(event.op not in cut) for event in started}
    shell_x, edit, shell_y, _ = (event.op for event in started)
    lines = (workshop.workspace / "log.txt").read_text().split()
    assert done[shell_x] <= lines.count("x") <= 1
    assert done[shell_y] <= lines.count("y") <= 1
    assert (workshop.workspace / "a.txt").read_text() in ({"two\n"} if done[edit] else {"one\n", "two\n"})
    every_call_has_its_result(gateway)
    return cut


def every_call_has_its_result(gateway: FakeGateway) -> None:
    for request in gateway.requests:
        called = [c.id for m in request.messages if m.kind == "assistant" for c in m.tool_calls]
        answered = [m.call for m in request.messages if isinstance(m, ToolMessage)]
        assert called == answered


def test_the_run_when_nobody_kills_it(tmp_path: Path, workshop: Workshop, forks: Nursery) -> None:
    log: list[str] = []
    with serving(*script(log)) as gateway:
        code, whole = forks.attempt(tmp_path / "x", snapshot(url=gateway.url), workshop.socket_path, 1)
    assert (code, whole.stderr) == (0, b"")
    assert len(whole.events) == len(whole.journal) == EVENTS_COUNT
    assert ended_right(whole, workshop, gateway) == []
    assert log == ASKED


@pytest.mark.parametrize("count", range(EVENTS_COUNT + 1))
def test_killed_with_so_many_events_it_is_taken_up_and_ends_right(
    tmp_path: Path, workshop: Workshop, forks: Nursery, count: int
) -> None:
    """The last event of the first attempt is in the journal and was not printed; with 0 nothing was said yet."""
    log: list[str] = []
    with serving(*script(log)) as gateway:
        snap = snapshot(url=gateway.url)
        code, first = forks.attempt(tmp_path / "x", snap, workshop.socket_path, 1, kill_with=count)
        assert code == KILLED
        assert (len(first.journal), len(first.events)) == (count, max(count - 1, 0)), "it was killed there"
        before = first.journal
        code, second = forks.attempt(tmp_path / "x", snap, workshop.socket_path, 2)
    assert (code, second.stderr) == (0, b"")
    assert second.journal[:count] == before, "what was said stays said"
    assert ended_right(second, workshop, gateway) == at_work_when_resumed(second), "cut off is what was at work alone"
    assert log == ASKED, "a settled call was made anew"


def at_work_when_resumed(last: Process) -> list[str]:
    """The tools that had been begun and not ended, by all that follows from the inputs of the first attempt."""
    events = last.journal
    begun = [at for at, event in enumerate(events) if event.type == "run.started"]
    told = events[: begun[1]] if len(begun) > 1 else events
    ended = {event.op for event in told if event.type == "tool.finished"}
    return [event.op for event in told if event.type == "tool.started" and event.op not in ended]


def killed_in_the_middle(
    base: Path, workshop: Workshop, gateway: FakeGateway, reached: Any, between: Any = lambda: None
) -> Process:
    """A process of its own, killed by its pid as soon as `reached`, and another that takes the Run up."""
    snap = snapshot(url=gateway.url)
    first = start(base, snap, socket=workshop.socket_path)
    until(lambda: bool(reached()))
    first.kill()
    between()
    second = start(base, snap, socket=workshop.socket_path, attempt=2)
    assert second.wait() == 0, second.printed
    assert second.journal[: len(first.events)] == first.events
    return second


def test_killed_while_a_command_runs_it_is_not_run_again(tmp_path: Path, workshop: Workshop) -> None:
    file = workshop.workspace / "log.txt"
    slow = "echo y >> log.txt; sleep 60"
    with serving(*script(log := [], slow)) as gateway:
        reached = lambda: file.exists() and "y" in file.read_text()  # noqa: E731
        second = killed_in_the_middle(tmp_path / "x", workshop, gateway, reached)
    (cut,) = ended_right(second, workshop, gateway)
    assert cut == [event.op for event in second.journal if event.type == "tool.started"][2]
    assert file.read_text().split() == ["x", "y"], "it had begun, and it is not known to have ended: once, all the same"
    assert log == ASKED


def test_killed_while_the_model_answers_the_call_is_asked_for_again_under_its_id(
    tmp_path: Path, workshop: Workshop
) -> None:
    log: list[str] = []
    killed = threading.Event()
    answers = script(log)
    second_answer = answers[1]

    def slow(request: ModelRequest) -> Any:
        assert killed.wait(30)
        return second_answer(request)

    answers[1] = slow
    with serving(*answers) as gateway:

        def settle() -> None:
            killed.set()
            until(lambda: "c2" in gateway.settled)

        reached = lambda: len(gateway.requests) == 2  # noqa: E731
        second = killed_in_the_middle(tmp_path / "x", workshop, gateway, reached, settle)
    assert ended_right(second, workshop, gateway) == []
    assert [request.call_id for request in gateway.requests] == ["c1", "c2", "c2", "c3", "c4", "c5"]
    assert log == ASKED
