"""Chromium in a network namespace of its own, with one door to the api.

On this machine pods come and go as network links of the host, and Chromium drops every request when a link changes.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Error, sync_playwright

CHROMIUM = "/usr/bin/chromium"
PORT = 8080
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def missing() -> str:
    """What this machine lacks for a browser test, or empty."""
    if os.geteuid() != 0:
        return "a network namespace needs root"
    lacks = [tool for tool in (CHROMIUM, "ip", "socat") if shutil.which(tool) is None]
    return f"not installed: {', '.join(lacks)}" if lacks else ""


@contextlib.contextmanager
def browser_at(url: str, folder: Path) -> Iterator[Browser]:
    """A browser that reaches `url` (an http address on this machine's loopback) as `http://localhost:8080`."""
    name = f"gh-{uuid.uuid4().hex[:8]}"
    door = folder / "door.sock"
    inside = ["ip", "netns", "exec", name]
    subprocess.run(["ip", "netns", "add", name], check=True)
    doors = []
    try:
        subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        target = url.removeprefix("http://")
        doors.append(subprocess.Popen(["socat", f"UNIX-LISTEN:{door},fork", f"TCP:{target}"]))
        doors.append(
            subprocess.Popen([*inside, "socat", f"TCP-LISTEN:{PORT},bind=127.0.0.1,fork", f"UNIX-CONNECT:{door}"])
        )
        _wait(door)
        start = folder / "chromium"
        start.write_text(f'#!/bin/sh\nexec {" ".join(inside)} {CHROMIUM} "$@"\n')
        start.chmod(0o755)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=str(start), args=list(FLAGS))
            try:
                yield browser
            finally:
                with contextlib.suppress(Error):
                    browser.close()
    finally:
        for process in doors:
            process.terminate()
            process.wait(10)
        subprocess.run(["ip", "netns", "delete", name], check=False)


def _wait(door: Path) -> None:
    for _ in range(100):
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.connect(str(door))
            return
        time.sleep(0.05)
    raise AssertionError("the browser's door to the api did not open")
