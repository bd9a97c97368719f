"""Promise: a memory bomb in a tool kills that tool, and says so; one in the executor ends the Run as OOMKilled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster import eventually
from support.inpod import waiting_run
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.processes import host_process

pytestmark = pytest.mark.cluster

# Takes memory in many small processes, of which none is worth killing before the one that is marked as the first to go.
BOMB = r"""
import os, time
while os.fork():
    time.sleep(0.02)
kept = b"x" * (24 << 20)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def bombed(installation: Installation) -> Iterator[str]:
    """A Run whose commands are the bombs, under way beside the other."""
    installation.delete("run", "r02-tool")
    installation.apply(run_manifest("r02-tool", guild=one_role_guild("memory-bomb", "run_shell")))
    yield "r02-tool"
    installation.delete("run", "r02-tool")


def test_an_executor_that_runs_out_of_memory_at_work(installation: Installation, bombed: str) -> None:
    """(At its start: `tests/cluster/test_operator_memory.py`.) What it had said by then is kept."""
    assert bombed
    with waiting_run(installation, "r02-executor") as pod:
        before = pod.events()
        assert len(before) > 3, "control: it was at work"
        number = host_process(installation, pod.status("executor"))
        Path(f"/proc/{number}/oom_score_adj").write_text("1000")
        pod.inside("executor", "python3", "-c", BOMB, seconds=90)
        ended: dict[str, Any] = {}
        eventually(lambda: ended.update(pod.status("executor")["state"].get("terminated", {})) or ended, 30)
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137), "by the kernel"
        assert pod.status("workshop")["restartCount"] == 0, "the bomb was the executor's alone"
        run = installation.wait_done("r02-executor", 60)
        assert (run["status"]["phase"], run["status"]["reason"]) == ("Failed", "OOMKilled"), installation.story(
            pod.name
        )
        assert "executorResources.memory" in condition(run, "Succeeded")["message"]
        assert len(run["status"]["attempts"]) == 1, "what an agent did is not run again"
        assert pod.events()[: len(before)] == before


def test_a_tool_that_takes_too_much_is_killed_and_the_model_is_told(installation: Installation, bombed: str) -> None:
    """The scenario expects the words of each result, so the Run fails where the model is told anything else."""
    run = installation.wait_done(bombed, 120)
    assert condition(run, "Succeeded")["status"] == "True", condition(run, "Succeeded") or installation.story(bombed)
    small, bomb, in_shell, after = [e for e in installation.events_of(bombed) if e["type"] == "tool.finished"]
    assert small["outcome"] == "success", "control: a small one lives"
    assert (bomb["outcome"], bomb["errorCode"]) == ("error", "signalled")
    assert (in_shell["outcome"], in_shell.get("exitCode")) == ("success", 0)
    assert after["outcome"] == "success"
