"""A Debian base made from packages, for machines that cannot pull one from a registry."""

from __future__ import annotations

import shutil
from pathlib import Path

from .builders import Builder
from .catalog import DEBIAN_BASES, DEBIAN_SUITE
from .digests import fingerprint
from .shell import run, say

# Documentation and translations stay out; copyright files stay in.
DPKG_OPTIONS = (
    "path-exclude=/usr/share/man/*", "path-exclude=/usr/share/doc/*", "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/locale/*", "path-exclude=/usr/share/info/*", "path-exclude=/usr/share/lintian/*",
)  # fmt: skip


def _arguments(kind: str) -> list[str]:
    options = [f"--dpkgopt={option}" for option in DPKG_OPTIONS]
    packages = ",".join(DEBIAN_BASES[kind])
    return ["--variant=essential", "--skip=output/dev", f"--include={packages}", *options, DEBIAN_SUITE]


def ensure(builder: Builder, kind: str, cache: Path, refresh: bool) -> str:
    """The reference of the base image of one kind, made unless it is there."""
    arguments = _arguments(kind)
    name = f"{kind}-{fingerprint(cache, [], arguments)}"
    ref = f"localhost/guildhall-base-{name.rpartition('-')[0]}:{name.rpartition('-')[2]}"
    root = cache / f"base-{name}.tar"
    if refresh:
        root.unlink(missing_ok=True)
    elif builder.has(ref):
        return ref
    if not root.exists():
        say(f"making the {kind} base from Debian packages ({', '.join(DEBIAN_BASES[kind])}), about a minute")
        partial = root.with_suffix(".partial.tar")
        run(["mmdebstrap", "--mode=root", "--quiet", *arguments[:-1], DEBIAN_SUITE, partial])
        partial.rename(root)
    _import(builder, ref, root, cache / f"context-base-{kind}")
    return ref


def _import(builder: Builder, ref: str, root: Path, context: Path) -> None:
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir(parents=True)
    (context / "base.tar").hardlink_to(root)
    (context / "Dockerfile").write_text('FROM scratch\nADD base.tar /\nENV LANG=C.UTF-8\nCMD ["/bin/sh"]\n')
    builder.build(context, ref, None)
    shutil.rmtree(context)
