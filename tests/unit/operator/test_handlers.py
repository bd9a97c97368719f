"""kopf is a bare watcher: its settings and registry ask for nothing but events."""

import kopf
from guildhall_operator import handlers
from guildhall_operator.metrics import Metrics
from guildhall_operator.observe import World
from guildhall_operator.queue import WorkQueue
from guildhall_operator.reconcile import Reconciler
from guildhall_operator.store import Store
from unit.operator import kit
from unit.operator.fake_kube import FakeKube


def make() -> Reconciler:
    return Reconciler(FakeKube(), World(Store(), kit.config()), WorkQueue(), Metrics())


def test_kopf_posts_nothing_peers_with_nobody_and_scans_nothing() -> None:
    found = handlers.settings()
    assert found.posting.enabled is False
    assert found.peering.standalone is True
    assert found.scanning.disabled is True
    body = kopf.Body(kit.raw_run())  # type: ignore[arg-type]
    assert found.persistence.diffbase_storage.build(body=body) == {}
    patch = kopf.Patch()
    found.persistence.diffbase_storage.store(body=body, patch=patch, essence=kopf.BodyEssence())
    found.persistence.progress_storage.touch(body=body, patch=patch, value="now")
    assert not patch


async def test_no_handler_would_write_to_an_object() -> None:
    registry = handlers.registry(make())
    assert isinstance(registry, kopf.OperatorRegistry)
    assert not registry._changing.get_all_handlers()
    assert not registry._spawning.get_all_handlers()
    assert not registry._indexing.get_all_handlers()
    watching = list(registry._watching.get_all_handlers())
    assert len(watching) == 2
    for handler in watching:
        raw = kit.raw_run(resourceVersion="1")
        result = await handler.fn(event={"type": "ADDED", "object": raw})  # type: ignore[call-arg,misc,typeddict-item]
        assert result is None


async def test_events_become_keys() -> None:
    reconciler = make()
    handlers.run_event(reconciler, None, kit.raw_run(resourceVersion="1"))
    assert reconciler.queue.take() == ("Run", kit.NAMESPACE, "fix")
    handlers.run_event(reconciler, "DELETED", kit.raw_run(resourceVersion="2"))
    assert reconciler.world.store.runs == {}
    guild = {"metadata": {"name": "pair", "namespace": kit.NAMESPACE}, "spec": kit.GUILD}
    handlers.guild_event(reconciler, "ADDED", guild)
    assert reconciler.queue.take() == ("Guild", kit.NAMESPACE, "pair")
    handlers.guild_event(reconciler, "DELETED", guild)
    assert reconciler.world.store.guilds == {}
