"""Blobs: kept under their true hash, bounded for each blob and Run, seen only by the api, gone with their Run."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from guildhall_contracts import limits
from guildhall_gateway.blobs import Blobs
from guildhall_gateway.problems import Refused
from guildhall_gateway.store import Store
from unit.gateway import kit


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


async def test_a_blob_goes_in_once_and_out_to_the_api_only(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4_000
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client() as executor, served.client(kit.API_TOKEN) as api, served.client("junk") as other:
            put = await executor.put(f"/v1/blobs/{sha(data)}", content=data)
            assert (put.status_code, put.json()) == (201, {"sha256": sha(data), "size": len(data)})
            assert (await executor.put(f"/v1/blobs/{sha(data)}", content=data)).status_code == 200
            path = f"/internal/v1/runs/run-1/blobs/{sha(data)}"
            got = await api.get(path)
            assert got.content == data
            assert got.headers["content-type"] == "application/octet-stream"
            assert (await executor.get(path)).status_code == 401
            assert (await other.get(path)).status_code == 401
            assert (await api.get(f"/internal/v1/runs/run-2/blobs/{sha(data)}")).status_code == 404


async def test_a_lying_hash_keeps_nothing(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client() as client:
            assert (await client.put(f"/v1/blobs/{sha(b'good')}", content=b"evil")).status_code == 422
            assert files(tmp_path / "blobs") == []
            assert (await client.put(f"/v1/blobs/{sha(b'good')}", content=b"good")).status_code == 201


@pytest.mark.parametrize(
    "name", ["x", "0" * 63, "A" * 64, "..%2f..%2fgateway.db", "0" * 64 + "%00", "%2e%2e", "0" * 64 + "/../x"]
)
async def test_names_that_are_no_hash_reach_no_file(tmp_path: Path, name: str) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client() as client, served.client(kit.API_TOKEN) as api:
            assert (await client.put(f"/v1/blobs/{name}", content=b"")).status_code in (401, 404)
            for run in ("run-1", "..", "%2e%2e", "x%2fy"):
                answer = await api.get(f"/internal/v1/runs/{run}/blobs/{name}")
                assert answer.status_code == 404
                assert b"SQLite" not in answer.content
        assert files(tmp_path / "blobs") == []


async def test_size_is_bounded_whether_declared_or_not(tmp_path: Path) -> None:
    data = b"x" * (limits.BLOB_MAX_BYTES + 1)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()

        async def undeclared() -> AsyncIterator[bytes]:
            for start in range(0, len(data), 65_536):
                yield data[start : start + 65_536]

        async with served.client() as client:
            statuses = []
            for content in (data, undeclared()):
                try:
                    statuses.append((await client.put(f"/v1/blobs/{sha(data)}", content=content)).status_code)
                except httpx.TransportError:  # answered and closed while we still sent
                    statuses.append(413)
            assert statuses == [413, 413]
            assert files(tmp_path / "blobs") == []
            whole = data[:-1]
            assert (await client.put(f"/v1/blobs/{sha(whole)}", content=whole)).status_code == 201


async def test_a_runs_blobs_are_bounded_together(store: Store, tmp_path: Path) -> None:
    blobs = Blobs(store, tmp_path / "blobs", blob_max_bytes=10, run_max_bytes=25)
    blobs.open()
    for data in (b"a" * 10, b"b" * 10):
        assert await blobs.put("run-1", sha(data), pieces(data), None) is True
    with pytest.raises(Refused) as caught:
        await blobs.put("run-1", sha(b"c" * 10), pieces(b"c" * 10), None)
    assert caught.value.refusal.status == 507
    assert sha(b"c" * 10) not in files(tmp_path / "blobs")
    assert await blobs.put("run-1", sha(b"c" * 5), pieces(b"c" * 2, b"c" * 3), None) is True
    assert await blobs.put("run-1", sha(b"a" * 10), pieces(b"a" * 10), None) is False, "what is there costs no room"
    assert await blobs.put("run-2", sha(b"c" * 10), pieces(b"c" * 10), None) is True, "another Run has its own"
    await blobs.drop("run-1")
    assert len(files(tmp_path / "blobs")) == 1
    with pytest.raises(Refused):
        await blobs.find("run-1", sha(b"a" * 10))


async def test_what_belongs_to_a_deleted_run_is_deleted_too_even_after_a_restart(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    for deleted in ("while it ran", "while it was down"):
        cluster = kit.Cluster()
        async with kit.serve(tmp_path, cluster) as served:
            run = cluster.add_run()
            cluster.add_run("stays", token="stays")
            for token in (kit.TOKEN, "stays"):
                async with served.client(token) as client:
                    assert (await client.put(f"/v1/blobs/{sha(b'x')}", content=b"x")).status_code in (200, 201)
            if deleted == "while it ran":
                cluster.tell("gone", run)
                await kit.until(lambda: len(files(tmp_path / "blobs")) == 1)
        after = kit.Cluster()
        after.add_run("stays", token="stays")
        async with kit.serve(tmp_path, after) as served:
            await kit.until(lambda: len(files(tmp_path / "blobs")) == 1)
            assert await served.gateway.store.runs_with_content() == ["stays"]


async def test_a_broken_upload_leaves_nothing(store: Store, tmp_path: Path) -> None:
    blobs = Blobs(store, tmp_path / "blobs")
    blobs.open()

    async def breaks() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await blobs.put("run-1", sha(b"half and half"), breaks(), None)
    assert files(tmp_path / "blobs") == []
    (tmp_path / "blobs" / "run-1" / "left.part").write_bytes(b"from a killed gateway")
    blobs.open()
    assert files(tmp_path / "blobs") == []
