"""What a commit holds, from git's own listing, before one file of it is written. Pure.

Guards the volume against a commit that is small as a pack and endless as files or folders, and the workspace against
names that mean something to Guildhall or fall together where case is not told apart.
"""

from dataclasses import dataclass, field

from guildhall_contracts.base import cut
from guildhall_contracts.fetch import FetchRequest
from guildhall_contracts.limits import (
    FETCH_ENTRY_MAX_BYTES,
    FETCH_FOLDERS_DEEP_MAX_COUNT,
    FETCH_SHOWN_PATH_MAX_CHARS,
    FETCH_SHOWN_PATHS_MAX_COUNT,
)

from guildhall_fetcher.failure import FetchFailed

RESERVED = ".orchestration"
SUBMODULE = b"160000"


def shown(path: bytes) -> str:
    """A path fit for a status: every byte and character that does not print is escaped."""
    text = path.decode("utf-8", "backslashreplace")
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return cut(safe, FETCH_SHOWN_PATH_MAX_CHARS)


@dataclass(slots=True)
class Listing:
    """Takes the bytes of `git ls-tree -r -l -z` piece by piece, and stops it at the first bound. Raises FetchFailed."""

    request: FetchRequest
    taken_bytes: int = 0  # what the history takes up already
    tells_case: bool = True
    files: int = 0
    folders: int = 0
    content_bytes: int = 0
    submodules: list[str] = field(default_factory=list)
    submodules_count: int = 0
    _rest: bytes = b""
    _above: list[bytes] = field(default_factory=list)  # the folders of the entry before
    _folded: dict[str, bytes] = field(default_factory=dict)

    def __call__(self, piece: bytes) -> None:
        *entries, self._rest = (self._rest + piece).split(b"\0")
        if len(self._rest) > FETCH_ENTRY_MAX_BYTES:
            raise FetchFailed("hostile", "the repository has a path longer than any file system takes")
        for entry in entries:
            self._entry(entry)

    def _entry(self, entry: bytes) -> None:
        about, _, path = entry.partition(b"\t")
        mode, _, _, size = about.split()
        self._name(path)
        self._below(path.split(b"/")[:-1])
        if mode == SUBMODULE:
            self.submodules_count += 1
            self._bounds()
            if len(self.submodules) < FETCH_SHOWN_PATHS_MAX_COUNT:
                self.submodules.append(shown(path))
            return
        self.files += 1
        self.content_bytes += int(size)
        self._bounds()

    def _bounds(self) -> None:
        if self.folders > self.request.max_files:
            raise FetchFailed("too_large", f"the commit has more than {self.request.max_files} folders")
        if self.files + self.submodules_count > self.request.max_files:  # a submodule becomes a folder: it takes room
            what = "files and submodules" if self.submodules_count else "files"
            raise FetchFailed("too_large", f"the commit has more than {self.request.max_files} {what}")
        if self.taken_bytes + self.content_bytes > self.request.max_bytes:
            what = f"history and files are more than {self.request.max_bytes} bytes"
            raise FetchFailed("too_large", f"{what}; raise workspace.storage.size or lower workspace.git.depth")

    def _below(self, folders: list[bytes]) -> None:
        """Counts the folders that are new with this entry: git lists what is in one folder in a row."""
        if len(folders) > FETCH_FOLDERS_DEEP_MAX_COUNT:
            raise FetchFailed(
                "hostile", f"the repository has a path of more than {FETCH_FOLDERS_DEEP_MAX_COUNT} folders"
            )
        pairs = zip(folders, self._above, strict=False)
        self.folders += len(folders) - next(
            (at for at, (one, other) in enumerate(pairs) if one != other), min(len(folders), len(self._above))
        )
        self._above = folders

    def _name(self, path: bytes) -> None:
        if path.split(b"/", 1)[0].decode("utf-8", "replace").casefold() == RESERVED:
            raise FetchFailed("hostile", f"the repository has a top-level '{RESERVED}', which is Guildhall's own")
        if not self.tells_case:
            self._apart(path)

    def _apart(self, path: bytes) -> None:
        parts = path.split(b"/")
        for count in range(1, len(parts) + 1):
            part = b"/".join(parts[:count])
            known = self._folded.setdefault(part.decode("utf-8", "surrogateescape").casefold(), part)
            if known != part:
                both = f"'{shown(known)}' and '{shown(part)}'"
                raise FetchFailed("hostile", f"{both} are one name on this volume, which does not tell case apart")
