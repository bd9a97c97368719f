"""The steps of a fetch, in order: look, take, measure, check out, publish.

Guards the run pod: what it mounts is one commit's files beside a `.git` that this program wrote, complete, or nothing.
"""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from guildhall_contracts.fetch import FetchedSource, FetchRequest, GitUrl
from guildhall_contracts.limits import FETCH_TRIES_MAX_COUNT

from guildhall_fetcher import askpass, volume
from guildhall_fetcher.address import behind_proxy, reach
from guildhall_fetcher.credentials import Credentials
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.git import Git, checked_url, credentials_for
from guildhall_fetcher.places import Places
from guildhall_fetcher.process import Deadline, Sink
from guildhall_fetcher.refs import Wanted, candidates, choose, is_commit
from guildhall_fetcher.tree import Listing

TAKEN: Final = "refs/guildhall/taken"
BETWEEN_TRIES_SECONDS: Final = (0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Fetch:
    """One fetch: what is asked, where it goes, and what git may use."""

    request: FetchRequest
    tool: Git

    @property
    def places(self) -> Places:
        return self.tool.places

    @property
    def url(self) -> GitUrl:
        return self.tool.url

    def git(self, *words: str, out: Sink | None = None) -> bytes:
        """Runs git; its output, unless `out` takes it. Raises FetchFailed with what it means."""
        return self.tool.run(*words, out=out)


def lay_out(places: Places, credentials: Credentials | None) -> None:
    """Writes what git is pointed at: certificates, the askpass program, a copy of the key that ssh accepts."""
    values = credentials.values if credentials else {}
    bundles = [path.read_bytes() for path in (places.system_ca, places.ca) if path.is_file()]
    places.ca_bundle.write_bytes(b"\n".join([*bundles, values.get("ca.crt", b"")]))
    program = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I {shlex.quote(str(askpass.__file__))} "$1"\n'
    places.askpass.write_text(program)
    places.askpass.chmod(0o700)
    for path, key in ((places.key_copy, "ssh-privatekey"), (places.known_hosts_copy, "known_hosts")):
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(values.get(key, b"").strip() + b"\n")


def _wanted(fetch: Fetch) -> Wanted:
    ref = fetch.request.ref
    if is_commit(ref):
        return Wanted(ref)
    words = ["ls-remote", "--quiet", "--symref", "--", str(fetch.url), *candidates(ref)]
    return choose(ref, fetch.git(*words))


def _take(fetch: Fetch, wanted: Wanted) -> str:
    """Fetches the objects; the commit's full id."""
    fetch.git(
        "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
        "--depth", str(fetch.request.depth), "--", str(fetch.url), f"+{wanted.asked}:{TAKEN}",
    )  # fmt: skip
    commit = fetch.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{TAKEN}^{{commit}}").decode().strip()
    if not wanted.name and is_commit(wanted.asked) and commit != wanted.asked:
        raise FetchFailed("ref_not_found", f"{wanted.asked} is not a commit of this repository")
    return commit


def _measure(fetch: Fetch, commit: str) -> Listing:
    """Reads the whole listing before a file is written. Raises FetchFailed at the first bound."""
    places = fetch.places
    taken = volume.size_bytes(places.staging / ".git")
    listing = Listing(fetch.request, taken, tells_case=volume.tells_case_apart(places))
    fetch.git("ls-tree", "-r", "-l", "-z", "--full-tree", commit, out=listing)
    return listing


def _check_out(fetch: Fetch, wanted: Wanted, commit: str) -> None:
    """Files, index, HEAD and the address in `.git/config`; `read-tree` runs no hook, no filter and no submodule."""
    if wanted.is_branch:
        fetch.git("update-ref", wanted.name, commit)
        fetch.git("symbolic-ref", "HEAD", wanted.name)
    else:
        fetch.git("update-ref", "--no-deref", "HEAD", commit)
        if wanted.name:
            fetch.git("update-ref", wanted.name, TAKEN)
    fetch.git("update-ref", "-d", TAKEN)
    fetch.git("config", "--local", "remote.origin.url", str(fetch.url))
    fetch.git("config", "--local", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    fetch.git("read-tree", "--reset", "-u", commit)


def once(fetch: Fetch) -> FetchedSource:
    """One try from an empty volume to `tree/`. Raises FetchFailed; then nothing of it is left."""
    places = fetch.places
    volume.stage(places)
    try:
        if not behind_proxy(fetch.url, fetch.tool.proxies):
            reach(fetch.url)
        fetch.git("init", "--quiet", "--template=")
        wanted = _wanted(fetch)
        commit = _take(fetch, wanted)
        listing = _measure(fetch, commit)
        _check_out(fetch, wanted, commit)
        lfs, lfs_paths = volume.lfs_pointers(places)
        if volume.size_bytes(places.staging) > fetch.request.max_bytes:
            raise FetchFailed("too_large", "the files are larger than workspace.storage.size once they are written")
        volume.publish(places)
    finally:
        volume.discard(places)
    return FetchedSource(
        commit=commit,
        ref=wanted.name,
        files=listing.files,
        content_bytes=listing.content_bytes,
        submodules=listing.submodules_count,
        submodule_paths=listing.submodules,
        lfs_files=lfs,
        lfs_paths=lfs_paths,
    )


def fetched(request: FetchRequest, places: Places, proxies: Mapping[str, str]) -> FetchedSource:
    """The whole fetch: up to three tries where the network failed, one where anything else did. Raises FetchFailed."""
    url = checked_url(request.url, request.schemes)
    credentials = credentials_for(url, places, secret=request.secret)
    lay_out(places, credentials)
    deadline = Deadline.after(request.timeout_seconds)
    fetch = Fetch(request, Git(url, places, deadline, credentials, proxies, secret=request.secret))
    for pause in BETWEEN_TRIES_SECONDS[: FETCH_TRIES_MAX_COUNT - 1]:
        try:
            return once(fetch)
        except FetchFailed as failed:
            if not failed.transient:
                raise
            fetch.tool.deadline.pause(pause)
    return once(fetch)
