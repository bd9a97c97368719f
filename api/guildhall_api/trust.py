"""By which CA the gateway is believed. Guards against a bundle read once: it changes while this process runs."""

import ssl
from pathlib import Path
from typing import Any

Version = tuple[int, int, int]


def _version(ca: Path) -> Version:
    """What tells one version of the file from the next. Raises OSError."""
    found = ca.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


class Trust(ssl.SSLContext):
    """A client's context that goes by the CA file as it is when a connection is made.

    No CA can be taken out of a context, so each version of the file gets one of its own; this one trusts nobody. A
    version that cannot be read is passed over. Making one raises OSError where there is no sound file.
    """

    def __new__(cls, _ca: Path) -> "Trust":
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, ca: Path) -> None:
        self._ca = ca
        self._kept = _version(ca), ssl.create_default_context(cafile=str(ca))

    def _now(self) -> ssl.SSLContext:
        seen, context = self._kept
        try:
            version = _version(self._ca)  # before the file: what is put there meanwhile is read the next time
            if version != seen:
                context = ssl.create_default_context(cafile=str(self._ca))
                self._kept = version, context
        except OSError:
            return context
        return context

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """The one way asyncio and anyio make a connection."""
        return self._now().wrap_bio(*args, **kwargs)
