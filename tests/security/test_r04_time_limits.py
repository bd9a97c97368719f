"""R4: a command that ignores every request to end is gone within its limit and two seconds."""

import time
from pathlib import Path

import pytest
from guildhall_contracts import frames
from support.workshop import gone, running

pytestmark = pytest.mark.go

STUBBORN = "trap '' TERM INT HUP QUIT; while :; do sleep 0.1; [ -n \"$QUIET\" ] || echo on; done"


def test_wall_limit_ends_a_command_that_ignores_term(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        mark, began = f"guildhall-r4-{time.time_ns()}", time.monotonic()
        answer = client.sh(f": {mark}; {STUBBORN}", wall_seconds=1)
        took = time.monotonic() - began
        assert answer.last.ended == "wall_timeout"
        assert 1 <= took < 3
        assert gone(mark, 0.1)
        assert answer.text.startswith(b"on\n")


def test_idle_limit_ends_a_silent_one_and_spares_a_talking_one(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        began = time.monotonic()
        silent = client.sh(STUBBORN, env={"QUIET": "1"}, wall_seconds=60, idle_seconds=1)
        assert silent.last.ended == "idle_timeout"
        assert 1 <= time.monotonic() - began < 3.2
        talking = client.sh("for i in 1 2 3 4; do echo $i; sleep 0.5; done", idle_seconds=1)
        assert talking.last.ended == "exited"  # control


def test_term_comes_before_kill(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        answer = client.sh("trap 'echo cleaned; exit 0' TERM; echo up; while :; do sleep 0.1; done", wall_seconds=0.5)
        assert answer.last.ended == "wall_timeout"
        assert answer.text.startswith(b"up\n")
        assert answer.text.endswith(b"cleaned\n")


def test_cancel_is_at_once(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        number = client.start(frames.ExecRequest, command=STUBBORN)
        time.sleep(0.3)
        began = time.monotonic()
        assert not client.call(frames.CancelRequest, target=number).code
        assert client.finish(number).code == "cancelled"
        assert time.monotonic() - began < 1
        assert client.sh("echo next").text == b"next\n"


@pytest.mark.parametrize(("signal", "name"), [("TERM", "SIGTERM"), ("INT", "SIGINT"), ("KILL", "SIGKILL")])
def test_kill_reports_the_signal(tmp_path: Path, signal: str, name: str) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        number = client.start(frames.ExecRequest, command="exec sleep 600")
        time.sleep(0.3)
        assert not client.call(frames.KillRequest, target=number, signal=signal).code
        answer = client.finish(number).last
        assert (answer.ended, answer.signal, answer.exit_code) == ("signalled", name, None)
