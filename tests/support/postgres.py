"""A store on SQLite and one on a private PostgreSQL; every test that takes `store_url` runs on both."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from guildhall_gateway.store import Store

NOBODY = "nobody"


def _tool(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a private PostgreSQL on loopback, without a database name; stopped and removed at the end."""
    initdb, server = _tool("initdb"), _tool("postgres")
    if initdb is None or server is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    user = NOBODY if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="guildhall-pg-"))
    try:
        if user is not None:  # the server refuses to run as root
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        data, port = folder / "data", free_port()
        command = [initdb, "-D", str(data), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(command, user=user, group=user and "nogroup", check=True, capture_output=True, cwd="/")
        options = [
            "-p",
            str(port),
            "-h",
            "127.0.0.1",
            "-k",
            str(folder),
            "-c",
            "fsync=off",
            "-c",
            "max_connections=200",
        ]
        log = (folder / "log").open("w")
        process = subprocess.Popen(
            [server, "-D", str(data), *options], user=user, group=user and "nogroup", stdout=log, stderr=log, cwd="/"
        )
        try:
            _wait_for(port)
            yield f"postgresql://test@127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)
            log.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("PostgreSQL did not start within 20 s")


async def create_database(url: str, name: str) -> None:
    import asyncpg  # type: ignore[import-untyped]

    for attempt in range(50):
        try:
            connection = await asyncpg.connect(f"{url}/postgres")
            break
        except asyncpg.CannotConnectNowError:
            if attempt == 49:
                raise
            await asyncio.sleep(0.1)
    await connection.execute(f'CREATE DATABASE "{name}"')
    await connection.close()


@pytest.fixture(params=["sqlite", "postgresql"])
async def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gateway.db"
    server = str(request.getfixturevalue("postgres"))
    name = f"t{time.monotonic_ns()}"
    await create_database(server, name)
    return f"{server}/{name}"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = Store(store_url)
    await opened.open()
    yield opened
    await opened.close()
