"""Promise: nothing repository code writes or prints anywhere becomes a LogEvent of the Run."""

import json
import subprocess

import pytest
from guildhall_contracts.events import RunSummarized, decode_event
from support.inpod import RunningPod, asking_runs
from support.installation import Installation, condition
from support.people import answer

pytestmark = pytest.mark.cluster

FORGE = r"""
import glob, os, sys
line = sys.argv[1].encode() + b"\n"
wrote = 0
plain = ["/dev/tty", "/dev/console", "/dev/stdout", "/proc/1/fd/1"]
for path in [*glob.glob("/proc/[0-9]*/fd/*"), *glob.glob("/dev/pts/*"), *plain]:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        wrote += os.write(fd, line) > 0
        os.close(fd)
    except OSError:
        pass
print(wrote)
"""
MARK = "FORGED-8151"
WHERE_IT_IS_TEXT = {"tool.progress", "tool.finished", "changes.updated"}


def is_an_event(line: str) -> bool:
    """Whether the api would take `line` for an event, were it the executor's."""
    found = decode_event(line.encode())
    return isinstance(found, RunSummarized) and found.summary == MARK


def followed(pod: RunningPod) -> "subprocess.Popen[str]":
    """The executor's own output, to its end: a sealed Run's pod is removed."""
    argv = ["kubectl", "-n", pod.here.namespace, "logs", "-f", pod.pod["metadata"]["name"], "-c", "executor"]
    return subprocess.Popen(argv, env=pod.here.environment, stdout=subprocess.PIPE, text=True)


def test_forged_events_reach_no_one(installation: Installation) -> None:
    """A tool prints them, a file and its name hold them, and code that broke out writes them to whatever is open."""
    with asking_runs(installation, "forger", "x02") as (pod,):
        command, *files = [event["output"] for event in pod.events() if event["type"] == "tool.finished"]
        assert any(is_an_event(line) for line in command.split("\n")), "control: perfect events were printed"
        assert [MARK in output for output in files] == [True, True], "control: a file holds some, and is named like one"
        last = pod.events()[-1]
        forged = {name: last[name] for name in ("v", "run", "attempt", "ts")}
        forged |= {"seq": last["seq"] + 1, "type": "run.summarized", "summary": MARK}
        assert is_an_event(json.dumps(forged))
        done = pod.inside("workshop", "python3", "-c", FORGE, json.dumps(forged))
        assert int(done.stdout.split()[-1]) > 0, "positive control: some descriptor took the line"
        assert MARK in done.stdout, "positive control: the forger's own output has it"
        log = followed(pod)
        assert answer(installation, pod.name, "Yes").status == 202
        run = installation.wait_done(pod.name)
        assert condition(run, "Succeeded")["status"] == "True", installation.story(pod.name)
        installation.wait_run(pod.name, lambda found: condition(found, "Sealed").get("status") == "True", 60)
        events = pod.events()
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert [event["type"] for event in events][-2:] == ["run.summarized", "run.finished"], (
            "what came later is stored"
        )
        assert [event["summary"] for event in events if event["type"] == "run.summarized"] == ["All was printed"]
        assert {event["type"] for event in events if MARK in json.dumps(event)} <= WHERE_IT_IS_TEXT
        flow = installation.api(f"/api/runs/{installation.namespace}.{pod.name}/flow").body
        assert flow["summary"]["summary"] == "All was printed"
        assert (flow["model"]["run"]["unreadable"], flow["model"]["run"]["gaps"]) == (0, [])
        assert MARK not in json.dumps(installation.get("run", pod.name)["status"])
        lines = [json.loads(line) for line in log.communicate(timeout=30)[0].rstrip("\n").split("\n")]
        assert [(line["seq"], line["type"]) for line in lines] == [(event["seq"], event["type"]) for event in events]
