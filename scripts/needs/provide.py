"""Guards the machine: says what is missing and how it comes, asks, and only then installs; never by sudo."""

import os
import shutil
import subprocess
import sys

from cluster.embedded import ground
from cluster.embedded.errors import RefusalError, StepError

from needs.catalog import Lack, output


class ProvideError(Exception):
    """An installation failed; the message has the installer's own words."""


def installable(lack: Lack) -> bool:
    """Whether this program can get it here: Debian's packages as root, the others where uv is."""
    if lack.need.package:
        return os.geteuid() == 0 and shutil.which("apt-get") is not None
    return bool(lack.need.uv) and shutil.which("uv") is not None


def way(lack: Lack) -> str:
    """How a person gets it: commands and addresses that work as they stand."""
    package = f"apt-get install {lack.need.package} (as root)" if lack.need.package else ""
    by_uv = f"uv {lack.need.uv}" if lack.need.uv else ""
    return ", or ".join(part for part in (package, by_uv, lack.need.way) if part)


def by_hand(lacks: list[Lack]) -> str:
    """One line for each: what, why, how."""
    return "\n".join(f"  {lack.need.name}: {lack.why}; {way(lack)}" for lack in lacks)


def plan(lacks: list[Lack]) -> str:
    """What `install` would do, line by line; empty when there is nothing to do."""
    packages = " ".join(sorted({lack.need.package for lack in lacks if lack.need.package}))
    by_uv = [f"  uv {lack.need.uv}" for lack in lacks if lack.need.uv]
    return "\n".join([f"  apt-get install {packages}", *by_uv] if packages else by_uv)


def agreed(question: str, yes: bool) -> bool:
    """Whether the person agrees. Without a terminal only `yes` agrees."""
    if yes:
        return True
    if not sys.stdin.isatty():
        print("Set YES=1 to agree without a terminal.", flush=True)
        return False
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}


def install(lacks: list[Lack]) -> None:
    """Installs them all, already agreed to. Raises ProvideError."""
    try:
        ground.install(sorted({lack.need.package for lack in lacks if lack.need.package}), yes=True)
    except (RefusalError, StepError) as problem:
        raise ProvideError(str(problem)) from problem
    for words in (lack.need.uv for lack in lacks if lack.need.uv):
        done = subprocess.run(["uv", *words.split(), "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ProvideError(f"`uv {words}` failed: {done.stderr.strip()[-500:]}")
    find_tools()


def find_tools() -> None:
    """Puts what uv installs first on this process's PATH: before an older one, and where it is not on the person's."""
    folder = (output("uv", "tool", "dir", "--bin") or "").strip()
    if folder:
        others = [place for place in os.environ["PATH"].split(os.pathsep) if place != folder]
        os.environ["PATH"] = os.pathsep.join([folder, *others])
