"""A test's view of the embedded cluster: kubectl, namespaces, logs, API writes, and the policy enforcer."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import reads

COMMAND = Path(__file__).resolve().parent.parent / "cluster" / "cluster.py"
BUSYBOX = "guildhall.dev/cluster-busybox:1"
ENFORCER_LOCK = Path("/run/lock/guildhall-enforcer")

# What Pod Security *restricted* asks of a container.
RESTRICTED: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 10002,
    "seccompProfile": {"type": "RuntimeDefault"},
}


class ClusterError(AssertionError):
    """A kubectl or cluster command ended with an error; the message is its last words."""


@dataclass(frozen=True)
class Cluster:
    """A running cluster. `bin` holds kubectl, helm and ctr."""

    kubeconfig: Path
    bin: Path
    audit_log: Path

    def attempt(self, *words: str, stdin: str | None = None, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Run kubectl and return what happened, whatever its exit code."""
        argv = [str(self.bin / "kubectl"), "--kubeconfig", str(self.kubeconfig), *words]
        return subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=seconds, check=False)

    def kubectl(self, *words: str, stdin: str | None = None, seconds: float = 60) -> str:
        """Run kubectl; its stdout, or ClusterError."""
        done = self.attempt(*words, stdin=stdin, seconds=seconds)
        if done.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(words)}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def get(self, *words: str) -> Any:
        """Decoded `kubectl get … -o json`."""
        asked = reads.question(words)
        if asked is None:
            return json.loads(self.kubectl("get", *words, "-o", "json"))
        try:
            return reads.read(self.kubeconfig, asked)
        except reads.NotReadError as error:
            raise ClusterError(f"kubectl get {' '.join(words)}: {error}") from error

    def apply(self, *objects: Mapping[str, Any], namespace: str | None = None) -> None:
        where = ["-n", namespace] if namespace else []
        listing = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", *where, "-f", "-", stdin=json.dumps(listing))

    def execute(self, namespace: str, pod: str, *argv: str) -> subprocess.CompletedProcess[str]:
        return self.attempt("exec", "-n", namespace, pod, "--", *argv)

    @contextmanager
    def namespace(self, prefix: str = "test", security: str = "restricted") -> Iterator[str]:
        """A namespace of its own under a Pod Security level, deleted afterwards."""
        name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        labels = {"pod-security.kubernetes.io/enforce": security}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        try:
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")

    def writes(self, namespace: str) -> list[dict[str, Any]]:
        """Audit events of every write to objects of a namespace so far, oldest first.

        One event per request that was answered; reads are not logged. Watch out for `events`:
        they are writes too, and usually counted apart.
        """
        found = []
        for line in self.audit_log.read_text().splitlines():
            if f'"namespace":"{namespace}"' in line:
                event = json.loads(line)
                if event["stage"] == "ResponseComplete":
                    found.append(event)
        return found

    def ready(self, namespace: str, pod: str, seconds: int = 30) -> None:
        self.kubectl("wait", "-n", namespace, "--for=condition=Ready", f"pod/{pod}", f"--timeout={seconds}s")

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Hold policy enforcement on: tests that assert a refusal must not meet one that switches it off."""
        with _locked(fcntl.LOCK_SH):
            yield

    @contextmanager
    def enforcer_off(self) -> Iterator[None]:
        """Policy enforcement switched off, its rules gone, and on again afterwards."""
        with _locked(fcntl.LOCK_EX):
            command("enforcer", "off")
            try:
                yield
            finally:
                command("enforcer", "on")


@contextmanager
def _locked(kind: int) -> Iterator[None]:
    ENFORCER_LOCK.parent.mkdir(parents=True, exist_ok=True)
    with ENFORCER_LOCK.open("w") as lock:
        fcntl.flock(lock, kind)
        yield


def command(*words: str, seconds: float = 600) -> str:
    """Run cluster.py; its stdout, or ClusterError with its last words."""
    done = attempt_command(*words, seconds=seconds)
    if done.returncode != 0:
        raise ClusterError(f"cluster.py {' '.join(words)}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def attempt_command(
    *words: str, seconds: float = 600, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run cluster.py and return what happened."""
    argv = [sys.executable, str(COMMAND), *words]
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip


def running() -> Cluster:
    """The running cluster; brought up or repaired first when it is not well.

    Waits for a test that has switched the enforcer off: repairing the cluster would switch it on again.
    """
    with _locked(fcntl.LOCK_SH):
        state = attempt_command("status", "--json")
        if state.returncode != 0:
            command("up")
            state = attempt_command("status", "--json")
    found = json.loads(state.stdout)
    return Cluster(Path(found["kubeconfig"]), Path(found["bin"]), Path(found["audit_log"]))


def pod(name: str, argv: Sequence[str], labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod of one restricted busybox container; `spec` adds to or replaces fields of the pod's spec."""
    container = {
        "name": "main",
        "image": BUSYBOX,
        "imagePullPolicy": "Never",
        "command": list(argv),
        "securityContext": dict(RESTRICTED),
    }
    base = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "containers": [container],
    }
    metadata = {"name": name, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**base, **spec}}


def eventually(check: Callable[[], object], seconds: float = 20, pause: float = 0.2) -> None:
    """Wait until `check` is true; AssertionError with its last value when it never is."""
    deadline = time.monotonic() + seconds
    while not (value := check()):
        assert time.monotonic() < deadline, f"not so within {seconds:g} s; last value {value!r}"
        time.sleep(pause)
