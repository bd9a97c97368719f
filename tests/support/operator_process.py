"""The operator as a process outside the cluster, with the rights of its own account and nothing more."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from support import standin
from support.cluster import Cluster, eventually
from support.crds import install_crds
from support.installation import ROOT

SHORT_WAITS = {
    "guildSeconds": 2,
    "policySeconds": 3,
    "claimSeconds": 2,
    "imagePullSeconds": 3,
    "mountSeconds": 20,  # a busy kubelet's first mount fails now and then, and its second works
    "refusedSeconds": 5,
    "cancelGraceSeconds": 3,
}
DONE = {"Succeeded", "Failed", "Cancelled"}
GUILD = {
    "entryRole": "solo",
    "models": {"m": "scripted:none"},
    "roles": [{"name": "solo", "prompt": "Do the task.", "model": "m", "tools": ["finish"]}],
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def account_kubeconfig(cluster: Cluster, namespace: str, account: str) -> str:
    """A kubeconfig that is one ServiceAccount."""
    admin = yaml.safe_load(cluster.kubeconfig.read_text())
    admin["users"] = [{"name": "account", "user": {"token": standin.token(cluster, namespace, account)}}]
    admin["contexts"] = [{"name": "account", "context": {"cluster": admin["clusters"][0]["name"], "user": "account"}}]
    return yaml.safe_dump({**admin, "current-context": "account"})


@dataclass
class OperatorProcess:
    """One operator, its namespaces, and what a test asks of it."""

    cluster: Cluster
    control: str
    runs: str
    folder: Path
    config: dict[str, Any]
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 40, **changes: Any) -> None:
        """Starts it and waits until it serves. A Lease left by one that was killed is taken over after its time."""
        before = self.log().count("serving Runs")
        self.launch(**changes)
        eventually(lambda: self.page("/readyz")[0] == 200 and self.log().count("serving Runs") > before, seconds)

    def launch(self, **changes: Any) -> None:
        """Starts it."""
        config = {**self.config, "port": self.port, **changes}
        (self.folder / "config.json").write_text(json.dumps(config))
        with (self.folder / "operator.log").open("ab") as log:
            environment = {
                **os.environ,
                "KUBECONFIG": str(self.folder / "kubeconfig"),
                "GUILDHALL_CONFIG": str(self.folder / "config.json"),
            }
            self.process = subprocess.Popen(
                [sys.executable, "-m", "guildhall_operator"], env=environment, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """`kill -9`."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(30)

    def log(self) -> str:
        path = self.folder / "operator.log"
        return path.read_text() if path.exists() else ""

    def page(self, path: str) -> tuple[int, str]:
        """Status and text of one of its pages; 0 where nothing answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def create(self, name: str, task: str = "outcome=succeeded", **spec: Any) -> None:
        body = {"guild": GUILD, "task": task, **spec}
        if "guildRef" in body:
            del body["guild"]
        run = {
            "apiVersion": "guildhall.dev/v1alpha1",
            "kind": "Run",
            "metadata": {"name": name, "namespace": self.runs},
            "spec": body,
        }
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps(run))

    def claim(self, name: str) -> dict[str, Any]:
        """Makes a small claim; the workspace of a Run that uses it."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        self.cluster.apply(body, namespace=self.runs)
        return {"claim": {"name": name}}

    def run(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.get("run", name, "-n", self.runs)
        return found

    def wait(self, name: str, phases: set[str], seconds: float = 60) -> dict[str, Any]:
        """The Run once its phase is one of `phases`."""
        last: dict[str, Any] = {}

        def reached() -> bool:
            nonlocal last
            last = self.run(name)
            return last.get("status", {}).get("phase") in phases

        try:
            eventually(reached, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{name}: {json.dumps(last.get('status'))}\n{self.log()[-3000:]}") from error
        return last

    def done(self, name: str, seconds: float = 60) -> dict[str, Any]:
        return self.wait(name, DONE, seconds)

    def items(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.cluster.get(kind, "-n", self.runs)["items"]
        return found

    def patch(self, name: str, **spec: Any) -> None:
        self.cluster.kubectl("patch", "run", name, "-n", self.runs, "--type=merge", "-p", json.dumps({"spec": spec}))

    def api_stored(self, name: str, seq: int) -> None:
        """Writes `archive.storedSeq` as the api would."""
        body = {"status": {"archive": {"storedSeq": seq}}}
        self.cluster.kubectl(
            "patch", "run", name, "-n", self.runs, "--subresource=status", "--type=merge", "-p", json.dumps(body)
        )


def condition(run: dict[str, Any], kind: str) -> dict[str, Any]:
    conditions = run.get("status", {}).get("conditions", [])
    return next((item for item in conditions if item["type"] == kind), {})


@contextlib.contextmanager
def installed(cluster: Cluster, folder: Path, **images: str) -> Iterator[OperatorProcess]:
    """The chart in namespaces of its own, its Deployments at rest, a stand-in behind the gateway's Service.

    `images` are real ones in place of stand-ins for the run pod's containers.
    """
    standin.load_image()
    with cluster.namespace("operator-control", "baseline") as control, cluster.namespace("operator-runs") as runs:
        release = f"guildhall-{control[-8:]}"
        used = {**dict.fromkeys(("executor", "workshop", "sandbox"), standin.IMAGE), **images}
        values = {
            "runNamespaces": [runs],
            "createRunNamespaces": False,
            "images": {**used, "pullPolicy": "IfNotPresent"},
            "gateway": {"persistence": {"enabled": False}},
            "api": {"persistence": {"enabled": False}},
            "storage": {"journalSize": "16Mi"},
        }
        (folder / "values.yaml").write_text(yaml.safe_dump(values))
        environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
        helm = [str(cluster.bin / "helm")]
        where = ["-n", control]
        install_crds(cluster)
        subprocess.run(
            [*helm, "install", release, str(ROOT / "charts/guildhall"), *where, "-f", str(folder / "values.yaml")],
            check=True, capture_output=True, env=environment,
        )  # fmt: skip
        try:
            cluster.kubectl("scale", "deployment", "--all", "--replicas=0", *where)
            cluster.apply(standin.gateway_pod(), namespace=control)
            cluster.ready(control, "gateway-standin")
            chart = json.loads(cluster.get("configmap", "guildhall-operator", *where)["data"]["config.json"])
            service = cluster.get("service", "guildhall-gateway", *where)["spec"]["clusterIP"]
            api = cluster.get("service", "kubernetes", "-n", "default")["spec"]["clusterIP"]
            config = {
                **chart,
                "gateway": {**chart["gateway"], "clusterIp": service},
                "apiServer": {"name": "api-server", "host": api, "port": 443},
                "sealWaitSeconds": 5,
                "waits": SHORT_WAITS,
            }
            (folder / "kubeconfig").write_text(account_kubeconfig(cluster, control, "guildhall-operator"))
            operator = OperatorProcess(cluster, control, runs, folder, config)
            try:
                yield operator
            finally:
                if operator.process is not None and operator.process.poll() is None:
                    operator.stop()
        finally:
            subprocess.run([*helm, "uninstall", release, *where], check=False, capture_output=True, env=environment)
            time.sleep(0.2)
