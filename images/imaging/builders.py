"""The tools that turn a context into an image: buildah, docker or podman."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import ImageError
from .shell import run


@dataclass(frozen=True)
class Builder:
    """One tool. `store` is where buildah keeps layers; the others have their own place."""

    tool: str
    store: Path

    def _words(self) -> list[str | Path]:
        if self.tool != "buildah":
            return [self.tool]
        return ["buildah", "--root", self.store / "layers", "--runroot", self.store / "run",
                "--storage-driver", "overlay"]  # fmt: skip

    def build(self, context: Path, ref: str, base: str | None) -> None:
        """Build the folder's Dockerfile offline; `base` fills its BASE argument."""
        argument = ["--build-arg", f"BASE={base}"] if base else []
        if self.tool == "buildah":
            run([*self._words(), "bud", "--quiet", "--layers", "--isolation", "chroot", "--pull-never", *argument,
                 "--tag", ref, context])  # fmt: skip
        else:
            run([*self._words(), "build", "--quiet", *argument, "--tag", ref, context])

    def export(self, ref: str, archive: Path) -> None:
        """Write a docker archive that names the image `ref`."""
        archive.unlink(missing_ok=True)
        if self.tool == "buildah":
            run([*self._words(), "push", "--quiet", ref, f"docker-archive:{archive}:{ref}"])
        else:
            run([*self._words(), "save", "--output", archive, ref])

    def has(self, ref: str) -> bool:
        kind = ["inspect", "--type", "image"] if self.tool == "buildah" else ["image", "inspect"]
        try:
            run([*self._words(), *kind, ref])
        except ImageError:
            return False
        return True

    def remove(self, ref: str) -> None:
        try:
            run([*self._words(), "rmi", ref])
        except ImageError:
            return  # one that is still in use, or already gone


ANSWER_SECONDS = 20


def answers(tool: str) -> bool:
    """Whether docker or podman is there and its engine answers; one that hangs does not."""
    if shutil.which(tool) is None:
        return False
    try:
        told = subprocess.run(
            [tool, "info"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=ANSWER_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.returncode == 0


def choose(wanted: str, store: Path) -> Builder:
    """The named tool, or with `auto` the first that works here."""
    if wanted != "auto":
        if shutil.which(wanted) is None:
            raise ImageError(f"{wanted} is not installed")
        if wanted != "buildah" and not answers(wanted):
            raise ImageError(f"{wanted} is installed, but its engine does not answer; start it, or see `{wanted} info`")
        return Builder(wanted, store)
    for tool in ("docker", "podman"):
        if answers(tool):
            return Builder(tool, store)
    if shutil.which("buildah") and os.geteuid() == 0:
        return Builder("buildah", store)
    raise ImageError("no image builder: start docker or podman, or install buildah and be root")
