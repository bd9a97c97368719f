"""Guards other people's processes: one is ours only if its id and its start time both match."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from .components import Component
from .errors import StepError
from .layout import Layout


@dataclass(frozen=True)
class Record:
    """One started process. `digest` covers its arguments and the files it reads."""

    pid: int
    start_ticks: int
    digest: str


def start_ticks(pid: int) -> int | None:
    """Clock ticks from boot to the start of a process; None if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def digest(component: Component) -> str:
    content = hashlib.sha256("\0".join(component.argv).encode())
    for path in component.reads:
        content.update(path.read_bytes())
    return content.hexdigest()


def _path(layout: Layout, name: str) -> Path:
    return layout.run / f"{name}.json"


def record(layout: Layout, name: str) -> Record | None:
    try:
        return Record(**json.loads(_path(layout, name).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def alive(layout: Layout, name: str) -> bool:
    known = record(layout, name)
    return known is not None and start_ticks(known.pid) == known.start_ticks


def _environment(component: Component) -> dict[str, str]:
    """A small environment: no proxies, no credentials of the invoking shell."""
    folder = str(Path(component.argv[0]).parent)
    path = f"{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOME": "/nonexistent", "LANG": "C.UTF-8"}


def ensure(layout: Layout, component: Component) -> bool:
    """Start the component unless it runs as it should; True when it was (re)started."""
    wanted = digest(component)
    known = record(layout, component.name)
    if known and alive(layout, component.name):
        if known.digest == wanted:
            return False
        stop(layout, component.name)
    with (layout.log / f"{component.name}.log").open("ab") as log:
        process = subprocess.Popen(
            component.argv,
            cwd=layout.state,
            env=_environment(component),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    started = Record(process.pid, start_ticks(process.pid) or 0, wanted)
    _path(layout, component.name).write_text(json.dumps(asdict(started)))
    return True


def stop(layout: Layout, name: str, seconds: float = 15) -> bool:
    """End a component, by force after `seconds`; True when it was running."""
    known = record(layout, name)
    running = known is not None and alive(layout, name)
    if known is not None and running:
        end([known.pid], seconds)
    _path(layout, name).unlink(missing_ok=True)
    return running


def end(pids: Iterable[int], seconds: float) -> None:
    """SIGTERM, then SIGKILL to whatever is left; returns when all are gone."""
    ages = {pid: ticks for pid in pids if (ticks := start_ticks(pid)) is not None}
    deadline = time.monotonic() + seconds
    signals = [signal.SIGTERM] if seconds > 0 else [signal.SIGKILL]
    while ages:
        for pid in ages if signals else ():
            _signal(pid, signals[0])
        signals = []
        time.sleep(0.02)
        ages = {pid: ticks for pid, ticks in ages.items() if start_ticks(pid) == ticks}
        if ages and time.monotonic() > deadline:
            signals, deadline = [signal.SIGKILL], time.monotonic() + 5


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def last_words(layout: Layout, name: str) -> str:
    path = layout.log / f"{name}.log"
    lines = path.read_text(errors="replace").splitlines()[-4:] if path.exists() else []
    return " | ".join(line[:300] for line in lines)


def wait_until(layout: Layout, what: str, ready: Callable[[], bool], needs: Iterable[str], seconds: float = 90) -> None:
    """Wait for `ready`; fail early, with its last log lines, when a needed component dies."""
    deadline = time.monotonic() + seconds
    while not ready():
        for name in needs:
            if not alive(layout, name):
                raise StepError(
                    f"{name} ended while waiting for {what}: {last_words(layout, name)} "
                    f"(whole log: {layout.log}/{name}.log)"
                )
        if time.monotonic() > deadline:
            raise StepError(f"{what} did not come within {seconds:g} s; logs are in {layout.log}")
        time.sleep(0.1)


def unrecorded(layout: Layout, names: Iterable[str]) -> list[int]:
    """Components whose record was lost: they would hold the ports of the ones to be started."""
    names = list(names)
    known = {found.pid for name in names if (found := record(layout, name)) is not None}
    return [pid for pid in strays(layout, names) if pid not in known]


def strays(layout: Layout, names: Iterable[str]) -> list[int]:
    """Ids of programs of these names that work on this state, whether or not a record knows them."""
    wanted = set(names)
    marker = f"{layout.state}/"
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if Path(words[0]).name in wanted and any(marker in word for word in words[1:]):
            found.append(int(entry.name))
    return found
