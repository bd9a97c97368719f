"""What is kept of external tools: the Guild a Run was frozen with, what was accepted of a server, and every call made.

Guards against a call made twice: it is recorded, with the approval it uses up, before anything is sent, and never sent
again under the same id, whatever happened to the gateway in between.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from guildhall_contracts.external import ExternalResult
from guildhall_contracts.guild import GuildSpec
from pydantic import ValidationError
from sqlalchemy import Connection, text

from guildhall_gateway.store import Store

_GUILD: Final = text("SELECT body FROM frozen_guilds WHERE run = :run")
_FREEZE: Final = text("INSERT INTO frozen_guilds (run, body) VALUES (:run, :body) ON CONFLICT (run) DO NOTHING")
_PINS: Final = text("SELECT body FROM connection_pins WHERE connection = :connection")
_PIN: Final = text(
    "INSERT INTO connection_pins (connection, body) VALUES (:connection, :body) ON CONFLICT (connection) DO NOTHING"
)
_CALL: Final = text("SELECT request_sha256, result, owner FROM tool_calls WHERE run = :run AND call_id = :call_id")
_BEGIN: Final = text(
    "INSERT INTO tool_calls (run, call_id, request_sha256, role, tool, approval_id, state, owner, result, started_at)"
    " VALUES (:run, :call_id, :request_sha256, :role, :tool, :approval_id, 'started', :owner, '', :started_at)"
)
_END: Final = text(
    "UPDATE tool_calls SET state = 'ended', result = :result WHERE run = :run AND call_id = :call_id"
    " AND state = 'started'"
)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call about to be made. `request_sha256` is over tool, role and canonical arguments."""

    run: str
    call_id: str
    request_sha256: str
    role: str
    tool: str
    approval_id: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """The same call id was seen before: with which request, its result where there is one, and whether it is another
    gateway's that lives."""

    request_sha256: str
    result: ExternalResult | None
    elsewhere: bool = False


class ToolStore:
    """The only writer of `frozen_guilds`, `connection_pins` and `tool_calls`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def guild(self, run: str) -> GuildSpec | None:
        """The Guild the Run was frozen with, where this gateway has seen it."""
        row = await self._store.read(lambda connection: connection.execute(_GUILD, {"run": run}).scalar())
        return None if row is None else GuildSpec.model_validate_json(str(row))

    async def freeze(self, run: str, guild: GuildSpec) -> None:
        """Keep it; the first stays."""
        values = {"run": run, "body": guild.model_dump_json(by_alias=True, exclude_none=True)}
        await self._store.write(lambda connection: connection.execute(_FREEZE, values))

    async def pins(self, connection_uid: str) -> dict[str, str] | None:
        """The fingerprints that were accepted; None when nothing was yet."""
        row = await self._store.read(lambda found: found.execute(_PINS, {"connection": connection_uid}).scalar())
        return None if row is None else {str(key): str(value) for key, value in json.loads(str(row)).items()}

    async def pin(self, connection_uid: str, pins: Mapping[str, str]) -> None:
        """Accept them; the first stay."""
        values = {"connection": connection_uid, "body": json.dumps(dict(pins), sort_keys=True)}
        await self._store.write(lambda connection: connection.execute(_PIN, values))

    async def connections(self) -> list[str]:
        """Uids of the Connections something is kept of."""
        query = text("SELECT connection FROM connection_pins")
        rows = await self._store.read(lambda connection: connection.execute(query).all())
        return [str(row.connection) for row in rows]

    async def forget_connection(self, connection_uid: str) -> None:
        """Delete what was accepted of a Connection that is gone."""
        delete = text("DELETE FROM connection_pins WHERE connection = :connection")
        await self._store.write(lambda connection: connection.execute(delete, {"connection": connection_uid}))

    async def begin(
        self, call: CallRecord, now: float, approve: Callable[[Connection], str | None]
    ) -> Before | str | None:
        """Record the call and use its approval up, in one transaction: None, and it is to be made now.

        Before: its id is taken. Text: why the approval cannot be used; nothing is recorded then.
        """

        def work(connection: Connection) -> Before | str | None:
            self._store.lock(connection, f"tool:{call.run}:{call.call_id}")
            before = self._before(connection, call)
            if before is not None:
                return before
            refused = approve(connection)
            if refused is not None:
                return refused
            values = {name: getattr(call, name) for name in CallRecord.__slots__}
            connection.execute(_BEGIN, values | {"owner": self._store.instance, "started_at": now})
            return None

        return await self._store.write(work)

    async def before(self, call: CallRecord) -> Before | None:
        """What is known of a call id."""
        return await self._store.read(lambda connection: self._before(connection, call))

    def _before(self, connection: Connection, call: CallRecord) -> Before | None:
        row = connection.execute(_CALL, {"run": call.run, "call_id": call.call_id}).first()
        if row is None:
            return None
        result = _result(str(row.result))
        elsewhere = result is None and self._store.is_another_alive(connection, str(row.owner))
        return Before(str(row.request_sha256), result, elsewhere)

    async def end(self, run: str, result: ExternalResult) -> ExternalResult:
        """Keep the result; where another was kept first, that one is the call's."""
        key = {"run": run, "call_id": result.call_id}

        def work(connection: Connection) -> ExternalResult:
            body = result.model_dump_json(by_alias=True, exclude_none=True)
            if connection.execute(_END, key | {"result": body}).rowcount == 1:
                return result
            row = connection.execute(_CALL, key).first()
            return _result(str(row.result)) or result if row is not None else result

        return await self._store.write(work)

    async def forget(self, run: str) -> None:
        """Delete what was for a Run that is over."""

        def work(connection: Connection) -> None:
            for table in ("frozen_guilds", "tool_calls"):
                connection.execute(text(f"DELETE FROM {table} WHERE run = :run"), {"run": run})  # noqa: S608  constants

        await self._store.write(work)


def _result(body: str) -> ExternalResult | None:
    try:
        return ExternalResult.model_validate_json(body) if body else None
    except ValidationError:
        return None
