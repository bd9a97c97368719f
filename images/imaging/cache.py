"""Where built images are kept."""

import os
from pathlib import Path


def folder() -> Path:
    """The images' folder among this user's caches; `XDG_CACHE_HOME` moves it if it is an absolute path."""
    moved = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(moved) if moved.startswith("/") else Path.home() / ".cache") / "guildhall" / "images"
