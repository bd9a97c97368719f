"""Runs an executor in a test: snapshots, places below a folder, and what it left behind."""

import asyncio
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guildhall_contracts.events import KnownEvent, UnknownEvent, Unreadable, decode_event
from guildhall_contracts.gate import ExecutorMessage
from guildhall_contracts.guild import GuildSpec, effective_policies, resolved_tools
from guildhall_contracts.snapshot import RunSnapshot
from guildhall_executor.attempt import run_attempt
from guildhall_executor.places import Patience, Places

WORK_TOOLS = ["read_file", "write_file", "edit_file", "list_files", "search_files", "run_shell", "update_plan"]
QUICK = Patience(
    stream_idle_seconds=1.0,
    retry_base_seconds=0.01,
    workshop_connect_seconds=0.3,
    mailbox_wait_seconds=1,
    mailbox_retry_max_seconds=0.05,
    changes_every_seconds=0.0,
    changes_last_seconds=5.0,
    linger_seconds=3.0,
)


def role(name: str, tools: list[str] | None = None, delegates: list[str] | None = None, **more: Any) -> dict[str, Any]:
    given = list(WORK_TOOLS if tools is None else tools) + (["delegate"] if delegates else [])
    return (
        {"name": name, "prompt": f"You are the {name}.", "model": "main", "tools": given}
        | ({"delegates": delegates} if delegates else {})
        | more
    )


SOLO: dict[str, Any] = {"entryRole": "solo", "roles": [role("solo")], "models": {"main": "scripted:test"}}
TEAM: dict[str, Any] = {
    "entryRole": "planner",
    "roles": [
        role("planner", ["update_plan", "read_file"], ["coder", "reviewer"]),
        role("coder"),
        role("reviewer", ["read_file", "run_shell"]),
    ],
    "models": {"main": "scripted:test"},
}


def snapshot(guild: dict[str, Any] | None = None, *, url: str = "http://127.0.0.1:9", **fields: Any) -> RunSnapshot:
    """A frozen Run of `guild`, as the operator makes it."""
    spec = GuildSpec.model_validate(guild or SOLO)
    private, mode = fields.get("private", False), fields.get("mode", "interactive")
    tools = [
        {"role": r.name, "tools": list(resolved_tools(spec, r, private=private, interactive=mode == "interactive"))}
        for r in spec.roles
    ]
    value = {
        "run": "11111111-2222-3333-4444-555555555555",
        "namespace": "runs",
        "name": "r1",
        "guildName": "test",
        "guild": spec.to_wire(),
        "guildDigest": "0" * 64,
        "roleTools": tools,
        "policies": {name: policy.to_wire() for name, policy in effective_policies(spec).items()},
        "task": "Make the tests pass.",
        "budget": {"steps": 50, "seconds": 600},
        "isolationRequired": False,
        "gateway": {"url": url},
    }
    return RunSnapshot.model_validate(value | fields)


@dataclass
class Outcome:
    """What an attempt left: its message, its printed lines, its journal."""

    message: ExecutorMessage
    printed: bytes
    folder: Path

    @property
    def events(self) -> list[KnownEvent]:
        return [known(line) for line in self.printed.splitlines()]

    @property
    def journal(self) -> bytes:
        return (self.folder / "events.jsonl").read_bytes()

    def of(self, *types: str) -> list[Any]:
        return [event for event in self.events if event.type in types]


def known(line: bytes) -> KnownEvent:
    event = decode_event(line)
    assert not isinstance(event, UnknownEvent | Unreadable), event
    return event


def places(base: Path, snap: RunSnapshot, socket: Path | None = None) -> Places:
    """All places below `base`; the socket is the workshop's, or one where nobody answers."""
    base.mkdir(exist_ok=True)
    (base / "token").write_text("token-1\n")
    (base / "hosts").write_text("127.0.0.1 localhost\n")
    (base / "snapshot.json").write_text(json.dumps(snap.to_wire()))
    return Places(
        snapshot=base / "snapshot.json",
        journal=base / "journal",
        socket=socket or base / "nobody.sock",
        token=base / "token",
        ca=base / "ca.crt",
        hosts=base / "hosts",
        termination_message=base / "message",
        workshop_uid=os.getuid(),
    )


def run(
    base: Path,
    snap: RunSnapshot,
    *,
    socket: Path | None = None,
    patience: Patience = QUICK,
    attempt: int = 1,
    **patience_fields: Any,
) -> Outcome:
    """One attempt in this process, to its end."""
    at = places(base, snap, socket)
    out = base / f"stdout-{attempt}"
    fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        message = asyncio.run(run_attempt(snap, attempt, at, replace(patience, **patience_fields), fd))
    finally:
        os.close(fd)
    return Outcome(message, out.read_bytes(), at.journal / snap.run)
