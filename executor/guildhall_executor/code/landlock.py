"""Files a worker can open: the interpreter and the libraries it loads, and nothing else. Guards the executor's files.

Worker and executor share a uid, so file modes hold nothing between them; Landlock does, and it also keeps the worker
from tracing the executor, signalling it (Linux 6.12) and opening TCP connections (Linux 6.7).
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
_FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 5: 16}  # so many rights from this version of the interface on
_NETWORK_VERSION, _SCOPE_VERSION = 4, 6
_NETWORK, _SCOPE = 0b11, 0b11  # bind and connect TCP; abstract sockets and signals
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_ATTRIBUTES: Final = struct.Struct("=QQQ")
_RULE: Final = struct.Struct("=Qi")

Rules = Iterable[tuple[Path, int]]


def version() -> int:
    """What the kernel offers; 0 where there is no Landlock."""
    return max(_call(_CREATE, None, 0, _VERSION_FLAG), 0)


def restrict(rules: Rules) -> int:
    """Leaves this thread, and all it starts, the files of `rules`; the version that is held, 0 for none.

    Needs no_new_privs. A path that is not there is passed over: it cannot be opened either.
    """
    offered = version()
    if not offered:
        return 0
    ruleset = _ruleset(offered)
    if ruleset < 0:
        return 0
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights)
        return offered if _call(_RESTRICT, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _ruleset(offered: int) -> int:
    files = (1 << max(count for since, count in _FILE_RIGHTS.items() if since <= offered)) - 1
    network = _NETWORK if offered >= _NETWORK_VERSION else 0
    scope = _SCOPE if offered >= _SCOPE_VERSION else 0
    words = 3 if scope else 2 if network else 1
    attributes = _ATTRIBUTES.pack(files, network, scope)[: words * 8]
    return _call(_CREATE, attributes, len(attributes), 0)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if _call(_ADD_RULE, ruleset, _PATH_BENEATH, _RULE.pack(rights, fd), 0) != 0:
            raise OSError(f"Landlock takes no rule for {path}")
    finally:
        os.close(fd)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return int(libc.syscall(ctypes.c_long(number), *words))
