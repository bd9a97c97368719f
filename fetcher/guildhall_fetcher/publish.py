"""The steps of a delivery, in order: the patch by its hash, the commit, an index, a new commit, one new branch.

Guards the repository: what is pushed is the patch people were shown on the commit the Run began with, nothing of it is
ever checked out, and no branch that is there is touched.
"""

import errno
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from guildhall_contracts.base import one_line
from guildhall_contracts.limits import FETCH_TRIES_MAX_COUNT, PATCH_MAX_BYTES, PUBLISH_LINK_MAX_BYTES
from guildhall_contracts.publish import PublishOutcome, PublishRequest

from guildhall_fetcher import volume
from guildhall_fetcher.address import behind_proxy, reach
from guildhall_fetcher.applied import entries_of, problem
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.fetch import BETWEEN_TRIES_SECONDS, lay_out
from guildhall_fetcher.git import Collected, Git, checked_url, credentials_for
from guildhall_fetcher.places import Places
from guildhall_fetcher.process import Deadline
from guildhall_fetcher.push_words import explain_push
from guildhall_fetcher.refs import listed_at
from guildhall_fetcher.stopping import Stopped
from guildhall_fetcher.words import Explain

BASE: Final = "refs/guildhall/base"
SETTLES_SECONDS: Final = 1.0  # a server that has all of a push may be about to take it
LAST_LOOK_SECONDS: Final = 4  # within what a pod has between its deadline, or SIGTERM, and SIGKILL
WHO: Final = ("Guildhall", "guildhall@guildhall.invalid")


class PublishFailed(Exception):  # noqa: N818  reads as what it says
    """Nothing was pushed, for a reason that is not the network's. The message is for the person who wrote the Run."""

    def __init__(self, outcome: PublishOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message


@dataclass(frozen=True, slots=True)
class Publication:
    """One delivery: what is asked, the bytes it is about, and the git that does it."""

    request: PublishRequest
    patch: bytes
    git: Git

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.request.branch}"


def read_patch(places: Places, sha256: str) -> bytes:
    """The kept patch, if it is the one that was named. Raises PublishFailed."""
    try:
        with places.delivery.open("rb") as file:
            patch = file.read(PATCH_MAX_BYTES + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise PublishFailed("unsound", f"the Run's patch cannot be read ({why}); take it from the result") from error
    if hashlib.sha256(patch).hexdigest() != sha256:
        raise PublishFailed("unsound", "the kept patch is not the one the Run ended with; nothing of it was used")
    return patch


def message_of(request: PublishRequest) -> str:
    """The commit's message: a title, and what leads back to the Run."""
    title = one_line(request.title, 72) or f"Changes of Run {request.name}"
    return (
        f"{title}\n\nGuildhall-Run: {request.namespace}/{request.name}\nGuildhall-Run-UID: {request.run}\n"
        f"Guildhall-Patch-SHA256: {request.patch_sha256}\n"
    )


def _take_base(git: Git, commit: str) -> None:
    """Gets the commit the Run began with, one deep, into the index. Nothing is checked out: there is no tree."""
    git.run("init", "--quiet", "--bare", "--template=")
    try:
        git.run(
            "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
            "--no-auto-maintenance", "--depth", "1", "--", str(git.url), f"+{commit}:{BASE}",
        )  # fmt: skip
    except FetchFailed as failed:
        if failed.outcome == "ref_not_found":
            what = f"the server does not give out the commit {commit[:12]} any more, with which the Run began"
            raise PublishFailed("failed", f"{what}; push the patch yourself") from failed
        raise
    there = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{BASE}^{{commit}}").decode().strip()
    if there != commit:
        raise PublishFailed("unsound", f"the server gave out {there[:12]} for the commit {commit[:12]}")
    git.run("read-tree", commit)


def _does_not_fit(git: Git) -> Explain:
    """The failure behind git's refusal of a patch, unless disk, memory or a signal was what stopped it."""

    def explain(errors: str, code: int) -> FetchFailed:
        failed = git.explain(errors, code)
        if failed.outcome in ("too_large", "internal"):
            return failed
        return FetchFailed("hostile", "the patch does not fit the commit the Run began with, or is none git takes")

    return explain


def _link(git: Git, blob: bytes) -> bytes:
    """A link's target; of a longer one so much that it shows. Raises FetchFailed for anything else that fails."""
    collected = Collected(PUBLISH_LINK_MAX_BYTES)
    try:
        git.run("cat-file", "blob", blob.decode("ascii"), out=collected)
    except FetchFailed:
        if len(collected.data) <= PUBLISH_LINK_MAX_BYTES:
            raise
    return collected.data[: PUBLISH_LINK_MAX_BYTES + 1]


def _laid_down(publication: Publication) -> str:
    """The path of the very bytes that were checked."""
    path = publication.git.places.scratch / "patch"
    try:
        path.write_bytes(publication.patch)
    except OSError as error:
        why = error.strerror or type(error).__name__
        room = "workspace.storage.size" if error.errno == errno.EFBIG else "the chart value fetcher.resources.memory"
        raise FetchFailed("too_large", f"the publisher has no room for the patch ({why}); raise {room}") from error
    return str(path)


def _apply(publication: Publication) -> None:
    """The patch into the index, and what came of it against the patch. Raises FetchFailed and PublishFailed."""
    git, commit = publication.git, publication.request.commit
    path = _laid_down(publication)
    try:
        git.run("apply", "--cached", "--whitespace=nowarn", "--", path, because=_does_not_fit(git))
    except FetchFailed as failed:
        if failed.outcome != "hostile":
            raise
        raise PublishFailed("unsound", failed.message) from failed
    raw = git.run("diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", commit)
    found = problem(publication.patch, entries_of(raw), lambda blob: _link(git, blob))
    if found:
        raise PublishFailed("unsound", f"nothing was pushed: {found}")


def _commit(publication: Publication) -> str:
    """The commit's full id; the same for the same Run, however often it is made."""
    git, request = publication.git, publication.request
    path = git.places.scratch / "message"
    path.write_text(message_of(request), encoding="utf-8")
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", WHO[0]), ("EMAIL", WHO[1]), ("DATE", request.at))
    }
    tree = git.run("write-tree").decode().strip()
    words = ("commit-tree", "--no-gpg-sign", "-p", request.commit, "-F", str(path), tree)
    return git.run(*words, extra=who).decode().strip()


def _is_there(publication: Publication, commit: str) -> bool:
    """Whether the branch is on the server with our commit. Raises PublishFailed where it holds another."""
    output = publication.git.run("ls-remote", "--quiet", "--", str(publication.git.url), publication.ref)
    there = listed_at(output, publication.ref)
    if there not in ("", commit):
        what = f"the branch {publication.request.branch} is there and holds {there[:12]}, which is not of this Run"
        raise PublishFailed("branch_taken", f"{what}; nothing was overwritten")
    return there == commit


def _was_made(publication: Publication, commit: str, *, at_once: bool) -> bool:
    """Whether a push without an answer was done; False where the server does not say so in time.

    Raises PublishFailed where the branch holds another's commit.
    """
    soon = Deadline.after(LAST_LOOK_SECONDS)
    deadline = soon if at_once else max(soon, publication.git.deadline, key=lambda one: one.at)
    looking = replace(publication, git=replace(publication.git, deadline=deadline))
    try:
        if _is_there(looking, commit):
            return True
        if not at_once:
            return False
        deadline.pause(SETTLES_SECONDS)
        return _is_there(looking, commit)
    except FetchFailed:
        return False
    except Stopped:
        if at_once or not _was_made(publication, commit, at_once=True):
            raise
        return True


def _push(publication: Publication, commit: str) -> None:
    """Makes the branch if it is not there; the server compares, so that nobody's branch is moved by a race."""
    git = publication.git
    words = ("push", "--quiet", "--no-verify", f"--force-with-lease={publication.ref}:", "--", str(git.url))
    because = explain_push(git.explain, secret=git.secret)
    try:
        git.run(*words, f"{commit}:{publication.ref}", because=because)
    except (FetchFailed, Stopped) as ended:
        if not _was_made(publication, commit, at_once=isinstance(ended, Stopped)):
            raise


def once(publication: Publication) -> str:
    """One try; the commit on the branch. Raises FetchFailed and PublishFailed; then nothing of ours is left here."""
    git = publication.git
    volume.stage(git.places)
    try:
        if not behind_proxy(git.url, git.proxies):
            reach(git.url)
        _take_base(git, publication.request.commit)
        _apply(publication)
        commit = _commit(publication)
        if not _is_there(publication, commit):
            _push(publication, commit)
        return commit
    finally:
        volume.discard(git.places)


def published(request: PublishRequest, places: Places, proxies: Mapping[str, str]) -> str:
    """The whole delivery: up to three tries where the network failed, one where anything else did."""
    patch = read_patch(places, request.patch_sha256)
    url = checked_url(request.url, request.schemes)
    credentials = credentials_for(url, places, secret=request.secret)
    lay_out(places, credentials)
    seconds = request.timeout_seconds
    deadline = Deadline(time.monotonic() + seconds, seconds, "the branch could not be pushed", "")
    publication = Publication(
        request, patch, Git(url, places, deadline, credentials, proxies, secret=request.secret, bare=True)
    )
    for pause in BETWEEN_TRIES_SECONDS[: FETCH_TRIES_MAX_COUNT - 1]:
        try:
            return once(publication)
        except FetchFailed as failed:
            if not failed.transient:
                raise
            deadline.pause(pause)
    return once(publication)
