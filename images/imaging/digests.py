"""The tag of an image is a digest over everything that decides its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

IGNORED = {"__pycache__", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def tree(folder: Path) -> list[Path]:
    """Files below a folder in a fixed order, caches left out."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and not IGNORED & set(p.parts))


def fingerprint(root: Path, folders: Iterable[Path], facts: Iterable[str]) -> str:
    """12 hex digits over the names, modes and contents below `folders`, and over plain `facts`."""
    digest = hashlib.sha256()
    for fact in facts:
        digest.update(f"{len(fact)}:{fact}".encode())
    for folder in folders:
        for path in [folder] if folder.is_file() else tree(folder):
            executable = path.stat().st_mode & 0o111 != 0
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(root)}\0{executable}\0{content}\n".encode())
    return digest.hexdigest()[:12]


def least_used(kept: Iterable[Path], count: int) -> list[Path]:
    """What goes when the `count` of `kept` that were used last (by their own time) stay."""
    return sorted(kept, key=lambda path: path.stat().st_mtime_ns, reverse=True)[count:]
