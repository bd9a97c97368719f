"""The binary as PID 1 of two images: this machine's own tree, and one with nothing in it but busybox."""

import io
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from guildhall_contracts import frames
from guildhall_contracts.gate import PrepareMessage, decode_message
from support.workshop import Client, Workshop, alive, b64, gone, unb64, workshop_binary

pytestmark = [
    pytest.mark.go,
    pytest.mark.skipif(os.getuid() != 0, reason="namespaces and chroot need root"),
    pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed"),
]

SOURCE = {
    "pkg-1.0/README": b"hello\n",
    "pkg-1.0/src/main.py": b"def f():\n    return 1\n",
    "pkg-1.0/run.sh": b"#!/bin/sh\n",
}


@dataclass
class Image:
    """A root directory and where our directories are, seen from inside it and from outside."""

    root: Path
    base: str

    def outside(self, name: str) -> Path:
        return self.root / self.base.lstrip("/") / name


def busybox_image(root: Path) -> Image:
    busybox = shutil.which("busybox")
    assert busybox
    for name in ("bin", "proc", "dev", "tmp", "work"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    subprocess.run(["chroot", str(root), "/bin/busybox", "--install", "-s", "/bin"], check=True)
    os.mknod(root / "dev" / "null", 0o20666, os.makedev(1, 3))
    (root / "dev" / "null").chmod(0o666)
    return Image(root, "/work")


def archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in SOURCE.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755 if name.endswith(".sh") else 0o644
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def inside(image: Image, *arguments: str) -> list[str]:
    """A command line that runs the injected binary as PID 1 of `image`."""
    script = 'mount -t proc proc "$0/proc" && exec chroot "$@"'
    binary = f"{image.base}/bin/guildhall-workshop"
    namespaces = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child"]
    return [*namespaces, "sh", "-c", script, str(image.root), str(image.root), binary, *arguments]


def fill(image: Image) -> None:
    for name in ("workspace", "baseline", "tmp", "bin"):
        image.outside(name).mkdir(parents=True)
    subprocess.run([workshop_binary(), "inject", "--bin", str(image.outside("bin"))], check=True)
    image.outside("source.tgz").write_bytes(archive())


def prepared(image: Image) -> PrepareMessage:
    base = image.base
    command = inside(
        image, "prepare", "--no-gate", "--workspace", f"{base}/workspace", "--baseline", f"{base}/baseline",
        "--archive", f"{base}/source.tgz", "--strip-components", "1", "--termination-log", f"{base}/message",
    )  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    message = decode_message(PrepareMessage, image.outside("message").read_text())
    assert message is not None
    return message


@contextmanager
def served(image: Image) -> Iterator[Workshop]:
    base = image.base
    command = inside(
        image, "serve", "--socket", f"{base}/w.sock", "--workspace", f"{base}/workspace", "--tmp", f"{base}/tmp",
        "--baseline", f"{base}/baseline", "--peer-uid", str(os.getuid()),
    )  # fmt: skip
    process = subprocess.Popen(command, env={"PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL)
    places = [image.outside(name) for name in ("workspace", "tmp", "baseline", "w.sock")]
    try:
        yield Workshop(process, places[0], places[1], places[2], places[3])
    finally:
        process.kill()
        process.wait(timeout=10)


@pytest.fixture(params=["debian", "busybox"])
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Image:
    made = busybox_image(tmp_path / "root") if request.param == "busybox" else Image(Path("/"), str(tmp_path / "work"))
    fill(made)
    return made


@pytest.fixture
def client(image: Image) -> Iterator[Client]:
    message = prepared(image)
    assert message.outcome == "passed"
    assert message.workspace is not None
    assert message.workspace.files == len(SOURCE)
    with served(image) as shop, shop.client() as one:
        yield one


def test_every_frame_kind(image: Image, client: Client) -> None:
    """One request of each kind, and every kind of reply, each with its effect in the workspace."""
    workspace = image.outside("workspace")
    hello = client.call(frames.HelloRequest).last
    assert hello.shell == ("bash" if image.root == Path("/") else "sh")
    assert unb64(client.call(frames.ReadRequest, path="README").last.data) == b"hello\n"
    assert client.call(frames.WriteRequest, path="new/file", data=b64("x\n")).last.created
    edit = client.call(frames.EditRequest, path="src/main.py", old=b64("return 1"), new=b64("return 2"))
    assert edit.last.lines == [2]
    listed = {entry.path for entry in client.call(frames.ListRequest, depth=3).last.entries}
    assert {"README", "new/file", "run.sh", "src/main.py"} <= listed
    assert client.call(frames.SearchRequest, pattern="return [0-9]").last.matches[0].text == "    return 2"
    assert not client.call(frames.MkdirRequest, path="folder").code
    assert client.call(frames.StatRequest, path="folder").last.entry.kind == "directory"
    assert not client.call(frames.DeleteRequest, path="folder").code
    assert not (workspace / "folder").exists()
    shell = client.sh("./run.sh; echo $0 $HOME; cat; exit 4", stdin=False)
    assert shell.last.exit_code == 4
    assert shell.output == shell.text
    fed = client.start(frames.ExecRequest, command="cat > fed", stdin=True)
    assert not client.call(frames.StdinRequest, target=fed, data=b64("fed\n"), eof=True).code
    assert client.finish(fed).last.exit_code == 0
    killed = client.start(frames.ExecRequest, command="sleep 1000")
    assert not client.call(frames.KillRequest, target=killed).code
    assert client.finish(killed).last.signal == "SIGTERM"
    cancelled = client.start(frames.ExecRequest, command="sleep 1000")
    assert not client.call(frames.CancelRequest, target=cancelled).code
    assert client.finish(cancelled).code == "cancelled"
    diff = client.call(frames.DiffRequest)
    assert diff.last.size == len(diff.chunks)
    assert b"-    return 1\n+    return 2\n" in diff.chunks
    assert b"+++ b/fed\n" in diff.chunks
    clean = image.outside("clean")
    clean.mkdir()
    with tarfile.open(fileobj=io.BytesIO(archive())) as tar:
        tar.extractall(clean, filter="data")
    subprocess.run(["git", "apply"], cwd=clean / "pkg-1.0", input=diff.chunks, check=True)
    assert (clean / "pkg-1.0/src/main.py").read_bytes() == (workspace / "src/main.py").read_bytes()


def test_as_first_process_it_reaps_and_cannot_be_killed_from_inside(image: Image, client: Client) -> None:
    assert client.sh("kill -9 1; kill -TERM 1; kill -9 -1; true").last.ended in {"exited", "signalled"}
    mark = 600_000 + time.time_ns() % 9_999
    answer = client.sh(
        f"for i in 1 2 3; do (setsid sleep {mark} &) ; done; (sh -c 'sleep 0.1 &' &); sleep 0.2; echo up"
    )
    assert answer.text == b"up\n"
    assert answer.last.killed_processes >= 3
    assert gone(f"sleep {mark}")
    table = client.sh("ps -o pid,stat,args 2>/dev/null || ps -eo pid,stat,args").text.decode()
    assert "guildhall-workshop serve" in table  # control: the table is that of the namespace
    assert " Z" not in table


def test_term_ends_it_at_once_with_all_its_commands(image: Image) -> None:
    prepared(image)
    mark = 500_000 + time.time_ns() % 9_999
    with served(image) as shop, shop.client() as client:
        client.start(frames.ExecRequest, command=f"trap '' TERM; sleep {mark}; sleep {mark}")
        while not alive(f"sleep {mark}"):
            time.sleep(0.02)
        (first,) = Path(f"/proc/{shop.process.pid}/task/{shop.process.pid}/children").read_text().split()
        began = time.monotonic()
        os.kill(int(first), signal.SIGTERM)
        shop.process.wait(timeout=5)
        assert time.monotonic() - began < 1
        assert gone(f"sleep {mark}")
