"""The workspace's volume: a place to work in, and one name that appears when all is done."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from guildhall_contracts.fetch import LFS_SIGN
from guildhall_contracts.limits import FETCH_LFS_POINTER_MAX_BYTES, FETCH_SHOWN_PATHS_MAX_COUNT

from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.places import Places
from guildhall_fetcher.tree import shown

_OWN: Final = frozenset({"lost+found"})


@contextmanager
def _said(what: str) -> Iterator[None]:
    """The volume's own faults as sentences."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise FetchFailed("too_large", "the workspace's volume is full; raise workspace.storage.size") from error
        why = f"{what}: {error.strerror or type(error).__name__}"
        hint = "it must be writable by uid 10002: its storage class has to support fsGroup"
        raise FetchFailed("workspace_failed", f"the workspace's volume cannot be used ({why}); {hint}") from error


def empty(places: Places) -> None:
    """Removes what an earlier attempt left; nobody has mounted any of it yet. Raises FetchFailed."""
    with _said("clearing"):
        for entry in os.scandir(places.workspace):
            if entry.name in _OWN:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                Path(entry.path).unlink()


def stage(places: Places) -> None:
    """An empty folder to work in. Raises FetchFailed."""
    empty(places)
    with _said("writing"):
        places.staging.mkdir(mode=0o755)


def discard(places: Places) -> None:
    """Nothing half-made is left; the fault that led here is the one that is told."""
    shutil.rmtree(places.staging, ignore_errors=True)
    if not places.tree.exists():
        shutil.rmtree(places.baseline, ignore_errors=True)


def publish(places: Places) -> None:
    """The one step that makes the workspace: all of it, or nothing. Raises FetchFailed."""
    with _said("renaming"):
        places.baseline.mkdir(mode=0o755)
        places.staging.rename(places.tree)


def tells_case_apart(places: Places) -> bool:
    """Whether `a` and `A` are two names on this volume. Raises FetchFailed."""
    probe = places.staging / ".case-probe"
    with _said("writing"):
        probe.touch()
        apart = not (places.staging / ".CASE-PROBE").exists()
        probe.unlink()
    return apart


def size_bytes(folder: Path) -> int:
    """What the files below `folder` hold, links not followed."""
    return sum(path.lstat().st_size for path in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        for name in names:
            yield Path(root) / name


def _is_pointer(path: Path) -> bool:
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode) or not len(LFS_SIGN) < about.st_size <= FETCH_LFS_POINTER_MAX_BYTES:
        return False
    with path.open("rb") as file:
        return file.read(len(LFS_SIGN)) == LFS_SIGN


def lfs_pointers(places: Places) -> tuple[int, list[str]]:
    """How many files stand for content kept elsewhere, and the first of them."""
    count = 0
    first: list[str] = []
    for path in _files(places.staging):
        relative = path.relative_to(places.staging)
        if relative.parts[0] != ".git" and _is_pointer(path):
            count += 1
            if len(first) < FETCH_SHOWN_PATHS_MAX_COUNT:
                first.append(shown(os.fsencode(relative)))
    return count, first
