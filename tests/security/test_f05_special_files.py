"""F5: hard links, FIFOs, sockets and devices are refused at once and never block."""

import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import frames
from support.workshop import b64, running, unb64

pytestmark = pytest.mark.go

CALLS: list[tuple[type[frames.PathRequest], dict[str, Any]]] = [
    (frames.ReadRequest, {}),
    (frames.WriteRequest, {"data": b64("x")}),
    (frames.EditRequest, {"old": b64("a"), "new": b64("b")}),
    (frames.SearchRequest, {"pattern": "."}),
]


def make(kind: str, path: Path, outside: Path) -> None:
    if kind == "hard link":
        path.hardlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    else:
        if os.getuid() != 0:
            pytest.skip("making a device needs root")
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero


@pytest.mark.parametrize("kind", ["hard link", "fifo", "socket", "device"])
def test_special_files_are_refused_within_a_second(tmp_path: Path, kind: str) -> None:
    (tmp_path / "workspace").mkdir()
    outside = tmp_path / "outside"
    outside.write_text("a secret\n")
    make(kind, tmp_path / "workspace" / "it", outside)
    (tmp_path / "workspace" / "plain").write_text("a\n")
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        for operation, fields in CALLS:
            began = time.monotonic()
            answer = client.call(operation, 2, path="it", **fields)
            assert answer.code == ("permission_denied" if kind == "hard link" else "not_regular")
            assert time.monotonic() - began < 1
        found = client.call(frames.SearchRequest, 2, pattern="a").last
        assert [match.path for match in found.matches] == ["plain"]
        assert unb64(client.call(frames.ReadRequest, path="plain").last.data) == b"a\n"  # control
    assert outside.read_text() == "a secret\n"
    assert stat.S_IFMT((tmp_path / "workspace" / "it").lstat().st_mode) != stat.S_IFDIR


def test_hostile_names_work_or_are_refused_clearly(tmp_path: Path) -> None:
    """F6: what a name holds is data; a listing shows it escaped and gives the true bytes beside."""
    names = [
        b"new\nline",
        b"bad\xff",
        "bidi\u202e".encode(),
        b"dot.",
        b"space ",
        b"-rf",
        b"$(touch x)",
        b"\x1b[31m",
        b"a" * 255,
    ]
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        for name in names:
            made = client.call(frames.WriteRequest, path_b64=b64(name), data=b64(name))
            assert not made.code, (name, made.last)
            assert unb64(client.call(frames.ReadRequest, path_b64=b64(name)).last.data) == name
            assert Path(os.fsdecode(os.fsencode(shop.workspace) + b"/" + name)).exists()
        listed = client.call(frames.ListRequest).last.entries
        assert len(listed) == len(names)
        for entry in listed:
            assert entry.path.isprintable()
            true_name = unb64(entry.path_b64) if entry.path_b64 else entry.path.encode()
            assert true_name in names
        for bad, code in ((b"a\0b", "invalid_argument"), (b"a" * 300, "invalid_argument"), (b"", "invalid_argument")):
            assert client.call(frames.WriteRequest, path_b64=b64(bad), data="").code == code


def test_f9_patterns_and_dashes_are_data(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        (shop.workspace / "-rf").write_text("-rf is a name\n" + "a" * 100_000 + "b\n")
        (shop.workspace / "other").write_text("kept\n")
        began = time.monotonic()
        assert client.call(frames.SearchRequest, 10, pattern="(a+)+$").last.matches == []
        assert time.monotonic() - began < 5
        assert [match.line for match in client.call(frames.SearchRequest, pattern="-rf").last.matches] == [1]
        assert [match.path for match in client.call(frames.SearchRequest, path="-rf", pattern="name").last.matches] == [
            "-rf"
        ]
        assert client.call(frames.SearchRequest, pattern="(?=a)").code == "invalid_argument"
        assert client.call(frames.DeleteRequest, path="-rf", recursive=True).code == ""
        assert [path.name for path in shop.workspace.iterdir()] == ["other"]
