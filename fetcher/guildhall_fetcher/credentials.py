"""The Secret a person named, and whether it may be used for this address.

Guards against a Secret that is carried to a host it was not made for: it is used only where its `host` names the
address's own host and port, and never over a protocol that sends it in the clear.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from guildhall_contracts.fetch import GitUrl, place_of
from guildhall_contracts.limits import FETCH_SECRET_KEY_MAX_BYTES

from guildhall_fetcher.failure import FetchFailed

KEYS: Final = ("host", "username", "password", "ssh-privatekey", "known_hosts", "ca.crt")


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """What the Secret holds, by key; `repr` shows none of it."""

    values: dict[str, bytes]

    @property
    def for_https(self) -> bool:
        return "password" in self.values

    @property
    def hidden(self) -> tuple[bytes, ...]:
        """What no message may contain, and the pair as HTTP joins it."""
        found = [self.values[key] for key in ("password", "ssh-privatekey") if self.values.get(key)]
        if self.for_https:
            found.append(self.values.get("username", b"git").strip() + b":" + self.values["password"].strip())
        return tuple(found)


def read_secret(folder: Path) -> dict[str, bytes]:
    """The keys of the mounted Secret that mean something here. Raises FetchFailed."""
    found: dict[str, bytes] = {}
    for key in KEYS:
        path = folder / key
        if not path.is_file():
            continue
        with path.open("rb") as file:
            found[key] = file.read(FETCH_SECRET_KEY_MAX_BYTES + 1)
        if len(found[key]) > FETCH_SECRET_KEY_MAX_BYTES:
            raise FetchFailed("refused", f"the Secret's key {key} is larger than {FETCH_SECRET_KEY_MAX_BYTES} bytes")
    return found


def _check_place(values: dict[str, bytes], url: GitUrl) -> None:
    named = values.get("host", b"").decode("utf-8", "replace")
    if not named:
        raise FetchFailed("refused", f"the Secret has no key host; set it to '{url.host}' to say where it may be used")
    if place_of(named, url.scheme) != url.place:
        wanted = f"{url.host}:{url.port}"
        raise FetchFailed("refused", f"the Secret's key host does not name {wanted}: nothing of it was sent")


def _check_parts(values: dict[str, bytes], url: GitUrl) -> None:
    if url.scheme == "ssh" and not values.get("ssh-privatekey"):
        raise FetchFailed("refused", "the Secret has no key ssh-privatekey, which ssh:// needs")
    if url.scheme == "ssh" and not values.get("known_hosts"):
        raise FetchFailed("refused", "the Secret has no key known_hosts (a line of ssh-keyscan), which ssh:// needs")
    if url.scheme == "https" and not (values.get("password") or values.get("ca.crt")):
        raise FetchFailed("refused", "the Secret has neither password nor ca.crt, one of which https:// needs")


def usable(values: dict[str, bytes], url: GitUrl) -> Credentials:
    """The Secret, if it is for this address. Raises FetchFailed before anything of it is used."""
    if url.scheme == "git":
        raise FetchFailed(
            "refused", "git:// sends everything in the clear, so no Secret is used with it; write https://"
        )
    _check_place(values, url)
    _check_parts(values, url)
    return Credentials(values)
