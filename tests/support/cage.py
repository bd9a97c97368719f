"""The workshop in a root of its own, as a pod gives it one: another user, no capability, no interface, nothing of this
machine's files but programs. A stand-in for a container where there is no cluster; it takes root to build."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.workshop import prepare, workshop_binary

USER = 10002
SERVE = (
    "serve --socket /guildhall/socket/workshop.sock --workspace /workspace --tmp /tmp --baseline /guildhall/baseline "
    "--peer-uid 0"
)
# A new root on a tmpfs: programs and the Run's places are bound into it, everything else stays behind.
BUILD = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=0755 cage "$CAGE_BASE/root"
cd "$CAGE_BASE/root"
mkdir usr dev dev/shm proc etc root tmp workspace opt opt/bin opt/python opt/site
mkdir guildhall guildhall/bin guildhall/socket guildhall/baseline
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then cp -P "/$name" "$name"
  elif [ -d "/$name" ]; then mkdir "$name"; mount --bind "/$name" "$name"; mount -o remount,bind,ro "$name"; fi
done
read_only() { mount --bind "$1" "$2"; mount -o remount,bind,ro "$2"; }
read_only /usr usr
read_only "$CAGE_PYTHON" opt/python
read_only "$CAGE_SITE" opt/site
read_only "$CAGE_BASE/bin" guildhall/bin
read_only "$CAGE_BASE/baseline" guildhall/baseline
for name in workspace tmp; do mount --bind "$CAGE_BASE/$name" "$name"; done
mount --bind "$CAGE_BASE/socket" guildhall/socket
for name in null zero full random urandom; do : > "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t proc proc proc
for name in alternatives ssl ld.so.cache; do [ -e "/etc/$name" ] && cp -a "/etc/$name" "etc/$name"; done
printf '#!/bin/sh\nexec python3 -m pip "$@"\n' > opt/bin/pip
chmod 0755 opt/bin/pip
echo "root:x:0:0:root:/root:/bin/sh" > etc/passwd
printf '%s\n' "$CAGE_SECRET" > root/.secret_canary
echo "# of the image" > root/.bashrc
chmod 0700 root
mount -o remount,bind,ro .
pivot_root . .
umount -l .
cd /
"""
BECOME = (
    f"exec env -i PATH=/opt/bin:/opt/python/bin:/usr/bin:/bin LD_LIBRARY_PATH=/opt/python/lib PYTHONPATH=/opt/site "
    f'GUILDHALL_RUN_ENV="$CAGE_ENV" setpriv --reuid {USER} --regid {USER} --clear-groups --inh-caps=-all '
    f"--bounding-set=-all --no-new-privs /guildhall/bin/guildhall-workshop {SERVE}"
)


@cache
def cannot() -> str:
    """Why no cage can be built on this machine; empty if it can."""
    missing = [name for name in ("unshare", "pivot_root", "setpriv", "mount") if shutil.which(name) is None]
    if missing:
        return f"this machine has no {', '.join(missing)} (Debian: util-linux)"
    tried = subprocess.run(["unshare", *SPACES, "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "namespaces cannot be made here: that takes root (CAP_SYS_ADMIN)"


SPACES = ("--mount", "--net", "--pid", "--ipc", "--uts", "--fork")


@dataclass(frozen=True)
class Cage:
    """A workshop that answers on `socket`; its /workspace and /tmp are `workspace` and `tmp` here."""

    socket: Path
    workspace: Path
    tmp: Path


@contextmanager
def caged(base: Path, secret: str, env: str = "{}") -> Iterator[Cage]:
    """A workshop on `base/workspace`. `secret`: what root's own file in the image holds; `env`: the Run's, as JSON."""
    for name in ("root", "workspace", "tmp", "baseline", "bin", "socket"):
        (base / name).mkdir(exist_ok=True)
    subprocess.run([str(workshop_binary()), "inject", "--bin", str(base / "bin")], check=True)
    _give(base / "workspace", base / "tmp", base / "socket")
    done = prepare(base / "workspace", base / "baseline")
    assert done.returncode == 0, done.stderr
    _give(base / "workspace", base / "baseline")
    given = {"CAGE_BASE": str(base), "CAGE_SECRET": secret, "CAGE_ENV": env, "CAGE_PYTHON": sys.base_prefix,
             "CAGE_SITE": sysconfig.get_path("purelib"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}  # fmt: skip
    with (base / "workshop.log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", *SPACES, "sh", "-c", BUILD + BECOME],
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield Cage(base / "socket" / "workshop.sock", base / "workspace", base / "tmp")
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the first process of the namespace, and with it all others there: --kill-child is lost with its user."""
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)
    process.wait(10)


def _give(*folders: Path) -> None:
    for folder in folders:
        os.chown(folder, USER, USER)
        for path in folder.rglob("*"):
            os.chown(path, USER, USER, follow_symlinks=False)
