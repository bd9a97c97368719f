"""`run_shell` through the real workshop: background commands, floods, what the model is told."""

import asyncio
import tracemalloc

import pytest
from guildhall_contracts import limits
from guildhall_executor.tools.arguments import BadArguments, check
from guildhall_executor.tools.shell import RunShell
from support.tool_place import Place
from support.workshop import alive, gone

pytestmark = pytest.mark.go


async def test_a_server_runs_on_between_calls_and_is_stopped(place: Place) -> None:
    mark = "424243.7"
    started = await place.shell(f"echo ready; sleep {mark}", background=True)
    assert started.result.shown == "runs on in the background as job 1\nready"
    assert (await place.shell("echo between")).result.shown == "exit code 0\nbetween"
    assert alive(f"sleep {mark}")
    assert (await place.shell(job=0)).result.shown == f"job 1: running: echo ready; sleep {mark}"
    assert (await place.shell(job=1)).result.shown == "job 1: running\nready"
    assert (await place.shell(job=1, stop=True)).result.shown == "job 1: stopped\nready"
    assert gone(f"sleep {mark}")
    assert (await place.shell(job=2)).result.error_code == "not_found"


async def test_output_of_a_background_command_is_read_later(place: Place) -> None:
    (place.folder / "go").unlink(missing_ok=True)
    await place.shell("while [ ! -e go ]; do sleep 0.05; done; echo late; exit 3", background=True)
    assert (await place.shell(job=1)).result.shown == "job 1: running\nno output"
    (place.folder / "go").touch()
    for _ in range(100):
        seen = (await place.shell(job=1)).result
        if "running" not in seen.shown:
            break
        await asyncio.sleep(0.05)
    assert (seen.shown, seen.exit_code, seen.is_error) == ("job 1: exit code 3\nlate", 3, False)


async def test_an_undeclared_child_is_ended_and_the_model_is_told_how_to_keep_one(place: Place) -> None:
    ran = await place.shell("sleep 424244.7 & echo up")
    assert "children left running were ended (background keeps" in ran.result.shown
    assert gone("sleep 424244.7")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "give either 'command' or 'job'"),
        ('{"command": "  "}', "give either 'command' or 'job'"),
        ('{"command": "ls", "job": 1}', "give either 'command' or 'job'"),
        ('{"job": 1, "background": true}', "leave out 'job'"),
        ('{"job": 0, "stop": true}', "'stop' needs the number"),
        ('{"command": "ls", "stop": true}', "'stop' needs the number"),
        ('{"job": -1}', "'job'"),
        ('{"command": "ls", "timeout_seconds": 0}', "'timeout_seconds'"),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, said: str) -> None:
    refused = check(RunShell, text)
    assert isinstance(refused, BadArguments)
    assert said in refused.message
    assert isinstance(check(RunShell, '{"command": "ls"}'), RunShell)
    assert isinstance(check(RunShell, '{"job": 0}'), RunShell)


def test_titles_say_what_a_call_does() -> None:
    titles = [RunShell(command=" make\nall").title(), RunShell(job=3, stop=True).title(), RunShell(job=0).title()]
    assert titles == ["make", "stop job 3", "list background commands"]


async def test_a_gigabyte_of_output_costs_the_executor_little(place: Place) -> None:
    """SH-06: head and tail are kept, the rest is counted."""
    tracemalloc.start()
    try:
        ran = await place.shell("echo FIRST; head -c 1073741824 /dev/zero; echo; echo LAST", timeout_seconds=300)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * limits.MIB
    assert ran.result.exit_code == 0
    assert ran.result.omitted_bytes > 1_073_000_000
    assert len(ran.result.shown.encode()) <= limits.EVENT_TOOL_OUTPUT_MAX_BYTES
    assert ran.result.blocks[1].text.startswith("FIRST")
    assert ran.result.blocks[1].text.endswith("LAST")


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("printf '%5000000s' x | tr ' ' y", "x"),
        ("yes | head -300000", "y"),
        ("printf 'a\\360b\\n'; head -c 200000 /dev/zero | tr '\\0' y; echo MARK; exit 3", "MARK"),
        ("head -c 4096 /bin/sh; echo; echo END", "END"),
    ],
)
async def test_whatever_is_printed_is_cut_by_bytes_and_its_end_is_kept(place: Place, command: str, end: str) -> None:
    """SH-07, SH-08, SH-09."""
    ran = await place.shell(command)
    assert len(ran.result.shown.encode()) <= limits.EVENT_TOOL_OUTPUT_MAX_BYTES
    assert ran.result.shown.endswith(end)
    assert ran.result.exit_code == (3 if "exit 3" in command else 0)


async def test_a_thousand_redraws_are_a_line(place: Place) -> None:
    """SH-10."""
    loop = "i=0; while [ $i -lt 1000 ]; do printf '\\r\\033[1A\\033[2K\\033[32m%d%%\\033[0m' $i; i=$((i+1)); done"
    ran = await place.shell(f"printf '\\033]0;title\\007'; {loop}; echo; echo done")
    assert ran.result.blocks[1].text == "999%\ndone"
