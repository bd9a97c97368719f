"""Takes everything from a worker that it does not need, before any code reaches it. Guards token, journal and network.

Linux only; elsewhere nothing is held, and the executor refuses to run code there.
"""

import contextlib
import ctypes
import os
import resource
import tempfile
from pathlib import Path
from typing import Final

from guildhall_executor.code import landlock, seccomp

OPEN_FILES_MAX_COUNT: Final = 64
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
_LOADERS: Final = ("lib64/ld-linux*.so*", "lib/ld-linux*.so*", "lib/ld-musl*.so*")


def confine(interpreter: Path, address_space_bytes: int) -> dict[str, bool]:
    """Confines this process and all it starts. Only `interpreter` can be executed; the answer says what is held."""
    _leave_every_folder()
    _die_first_when_memory_is_short()
    for kind, limit in _resource_limits(address_space_bytes):
        resource.setrlimit(kind, (limit, limit))
    libc = ctypes.CDLL(None, use_errno=True)
    return {
        "dumpable": libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0,
        "privileges": libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
        "files": landlock.restrict(_rules(interpreter)) > 0,
        "calls": seccomp.install(),
    }


def _resource_limits(address_space_bytes: int) -> list[tuple[int, int]]:
    """No RLIMIT_NPROC: the kernel counts it over every pod of the node that runs as this uid."""
    return [
        (resource.RLIMIT_AS, address_space_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES_MAX_COUNT),
    ]


def _rules(interpreter: Path) -> list[tuple[Path, int]]:
    read, run = landlock.READ_FILE, landlock.READ_FILE | landlock.EXECUTE
    loaders = [found for pattern in _LOADERS for found in Path("/").glob(pattern)]
    return [
        (interpreter, run),
        *((loader.resolve(), run) for loader in loaders),
        *((Path(name).resolve(), read) for name in _LIBRARIES),
        (Path("/dev/null"), landlock.READ_FILE | landlock.WRITE_FILE),
    ]


def _leave_every_folder() -> None:
    """The working folder becomes one that is gone: nothing is in it, and nothing can be made in it."""
    os.chdir("/")
    with contextlib.suppress(OSError):
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        Path(folder).rmdir()


def _die_first_when_memory_is_short() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
