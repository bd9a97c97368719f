"""The two seams behind which the cluster lies. Local mode implements them a second time; tests do too."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from guildhall_api.resources import Resource

Kind = Literal["runs", "pods", "guilds"]


@dataclass(frozen=True)
class Change:
    """One step of a watch. `synced` carries every object there is (after a list); else one was set or deleted."""

    kind: Kind
    namespace: str
    verb: Literal["synced", "set", "deleted"]
    items: tuple[Resource, ...]


@dataclass(frozen=True)
class Person:
    """Who asks, as the cluster knows them."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Act:
    """What they want to do; `group` is the API group ('' for core)."""

    verb: str
    namespace: str
    resource: str
    name: str = ""
    group: str = "guildhall.dev"


class RunSource(Protocol):
    """Runs, their pods and logs. Raises `KubeError`."""

    def changes(self) -> AsyncIterator[Change]:
        """Every change from now on, starting with one `synced` per kind and namespace. Never ends by itself."""

    def healthy(self) -> str | None:
        """None while all watches are alive, else what is wrong."""

    def log(
        self, namespace: str, pod: str, since: str | None, *, follow: bool
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The raw log of the executor, each line with the stamp its container runtime gave it.

        `follow` goes on until the container ends, or breaks off when it is quiet for long.
        """

    async def get(self, namespace: str, plural: str, name: str) -> Resource: ...

    async def create(
        self, namespace: str, plural: str, resource: Resource, *, dry_run: bool = False
    ) -> tuple[Resource, list[str]]:
        """The object as created, and the server's warnings."""

    async def cancel_run(self, namespace: str, name: str, uid: str) -> None: ...

    async def apply_status(self, namespace: str, name: str, uid: str, status: Mapping[str, object]) -> None:
        """Server-side apply of the api's own status fields; fields left out are given up."""


class IdentitySource(Protocol):
    """Who a token belongs to, and what that person may do. Raises `KubeError` if the cluster cannot say."""

    async def person(self, token: str) -> Person | None: ...

    async def may(self, person: Person, act: Act) -> bool: ...
