"""The patch kept for a branch: the one that was told last, on disk, or no word about it."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import Event
from guildhall_contracts.frames import AnyResult, DiffResult, ErrorReply, JobsResult
from guildhall_contracts.gate import PatchWord
from guildhall_executor.code.session import CodeSession
from guildhall_executor.delivery import Delivery
from guildhall_executor.work import Work
from support.executor_run import QUICK


def patch_of(name: str) -> bytes:
    return (
        f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n".encode()
    )


def listed(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


class Workspace:
    """Answers a look with `patch`."""

    def __init__(self, patch: bytes, omitted: list[str] | None = None, lacking: int = 0) -> None:
        self.patch, self.omitted, self.lacking = patch, omitted or [], lacking

    async def ask(self, make: Any, result: Any, *, on_chunk: Any = None, **_: Any) -> AnyResult | ErrorReply:
        if result is JobsResult:
            return JobsResult(id=1, jobs=[])
        if self.patch:
            on_chunk(0, self.patch)
        sha256 = hashlib.sha256(self.patch).hexdigest()
        return DiffResult(id=1, size=len(self.patch), sha256=sha256, omitted=self.omitted, lacking=self.lacking)


class Blobs:
    def __init__(self, failure: ErrorInfo | None = None) -> None:
        self.failure = failure

    async def put_blob(self, sha256: str, data: bytes) -> ErrorInfo | None:
        return self.failure


def work_on(workspace: Workspace, delivery: Delivery, blobs: Blobs | None = None) -> Work:
    def tell(kind: type[Event], **fields: Any) -> None:
        pass

    return Work(blobs or Blobs(), workspace, QUICK, tell, CodeSession(lambda _: None), delivery)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "delivery"


async def test_the_last_patch_told_is_the_one_kept(folder: Path) -> None:
    workspace, delivery = Workspace(patch_of("a")), Delivery(folder)
    work = work_on(workspace, delivery)
    await work.look_at_changes(1.0)
    assert delivery.word is None, "only the last look says what may be published"
    workspace.patch = patch_of("Makefile")
    await work.look_at_changes(1.0, last=True)
    kept = (folder / "patch").read_bytes()
    assert kept == workspace.patch
    assert delivery.word == PatchWord(sha256=hashlib.sha256(kept).hexdigest(), will_run=1)
    assert listed(folder) == {"patch": 0o644}, "the publisher reads it as another uid"


async def test_a_patch_known_from_before_is_still_the_word(folder: Path) -> None:
    delivery = Delivery(folder)
    work = work_on(Workspace(patch_of("a")), delivery)
    await work.look_at_changes(1.0)
    await work.look_at_changes(1.0, last=True)
    assert delivery.word is not None
    assert delivery.word.sha256 == hashlib.sha256(patch_of("a")).hexdigest()


async def test_a_run_that_undid_everything_has_nothing_to_deliver(folder: Path) -> None:
    workspace, delivery = Workspace(patch_of("a")), Delivery(folder)
    work = work_on(workspace, delivery)
    await work.look_at_changes(1.0)
    workspace.patch = b""
    await work.look_at_changes(1.0, last=True)
    assert delivery.word == PatchWord()


async def test_no_word_without_bytes_on_disk(folder: Path) -> None:
    delivery = Delivery(folder / "no" / "such" / "place")
    await work_on(Workspace(patch_of("a")), delivery).look_at_changes(1.0, last=True)
    assert delivery.word is None


async def test_no_word_for_a_change_set_that_was_not_told(folder: Path) -> None:
    delivery = Delivery(folder)
    failure = error_info("internal", "no room")
    await work_on(Workspace(patch_of("a")), delivery, Blobs(failure)).look_at_changes(1.0, last=True)
    assert delivery.word is None


async def test_a_run_that_makes_no_branch_keeps_nothing(tmp_path: Path) -> None:
    delivery = Delivery()
    await work_on(Workspace(patch_of("a")), delivery).look_at_changes(1.0, last=True)
    assert delivery.word is None
    assert listed(tmp_path) == {}


async def test_what_the_patch_lacks_is_told_by_its_count_and_not_by_lines_for_people(folder: Path) -> None:
    delivery, workspace = Delivery(folder), Workspace(patch_of("a"), ["x: cache directory, 3 new files"], lacking=1)
    await work_on(workspace, delivery).look_at_changes(1.0, last=True)
    assert delivery.word is not None
    assert delivery.word.omitted == 1
    workspace.lacking, workspace.omitted = 0, ["and 7 more"]
    delivery = Delivery(folder)
    await work_on(workspace, delivery).look_at_changes(1.0, last=True)
    assert delivery.word is not None
    assert delivery.word.omitted == 0


async def test_a_patch_that_could_not_be_kept_is_kept_by_the_next_look(tmp_path: Path) -> None:
    delivery = Delivery(tmp_path / "not-yet" / "delivery")
    work = work_on(Workspace(patch_of("a")), delivery)
    await work.look_at_changes(1.0)
    (tmp_path / "not-yet").mkdir()
    await work.look_at_changes(1.0, last=True)
    assert delivery.word is not None
    assert (tmp_path / "not-yet" / "delivery" / "patch").read_bytes() == patch_of("a")
