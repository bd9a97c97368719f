"""From a name to an archive on disk, and only when something changed."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from . import base, context, digests
from .builders import Builder
from .catalog import PREFIX, PUBLIC_BASE, ROOT, Image
from .digests import least_used
from .shell import say


@dataclass(frozen=True)
class Built:
    """`size` in bytes of the unpacked image, `beyondBase` what it adds to its base."""

    name: str
    ref: str
    archive: str
    size: int
    beyondBase: int  # noqa: N815 - the name in the JSON table


KEPT_COUNT = 3  # archives of one image: checkouts and branches that share the cache do not build over each other

# The chart's name for an image, where it is not the image's own.
CHART_NAMES = {"sandbox-python": "sandbox"}


def chart_values(built: list[Built]) -> dict[str, dict[str, str]]:
    """Values for `helm install -f`: each reference under the chart's name for it."""
    refs = {CHART_NAMES.get(image.name, image.name): image.ref for image in built if image.name != "busybox"}
    return {"images": {**refs, "pullPolicy": "IfNotPresent"}}


@dataclass(frozen=True)
class Settings:
    """`base` is None for the bases made here, or the reference of one that can be pulled."""

    cache: Path
    base: str | None
    refresh_base: bool


def base_for(image: Image, builder: Builder, settings: Settings) -> str | None:
    if image.base is None:
        return None
    if settings.base is not None:
        return settings.base
    if builder.tool != "buildah":
        return PUBLIC_BASE
    return base.ensure(builder, image.base, settings.cache, settings.refresh_base)


def reference(image: Image, base_ref: str | None) -> str:
    """The image's name and content tag, from its inputs alone."""
    folders = [image.dockerfile, *(ROOT / source for source in image.sources)]
    facts = [*context.facts(image), base_ref or "scratch"]
    return f"{PREFIX}/{image.name}:{digests.fingerprint(ROOT, folders, facts)}"


def make(image: Image, builder: Builder, settings: Settings) -> Built:
    """Build, export and describe one image; returns at once when nothing changed."""
    base_ref = base_for(image, builder, settings)
    ref = reference(image, base_ref)
    archive = settings.cache / f"{image.name}-{ref.rpartition(':')[2]}.tar"
    note = archive.with_suffix(".json")
    if archive.exists() and note.exists():
        note.touch()
        return Built(**json.loads(note.read_text()))
    say(f"building {ref}")
    _build(image, builder, settings, ref, base_ref)
    _forget_old(builder, settings.cache, image.name)
    builder.export(ref, archive)
    base_size = layers_size(builder, base_ref, settings.cache) if base_ref else 0
    size = archive.stat().st_size
    built = Built(image.name, ref, str(archive), size, size - base_size)
    note.write_text(json.dumps(asdict(built)))
    return built


def _build(image: Image, builder: Builder, settings: Settings, ref: str, base_ref: str | None) -> None:
    folder = settings.cache / f"context-{image.name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        context.fill(image, folder, settings.cache)
        builder.build(folder, ref, base_ref)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def layers_size(builder: Builder, ref: str, cache: Path) -> int:
    """Bytes of an image's layers, uncompressed, as an archive holds them; measured once for each reference."""
    note = cache / f"base-size-{digests.fingerprint(cache, [], [builder.tool, ref])}"
    if note.exists():
        return int(note.read_text())
    probe = cache / "size-probe.tar"
    builder.export(ref, probe)
    size = probe.stat().st_size
    probe.unlink()
    note.write_text(str(size))
    return size


def _forget_old(builder: Builder, cache: Path, name: str) -> None:
    """Makes room for one more archive of the image: those used last stay, with their layers."""
    for note in least_used(cache.glob(f"{name}-????????????.json"), KEPT_COUNT - 1):
        builder.remove(Built(**json.loads(note.read_text())).ref)
        note.with_suffix(".tar").unlink(missing_ok=True)
        note.unlink()
