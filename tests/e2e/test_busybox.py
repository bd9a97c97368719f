"""A whole Run in an image of nothing but busybox, under the real kubelet: every tool, and a patch that is true."""

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.installation import Installation, archive_map, condition, one_role_guild, run_manifest

pytestmark = pytest.mark.cluster
NAME = "in-busybox"
CONFINED = ("NoNewPrivs:\t1", "Seccomp:\t2")
TOOLS = ("list_files", "search_files", "read_file", "edit_file", "write_file", "run_shell")
FILES = {"README": b"hello\n", "src/say.sh": b"echo wrong\r\n# it stays\r\n"}
AFTER = {"README": b"hello\n", "src/say.sh": b"echo right\r\n# it stays\r\n", "notes/new.txt": b"made here\n",
         "bin.dat": b"\0\1"}  # fmt: skip


def archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="module")
def finished(installation: Installation) -> dict[str, Any]:
    """The Run at its end, in the image of busybox alone."""
    installation.delete("run", NAME)
    installation.apply(archive_map(NAME, archive()))
    workspace = {"archive": {"configMap": NAME}}
    image = installation.images["busybox"]
    guild = one_role_guild(NAME, *TOOLS)
    installation.apply(run_manifest(NAME, guild=guild, image=image, workspace=workspace))
    return installation.wait_done(NAME, 120)


def results(here: Installation) -> list[dict[str, Any]]:
    """What each call came to, in the order they were begun: some were begun together."""
    events = here.events_of(NAME)
    finished = {event["op"]: event for event in events if event["type"] == "tool.finished"}
    return [finished[event["op"]] for event in events if event["type"] == "tool.started"]


def test_every_tool_does_its_work(installation: Installation, finished: dict[str, Any]) -> None:
    assert condition(finished, "Succeeded")["status"] == "True", installation.story(NAME)
    told = results(installation)
    codes = [event.get("errorCode") for event in told]
    assert codes == [None] * 5 + ["exit_status"] + [None] * 6 + ["wall_timeout"], told
    said = [event["output"] for event in told]
    assert said[0].splitlines() == ["README (6 bytes)", "src/", "src/say.sh (24 bytes)"]
    assert said[1:5] == [
        "src/say.sh:1: echo wrong",
        "echo wrong\n# it stays",
        "replaced 1 occurrence in src/say.sh (line 1)",
        "created notes/new.txt (10 bytes)",
    ]
    assert said[5].splitlines() == ["exit code 3", "10002", "no library", "right", *CONFINED, "said on stderr"]
    assert "in the background as job 1" in said[6]
    assert said[7].splitlines() == ["exit code 0", "it runs"]
    assert said[8].splitlines() == ["job 1: running", "ticking"]
    assert said[9].splitlines() == ["job 1: stopped", "ticking"]
    assert said[10].startswith("job 1: stopped: echo $$ > /tmp/job")
    assert said[11].splitlines()[:2] == ["exit code 0", "it is over"]
    assert told[11]["omittedBytes"] > 50_000, "head and tail alone are kept"
    assert "stopped after 1 seconds" in said[12]


def test_its_patch_is_true_outside(installation: Installation, finished: dict[str, Any], tmp_path: Path) -> None:
    changes = installation.api(f"/api/runs/{installation.namespace}.{NAME}/changes").body
    assert {file["path"] for file in changes["files"]} == {"bin.dat", "notes/new.txt", "src/say.sh"}
    assert finished["status"]["changes"]["files"] == 3
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    patch = changes["patch"].encode()
    subprocess.run(["git", "apply", "--unsafe-paths", "-"], cwd=tmp_path, input=patch, check=True, capture_output=True)
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == AFTER
    assert (tmp_path / "src/say.sh").stat().st_mode & 0o111, "the mode is in the patch"
