"""Which images there are and what each is made from. Records only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGES = ROOT / "images"
PUBLIC_BASE = "python:3.11-slim-bookworm"
PREFIX = "guildhall.dev"
PYTHON = "3.11"


class Kind(Enum):
    """How the build context of an image is put together."""

    COMPONENT = "component"
    WORKSHOP = "workshop"
    SANDBOX = "sandbox"
    BUSYBOX = "busybox"


@dataclass(frozen=True)
class Image:
    """`sources` are the folders of the repository that decide the content."""

    name: str
    kind: Kind
    sources: tuple[str, ...] = ()
    base: str | None = None

    @property
    def dockerfile(self) -> Path:
        return IMAGES / self.name / "Dockerfile"

    @property
    def package(self) -> str:
        return f"guildhall-{self.name}"


def _component(name: str, *more: str, base: str = "python") -> Image:
    return Image(name, Kind.COMPONENT, ("contracts", name, *more), base=base)


CATALOG = {
    image.name: image
    for image in (
        _component("operator"),
        _component("executor"),
        _component("gateway"),
        _component("api", "web"),
        _component("fetcher", base="fetcher"),
        Image("workshop", Kind.WORKSHOP, ("workshop",)),
        Image("sandbox-python", Kind.SANDBOX, base="sandbox"),
        Image("busybox", Kind.BUSYBOX),
    )
}

# Debian packages of the bases made here, for machines that cannot pull one.
DEBIAN_SUITE = "bookworm"
DEBIAN_BASES = {
    "python": ("python3", "ca-certificates", "libstdc++6"),  # libstdc++: what python:slim has too; greenlet needs it
    "fetcher": ("python3", "ca-certificates", "git", "openssh-client"),
    "sandbox": ("python3", "ca-certificates", "git"),
}
