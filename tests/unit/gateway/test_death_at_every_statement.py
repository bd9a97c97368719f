"""kill -9 before every statement and around every commit of the ledger: nothing is lost, paid twice or half done."""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.postgres import create_database

TESTS = str(Path(__file__).parents[2])


async def deaths(where: str, *options: str) -> list[dict[str, Any]]:
    """One record for each death; the last is the process that lived."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "unit.gateway.dying", where, *options,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={"PYTHONPATH": TESTS},
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2_000:]
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[str]:
    """A folder in memory where there is one: what dies here is a process, not the machine."""
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="guildhall-dying-", dir=fast if fast.is_dir() else tmp_path) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
async def where(request: pytest.FixtureRequest, folder: str) -> str:
    """A folder for an SQLite database, or one database on a real server."""
    if request.param == "sqlite":
        return folder
    server = str(request.getfixturevalue("postgres"))
    name = f"dying{time.monotonic_ns()}"
    await create_database(server, name)
    return f"{server}/{name}"


async def test_the_ledger_survives_death_at_every_statement(where: str) -> None:
    records = await deaths(where)
    assert [record for record in records if record["wrong"]] == []
    assert [record["killed"] for record in records] == [True] * (len(records) - 1) + [False]
    assert records[-1]["status"] == 0, "one process was not killed, and told the story to its end"
    assert len(records) > 60, "the control: so many moments to die at were found"


async def test_it_survives_death_while_its_tables_are_made(folder: str) -> None:
    records = await deaths(folder, "--fresh")
    assert [record for record in records if record["wrong"]] == []
    assert sum(record["killed"] for record in records) > 10


async def test_a_settlement_in_two_transactions_would_be_found_out(folder: str) -> None:
    assert any(record["wrong"] for record in await deaths(folder, "--broken"))


async def test_an_approval_used_up_before_its_call_is_kept_would_be_found_out(folder: str) -> None:
    wrong = [problem for record in await deaths(folder, "--hasty") for problem in record["wrong"]]
    assert any("the approval is consumed and the call None" in problem for problem in wrong)
