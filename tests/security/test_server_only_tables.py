"""What the gateway's database holds and nobody else may see: each table is declared, and only named columns leave.

Every column of every table is filled with a word of its own; then everything the api may ask for is asked. The positive
control is that the words of public columns do come back.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from guildhall_gateway.tables import METADATA
from sqlalchemy import BigInteger, Float, Integer, Table
from unit.gateway import kit

RUN = "run-1"
SERVER_ONLY: Final = {
    "meta", "instances", "runs", "replies", "inbox", "keeping",  # bookkeeping, prompts' replies, the mailbox's queue
    "frozen_guilds", "connection_pins", "tool_calls",  # prompts, what was accepted of servers, results of their tools
}  # fmt: skip
PUBLIC: Final = {"totals", "calls", "questions", "approvals", "blobs"}
SOUND: Final[dict[str, dict[str, Any]]] = {  # what records check, or code reads, when it goes out
    "meta": {"key": "canary"},
    "runs": {"uid": RUN, "namespace": "team", "name": "name-run-1", "budget": "{}", "first_seen": 1.0},
    "totals": {"scope": f"run:{RUN}"},
    "calls": {"model": "scripted:x", "state": "settled", "error_kind": None, "settled_at": 2.0, "role": "coder"},
    "questions": {"state": "open", "expires_at": 9e9, "options": "[]", "kind": "question", "role": "coder", "id": "q1"},
    "approvals": {
        "state": "open", "expires_at": 9e9, "effect": "read", "arguments_hash": "0" * 64, "role": "coder",
        "tool": "run_shell", "arguments": '{"canary": "canary-approvals-arguments"}', "arguments_bytes": 40,
    },
    "blobs": {"sha256": "0" * 64},
}  # fmt: skip


def canary(table: Table, column: str) -> str:
    return f"canary-{table.name}-{column}"


def row(table: Table) -> dict[str, Any]:
    """A row whose text says where it is from."""
    values: dict[str, Any] = {}
    for column in table.columns:
        number = isinstance(column.type, BigInteger | Float | Integer)
        values[column.name] = 1 if number else canary(table, column.name)
    if "run" in values:
        values["run"] = RUN
    return values | SOUND.get(table.name, {})


def test_every_table_is_declared() -> None:
    faces = {table.name: table.info["face"] for table in METADATA.tables.values()}
    assert {name for name, face in faces.items() if face == "public"} == PUBLIC
    assert {name for name, face in faces.items() if face == "server-only"} == SERVER_ONLY


@pytest.mark.parametrize("table", METADATA.tables.values(), ids=str)
def test_a_public_table_names_its_columns_and_another_has_none(table: Table) -> None:
    named = set(table.info["public"])
    assert bool(named) == (table.name in PUBLIC)
    assert named <= {column.name for column in table.columns}
    assert not named & {"owner", "scopes", "request_sha256", "body", "author"}, "keys and queues are nobody's business"


async def test_only_named_columns_reach_the_api(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        run = served.cluster.add_run()
        for table in METADATA.tables.values():
            await served.gateway.store.write(
                lambda connection, table=table: connection.execute(table.insert(), row(table))
            )
        served.gateway.usage.changed(run.uid, now=True)
        await kit.until(lambda: served.cluster.run_statuses)
        async with served.client(kit.API_TOKEN) as client:
            paths = (
                f"/internal/v1/runs/{run.uid}/ledger",
                "/internal/v1/awaiting",
                f"/internal/v1/awaiting?run={run.uid}",
                f"/internal/v1/awaiting?run={run.uid}&id=q1",
                f"/internal/v1/awaiting?run={run.uid}&id=canary-approvals-approval_id",
            )
            answers = [await client.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    said = "".join(answer.text for answer in answers) + json.dumps(served.cluster.run_statuses)
    for column in ("canary-approvals-arguments", "canary-questions-text", "canary-calls-call_id"):
        assert column in said, f"positive control: {column} is public"
    for table in METADATA.tables.values():
        for column in table.columns:
            if column.name not in table.info["public"]:
                assert canary(table, column.name) not in said, f"{table.name}.{column.name} left the gateway"
