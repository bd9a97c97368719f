"""A change of the gateway's CA: a client that runs goes on, and believes no longer what was taken out of the bundle.

The same for the executor's client and the api's, by real TLS and files that change as a kubelet changes them.
"""

import asyncio
import hashlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import guildhall_api.trust
import guildhall_executor.trust
import pytest
from guildhall_api.config import Gateway as ApiSettings
from guildhall_api.gateway import GatewayUnavailable, HttpGateway
from guildhall_contracts.model_api import MailboxPage
from guildhall_executor.gateway import Gateway, GatewayFileUnusable
from guildhall_executor.trust import Trust
from support.executor_run import QUICK, places, snapshot
from support.mounts import Mount
from unit.executor.test_tls import PAGE, certificate, serving, tls_server

NAME = "localhost"
Ask = Callable[[], Awaitable[bool]]
Client = Callable[[Path, int, Path], AbstractAsyncContextManager[Ask]]


@asynccontextmanager
async def executor(folder: Path, port: int, ca: Path) -> AsyncIterator[Ask]:
    """Whether the executor's client, made once, is answered."""
    at = replace(places(folder / "executor", snapshot()), ca=ca)
    at.hosts.write_text(f"127.0.0.1 {NAME}\n")
    client = Gateway(f"https://{NAME}:{port}", at, QUICK)

    async def ask() -> bool:
        return isinstance(await client.mailbox("", 1), MailboxPage)

    yield ask
    client.close()
    await asyncio.sleep(0.05)


@asynccontextmanager
async def api(folder: Path, port: int, ca: Path) -> AsyncIterator[Ask]:
    """Whether the api's client, made once, is answered."""
    (folder / "token").write_text("t")
    client = HttpGateway(ApiSettings(url=f"https://{NAME}:{port}", ca=str(ca), token=str(folder / "token")))

    async def ask() -> bool:
        try:
            return await client.blob("uid", hashlib.sha256(PAGE).hexdigest()) == PAGE
        except GatewayUnavailable as error:
            if "CERTIFICATE_VERIFY_FAILED" not in str(error):
                raise
            return False

    yield ask
    await client.aclose()


class Ends:
    """Two CAs with a certificate each, a server that shows one, and the mounted bundle its client goes by."""

    def __init__(self, folder: Path) -> None:
        self.old, self.old_chain = certificate(folder / "old", NAME)
        self.new, self.new_chain = certificate(folder / "new", NAME)
        self.context = serving(self.old_chain)
        self.mount = Mount(folder / "ca")
        self.ca = self.mount / "ca.crt"
        self.publish(self.old)

    def publish(self, *cas: Path) -> None:
        self.mount.put(ca_crt=b"\n".join(ca.read_bytes() for ca in cas))

    def listen(self) -> AbstractContextManager[int]:
        return tls_server(self.context, keeps=False)


@pytest.fixture
def ends(tmp_path: Path) -> Ends:
    return Ends(tmp_path)


both = pytest.mark.parametrize("client", [executor, api])


@both
async def test_a_client_that_runs_goes_through_a_whole_rotation(tmp_path: Path, ends: Ends, client: Client) -> None:
    with ends.listen() as port:
        async with client(tmp_path, port, ends.ca) as ask:
            assert await ask()
            ends.publish(ends.new, ends.old)
            assert await ask(), "published, not yet signing"
            ends.context.load_cert_chain(ends.new_chain)
            assert await ask(), "the new CA signs"
            ends.publish(ends.new)
            assert await ask(), "the old one is gone"
            ends.context.load_cert_chain(ends.old_chain)
            assert not await ask(), "and is believed no longer"
            ends.context.load_cert_chain(ends.new_chain)
            assert await ask()


@both
async def test_a_bundle_that_cannot_be_read_changes_nothing(tmp_path: Path, ends: Ends, client: Client) -> None:
    with ends.listen() as port:
        async with client(tmp_path, port, ends.ca) as ask:
            for spoil in (
                ends.mount.lose,
                lambda: ends.mount.put(ca_crt=b""),
                lambda: ends.mount.put(ca_crt=b"-----BEGIN CERTIFICATE-----\nno\n"),
            ):
                spoil()
                assert await ask(), "what was believed still is"
                ends.context.load_cert_chain(ends.new_chain)
                assert not await ask(), "and nothing else: neither the system's CAs nor anybody's"
                ends.context.load_cert_chain(ends.old_chain)
            ends.publish(ends.new)
            assert not await ask(), "control: the next sound version counts"


@both
async def test_the_name_is_checked_whatever_the_version(tmp_path: Path, ends: Ends, client: Client) -> None:
    other, chain = certificate(tmp_path / "other", "another.name")
    with ends.listen() as port:
        async with client(tmp_path, port, ends.ca) as ask:
            ends.publish(ends.old, other)
            assert await ask()
            ends.context.load_cert_chain(chain)
            assert not await ask()


def test_connections_of_one_version_share_its_context(ends: Ends) -> None:
    trust = Trust(ends.ca)
    first = trust._now()
    assert trust._now() is first
    ends.publish(ends.new)
    assert trust._now() is not first
    assert first.verify_mode is trust.verify_mode is ssl.CERT_REQUIRED
    assert trust.check_hostname
    assert not trust.get_ca_certs(), "used in any other way it believes nobody"


def test_without_a_sound_file_there_is_no_client(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    for path in (tmp_path / "none", empty, tmp_path):
        with pytest.raises(OSError, match=r".+"):
            Trust(path)
        at = replace(places(tmp_path / "executor", snapshot()), ca=path)
        with pytest.raises(GatewayFileUnusable, match="CA file"):
            Gateway("https://localhost", at, QUICK)


def test_both_components_carry_the_same_lines() -> None:
    """Components import no neighbour, and contracts do no I/O: so there are two of it, of one wording."""
    mine, theirs = (Path(str(each.__file__)).read_text() for each in (guildhall_executor.trust, guildhall_api.trust))
    assert mine == theirs
