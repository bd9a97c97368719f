"""Interventions that are not dealt with at once: their Run or question is not seen yet, or they get their owner later.

Guards the acts of other Runs against a slow API server: it is asked here, one question at a time, while they go on.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from guildhall_contracts import limits

from guildhall_gateway.belonging import is_of, named, no_such_run, owner_wait_seconds
from guildhall_gateway.mailbox import Turned
from guildhall_gateway.outbox import Outbox
from guildhall_gateway.runs import InterventionView, RunSource, RunView, StatusSink

PENDING_MAX_COUNT: Final = 10_000  # further ones are not waited for
GONE: Final = frozenset({404})


class Waiting:
    """By uid of the Intervention: until when it waits, when it is looked at again, what the cluster said of its Run.

    `again` has it looked at and says whether it is there still; `clock` gives Unix seconds."""

    def __init__(
        self, source: RunSource, sink: StatusSink, clock: Callable[[], float], again: Callable[[str], bool]
    ) -> None:
        self._source = source
        self._clock = clock
        self._again = again
        self._until: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._answers: dict[str, RunView | None] = {}
        self._questions = Outbox[InterventionView]("Run of an intervention", self._ask, refused=frozenset())
        self._owners = Outbox[tuple[InterventionView, dict[str, str]]](
            "owner of an intervention", lambda letter: sink.write_owner(*letter), GONE
        )

    def start(self) -> list[asyncio.Task[None]]:
        """Its two workers; each ends when it is cancelled."""
        return [asyncio.create_task(box.run()) for box in (self._questions, self._owners)]

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    def waits(self) -> list[str]:
        """The uids of those whose Run or question is not there yet."""
        return list(self._until)

    def done(self, uid: str) -> None:
        """What it waited for is there, or it was told that it is not."""
        self._until.pop(uid, None)
        self._answers.pop(uid, None)

    def forget(self, uid: str) -> None:
        """The Intervention is gone."""
        self.done(uid)
        for box in (self._questions, self._owners):
            box.forget(uid)
        if uid in self._timers:
            self._timers.pop(uid).cancel()

    def own(self, item: InterventionView, run: RunView | None) -> None:
        """Give an Intervention its Run as owner, now or when it is time."""
        wait, ref = owner_wait_seconds(item, run, self._clock()), named(item)
        if wait:
            self._look_again(item.uid, wait)
        elif wait is not None and ref is not None:
            self._owners.put(item.uid, (item, ref.owner()))

    def not_found(self, item: InterventionView, run: RunView | None) -> Turned | None:
        """What an act is told whose Run is not seen here: nothing while it may come, or until the cluster was asked.

        One that has its owner is left to the cluster, which removes it if that Run is gone."""
        if item.owned or item.state is not None:
            self.done(item.uid)
            return None
        if run is None and self.may_wait(item.uid):
            return None
        if item.uid not in self._answers:
            self._questions.put(item.uid, item)
            return None
        found = self._answers[item.uid]
        self.done(item.uid)
        if is_of(item, found):
            self.may_wait(item.uid)
            return None
        return no_such_run(item, found)

    def may_wait(self, uid: str) -> bool:
        """Keep an act that was faster than what it is about for a moment; False once that is over."""
        now = asyncio.get_running_loop().time()
        if uid not in self._until and len(self._until) >= PENDING_MAX_COUNT:
            return False
        until = self._until.setdefault(uid, now + limits.UNKNOWN_WAIT_SECONDS)
        if now >= until:
            return False
        self._look_again(uid, until - now)
        return True

    async def _ask(self, item: InterventionView) -> None:
        ref = named(item)
        self._answers[item.uid] = await self._source.run_now(item.namespace, ref.name) if ref else None
        self._take_up(item.uid)

    def _look_again(self, uid: str, seconds: float) -> None:
        """Take an act up again then, once: what was set before does not count."""
        if uid in self._timers:
            self._timers.pop(uid).cancel()
        self._timers[uid] = asyncio.get_running_loop().call_later(seconds, self._due, uid)

    def _due(self, uid: str) -> None:
        self._timers.pop(uid, None)
        self._take_up(uid)

    def _take_up(self, uid: str) -> None:
        if not self._again(uid):
            self.done(uid)
