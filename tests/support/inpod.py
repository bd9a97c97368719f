"""A Run that waits, and a way to act inside its containers as the users they run as."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support.installation import Installation, one_role_guild, run_manifest


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

    def events(self) -> list[dict[str, Any]]:
        return self.here.events_of(self.name)


@contextmanager
def waiting_run(here: Installation, name: str) -> Iterator[RunningPod]:
    """A Run of the `patient` scenario, from its long wait on; it is cancelled and deleted at the end."""
    here.delete("run", name)
    here.apply(run_manifest(name, guild=one_role_guild("patient", "run_shell")))
    try:
        run = here.wait_run(name, lambda found: found.get("status", {}).get("phase") == "Running", 90)
        uid = run["metadata"]["uid"]
        (pod,) = here.items("pods", selector=f"guildhall.dev/run={uid}")
        pod_run = RunningPod(here, run, pod)
        here.wait_run(name, lambda _run: any(e["type"] == "tool.finished" for e in pod_run.events()), 30)
        yield pod_run
    finally:
        here.delete("run", name)
