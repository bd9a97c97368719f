"""A renewed certificate is served to new connections without a restart; one that does not fit is left alone."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from guildhall_gateway import __main__ as program
from guildhall_gateway import certificate as served
from guildhall_gateway.certificate import Certificate
from guildhall_gateway.config import Tls
from support.certificates import certificate
from support.mounts import Mount
from unit.gateway import kit
from unit.gateway.test_main import running

Pair = tuple[bytes, bytes]


def pair(folder: Path) -> Pair:
    folder.mkdir()
    cert, key = certificate(folder)
    return cert.read_bytes(), key.read_bytes()


def put(mount: Mount, files: Pair) -> None:
    mount.put(tls_crt=files[0], tls_key=files[1])


async def shown(port: int) -> str:
    """The certificate (PEM) a new connection is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return ssl.DER_cert_to_PEM_cert(found)


@asynccontextmanager
async def listening(context: ssl.SSLContext) -> AsyncIterator[int]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def same(pem: str, files: Pair) -> bool:
    return ssl.PEM_cert_to_DER_cert(pem) == ssl.PEM_cert_to_DER_cert(files[0].decode())


async def test_the_process_serves_a_renewed_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.follow, "__defaults__", (0.05,))
    new = pair(tmp_path / "new")
    async with running(tmp_path, monkeypatch) as ports:
        first = (tmp_path / "tls.crt").read_bytes(), b""
        assert same(await shown(ports["https"]), first)
        for name, data in zip(("tls.crt", "tls.key"), new, strict=True):
            (tmp_path / "next").write_bytes(data)
            (tmp_path / "next").replace(tmp_path / name)  # key and certificate do not fit for a moment
        async with asyncio.timeout(10):
            while not same(await shown(ports["https"]), new):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_a_mounted_secret_is_followed_and_open_connections_go_on(tmp_path: Path) -> None:
    old, new = pair(tmp_path / "a"), pair(tmp_path / "b")
    mount = Mount(tmp_path / "mount")
    put(mount, old)
    tls = Tls(cert=str(mount / "tls.crt"), key=str(mount / "tls.key"))
    main = program.server(lambda *_: None, "127.0.0.1", 0, tls)
    main.config.load()
    assert main.config.ssl is not None
    following = Certificate(tls, main.config.ssl)
    assert following.refresh()
    assert not following.refresh(), "nothing changed"
    async with listening(main.config.ssl) as port:
        context = ssl.create_default_context(cadata=old[0].decode())
        reader, writer = await asyncio.open_connection("localhost", port, ssl=context, family=2)
        put(mount, new)
        assert same(await shown(port), old), "control: nobody has looked yet"
        assert following.refresh()
        assert same(await shown(port), new)
        writer.write(b"still here")
        assert await reader.readexactly(10) == b"still here"
        writer.close()


@pytest.mark.parametrize("bad", ["mixed", "empty", "gone"])
async def test_files_that_do_not_fit_leave_the_old_certificate_in_use(tmp_path: Path, bad: str) -> None:
    old, new = pair(tmp_path / "a"), pair(tmp_path / "b")
    mount = Mount(tmp_path / "mount")
    put(mount, old)
    tls = Tls(cert=str(mount / "tls.crt"), key=str(mount / "tls.key"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    following = Certificate(tls, context)
    assert following.refresh()
    async with listening(context) as port:
        put(mount, {"mixed": (new[0], old[1]), "empty": (b"", b""), "gone": old}[bad])
        if bad == "gone":
            (mount / "tls.key").resolve().unlink()
        assert not following.refresh()
        assert same(await shown(port), old)
        put(mount, new)
        assert following.refresh(), "control: the next sound version is taken"
        assert same(await shown(port), new)


async def test_the_files_are_looked_at_again_and_again(tmp_path: Path) -> None:
    old, new = pair(tmp_path / "a"), pair(tmp_path / "b")
    mount = Mount(tmp_path / "mount")
    put(mount, old)
    tls = Tls(cert=str(mount / "tls.crt"), key=str(mount / "tls.key"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    task = asyncio.create_task(served.follow(tls, context, 0.01))
    await asyncio.sleep(0.05)
    async with listening(context) as port:
        assert same(await shown(port), old)
        mount.lose()
        await asyncio.sleep(0.05)
        assert not task.done(), "files that are away for a moment do not end it"
        assert same(await shown(port), old)
        put(mount, new)
        async with asyncio.timeout(5):
            while not same(await shown(port), new):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    task.cancel()
    await kit.until(task.done)
