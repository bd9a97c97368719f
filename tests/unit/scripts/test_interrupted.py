"""Ctrl-C: one line that says how to go on, exit status 130, no traceback, and nothing of it runs on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import ROOT, Machine
from .test_demo_choice import with_everything

WAITS = 'echo $$ >"$HERE/waiting.new"; mv "$HERE/waiting.new" "$HERE/waiting"; exec sleep 60'


def ctrl_c(machine: Machine, command: list[str], **more: str) -> tuple[int, str, str]:
    """Starts `command` as a terminal would, presses Ctrl-C when the program it waits for waits; status and output."""
    process = subprocess.Popen(
        command, env={**machine.environment, **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    waiting, end = machine.folder / "waiting", time.monotonic() + 30
    try:
        while not waiting.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert waiting.exists(), process.communicate(timeout=5)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=40)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, out, err


def runs(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rsplit(") ", 1)[1][0] != "Z"


def waiting_pid(machine: Machine) -> int:
    return int((machine.folder / "waiting").read_text())


@pytest.fixture
def able(machine: Machine) -> Machine:
    (machine.bin / "mv").symlink_to("/bin/mv")
    return machine


def test_the_demo_says_how_to_go_on_or_to_remove_it(able: Machine) -> None:
    with_everything(able).program("kind", f'if [ "$1" = create ]; then {WAITS}; fi')
    status, out, err = ctrl_c(able, [sys.executable, str(ROOT / "scripts" / "demo"), "up", "--yes"])
    assert (status, err) == (130, "")
    assert out.splitlines()[-1].startswith("demo: interrupted; `make demo` goes on")
    assert "`make demo-down`" in out.splitlines()[-1]
    assert "Traceback" not in out
    assert not runs(waiting_pid(able))


@pytest.mark.skipif(
    os.geteuid() != 0, reason="the embedded cluster refuses whoever is not root before it does anything"
)
@pytest.mark.parametrize(("within", "lines"), [("", 1), ("demo", 0)])
def test_the_cluster_says_that_the_same_command_goes_on(able: Machine, within: str, lines: int) -> None:
    able.program("modprobe", WAITS)
    command = [sys.executable, str(ROOT / "tests" / "cluster" / "cluster.py"), "up"]
    status, out, err = ctrl_c(able, command, GUILDHALL_WITHIN=within)
    assert (status, out) == (130, "")
    assert err.split("\n", 1)[-1] == "cluster: interrupted; the same command goes on where this one stopped\n" * lines
    assert not runs(waiting_pid(able))


@pytest.mark.parametrize(("within", "lines"), [("", 1), ("demo", 0)])
def test_the_image_build_says_that_the_same_command_goes_on(able: Machine, within: str, lines: int) -> None:
    able.program("docker", WAITS)
    command = [sys.executable, str(ROOT / "images" / "build.py"), "busybox", "--builder", "docker"]
    status, out, err = ctrl_c(able, command, GUILDHALL_WITHIN=within)
    assert (status, out) == (130, "")
    told = "images: interrupted; the same command goes on, and builds only what is not built yet\n"
    assert err.split("\n", 1)[-1] == told * lines
    assert not runs(waiting_pid(able))


STAGE = """
import sys
sys.path[:0] = [{scripts!r}, {tests!r}, {root!r}]
import test_all
from pathlib import Path
from testing import report, runner
from testing.stages import Stage
for module in (runner, report):
    module.OUT = Path({out!r})
runner.CLEAN_UP_SECONDS = 1
test_all.main = lambda: runner.run_all([Stage("slow", ["sh", "-c", {script!r}], after="")])
sys.exit(test_all.interruptible())
"""


@pytest.mark.parametrize("deaf", [False, True])
def test_the_stage_of_make_test_ends_with_all_it_started(able: Machine, deaf: bool) -> None:
    """A stage is in a session of its own, where the terminal's Ctrl-C does not come."""
    inner = f"HERE={able.folder}; {WAITS}"
    script = f"{'trap : INT; ' if deaf else ''}({inner}) & wait; wait; wait"
    places = {"scripts": str(ROOT / "scripts"), "tests": str(ROOT / "tests"), "root": str(ROOT)}
    code = STAGE.format(**places, out=str(able.folder), script=script)
    status, out, err = ctrl_c(able, [sys.executable, "-c", code])
    assert (status, err) == (130, "")
    assert "\ntest: interrupted; " in out
    assert out.endswith("`make cluster-down` takes the cluster down if it is up\n")
    assert "Traceback" not in out
    assert not runs(waiting_pid(able))
