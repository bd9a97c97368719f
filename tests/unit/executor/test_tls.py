"""The gateway must prove its name with the chart's CA; a name is never looked up, a certificate never waved through."""

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.model_api import MailboxPage
from guildhall_executor.gateway import Gateway
from support.executor_run import QUICK, places, snapshot

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
NAME = "guildhall-gateway.control.svc"


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A CA, and a certificate of `name` signed by it: (CA, certificate chain with key)."""
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    usage = ["-addext", "keyUsage=critical,keyCertSign"]
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca", *usage)
    openssl("req", *new_key[:-2], "-keyout", "s.key", "-out", "s.csr", "-subj", f"/CN={name}")
    (folder / "ext").write_text(f"subjectAltName=DNS:{name}\n")
    signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "ext"]
    openssl("x509", "-req", "-in", "s.csr", *signing, "-out", "s.crt")
    (folder / "s.pem").write_text((folder / "s.crt").read_text() + (folder / "s.key").read_text())
    return folder / "ca.crt", folder / "s.pem"


PAGE = b'{"cursor":"1","storedSeq":4}'


def serving(chain: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    return context


@contextmanager
def tls_server(context: ssl.SSLContext, *, keeps: bool = True) -> Iterator[int]:
    """Answers every request with an empty mailbox page, over one kept connection after another, or one for each."""
    more = "" if keeps else "Connection: close\r\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(PAGE)}\r\n{more}\r\n".encode()
    ready, port = threading.Event(), [0]
    stop: list[asyncio.Event] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (await reader.readuntil(b"\r\n\r\n")) != b"":
                writer.write(head + PAGE)
                await writer.drain()
                if not keeps:
                    break
        except (OSError, EOFError):
            pass
        writer.close()

    async def main() -> None:
        stop.append(asyncio.Event())
        loops.append(asyncio.get_running_loop())
        server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
        port[0] = server.sockets[0].getsockname()[1]
        ready.set()
        await stop[0].wait()
        server.close()
        await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    ready.wait(10)
    try:
        yield port[0]
    finally:
        loops[0].call_soon_threadsafe(stop[0].set)
        thread.join(10)


def ask(base: Path, port: int, ca: Path, name: str = NAME, times: int = 1) -> list[MailboxPage | ErrorInfo]:
    at = places(base, snapshot())
    at.ca.write_bytes(ca.read_bytes())
    at.hosts.write_text(f"127.0.0.1 {NAME} another.name\n")

    async def talk() -> list[MailboxPage | ErrorInfo]:
        client = Gateway(f"https://{name}:{port}", at, QUICK)
        answers = [await client.mailbox("", 1) for _ in range(times)]
        client.close()
        await asyncio.sleep(0.05)
        return answers

    return asyncio.run(talk())


def test_the_right_name_and_the_right_ca_are_needed_both(tmp_path: Path) -> None:
    ca, chain = certificate(tmp_path / "a", NAME)
    other_ca, _ = certificate(tmp_path / "b", NAME)
    with tls_server(serving(chain)) as port:
        good = ask(tmp_path / "x", port, ca, times=3)
        wrong_ca = ask(tmp_path / "x", port, other_ca)
        wrong_name = ask(tmp_path / "x", port, ca, "another.name")
    assert [page.stored_seq for page in good if isinstance(page, MailboxPage)] == [4, 4, 4]
    assert isinstance(wrong_ca[0], ErrorInfo)
    assert isinstance(wrong_name[0], ErrorInfo)
