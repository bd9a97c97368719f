"""The change set over the socket: real git applies it to a clean copy, and the workspace's git is never asked."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from guildhall_contracts import frames, limits
from support.workshop import running, snapshot

pytestmark = pytest.mark.go


def apply(patch: bytes, folder: Path) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", "apply", "--whitespace=nowarn"], cwd=folder, input=patch, check=True, env=environment)


def files(folder: Path) -> dict[str, str]:
    """What git would keep of a tree."""
    return {
        name: text if text.startswith("12") else f"{int(text.split()[0], 8) & 0o100} {text.split(' ', 1)[1]}"
        for name, text in snapshot(folder).items()
        if not text.startswith("4") and ".git/" not in name
    }


def test_a_run_of_real_work_applies_to_a_clean_copy(tmp_path: Path) -> None:
    """BE-02: a fix, a compiled file, an empty new file, a mode change, a rename, a file without final newline."""
    start, clean = tmp_path / "workspace", tmp_path / "clean"
    start.mkdir()
    (start / "src").mkdir()
    (start / "src/main.py").write_text("".join(f"line {number}\n" for number in range(200)))
    (start / "old name.txt").write_text("moved\n")
    (start / "script").write_text("#!/bin/sh\necho 1")
    shutil.copytree(start, clean)
    with running(tmp_path) as shop, shop.client() as client:
        assert client.call(frames.DiffRequest).chunks == b""
        done = client.sh(
            "sed -i 's/line 77$/line seventy-seven/' src/main.py; mv 'old name.txt' new.txt; chmod +x script;"
            " touch empty;"
            " printf 'no end' > noend; head -c 5000 /dev/urandom > compiled.bin; ln -s src/main.py link;"
            " git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x; git clean -fdxq;"
            " mkdir -p src/__pycache__ && echo x > src/__pycache__/main.pyc"
        )
        assert done.last.exit_code == 0, done.text
        answer = client.call(frames.DiffRequest)
        assert answer.last.sha256 == hashlib.sha256(answer.chunks).hexdigest()
        assert answer.last.size == len(answer.chunks)
        config, cache = answer.last.omitted
        assert config.startswith(".git/config: added; git runs or obeys it")
        assert cache == "src/__pycache__/: cache directory, 1 new files"
        assert b"-line 77\n+line seventy-seven\n" in answer.chunks
        shutil.rmtree(start / "src" / "__pycache__")
        apply(answer.chunks, clean)
        assert files(clean) == files(start)


def test_a_patch_of_several_chunks_arrives_whole(tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    clean.mkdir()
    with running(tmp_path) as shop, shop.client() as client:
        for number in range(30):
            (shop.workspace / f"f{number}").write_text(f"{number}\n" * 30_000)
        answer = client.call(frames.DiffRequest)
        assert len(answer.chunks) > 3 * limits.FRAME_DATA_MAX_BYTES
        assert answer.last.sha256 == hashlib.sha256(answer.chunks).hexdigest()
        apply(answer.chunks, clean)
        assert files(clean) == files(shop.workspace)
        cut = client.call(frames.DiffRequest, limit_bytes=1_000)
        assert (cut.last.too_large, cut.last.size) == (True, len(cut.chunks))
        assert cut.chunks.count(b"diff --git ") * 56 > len(cut.chunks) > 900, "heads of files and no content"
        whole = client.call(frames.DiffRequest, limit_bytes=4_000)
        assert (whole.last.too_large, whole.chunks.count(b"diff --git "), whole.last.omitted) == (True, 30, [])


def test_a_large_tree_is_compared_quickly_and_in_little_memory(tmp_path: Path) -> None:
    base = tmp_path / "workspace"
    base.mkdir()
    for folder in range(100):
        (base / f"d{folder}").mkdir()
        for number in range(100):
            (base / f"d{folder}/f{number}").write_text(f"{folder} {number}\n")
    with running(tmp_path) as shop, shop.client() as client:
        before = shop.rss_bytes()
        (shop.workspace / "d50/f50").write_text("changed\n")
        answer = client.call(frames.DiffRequest, 10)
        assert answer.chunks.count(b"diff --git") == 1
        assert shop.rss_bytes() - before < 64 * limits.MIB


def test_cancel(tmp_path: Path) -> None:
    with running(tmp_path) as shop, shop.client() as client:
        for number in range(40):
            (shop.workspace / f"f{number}").write_bytes(os.urandom(300_000))
        number = client.start(frames.DiffRequest)
        client.call(frames.CancelRequest, target=number)
        assert client.finish(number, 10).code in {"cancelled", ""}
        assert client.call(frames.HelloRequest).last.version == 1
