"""One way to start git, for fetching and for publishing: hardened, bounded, and its faults as sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from guildhall_contracts.fetch import GitUrl, Scheme, parse_git_url
from guildhall_contracts.limits import FETCH_REFS_MAX_BYTES

from guildhall_fetcher.credentials import Credentials, read_secret, usable
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.hardening import environment, options
from guildhall_fetcher.places import Places
from guildhall_fetcher.process import Deadline, Sink, run
from guildhall_fetcher.words import Explain, explain


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
class Git:
    """git on one repository of ours and one address. `bare`: there is no working tree, nothing can be checked out."""

    url: GitUrl
    places: Places
    deadline: Deadline
    credentials: Credentials | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)
    secret: bool = False
    bare: bool = False

    @property
    def hidden(self) -> tuple[bytes, ...]:
        return self.credentials.hidden if self.credentials else ()

    def run(
        self,
        *words: str,
        out: Sink | None = None,
        extra: Mapping[str, str] | None = None,
        because: Explain | None = None,
    ) -> bytes:
        """Its output, unless `out` takes it. Raises FetchFailed with what it means, as `because` says where given."""
        collected = Collected(FETCH_REFS_MAX_BYTES)
        argv = ["git", *options(self.url, self.places), *words]
        env = environment(self.url, self.places, self.credentials, self.proxies, bare=self.bare)
        code, errors = run(
            argv, env={**env, **(extra or {})}, cwd=self.places.staging, out=out or collected, deadline=self.deadline
        )
        if code != 0:
            raise because(errors, code) if because else self.explain(errors, code)
        return collected.data

    def explain(self, errors: str, code: int) -> FetchFailed:
        return explain(errors, code, self.url, secret=self.secret, hidden=self.hidden)


def checked_url(text: str, schemes: list[Scheme]) -> GitUrl:
    """The address, if it is one and its protocol is allowed here. Raises FetchFailed."""
    url = parse_git_url(text)
    if isinstance(url, str):
        raise FetchFailed("refused", f"workspace.git.url {url}")
    if url.scheme not in schemes:
        raise FetchFailed("refused", f"{url.scheme}:// is not allowed here (chart value fetcher.schemes)")
    return url


def credentials_for(url: GitUrl, places: Places, *, secret: bool) -> Credentials | None:
    """The Secret, where one was named and is for this address. Raises FetchFailed."""
    if secret:
        return usable(read_secret(places.secret), url)
    if url.scheme == "ssh":
        raise FetchFailed("refused", "ssh:// needs a Secret with ssh-privatekey and known_hosts; name it in secretRef")
    return None
