"""Which cluster the demo uses: the one you name, else kind, else the embedded one; and how each gets its images."""

import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from demo.state import CACHE, ROOT, State, say
from demo.tools import StepError, run

KIND_NAME = "guildhall-demo"
EMBEDDED = ROOT / "tests" / "cluster" / "cluster.py"
BUILD = [sys.executable, str(ROOT / "images" / "build.py")]


class NoClusterError(Exception):
    """No cluster can be had here; the message shows the ways to one."""


@dataclass
class Cluster(ABC):
    """Base of the three: the environment that makes kubectl and helm talk to it."""

    state: State
    cost: str = ""
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def agreed(self, yes: bool) -> bool:
        """Whether the person agrees to what is about to happen. Without a terminal only `yes` agrees."""
        if yes:
            return True
        if not sys.stdin.isatty():
            say("Set YES=1 to agree without a terminal.")
            return False
        return input("Go on? [y/N] ").strip().lower() in {"y", "yes"}

    @abstractmethod
    def start(self) -> None:
        """Has the cluster there, made where it has to be."""

    def attach(self) -> bool:
        """Whether the cluster is there; then kubectl and helm talk to it. Starts nothing."""
        self.start()
        return True

    def shell(self) -> str:
        """The line that makes a person's own shell talk to the cluster."""
        return f"export KUBECONFIG={self.environment.get('KUBECONFIG', '~/.kube/config')}"

    @abstractmethod
    def images(self) -> dict[str, str]:
        """Makes every image one the cluster's nodes can run; name → reference."""

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return run("kubectl", *arguments, environment=self.environment, stdin=stdin)


def built(*options: str) -> dict[str, dict[str, str]]:
    """Builds all images and returns name → {ref, archive, …}."""
    say("Images (cached by content):")
    out = run(*BUILD, "--json", *options, environment=dict(os.environ), seconds=1800)
    table: dict[str, dict[str, str]] = json.loads(out)
    for name, image in table.items():
        say(f"  {name:16} {image['ref']}")
    return table


class Context(Cluster):
    """A cluster of the person's own. Its nodes must be able to pull: REGISTRY names where the images are pushed."""

    def __init__(self, state: State, context: str) -> None:
        super().__init__(state, f"your context '{context}'; the chart goes into namespace guildhall-system")
        self.context = context

    def start(self) -> None:
        self.state.cluster, self.state.owned = f"context:{self.context}", False
        config = run("kubectl", "config", "view", "--minify", "--flatten", "--context", self.context)
        path = ROOT / "artifacts" / "demo.kubeconfig"
        path.parent.mkdir(exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(config)
        self.environment["KUBECONFIG"] = str(path)

    def images(self) -> dict[str, str]:
        registry = os.environ.get("REGISTRY")
        if not registry:
            raise StepError(
                "set REGISTRY=<host/path> to where your cluster can pull from; docker or podman pushes there"
            )
        tool = "docker" if shutil.which("docker") else "podman"
        refs = {}
        for name, image in built("--builder", tool).items():
            target = f"{registry}/{image['ref'].rsplit('/', 1)[-1]}"
            run(tool, "load", "--input", image["archive"])
            run(tool, "tag", image["ref"], target)
            run(tool, "push", target, seconds=900)
            refs[name] = target
        return refs


class Kind(Cluster):
    """kind on docker: one control plane, one worker (policy for a pod's own node is not enforced everywhere)."""

    def __init__(self, state: State) -> None:
        super().__init__(state, "kind: two nodes on docker, about 2 minutes and 2 GB of disk the first time")

    def start(self) -> None:
        self.state.cluster = "kind"
        if KIND_NAME not in run("kind", "get", "clusters").split():
            nodes = (
                "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: [{role: control-plane}, {role: worker}]\n"
            )
            run("kind", "create", "cluster", "--name", KIND_NAME, "--config", "-", stdin=nodes, seconds=600)
            self.state.owned = True
        self.state.save()
        self._point()

    def _point(self) -> None:
        path = ROOT / "artifacts" / "demo.kubeconfig"
        path.parent.mkdir(exist_ok=True)
        run("kind", "export", "kubeconfig", "--name", KIND_NAME, "--kubeconfig", str(path))
        self.environment["KUBECONFIG"] = str(path)

    def attach(self) -> bool:
        if KIND_NAME not in run("kind", "get", "clusters").split():
            return False
        self._point()
        return True

    def images(self) -> dict[str, str]:
        table = built("--builder", "docker")
        for image in table.values():
            run("kind", "load", "image-archive", "--name", KIND_NAME, image["archive"], seconds=600)
        return {name: image["ref"] for name, image in table.items()}


class Embedded(Cluster):
    """The Kubernetes this repository builds for its tests; needs Linux and root."""

    def __init__(self, state: State) -> None:
        super().__init__(state, "the embedded Kubernetes: first time 12 minutes to build and 8 GB of disk, as root")

    def agreed(self, yes: bool) -> bool:
        say("The embedded cluster installs these Debian packages where they are missing:")
        say("  buildah busybox-static conntrack containernetworking-plugins ipset iptables mmdebstrap openssl runc")
        return super().agreed(yes)

    def start(self) -> None:
        self.state.cluster = "embedded"
        self.state.owned = self.state.owned or not self._running()
        self.state.save()
        if subprocess.run([sys.executable, EMBEDDED, "up", "--yes"], check=False).returncode:
            raise StepError("the embedded cluster did not come up; its own message is above")
        self._point()

    def _running(self) -> bool:
        return subprocess.run([sys.executable, EMBEDDED, "status"], capture_output=True, check=False).returncode == 0

    def attach(self) -> bool:
        if self._running():
            self._point()
            return True
        if _embedded_state().exists():
            raise StepError(
                "the embedded cluster is not up, and what the demo installed is in it. Start it with "
                "`tests/cluster/cluster.py up` and run `make demo-down` again, or remove it with all it holds: "
                "`tests/cluster/cluster.py down`"
            )
        return False

    def shell(self) -> str:
        """It brings kubectl and helm too: both may be on nobody's PATH here."""
        return f'eval "$({EMBEDDED} env)"'

    def _point(self) -> None:
        for line in run(sys.executable, str(EMBEDDED), "env").splitlines():
            name, value = line.removeprefix("export ").split("=", 1)
            self.environment[name] = value.strip("'\"").replace("$PATH", self.environment["PATH"])

    def images(self) -> dict[str, str]:
        return {name: image["ref"] for name, image in built("--load").items()}


def _embedded_state() -> Path:
    """The embedded cluster's own folder: it goes with its `down`, and stays when the machine was merely restarted."""
    return Path(os.environ.get("GUILDHALL_CLUSTER_STATE", CACHE / "cluster" / "state"))


WAYS = """\
demo: no cluster can be had here. Two ways to one:
  1. name a cluster of yours:  make demo CONTEXT=<kubeconfig context> REGISTRY=<host/path your nodes can pull from>
  2. on Linux: run `make demo` as root (it builds a small Kubernetes), or install docker and kind."""


def choose(context: str | None, state: State) -> Cluster:
    """The named context, else kind where `docker info` answers, else the embedded cluster. Raises NoClusterError."""
    if context:
        return Context(state, context)
    if shutil.which("kind") and _docker_answers():
        return Kind(state)
    if sys.platform == "linux" and os.geteuid() == 0:
        return Embedded(state)
    raise NoClusterError(WAYS)


def _docker_answers() -> bool:
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "info"], capture_output=True, timeout=20, check=False).returncode == 0
