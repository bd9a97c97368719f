"""What was written, or seen by other means, must come through kopf's watches; what does not shows that one is dead.

Guards against being alive and deaf, which kopf itself cannot tell.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from guildhall_operator.client import version_of
from guildhall_operator.records import Json
from guildhall_operator.runs import uid_of

DEAF_SECONDS: Final = 60.0


class Echo:
    """Writes and sightings of Runs and Guilds that kopf's watches have not shown yet."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard: dict[str, int] = {}
        self._expected: dict[str, tuple[int, float]] = {}
        self._unseen: set[str] = set()  # at the last glance

    def expect(self, raw: Json) -> None:
        """`raw` is a state that the watch must show, this or a newer one."""
        uid, version = uid_of(raw), version_of(raw)
        if version > self._heard.get(uid, 0) and uid not in self._expected:
            self._expected[uid] = (version, self._clock())

    def glanced(self, raws: Iterable[Json]) -> None:
        """All there is, listed beside the watch. What two lists in a row have, and the watch has not, is expected.

        Not what one list has: it may have been deleted while the list was on its way.
        """
        unseen = {uid_of(raw): raw for raw in raws if version_of(raw) > self._heard.get(uid_of(raw), 0)}
        for uid in self._unseen & unseen.keys():
            self.expect(unseen[uid])
        self._unseen = set(unseen)

    def heard(self, raw: dict[str, Any]) -> None:
        """The watch showed `raw`."""
        uid, version = uid_of(raw), version_of(raw)
        self._heard[uid] = version
        expected = self._expected.get(uid)
        if expected is not None and version >= expected[0]:
            del self._expected[uid]

    def forget(self, uid: str) -> None:
        self._heard.pop(uid, None)
        self._expected.pop(uid, None)

    def problem(self) -> str:
        """Why the watch is not to be trusted; empty when it is."""
        oldest = min((at for _, at in self._expected.values()), default=None)
        late = 0.0 if oldest is None else self._clock() - oldest
        return f"kopf's watch has not shown a change seen {late:.0f} s ago" if late > DEAF_SECONDS else ""
