"""R3. Promise: a full disk is an error the model reads; the journal goes on and no file is half written."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from guildhall_contracts import frames, limits
from support.installation import ROOT, Installation, condition, one_role_guild, run_manifest
from support.workshop import b64, running, snapshot, unb64

CLUSTER = str(ROOT / "tests" / "cluster" / "cluster.py")
VOLUME_MIB = 32


@pytest.fixture
def small_claim(installation: Installation) -> Iterator[str]:
    """A claim that holds `VOLUME_MIB` and 64 names for each of them."""
    name = "r03-small"
    installation.tool(sys.executable, CLUSTER, "volume", "create", name, str(VOLUME_MIB))
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "bounded",
        "volumeName": name,
        "resources": {"requests": {"storage": f"{VOLUME_MIB}Mi"}},
    }
    installation.delete("run", "r03")
    installation.delete("persistentvolumeclaim", name)
    installation.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec})
    yield name
    installation.delete("run", "r03")
    installation.delete("persistentvolumeclaim", name)
    installation.tool(sys.executable, CLUSTER, "volume", "delete", name)


@pytest.mark.cluster
def test_a_run_goes_on_when_workspace_names_and_tmp_are_full(installation: Installation, small_claim: str) -> None:
    """SQ-05 too. The scenario is the control: each step expects the error, and the last write works."""
    guild = one_role_guild("disk-full", "run_shell", "write_file")
    installation.apply(run_manifest("r03", guild=guild, workspace={"claim": {"name": small_claim}}))
    run = installation.wait_done("r03", 240)
    assert condition(run, "Succeeded")["status"] == "True", installation.story("r03")
    events = installation.events_of("r03")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), "the journal has no hole"
    tools = [event for event in events if event["type"] == "tool.finished"]
    assert [event.get("errorCode") for event in tools][1::2] == ["no_space", "no_space", None]
    assert tools[2]["output"].splitlines()[1:3] == ["start", "0"], "the old file is whole and no spare file is left"
    assert "alive" in tools[4]["output"]


@pytest.mark.go
@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small volume needs root")
def test_a_write_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    """FT-09, and the same for edits, names and the background."""
    for name in ("workspace", "tmp"):
        (tmp_path / name).mkdir()
        options = "size=1m,nr_inodes=40,mode=0777"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "guildhall-test", str(tmp_path / name)], check=True)
    try:
        with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
            (shop.workspace / "f").write_bytes(b"x" * 10_000)
            before = snapshot(shop.workspace)
            assert client.call(frames.WriteRequest, path="f", data=b64(b"y" * 500_000)).code == ""  # control: it fits
            (shop.workspace / "f").write_bytes(b"x" * 10_000)
            (shop.workspace / "full").write_bytes(b"z" * 900_000)
            grown = {**before, **snapshot(shop.workspace)}
            large = b64(b"y" * (limits.FRAME_DATA_MAX_BYTES - 2))
            assert client.call(frames.WriteRequest, path="f", data=large).code == "no_space"
            assert client.call(frames.EditRequest, path="f", old=b64("x" * 10_000), new=large).code == "no_space"
            assert client.call(frames.WriteRequest, path="new/deep/g", data=large).code == "no_space"
            assert client.sh("rm -rf new").last.exit_code == 0
            assert snapshot(shop.workspace) == grown
            names = client.sh("i=0; while touch n$i; do i=$((i+1)); done")
            assert b"No space left on device" in names.text
            assert client.call(frames.WriteRequest, path="g", data=b64("small")).code == "no_space"
            assert client.call(frames.MkdirRequest, path="d").code == "no_space"
            full = client.sh("head -c 9000000 /dev/zero > $TMPDIR/fill; echo told")
            assert b"No space left on device" in full.text
            assert full.text.endswith(b"told\n")
            started = client.sh("echo up; sleep 1000", background=True)
            assert (started.last.ended, started.text) == ("started", b"up\n"), "needs no room in /tmp"
            job = client.call(frames.JobsRequest, job=1, stop=True).last
            assert (job.jobs[0].state, unb64(job.head)) == ("stopped", b"up\n")
    finally:
        for name in ("workspace", "tmp"):
            subprocess.run(["umount", str(tmp_path / name)], check=True)
