"""Asks the network before git does, so that a person reads what is wrong there instead of git's guess."""

import socket
import time
from collections.abc import Mapping

from guildhall_contracts.fetch import GitUrl
from guildhall_contracts.limits import FETCH_CONNECT_MAX_SECONDS

from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.stopping import waiting
from guildhall_fetcher.words import silence


def _addresses(url: GitUrl) -> list[tuple[int, tuple[object, ...]]]:
    try:
        found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        again = error.errno == socket.EAI_AGAIN
        what = "DNS does not answer the fetcher for" if again else "there is no host"
        raise FetchFailed("host_not_found", f"{what} '{url.host}'; check the address", transient=again) from error
    return [(family, address) for family, _, _, _, address in found]


def _answers(family: int, address: tuple[object, ...], seconds: float) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(seconds)
        try:
            with waiting():
                probe.connect(address)
        except OSError:
            return False
        return True


def reach(url: GitUrl) -> None:
    """Opens one TCP connection and closes it. Raises FetchFailed where there is no name or nobody answers.

    Each address has its share of the time that is left: behind one that swallows everything may be one that answers.
    """
    end = time.monotonic() + FETCH_CONNECT_MAX_SECONDS
    with waiting():
        addresses = _addresses(url)
    for tried, (family, address) in enumerate(addresses):
        share = max(0.1, end - time.monotonic()) / (len(addresses) - tried)
        if _answers(family, address, share):
            return
    raise FetchFailed("unreachable", silence(url), transient=True)


def behind_proxy(url: GitUrl, proxies: Mapping[str, str]) -> bool:
    """Whether git will go by the proxy, whose business names and connections are then."""
    return url.scheme == "https" and any(name.lower() == "https_proxy" for name in proxies)
