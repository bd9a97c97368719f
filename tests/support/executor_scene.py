"""An executor with the real gateway and the real workshop on loopback, and a person who acts by Interventions."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guildhall_contracts.gate import ExecutorMessage
from guildhall_executor.attempt import run_attempt
from support.executor_run import QUICK, Outcome, places, snapshot
from support.workshop import running
from unit.gateway import kit

ASKS_FIRST = {"effect": "write", "approval": True, "allowedInPrivate": True, "allowedWithoutUserPresent": True}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def turn(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"reply": {"toolCalls": list(calls)}} | more


def finish(**expect: Any) -> dict[str, Any]:
    return turn(tool("finish", result="done"), expect=expect)


@dataclass
class Scene:
    served: kit.Served
    base: Path
    attempts: list[asyncio.Task[ExecutorMessage]]
    begin: Callable[[int], asyncio.Task[ExecutorMessage]]

    @property
    def printed(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.base / "out").read_bytes().splitlines()]

    async def event(self, type_: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        """The `count`th event of a kind, when it has come."""
        for _ in range(3_000):
            found = [e for e in self.printed if e["type"] == type_ and fields.items() <= e.items()]
            if len(found) >= count:
                return found[count - 1]
            await asyncio.sleep(0.01)
        raise AssertionError(f"{type_} {fields} was not printed {count} times: {[e['type'] for e in self.printed]}")

    def act(self, uid: str, **body: Any) -> None:
        """A person applies an Intervention."""
        run = self.served.cluster.run("run-1")
        assert run is not None
        self.served.cluster.intervene(uid, run, **body)

    def answer(self, uid: str, question: dict[str, Any], text: str) -> None:
        self.act(uid, answer={"questionId": question["questionId"], "text": text})

    def decide(self, uid: str, asked: dict[str, Any], decision: str) -> None:
        given = {"approvalId": asked["approvalId"], "argumentsHash": asked["argumentsHash"], "decision": decision}
        self.act(uid, approval=given)

    async def open_approvals(self, count: int) -> None:
        """People decide on what the gateway holds; the event is a moment earlier."""
        for _ in range(1_000):
            if await self.served.gateway.approvals.open_count("run-1") == count:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"there are not {count} approvals open")

    async def outcome(self) -> Outcome:
        message = await asyncio.wait_for(self.attempts[-1], 60)
        return Outcome(message, (self.base / "out").read_bytes(), self.base / "x" / "journal" / "run-1")


@asynccontextmanager
async def scene(base: Path, roles: list[dict[str, Any]], turns: dict[str, Any], **more: Any) -> AsyncIterator[Scene]:
    for folder in ("g", "w/workspace"):
        (base / folder).mkdir(parents=True)
    kit.scenario(base / "g", "people", [], roles=turns, **more)
    guild = {"entryRole": roles[0]["name"], "roles": roles, "models": {"main": "scripted:people"}}
    guild |= {"tools": {"run_shell": ASKS_FIRST}} if any("asked" in r for r in turns) else {}
    async with kit.serve(base / "g") as served:
        served.cluster.add_run()
        snap = snapshot(guild, url=served.url, run="run-1")
        with running(base / "w", "--unconfined") as workshop:
            at = places(base / "x", snap, workshop.socket_path)
            at.token.write_text(kit.TOKEN)
            fd = os.open(base / "out", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            patience = replace(QUICK, linger_seconds=0.2, stream_idle_seconds=60, mailbox_wait_seconds=25)
            here = Scene(served, base, [], lambda n: asyncio.create_task(run_attempt(snap, n, at, patience, fd)))
            here.attempts.append(here.begin(1))
            try:
                yield here
            finally:
                for task in here.attempts:
                    task.cancel()
                await asyncio.gather(*here.attempts, return_exceptions=True)
                os.close(fd)
