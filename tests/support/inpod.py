"""A Run that waits, and a way to act inside its containers as the users they run as."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from support.installation import Installation, one_role_guild, run_manifest
from support.people import waits

AT_WORK = {"Running", "AwaitingHuman"}


@dataclass
class RunningPod:
    """A run pod in its long wait."""

    here: Installation
    run: dict[str, Any]
    pod: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.run["metadata"]["name"])

    def inside(
        self, container: str, *command: str, seconds: int = 60, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Runs `command` in a container, unconfined by the workshop: what code that broke out of it could do."""
        base = ["kubectl", "-n", self.here.namespace, "exec", "-i", self.pod["metadata"]["name"], "-c", container, "--"]
        return subprocess.run(
            [*base, *command],
            env=self.here.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def shell(self, script: str, seconds: int = 60) -> subprocess.CompletedProcess[str]:
        return self.inside("workshop", "sh", "-c", script, seconds=seconds)

    def python(self, container: str, script: str, seconds: int = 60) -> subprocess.CompletedProcess[str]:
        return self.inside(container, "python3", "-c", script, seconds=seconds)

    def status(self, container: str) -> dict[str, Any]:
        """The container's status as it is now."""
        found = self.here.get("pod", self.pod["metadata"]["name"])["status"]
        listed = [*found.get("initContainerStatuses", []), *found.get("containerStatuses", [])]
        (status,) = [each for each in listed if each["name"] == container]
        return dict(status)

    def events(self) -> list[dict[str, Any]]:
        return self.here.events_of(self.name)


def _running(here: Installation, name: str) -> RunningPod:
    run = here.wait_run(name, lambda found: found.get("status", {}).get("phase") in AT_WORK, 90)
    (pod,) = here.items("pods", selector=f"guildhall.dev/run={run['metadata']['uid']}")
    return RunningPod(here, run, pod)


@contextmanager
def waiting_run(here: Installation, name: str, scenario: str = "patient", **spec: Any) -> Iterator[RunningPod]:
    """A Run of a scenario of one command, from its long wait of 240 s on; it is cancelled and deleted at the end."""
    here.delete("run", name)
    here.apply(run_manifest(name, guild=one_role_guild(scenario, "run_shell"), **spec))
    try:
        pod = _running(here, name)
        here.wait_run(name, lambda _run: any(e["type"] == "tool.finished" for e in pod.events()), 30)
        yield pod
    finally:
        here.delete("run", name)


@contextmanager
def asking_runs(here: Installation, scenario: str, *names: str) -> Iterator[list[RunningPod]]:
    """Runs side by side, each from the moment it asks a person on; they go on when they are answered."""
    guild = one_role_guild(scenario, "ask_human", "run_shell", "list_files", "read_file")
    for name in names:
        here.delete("run", name)
    here.apply(*(run_manifest(name, guild=guild) for name in names))
    try:
        for name in names:
            waits(here, "questions", name)
        yield [_running(here, name) for name in names]
    finally:
        for name in names:
            here.delete("run", name)


class SharedRun:
    """One waiting Run for several test files of a worker; another follows before its wait is over."""

    FRESH_SECONDS = 120

    def __init__(self, here: Installation, name: str) -> None:
        self._here, self._name = here, name
        self._stack, self._born = ExitStack(), -float(self.FRESH_SECONDS)
        self._pod: RunningPod | None = None

    def pod(self) -> RunningPod:
        """Its pod, with half of the wait left at least. Whoever changes it puts it back."""
        if self._pod is None or time.monotonic() - self._born > self.FRESH_SECONDS:
            self.close()
            self._pod = self._stack.enter_context(waiting_run(self._here, self._name))
            self._born = time.monotonic()
        return self._pod

    def close(self) -> None:
        self._pod = None
        self._stack.close()
