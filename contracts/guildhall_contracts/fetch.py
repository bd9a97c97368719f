"""What the fetcher is asked to fetch, and its one word to the operator (strict schema, at most 2 KiB).

Guards against an address that means something else to git, ssh or a shell than to the person who wrote it.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import Record

Scheme = Literal["https", "ssh", "git"]
CommitId = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$", max_length=64)]
GitRef = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.GIT_REF_MAX_CHARS, pattern=r"^[A-Za-z0-9][-A-Za-z0-9._/]*$")
]
LFS_SIGN: Final = b"version https://git-lfs.github.com/spec/v1\n"  # how a Git LFS pointer begins
DEFAULT_PORTS: Final[dict[Scheme, int]] = {"https": 443, "ssh": 22, "git": 9418}

_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]"
_URL: Final = re.compile(rf"(https|ssh|git)://(?:([^@/?#]*)@)?({_HOST})(?::([0-9]{{1,5}}))?(/[!-~]*)")
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_PLACE: Final = re.compile(rf"({_HOST})(?::([0-9]{{1,5}}))?")


@dataclass(frozen=True, slots=True)
class GitUrl:
    """A taken-apart address; `host` is in lower case and without brackets, `port` is never absent."""

    scheme: Scheme
    user: str
    host: str
    port: int
    path: str

    @property
    def place(self) -> tuple[str, int]:
        """What a Secret is bound to."""
        return self.host, self.port

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.user + '@' if self.user else ''}{host}{port}{self.path}"


def parse_git_url(url: str) -> GitUrl | str:
    """The address taken apart, or the sentence its author needs. Nothing after it interprets the text again."""
    found = _URL.fullmatch(url)
    if found is None:
        return (
            "is not an address this version fetches; write https://host/path, ssh://user@host/path or git://host/path"
        )
    scheme, user, host, port, path = found.groups()
    if user is not None and scheme != "ssh":
        return "must not carry a user name or password; put them into a Secret and name it in secretRef"
    if user is not None and not _USER.fullmatch(user):
        return "has a user name ssh cannot take; a password or key belongs into the Secret that secretRef names"
    if "?" in path or "#" in path or path == "/" or path.startswith("/-"):
        return "needs the plain path of a repository after the host: no '?', no '#', no leading '-'"
    number = int(port) if port else DEFAULT_PORTS[scheme]  # type: ignore[index]
    if not 1 <= number <= 65_535:
        return f"names port {number}, which does not exist"
    return GitUrl(scheme, user or "", host.strip("[]").lower(), number, path)  # type: ignore[arg-type]


def place_of(text: str, scheme: Scheme | Literal["http"]) -> tuple[str, int] | None:
    """Host and port that a Secret's `host` names (without a port: the scheme's own); None for anything else.

    The one rule for every Secret that is bound to a host: git's and Connections'.
    """
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        return None
    own = 80 if scheme == "http" else DEFAULT_PORTS[scheme]
    return found[1].strip("[]").lower(), int(found[2]) if found[2] else own


class FetchRequest(Record):
    """Environment variable `GUILDHALL_FETCH` of the fetcher. Bytes bound everything it writes to the workspace."""

    url: str = Field(min_length=1, max_length=limits.URL_MAX_CHARS)
    ref: GitRef = "HEAD"
    depth: int = Field(1, ge=1, le=10_000)
    secret: bool = False
    schemes: list[Scheme] = Field(min_length=1, max_length=3)
    attempt: int = Field(1, ge=1, le=limits.ATTEMPTS_MAX_COUNT)
    max_bytes: int = Field(ge=1)
    max_files: int = Field(limits.FETCH_FILES_MAX_COUNT, ge=1, le=limits.FETCH_FILES_MAX_COUNT)
    memory_bytes: int = Field(ge=limits.MIB)
    timeout_seconds: int = Field(limits.FETCH_TIMEOUT_SECONDS, ge=1, le=limits.FETCH_TIMEOUT_MAX_SECONDS)


FetchOutcome = Literal[
    "fetched",
    "refused",  # address, Secret or ref cannot be used as they are written
    "host_not_found",
    "unreachable",  # nothing answers there, or what is between does not let it through
    "tls_failed",
    "denied",  # the server knows no such repository, or not for these credentials
    "ref_not_found",
    "too_large",
    "timed_out",
    "hostile",  # the repository holds what git or Guildhall must not take
    "workspace_failed",  # the volume cannot be written
    "server_failed",  # the server broke off or answered with a fault of its own
    "internal",
]
ShownPath = Annotated[str, StringConstraints(max_length=limits.FETCH_SHOWN_PATH_MAX_CHARS)]


class FetchedSource(Record):
    """What is in the workspace: a commit, where it came from, and what was left out and not silently."""

    commit: CommitId
    ref: str = Field("", max_length=limits.GIT_REF_MAX_CHARS + 16)  # refs/heads/…, refs/tags/…, or empty for a bare id
    files: int = Field(0, ge=0)
    content_bytes: int = Field(0, ge=0)
    submodules: int = Field(0, ge=0)  # never fetched
    submodule_paths: list[ShownPath] = Field(default_factory=list, max_length=limits.FETCH_SHOWN_PATHS_MAX_COUNT)
    lfs_files: int = Field(0, ge=0)  # pointers, whose content was not downloaded
    lfs_paths: list[ShownPath] = Field(default_factory=list, max_length=limits.FETCH_SHOWN_PATHS_MAX_COUNT)


class FetchMessage(Record):
    """Termination message of the fetcher."""

    v: Literal[1] = 1
    outcome: FetchOutcome
    message: str = Field("", max_length=600)
    source: FetchedSource | None = None
    elapsed_milliseconds: int = Field(0, ge=0)
