"""The console's files: read once at start, served from memory by exact name, so no path of a request reaches a disk."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from guildhall_api.config import StartError
from guildhall_api.problems import problem

INDEX: Final = "/index.html"
FILE_MAX_BYTES: Final = 8 * 1024 * 1024
FILES_MAX_COUNT: Final = 2_000
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class File:
    data: bytes
    media_type: str
    etag: str


def read_console(folder: Path) -> dict[str, File]:
    """Every file below `folder` by its path in a URL; links that leave it and unknown kinds are left out.

    Raises StartError for more, or larger, files than a console has, and those that cannot be read.
    """
    try:
        return _read(folder)
    except OSError as error:
        raise StartError(f"the console in consoleDir {folder} cannot be read: {error}; let the api read it") from error


def _read(folder: Path) -> dict[str, File]:
    root, files = folder.resolve(), dict[str, File]()
    for path in sorted(root.rglob("*")) if root.is_dir() else []:
        media_type = TYPES.get(path.suffix)
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") or part == "node_modules" for part in parts)
        if media_type is None or hidden or not path.is_file() or not path.resolve().is_relative_to(root):
            continue
        if path.stat().st_size > FILE_MAX_BYTES or len(files) >= FILES_MAX_COUNT:
            message = f"the console's file {path} is too large, or there are too many"
            raise StartError(f"{message}: set consoleDir to the folder of the console and nothing else")
        data = path.read_bytes()
        files["/" + "/".join(parts)] = File(data, media_type, f'"{hashlib.sha256(data).hexdigest()[:32]}"')
    if INDEX in files:
        files["/"] = files[INDEX]
    return files


def serve(files: dict[str, File], request: Request) -> Response:
    """A console file by exact name, or 404."""
    file = files.get(request.url.path)
    if file is None:
        return problem(404, "There is nothing here", "Paths of the api start with /api; the console is at /.")
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.data, headers=headers, media_type=file.media_type)
