"""The live stream of one Run, by server-sent events: what is stored first, then each frame as it comes.

Guards against streams nobody reads, streams without end, and rights that were taken away meanwhile.
"""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request
from guildhall_contracts.limits import STREAM_HEARTBEAT_SECONDS
from starlette.responses import StreamingResponse

from guildhall_api.hub import FRAME_EVENTS_MAX_COUNT, HEARTBEAT, Cursor, Frame, Viewer, events_frame, message, newer
from guildhall_api.problems import Refused
from guildhall_api.reading import items_after
from guildhall_api.routes.answers import refusals
from guildhall_api.routes.flow import Uid, cursor_of
from guildhall_api.services import FoundRun, Services, find_run, services_of
from guildhall_api.source import Act, Person

router = APIRouter(tags=["flow"])

STREAMS_PER_USER_MAX_COUNT: Final = 64
RECHECK_SECONDS: Final = 30.0
_HEADERS: Final = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}


@router.get(
    "/api/runs/{run_id}/stream",
    response_class=StreamingResponse,
    responses={
        200: {"description": "Server-sent events", "content": {"text/event-stream": {}}},
        **refusals(400, 404, 429),
    },
)
async def get_stream(
    request: Request, run_id: str, uid: Uid = None, after: Annotated[str | None, Query(max_length=30)] = None,
    last_event_id: Annotated[str | None, Header(max_length=30)] = None,
) -> StreamingResponse:  # fmt: skip
    """Events from a cursor on, until the Run has ended."""
    services = services_of(request)
    person = await services.auth.person(request)
    found = await find_run(request, run_id, uid, "watch")
    seen = cursor_of(last_event_id or after)
    if services.streams.get(person.user, 0) >= STREAMS_PER_USER_MAX_COUNT:
        raise Refused(429, "Too many streams", f"At most {STREAMS_PER_USER_MAX_COUNT} at once: close some views.")
    stream = Stream(services, person, found, seen)
    return StreamingResponse(stream.frames(), headers=_HEADERS, media_type="text/event-stream")


class Stream:
    """One viewer's stream; `seen` moves with what was sent."""

    def __init__(self, services: Services, person: Person, found: FoundRun, seen: Cursor) -> None:
        self._services = services
        self._person = person
        self._found = found
        self._seen = seen
        self._checked = time.monotonic()

    async def frames(self) -> AsyncIterator[bytes]:
        """The bytes of the stream. Whoever leaves is forgotten."""
        live = self._found.live
        with self._counted(), self._joined() as viewer:
            yield message("status", self._found.summary).data
            async for data in self._stored():
                yield data
            if viewer is None or live is None or live.sealed:
                async for data in self._stored():
                    yield data
                yield message("end", {"lastSeq": self._seen.seq}, last=True).data
                return
            async for data in self._live(viewer):
                yield data

    @contextmanager
    def _counted(self) -> Iterator[None]:
        streams, user = self._services.streams, self._person.user
        streams[user] = streams.get(user, 0) + 1
        try:
            yield
        finally:
            streams[user] -= 1
            if not streams[user]:
                del streams[user]

    @contextmanager
    def _joined(self) -> Iterator[Viewer | None]:
        """A queue that fills while the past is sent, so that nothing falls between."""
        live = self._found.live
        if live is None or live.sealed:
            yield None
            return
        viewer = live.channel.join()
        try:
            yield viewer
        finally:
            live.channel.leave(viewer)

    async def _stored(self) -> AsyncIterator[bytes]:
        history, key = self._services.history, self._found.stored.key
        while items := await items_after(history, key, self._seen, FRAME_EVENTS_MAX_COUNT):
            self._seen = items[-1].at
            yield events_frame(tuple(items)).data

    async def _live(self, viewer: Viewer) -> AsyncIterator[bytes]:
        while not self._services.closing and await self._still_allowed():
            frame = await viewer.next(STREAM_HEARTBEAT_SECONDS)
            if frame is None:
                yield HEARTBEAT
                continue
            lacking = newer(frame, self._seen)
            if lacking is None:
                continue
            self._note(lacking)
            yield lacking.data
            if lacking.last:
                return

    def _note(self, frame: Frame) -> None:
        if frame.items:
            self._seen = max(self._seen, frame.items[-1].at)

    async def _still_allowed(self) -> bool:
        if time.monotonic() - self._checked < RECHECK_SECONDS:
            return True
        self._checked = time.monotonic()
        stored = self._found.stored
        return await self._services.auth.may(self._person, Act("watch", stored.namespace, "runs", stored.name))
