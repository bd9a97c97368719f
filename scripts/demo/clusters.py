"""Which cluster the demo uses: the one you name, else kind, else the embedded one; and how each gets its images."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from cluster.embedded import build, ground
from cluster.embedded.errors import RefusalError
from cluster.embedded.layout import from_environment
from needs import catalog
from needs.catalog import Need

from demo.state import CONTROL, FILE, KUBECONFIG, ROOT, State, place, say
from demo.tools import StepError, run
from images.imaging import builders

KIND_NAME = "guildhall-demo"
EMBEDDED = ROOT / "tests" / "cluster" / "cluster.py"
BUILD = [sys.executable, str(ROOT / "images" / "build.py")]


class NoClusterError(Exception):
    """No cluster can be had here; the message shows the ways to one."""


@dataclass
class Cluster(ABC):
    """Base of the three: the environment that makes kubectl and helm talk to it."""

    state: State
    name: str
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @abstractmethod
    def cost(self) -> str:
        """What it takes of time and disk to have it up, as things are here."""

    @abstractmethod
    def needs(self) -> list[Need]:
        """What the machine has to have before anything is made."""

    @abstractmethod
    def identity(self) -> str:
        """What tells this cluster from any other that ever had its name; empty where there is none. Starts nothing."""

    def make(self) -> None:
        """Makes the cluster where there is none, and has it up."""
        return

    @abstractmethod
    def point(self) -> None:
        """From now on kubectl and helm talk to it."""

    def start(self) -> None:
        """Has the cluster there and on record: as the demo's own only if it was not there before."""
        self.state.enter(self.name, self.identity())
        try:
            self.make()
        finally:
            self.state.made(self.identity())
        self.point()

    def attach(self) -> bool:
        """Whether the recorded cluster can be talked to; then kubectl and helm do. Starts nothing."""
        self.point()
        return True

    def remove(self) -> None:
        """Takes down the cluster that the demo made."""
        raise StepError(f"{place(self.name)} was not made by the demo")

    def another(self) -> None:
        """Called where the cluster of this name is not the recorded one, which can only be gone."""
        say(f"The demo's cluster is gone; {place(self.name)} that is there now was made since, and is left alone.")

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
    out = run(*BUILD, "--json", *options, environment=dict(os.environ), seconds=1800, shown=True)
    table: dict[str, dict[str, str]] = json.loads(out)
    for name, image in table.items():
        say(f"  {name:16} {image['ref']}")
    return table


class Context(Cluster):
    """A cluster of the person's own. Its nodes must be able to pull: REGISTRY names where the images are pushed."""

    def __init__(self, state: State, context: str) -> None:
        super().__init__(state, f"context:{context}")
        self.context = context

    def cost(self) -> str:
        return f"your context '{self.context}'; the chart goes into namespace {CONTROL}"

    def needs(self) -> list[Need]:
        return catalog.for_context(self.context)

    def identity(self) -> str:
        """The uid of its first namespace; a name in a kubeconfig can come to lead elsewhere."""
        self.point()
        return self.kubectl("get", "namespace", "kube-system", "--output", "jsonpath={.metadata.uid}").strip()

    def start(self) -> None:
        recorded = self.state.cluster == self.name and self.state.installed
        if recorded and not self.state.matches(self.identity()):
            self.another()
        super().start()

    def another(self) -> None:
        raise StepError(
            f"{place(self.name)} leads to another cluster now than the one the demo is in. Nothing was done. "
            f"Let it lead there again, or, if that cluster is gone for good, delete {FILE}"
        )

    def point(self) -> None:
        config = run("kubectl", "config", "view", "--minify", "--flatten", "--context", self.context)
        KUBECONFIG.parent.mkdir(parents=True, exist_ok=True)
        KUBECONFIG.touch(mode=0o600)
        KUBECONFIG.write_text(config)
        self.environment["KUBECONFIG"] = str(KUBECONFIG)

    def images(self) -> dict[str, str]:
        registry = os.environ["REGISTRY"]  # one of its needs
        tool = "docker" if builders.answers("docker") else "podman"
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
        super().__init__(state, "kind")

    def cost(self) -> str:
        there = "there already" if self.identity() else "their image is pulled where docker has it not, about 1 GB"
        return f"kind: two nodes on docker; {there}"

    def needs(self) -> list[Need]:
        return catalog.for_kind()

    def identity(self) -> str:
        """The id of its control plane's container, which is there when the cluster is stopped too."""
        wanted = f"name=^{KIND_NAME}-control-plane$"
        return run("docker", "ps", "--all", "--no-trunc", "--filter", wanted, "--format", "{{.ID}}").strip()

    def make(self) -> None:
        if self.identity():
            return
        nodes = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: [{role: control-plane}, {role: worker}]\n"
        run("kind", "create", "cluster", "--name", KIND_NAME, "--config", "-", stdin=nodes, seconds=600)

    def point(self) -> None:
        KUBECONFIG.parent.mkdir(parents=True, exist_ok=True)
        run("kind", "export", "kubeconfig", "--name", KIND_NAME, "--kubeconfig", str(KUBECONFIG))
        self.environment["KUBECONFIG"] = str(KUBECONFIG)

    def remove(self) -> None:
        run("kind", "delete", "cluster", "--name", KIND_NAME)

    def images(self) -> dict[str, str]:
        table = built("--builder", "docker")
        for image in table.values():
            run("kind", "load", "image-archive", "--name", KIND_NAME, image["archive"], seconds=600)
        return {name: image["ref"] for name, image in table.items()}


TO_BUILD = "the embedded Kubernetes, as root: about 8 minutes to build on two cores, 10 GB of disk while it is up"
BUILT = "the embedded Kubernetes, as root: built already, up in 10 seconds"


class Embedded(Cluster):
    """The Kubernetes this repository builds for its tests; needs Linux and root."""

    def __init__(self, state: State) -> None:
        super().__init__(state, "embedded")

    def cost(self) -> str:
        return BUILT if build.binaries(from_environment()).exists() else TO_BUILD

    def needs(self) -> list[Need]:
        return catalog.for_embedded()

    def identity(self) -> str:
        """Of its own certificate authority, which is there when the cluster is stopped too, and goes with `down`."""
        try:
            return hashlib.sha256((_embedded_state() / "pki" / "ca.crt").read_bytes()).hexdigest()
        except OSError:
            return ""

    def make(self) -> None:
        if subprocess.run([sys.executable, EMBEDDED, "up", "--yes"], check=False).returncode:
            raise StepError("the embedded cluster did not come up; its own message is above")

    def remove(self) -> None:
        if subprocess.run([sys.executable, EMBEDDED, "down"], check=False).returncode:
            raise StepError("the embedded cluster did not go down; its own message is above")

    def _running(self) -> bool:
        return subprocess.run([sys.executable, EMBEDDED, "status"], capture_output=True, check=False).returncode == 0

    def attach(self) -> bool:
        if not self._running():
            raise StepError(
                "the embedded cluster is not up, and what the demo installed is in it. Start it with "
                "`tests/cluster/cluster.py up` and run `make demo-down` again, or remove it with all it holds: "
                "`tests/cluster/cluster.py down`"
            )
        return super().attach()

    def shell(self) -> str:
        """It brings kubectl and helm too: both may be on nobody's PATH here."""
        return f'eval "$({EMBEDDED} env)"'

    def point(self) -> None:
        for line in run(sys.executable, str(EMBEDDED), "env").splitlines():
            name, value = line.removeprefix("export ").split("=", 1)
            self.environment[name] = value.strip("'\"").replace("$PATH", self.environment["PATH"])

    def images(self) -> dict[str, str]:
        return {name: image["ref"] for name, image in built("--load").items()}


def _embedded_state() -> Path:
    """The embedded cluster's own folder: it goes with its `down`, and stays when the machine was merely restarted."""
    return from_environment().state


WAYS = """\
demo: no cluster can be had here: {why}.
Two ways to one:
  1. name a cluster of yours:  make demo CONTEXT=<kubeconfig context> REGISTRY=<host/path your nodes can pull from>
  2. on Linux: run `make demo` as root (it builds a small Kubernetes), or install docker and kind."""


def choose(context: str | None, state: State) -> Cluster:
    """The named context, else kind where `docker info` answers, else the embedded cluster. Raises NoClusterError."""
    if context:
        return Context(state, context)
    if shutil.which("kind") and builders.answers("docker"):
        return Kind(state)
    try:
        ground.check_machine()
        ground.check_alone(_embedded_state())
    except RefusalError as refusal:
        raise NoClusterError(WAYS.format(why=refusal)) from refusal
    return Embedded(state)
