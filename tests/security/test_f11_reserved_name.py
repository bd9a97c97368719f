"""F11: the top-level `.orchestration` belongs to the product, however a workspace or a path spells it."""

from pathlib import Path

import pytest
from guildhall_contracts import frames
from guildhall_contracts.gate import PrepareMessage, decode_message
from support.workshop import b64, prepare, running, snapshot

pytestmark = pytest.mark.go

SPELLINGS = [
    ".orchestration", "./.orchestration", ".orchestration/journal", "./.orchestration/journal", "deep-link",
    "sub/../.orchestration/journal", "link", "link/journal", "chain/journal", ".orchestration//journal",
    ".orchestration/../.orchestration/journal",
]  # fmt: skip


@pytest.mark.parametrize("path", SPELLINGS)
def test_every_spelling_is_refused(tmp_path: Path, path: str) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        own = shop.workspace / ".orchestration"
        for folder in (own, shop.workspace / "sub", shop.workspace / "sub" / ".orchestration"):
            folder.mkdir()
        (own / "journal").write_text("events\n")
        (shop.workspace / "link").symlink_to(".orchestration")
        (shop.workspace / "chain").symlink_to("sub/../link")
        (shop.workspace / "deep-link").symlink_to("./.orchestration/journal")
        before = snapshot(own)
        for operation, fields in (
            (frames.ReadRequest, {}), (frames.WriteRequest, {"data": b64("x")}), (frames.ListRequest, {}),
            (frames.EditRequest, {"old": b64("e"), "new": b64("x")}), (frames.SearchRequest, {"pattern": "e"}),
            (frames.MkdirRequest, {}), (frames.DeleteRequest, {"recursive": True}),
        ):  # fmt: skip
            assert client.call(operation, path=path, **fields).code == "permission_denied", operation
        assert client.call(frames.ExecRequest, command="true", cwd=path).code == "permission_denied"
        assert snapshot(own) == before
        listed = {entry.path for entry in client.call(frames.ListRequest, depth=5).last.entries}
        assert not [name for name in listed if name.startswith(".orchestration")]
        assert client.call(frames.SearchRequest, pattern="events").last.matches == []
        assert "sub/.orchestration" in listed  # control: only the top-level name is reserved
        assert not client.call(frames.WriteRequest, path="sub/.orchestration/x", data=b64("x")).code


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_one_planted_in_the_source_ends_prepare(tmp_path: Path, kind: str) -> None:
    workspace, baseline = tmp_path / "workspace", tmp_path / "baseline"
    workspace.mkdir()
    baseline.mkdir()
    assert prepare(workspace, baseline).returncode == 0  # control
    planted = workspace / ".orchestration"
    if kind == "folder":
        planted.mkdir()
    elif kind == "file":
        planted.write_text("x")
    else:
        planted.symlink_to("/nowhere")
    done = prepare(workspace, baseline)
    message = decode_message(PrepareMessage, done.stdout.decode())
    assert done.returncode == 5
    assert message is not None
    assert message.outcome == "workspace_failed"
    assert ".orchestration" in message.message
