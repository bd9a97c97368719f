"""kopf's part: it watches Runs and Guilds, and its handlers only remember an object and put its key on the queue.

Guards against what kopf does with state: no finalizers, no annotations, no timers, no results, no Events of its own.
"""

import logging
from typing import Any, Final

import kopf

from guildhall_operator.client import connection_info
from guildhall_operator.reconcile import Reconciler
from guildhall_operator.records import mapping
from guildhall_operator.runs import name_of, uid_of

GROUP: Final = "guildhall.dev"
VERSION: Final = "v1alpha1"


class NoDiffBase(kopf.DiffBaseStorage):
    """Remembers no last-handled state on objects, and saves kopf the deep copy of each that it would compare."""

    def build(self, *, body: kopf.Body, extra_fields: Any = None) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        return None


class NoProgress(kopf.ProgressStorage):
    """Remembers no handler's progress on objects."""

    def fetch(self, *, key: Any, body: kopf.Body) -> Any:
        return None

    def store(self, *, key: Any, record: Any, body: kopf.Body, patch: kopf.Patch) -> None:
        return None

    def purge(self, *, key: Any, body: kopf.Body, patch: kopf.Patch) -> None:
        return None

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        return essence

    def touch(self, *, body: kopf.Body, patch: kopf.Patch, value: str | None) -> None:
        return None


def settings() -> kopf.OperatorSettings:
    """kopf as a bare watcher of two kinds, with no rights but to watch them."""
    found = kopf.OperatorSettings()
    found.posting.enabled = False
    found.peering.standalone = True
    found.scanning.disabled = True
    found.networking.error_backoffs = [0.5, 1, 2, 4]
    found.watching.reconnect_backoff = 0.5
    found.queueing.idle_timeout = 1.0
    found.execution.max_workers = 1
    found.persistence.diffbase_storage = NoDiffBase()
    found.persistence.progress_storage = NoProgress()
    return found


def run_event(reconciler: Reconciler, kind: str | None, raw: dict[str, Any]) -> None:
    """Takes one event of a Run."""
    store = reconciler.world.store
    if kind == "DELETED":
        reconciler.echo.forget(uid_of(raw))
        schedule = store.schedule_of(name_of(raw))
        reconciler.look_at(store.drop_run(name_of(raw)))
        reconciler.look_at_schedules({schedule} if schedule else set())
        return
    reconciler.echo.heard(raw)
    reconciler.look_at(store.put_run(raw))


def guild_event(reconciler: Reconciler, kind: str | None, raw: dict[str, Any]) -> None:
    """Takes one event of a Guild: its own status, and the Runs that wait for it."""
    store, key = reconciler.world.store, name_of(raw)
    if kind == "DELETED":
        reconciler.echo.forget(uid_of(raw))
        reconciler.look_at_guild(key, store.drop_guild(key))
        return
    reconciler.echo.heard(raw)
    reconciler.look_at_guild(key, store.put_guild(raw))
    reconciler.queue.add(("Guild", *key))


def registry(reconciler: Reconciler) -> kopf.OperatorRegistry:
    """The handlers; each returns None, since kopf would write anything else into the object's status."""
    found = kopf.OperatorRegistry()

    async def on_login(**_: Any) -> kopf.ConnectionInfo:
        return connection_info()

    async def on_run(event: kopf.RawEvent, **_: Any) -> None:
        run_event(reconciler, event["type"], dict(mapping(event["object"])))

    async def on_guild(event: kopf.RawEvent, **_: Any) -> None:
        guild_event(reconciler, event["type"], dict(mapping(event["object"])))

    kopf.on.login(registry=found)(on_login)
    kopf.on.event(GROUP, VERSION, "runs", registry=found)(on_run)
    kopf.on.event(GROUP, VERSION, "guilds", registry=found)(on_guild)
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)
    return found
