"""The certificate of the TLS port. Guards against a renewed one that waits for a restart, or is read half-written."""

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Final

from guildhall_gateway.config import Tls

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 30.0

State = tuple[tuple[int, int, int], ...]


def _state(tls: Tls) -> State:
    """What tells one version of the files from the next. Raises OSError."""
    found = [Path(name).stat() for name in (tls.cert, tls.key)]
    return tuple((one.st_ino, one.st_mtime_ns, one.st_size) for one in found)


class Certificate:
    """Keeps a listening context at the files' present version: new connections get it, open ones go on."""

    def __init__(self, tls: Tls, context: ssl.SSLContext, seen: State | None = None) -> None:
        self._tls = tls
        self._context = context
        self._seen = seen

    def refresh(self) -> bool:
        """Whether another version was taken. One that cannot be used yet is left until the next time."""
        try:
            now = _state(self._tls)
            if now == self._seen:
                return False
            # A certificate whose key does not fit would take the old key away: another context tries it first.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._tls.cert, self._tls.key)
            if _state(self._tls) != now:
                return False
            self._context.load_cert_chain(self._tls.cert, self._tls.key)
        except OSError as error:
            log.warning("the certificate in %s cannot be used yet: %s", self._tls.cert, error)
            return False
        self._seen = now
        return True


async def follow(tls: Tls, context: ssl.SSLContext, every_seconds: float = CHECK_SECONDS) -> None:
    """Serve a renewed certificate without a restart; never returns."""
    certificate = Certificate(tls, context)
    while True:
        if certificate.refresh():
            log.info("serving the certificate in %s", tls.cert)
        await asyncio.sleep(every_seconds)
