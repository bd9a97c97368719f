"""Which changed files a tool made: a build's output, a lock file, minified text. A hint for whoever reads the list.

It hides nothing: a hostile file can call itself generated, so one that will run is shown as that first.
"""

import re
from typing import Final

LINE_MAX_BYTES: Final = 2_000  # nobody writes longer ones by hand
_NAMES: Final = re.compile(
    r"(\.min\.(js|css|mjs)|\.(js|css|mjs|ts)\.map|_pb2(_grpc)?\.pyi?|\.pb(\.gw)?\.(go|cc|h)|\.g\.dart|\.freezed\.dart|"
    r"\.designer\.cs|\.(generated|gen)\.\w+|[-.]lock\.(json|yaml)|\.lock|\.lockb|go\.sum|npm-shrinkwrap\.json|\.snap)$"
)
_FOLDERS: Final = frozenset({"dist", "coverage", ".next", ".nuxt", "__generated__", "generated", "node_modules"})
_SAYS_SO: Final = re.compile(
    rb"@generated\b|\bDO NOT EDIT\b|\b(code|file) (is |was )?(auto-?|automatically )?generated\b", re.IGNORECASE
)


def made_by_name(path: str) -> bool:
    """Whether files at `path` (relative, with `/`) usually come out of a tool."""
    folders, _, name = path.casefold().rpartition("/")
    return _NAMES.search(name) is not None or not _FOLDERS.isdisjoint(folders.split("/"))


def made_by_line(line: bytes) -> bool:
    """Whether one line of the file says so, by its words or its length."""
    return len(line) > LINE_MAX_BYTES or _SAYS_SO.search(line) is not None
