"""Why a delivery failed is told as it was: what the machine lacked is not blamed on the patch or on a link in it."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.fetch import parse_git_url
from guildhall_contracts.limits import PUBLISH_LINK_MAX_BYTES
from guildhall_contracts.publish import PublishRequest
from guildhall_fetcher import publish
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.git import Git
from guildhall_fetcher.places import Places
from guildhall_fetcher.process import Deadline
from guildhall_fetcher.publish import Publication, PublishFailed
from support.publishing import AT, MIB, UID

PATCH = b"diff --git a/x b/x\nnew file mode 120000\nindex " + b"0" * 40 + b".." + b"1" * 40 + b"\n"
LISTED = b":000000 120000 " + b"0" * 40 + b" " + b"1" * 40 + b" A\0x\0"


@pytest.fixture
def publication(tmp_path: Path) -> Publication:
    url = parse_git_url("git://git.example.test/x.git")
    assert not isinstance(url, str)
    places = Places(workspace=tmp_path, scratch=tmp_path, secret=tmp_path / "none", ca=tmp_path / "none")
    request = PublishRequest(
        url="git://git.example.test/x.git", secret=False, schemes=["git"], commit="a" * 40, branch="guildhall/x",
        patch_sha256=hashlib.sha256(PATCH).hexdigest(), title="t", namespace="team", name="fix", run=UID, at=AT,
        max_bytes=MIB, memory_bytes=MIB, timeout_seconds=5,
    )  # fmt: skip
    return Publication(request, PATCH, Git(url, places, Deadline(time.monotonic() + 60, 60), bare=True))


def answering(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any]) -> None:
    """git answers by its subcommand: bytes and success, an exit code with words, or an exception."""

    def run(argv: list[str], *, out: Callable[[bytes], None], **_: Any) -> tuple[int, str]:
        answer = next(answers[word] for word in argv if word in answers)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            out(answer)
            return 0, ""
        code, words = answer
        return code, words

    monkeypatch.setattr("guildhall_fetcher.git.run", run)


@pytest.mark.parametrize(
    ("code", "errors", "words"),
    [
        (128, "fatal: unable to write new index file: No space left on device", "volume is full"),
        (1, "error: unable to create backing store for x\nfatal: Out of memory, malloc failed", "more memory"),
        (-9, "", "killed by signal 9"),
    ],
)
def test_what_the_machine_lacked_is_no_patch_that_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, publication: Publication, code: int, errors: str, words: str
) -> None:
    answering(monkeypatch, {"apply": (code, errors)})
    with pytest.raises(FetchFailed, match=words):
        publish._apply(publication)
    answering(monkeypatch, {"apply": (1, "error: patch failed: x:1\nerror: x: patch does not apply")})
    with pytest.raises(PublishFailed, match="does not fit") as control:
        publish._apply(publication)
    assert control.value.outcome == "unsound"


@pytest.mark.parametrize("where", ["apply", "cat-file"])
def test_a_deadline_is_told_as_one(monkeypatch: pytest.MonkeyPatch, publication: Publication, where: str) -> None:
    late = FetchFailed("timed_out", "the branch could not be pushed within 5 s")
    answering(monkeypatch, {"apply": b"", "diff-index": LISTED, "cat-file": b"", where: late})
    with pytest.raises(FetchFailed, match="within 5 s"):
        publish._apply(publication)


@pytest.mark.parametrize(("size", "sound"), [(PUBLISH_LINK_MAX_BYTES, True), (PUBLISH_LINK_MAX_BYTES + 1, False)])
def test_a_link_that_is_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch, publication: Publication, size: int, sound: bool
) -> None:
    answering(monkeypatch, {"apply": b"", "diff-index": LISTED, "cat-file": b"y" * size})
    if sound:
        publish._apply(publication)
        return
    with pytest.raises(PublishFailed, match=f"longer than {PUBLISH_LINK_MAX_BYTES} bytes"):
        publish._apply(publication)


def test_a_patch_that_cannot_be_laid_down(publication: Publication) -> None:
    (publication.git.places.scratch / "patch").mkdir()
    with pytest.raises(FetchFailed, match="no room for the patch") as found:
        publish._apply(publication)
    assert found.value.outcome == "too_large"
