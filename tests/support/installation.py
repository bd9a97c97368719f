"""Guildhall installed on the test cluster from its own chart and images: what cluster and end-to-end tests act on."""

import base64
import contextlib
import http.client
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from support.cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
CONTROL = "e2e-system"
NAMESPACE = "e2e-runs"
DONE = {"Succeeded", "Failed", "Cancelled"}


def cluster_environment(cluster: Cluster) -> dict[str, str]:
    """The environment in which kubectl, helm and ctr reach the embedded cluster."""
    return {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PATH": f"{cluster.bin}:{os.environ['PATH']}"}


@dataclass
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


@dataclass
class Installation:
    """One release, one run namespace; `api` speaks to it as a viewer of that namespace."""

    cluster: Cluster
    images: dict[str, str]
    url: str = ""
    token: str = ""
    control: str = CONTROL
    namespace: str = NAMESPACE

    @property
    def environment(self) -> dict[str, str]:
        return cluster_environment(self.cluster)

    def tool(self, *command: str, stdin: str | None = None, seconds: int = 240, check: bool = True) -> str:
        """Output of kubectl or helm. Raises AssertionError with its words unless `check` is off."""
        done = subprocess.run(
            command, env=self.environment, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command[:8])}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout if check else done.stdout + done.stderr

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        return self.tool("kubectl", *arguments, stdin=stdin, check=check)

    def control_kubectl(self, *arguments: str) -> str:
        """Output of kubectl in the release's own namespace."""
        return self.kubectl("-n", self.control, *arguments)

    def get(self, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.get(kind, name, "-n", namespace or self.namespace)
        return found

    def items(self, kind: str, namespace: str = "", selector: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.cluster.get(kind, "-n", namespace or self.namespace, "-l", selector)["items"]
        return found

    def apply(self, *objects: dict[str, Any], namespace: str = "") -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("-n", namespace or self.namespace, "apply", "-f", "-", stdin=json.dumps(listed))

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        where = ("-n", namespace or self.namespace)
        self.kubectl(*where, "delete", kind, name, "--ignore-not-found", "--wait=true", "--timeout=90s")

    def wait_run(self, name: str, until: Callable[[dict[str, Any]], bool], seconds: float = 120) -> dict[str, Any]:
        """The Run as soon as `until(run)`; AssertionError with its status when that takes too long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            run = self.get("run", name)
            if until(run):
                return run
            time.sleep(0.3)
        raise AssertionError(
            f"Run {name} after {seconds} s: {json.dumps(run.get('status'), indent=1)}\n{self.story(name)}"
        )

    def wait_done(self, name: str, seconds: float = 120) -> dict[str, Any]:
        return self.wait_run(name, lambda run: run.get("status", {}).get("phase") in DONE, seconds)

    def story(self, name: str) -> str:
        """What a person would look at next: Events and pods of a Run."""
        events = self.kubectl("-n", self.namespace, "get", "events", "--sort-by=.lastTimestamp", check=False)
        pods = self.kubectl("-n", self.namespace, "get", "pods", "-o", "wide", check=False)
        return f"{events[-4000:]}\n{pods[-2000:]}\noperator:\n{self.logs('operator')[-3000:]}"

    def logs(self, component: str) -> str:
        return self.kubectl("-n", self.control, "logs", f"deployment/guildhall-{component}", "--tail=60", check=False)

    def api(self, path: str, *, method: str = "GET", body: Any = None, token: str | None = None) -> Answer:
        """One request to the api; any status is an answer. A lost connection is tried again."""
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)  # noqa: S310
        for left in reversed(range(20)):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                    return Answer(answer.status, _json(answer.read()), dict(answer.headers))
            except urllib.error.HTTPError as error:
                return Answer(error.code, _json(error.read()), dict(error.headers))
            except (OSError, http.client.HTTPException):
                if not left or method != "GET":
                    raise
                time.sleep(1)
        raise AssertionError("unreachable")

    def events_of(self, name: str) -> list[dict[str, Any]]:
        """Every stored event of a Run, through the api."""
        found: list[dict[str, Any]] = []
        last = 0
        while True:
            page = self.api(f"/api/runs/{self.namespace}.{name}/events?after={last}&limit=500").body
            if not page["events"]:
                return found
            found += page["events"]
            last = page["last"]


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


@contextlib.contextmanager
def port_forward(environment: dict[str, str], service: str, port: int, namespace: str = CONTROL) -> Iterator[str]:
    """A port-forward to a Service of the control namespace while the context is open; yields its base URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        local = probe.getsockname()[1]
    command = [
        "sh",
        "-c",
        f"while :; do kubectl -n {namespace} port-forward service/{service} {local}:{port}; sleep 0.3; done",
    ]
    forward = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", local)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{local}"
    finally:
        os.killpg(forward.pid, 15)
        forward.wait(10)


def run_manifest(name: str, **spec: Any) -> dict[str, Any]:
    """A Run of the Guild in `spec`, or of the one named `fix-tests`."""
    body = spec if "guild" in spec or "guildRef" in spec else {"guildRef": {"name": "fix-tests"}, **spec}
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": name},
        "spec": {"task": "Do what the scenario says.", **body},
    }


def archive_map(name: str, archive: bytes) -> dict[str, Any]:
    """A ConfigMap that holds a workspace's archive."""
    data = {"workspace.tar.gz": base64.b64encode(archive).decode()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "binaryData": data}


def one_role_guild(scenario: str, *tools: str) -> dict[str, Any]:
    """The smallest Guild: one role that replays `scenario`."""
    role = {"name": "solo", "prompt": "Do the task.", "model": "m", "tools": [*tools, "finish"]}
    return {"entryRole": "solo", "models": {"m": f"scripted:{scenario}"}, "roles": [role]}


def condition(run: dict[str, Any], kind: str) -> dict[str, Any]:
    """The condition of `kind`, or an empty one."""
    conditions = run.get("status", {}).get("conditions", [])
    return next((item for item in conditions if item["type"] == kind), {})


def instant(stamp: str) -> datetime:
    """A time as Kubernetes, the ledger and the events write it."""
    return datetime.fromisoformat(stamp)
