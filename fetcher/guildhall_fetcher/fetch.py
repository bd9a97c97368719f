"""The steps of a fetch, in order: look, take, measure, check out, publish.

Guards the run pod: what it mounts is one commit's files beside a `.git` that this program wrote, complete, or nothing.
"""

import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from guildhall_contracts.fetch import FetchedSource, FetchRequest, GitUrl, parse_git_url
from guildhall_contracts.limits import FETCH_REFS_MAX_BYTES, FETCH_TRIES_MAX_COUNT

from guildhall_fetcher import askpass, volume
from guildhall_fetcher.address import behind_proxy, reach
from guildhall_fetcher.credentials import Credentials, read_secret, usable
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.hardening import environment, options
from guildhall_fetcher.places import Places
from guildhall_fetcher.process import Deadline, Sink, run
from guildhall_fetcher.refs import Wanted, candidates, choose, is_commit
from guildhall_fetcher.tree import Listing
from guildhall_fetcher.words import explain

TAKEN: Final = "refs/guildhall/taken"
BETWEEN_TRIES_SECONDS: Final = (0.5, 2.0)


class Collected:
    """The bytes of an output, up to a bound. Raises FetchFailed beyond it."""

    def __init__(self, max_bytes: int) -> None:
        self.data = b""
        self._max_bytes = max_bytes

    def __call__(self, piece: bytes) -> None:
        self.data += piece
        if len(self.data) > self._max_bytes:
            raise FetchFailed("too_large", f"the server lists more than {self._max_bytes} bytes of refs")


@dataclass(frozen=True, slots=True)
class Fetch:
    """One fetch: what is asked, where it goes, and what git may use."""

    request: FetchRequest
    url: GitUrl
    places: Places
    deadline: Deadline
    credentials: Credentials | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)

    def git(self, *words: str, out: Sink | None = None) -> bytes:
        """Runs git; its output, unless `out` takes it. Raises FetchFailed with what it means."""
        collected = Collected(FETCH_REFS_MAX_BYTES)
        argv = ["git", *options(self.url, self.places), *words]
        env = environment(self.url, self.places, self.credentials, self.proxies)
        code, errors = run(argv, env=env, cwd=self.places.staging, out=out or collected, deadline=self.deadline)
        if code != 0:
            hidden = self.credentials.hidden if self.credentials else ()
            raise explain(errors, code, self.url, secret=self.request.secret, hidden=hidden)
        return collected.data


def checked_url(request: FetchRequest) -> GitUrl:
    """The address, if it is one and its protocol is allowed here. Raises FetchFailed."""
    url = parse_git_url(request.url)
    if isinstance(url, str):
        raise FetchFailed("refused", f"workspace.git.url {url}")
    if url.scheme not in request.schemes:
        raise FetchFailed("refused", f"{url.scheme}:// is not allowed here (chart value fetcher.schemes)")
    return url


def credentials_for(request: FetchRequest, url: GitUrl, places: Places) -> Credentials | None:
    """The Secret, where one was named and is for this address. Raises FetchFailed."""
    if request.secret:
        return usable(read_secret(places.secret), url)
    if url.scheme == "ssh":
        raise FetchFailed("refused", "ssh:// needs a Secret with ssh-privatekey and known_hosts; name it in secretRef")
    return None


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
        if not behind_proxy(fetch.url, fetch.proxies):
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
    url = checked_url(request)
    credentials = credentials_for(request, url, places)
    lay_out(places, credentials)
    fetch = Fetch(request, url, places, Deadline.after(request.timeout_seconds), credentials, proxies)
    for pause in BETWEEN_TRIES_SECONDS[: FETCH_TRIES_MAX_COUNT - 1]:
        try:
            return once(fetch)
        except FetchFailed as failed:
            if not failed.transient:
                raise
            time.sleep(min(pause, fetch.deadline.left()))
    return once(fetch)
