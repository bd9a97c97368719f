"""What is published is the patch that was shown, by hash, and only to the Run's own repository.

The three pieces in a row: the executor keeps and names a patch, the operator asks for it, the publisher pushes it.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.events import ChangedFile
from guildhall_contracts.frames import DiffResult
from guildhall_contracts.gate import PatchWord
from guildhall_contracts.publish import PublishMessage, PublishRequest, branch_of
from guildhall_contracts.run import Delivery as DeliveryStatus
from guildhall_contracts.run import RunSpec
from guildhall_executor.changes import Change, examine
from guildhall_executor.delivery import Delivery
from guildhall_operator.config import Fetcher
from guildhall_operator.delivering import refusal
from guildhall_operator.manifests.publish import publish_request
from guildhall_operator.run_view import run_view
from support.fetching import Servers, servers
from support.publishing import AT, UID, PublishPod, Work
from support.repositories import Repository, ordinary


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("served")) as found:
        yield found


@dataclass
class Scene:
    """A Run that has changed its workspace, up to the moment in which its patch is published."""

    served: Servers
    repository: Repository
    work: Work
    folder: Path

    def change(self) -> Change:
        """What the executor makes of the workshop's claim, and shows."""
        patch = self.work.patch()
        reply = DiffResult(id=1, size=len(patch), sha256=hashlib.sha256(patch).hexdigest())
        found = examine(reply, patch)
        assert isinstance(found, Change)
        return found

    def keep(self) -> tuple[Delivery, Change]:
        kept, change = Delivery(self.folder / "delivery"), self.change()
        kept.keep(change.sha256 or "", self.work.patch())
        kept.settle(change)
        return kept, change

    def request(self, word: PatchWord, **status: Any) -> PublishRequest:
        """What the operator asks for, by the executor's word and the Run's own spec."""
        spec = {"task": "Mend it", "guildRef": {"name": "g"}, "deliver": "branch",
                "workspace": {"git": {"url": self.served.git(self.repository.path.name)}}}  # fmt: skip
        raw = {
            "metadata": {"name": "fix", "namespace": "team", "uid": UID, "creationTimestamp": AT}, "spec": spec,
            "status": {"source": {"commit": self.work.commit}, "completionTime": AT, **status},
        }  # fmt: skip
        run, fetcher = run_view(raw), Fetcher(image="f", schemes=["git"])
        delivery = DeliveryStatus(branch=branch_of(run.name, run.uid), patch_sha256=word.sha256 or "")
        return publish_request(run, RunSpec.model_validate(spec), fetcher, delivery)

    def publish(self, request: PublishRequest) -> PublishMessage:
        """The publisher on the very bytes that are on the volume."""
        asked = json.loads(request.model_dump_json(by_alias=True))
        url, commit = asked.pop("url"), asked.pop("commit")
        patch = (self.folder / "delivery" / "patch").read_bytes()
        return PublishPod(self.folder / "pod").publish(url, commit, patch, **asked)

    def branches(self) -> list[str]:
        return self.repository.git("for-each-ref", "--format=%(refname)", "refs/heads/guildhall").splitlines()


@pytest.fixture
def scene(served: Servers, tmp_path: Path) -> Scene:
    shutil.rmtree(served.root / "mine.git", ignore_errors=True)
    made = ordinary(served.root, "mine.git")
    made.git("config", "daemon.receivepack", "true")
    work = Work.of(made, tmp_path / "work")
    (work.folder / "README.md").write_text("mended\n")
    return Scene(served, made, work, tmp_path)


def test_the_patch_that_was_shown_is_the_one_on_the_branch(scene: Scene) -> None:
    kept, shown = scene.keep()
    assert kept.word is not None
    assert kept.word.sha256 == shown.sha256, "the word is about what was shown"
    message = scene.publish(scene.request(kept.word))
    assert message.outcome == "published", message
    assert scene.repository.git("rev-parse", f"{message.commit}^{{tree}}") == scene.work.tree()
    listed = scene.repository.git("diff", "--name-only", f"{message.commit}^", message.commit or "").splitlines()
    assert listed == [file.path for file in shown.files]
    assert str(shown.sha256) in scene.repository.git("log", "-1", "--format=%B", message.commit or "")


@pytest.mark.parametrize("change", [b" ", b"+", b"\n"])
def test_one_other_byte_and_nothing_is_pushed(scene: Scene, change: bytes) -> None:
    kept, _ = scene.keep()
    assert kept.word is not None
    path = scene.folder / "delivery" / "patch"
    sound = path.read_bytes()
    path.write_bytes(sound + change)
    message = scene.publish(scene.request(kept.word))
    assert message.outcome == "unsound"
    assert scene.branches() == []
    path.write_bytes(sound)
    assert scene.publish(scene.request(kept.word)).outcome == "published", "control"


def test_a_patch_the_workspace_wrote_later_is_not_the_one(scene: Scene) -> None:
    """The word names what was told last; what is kept after it is another patch, and is refused."""
    kept, _ = scene.keep()
    word = kept.word
    assert word is not None
    (scene.work.folder / "README.md").write_text("evil\n")
    later = scene.work.patch()
    kept.keep(hashlib.sha256(later).hexdigest(), later)
    assert scene.publish(scene.request(word)).outcome == "unsound"
    assert scene.branches() == []


def test_the_address_is_the_specs_and_the_branch_the_uids_whatever_the_status_says(scene: Scene) -> None:
    kept, _ = scene.keep()
    assert kept.word is not None
    hostile = {"delivery": {"branch": "main", "url": "git://evil.example.test/x"}, "url": "git://evil.example.test/x"}
    asked = scene.request(kept.word, **hostile)
    assert asked.url == scene.served.git("mine.git")
    assert asked.branch == branch_of("fix", UID)
    with pytest.raises(ValueError, match="branch"):
        PublishRequest.model_validate({**asked.model_dump(), "branch": "main"})
    with pytest.raises(ValueError, match="branch"):
        PublishRequest.model_validate({**asked.model_dump(), "branch": "guildhall/../main"})


def test_what_may_be_merged_unseen_is_counted_from_the_patch(scene: Scene) -> None:
    """CI files and what is left out hold a branch back by the executor's own reading, not by the workspace's word."""
    (scene.work.folder / ".github" / "workflows").mkdir(parents=True)
    (scene.work.folder / ".github" / "workflows" / "ci.yml").write_text("on: push\n")
    kept, _ = scene.keep()
    assert kept.word is not None
    spec = RunSpec.model_validate({"task": "x", "deliver": "branch"})
    allowed = RunSpec.model_validate({"task": "x", "deliver": "branch", "publish": {"allowWillRun": True}})
    found = refusal(kept.word, spec)
    assert found is not None
    assert found[0] == "RunsUnasked"
    assert refusal(kept.word, allowed) is None
    whole, lacking = Delivery(scene.folder / "delivery"), Delivery(scene.folder / "delivery")
    change = scene.change()
    for each, said in ((whole, change), (lacking, replace(change, omitted=["data.bin: binary"], lacking=1))):
        each.keep(change.sha256 or "", scene.work.patch())
        each.settle(said)
    assert lacking.word is not None
    told = refusal(lacking.word, allowed)
    assert told is not None
    assert told[0] == "NotWhole"


def test_a_long_list_of_files_still_counts_what_runs() -> None:
    files = [ChangedFile(path=f"{number}.txt", status="added") for number in range(3)]
    files.append(ChangedFile(path="Makefile", status="modified", will_run=True))
    kept = Delivery(Path("/nonexistent"))
    kept.settle(Change(files=files, files_total=4))
    assert kept.word == PatchWord(will_run=1)
