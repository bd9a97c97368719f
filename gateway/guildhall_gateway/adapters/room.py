"""How many Connections are kept. Guards each namespace's against another namespace that makes too many. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from guildhall_contracts import limits


@dataclass(frozen=True, slots=True)
class Room:
    """Room for so many of each namespace; an equal share, so that what one may use is never another's."""

    each: int

    def left(self, kept: Iterable[str], namespace: str) -> bool:
        """Whether one more of `namespace` is kept beside those whose namespaces are `kept`."""
        return sum(1 for one in kept if one == namespace) < self.each

    @property
    def refusal(self) -> str:
        return (
            f"{self.each} Connections of this namespace are in use, which is its share; delete one that is not needed"
        )


def room_for(namespaces_count: int) -> Room:
    """The shares where so many namespaces are served."""
    share = limits.CONNECTIONS_MAX_COUNT // max(namespaces_count, 1)
    return Room(max(1, min(share, limits.CONNECTIONS_PER_NAMESPACE_MAX_COUNT)))
