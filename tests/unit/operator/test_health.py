"""Health is red whenever Runs would not be served, and never for a standby."""

import aiohttp
from guildhall_operator import health
from guildhall_operator.echo import Echo
from guildhall_operator.feeds import reflectors
from guildhall_operator.handlers import guild_event, run_event
from guildhall_operator.leader import Leader
from guildhall_operator.metrics import Metrics
from guildhall_operator.observe import World
from guildhall_operator.queue import WorkQueue
from guildhall_operator.reconcile import Reconciler
from guildhall_operator.reflector import DEAF_SECONDS, Reflector
from guildhall_operator.relist import glance
from guildhall_operator.store import Store
from unit.operator import kit
from unit.operator.fake_kube import FakeKube
from unit.operator.test_queue import Clock


async def serving() -> tuple[health.Health, Clock]:
    clock, kube = Clock(), FakeKube()
    reconciler = Reconciler(
        kube, World(Store(), kit.config()), WorkQueue(clock), Metrics(), echo=Echo(clock), monotonic=clock
    )
    leader = Leader(kube, kit.NAMESPACE, "me", clock)
    await leader.try_once()
    made = reflectors(kube, reconciler.world.store, kit.NAMESPACE, reconciler.look_at, reconciler.look_at_schedules)
    watched = [Reflector(kube, item.path, item._sink, clock=clock) for item in made]
    for item in watched:
        item.synced.set()
    return health.Health(reconciler, leader, watched, serving=True), clock


async def test_green_while_all_is_well() -> None:
    state, _ = await serving()
    assert state.problems() == []
    assert state.unready() == []


async def test_red_when_a_watch_hears_nothing() -> None:
    state, clock = await serving()
    clock.now = DEAF_SECONDS + 1
    assert len([problem for problem in state.problems() if "heard nothing" in problem]) == 6


async def test_red_when_kopf_does_not_show_what_was_written() -> None:
    state, clock = await serving()
    state.reconciler.echo.expect(kit.raw_run(resourceVersion="7"))
    clock.now = 59
    assert state.problems() == []
    clock.now = 61
    assert any("has not shown" in problem for problem in state.problems())
    state.reconciler.echo.heard(kit.raw_run(resourceVersion="8"))
    assert state.problems() == []


def deaf(state: health.Health) -> bool:
    return any("kopf's watch has not shown" in problem for problem in state.problems())


async def test_red_when_an_idle_operators_kopf_is_deaf() -> None:
    """Nothing was written: somebody made a Run and changed a Guild, and kopf showed neither."""
    state, clock = await serving()
    kube, path = state.reconciler.kube, f"/apis/guildhall.dev/v1alpha1/namespaces/{kit.NAMESPACE}"
    assert isinstance(kube, FakeKube)
    guild = kube.put(f"{path}/guilds/team", {"metadata": {"name": "team", "namespace": kit.NAMESPACE}})
    guild_event(state.reconciler, "ADDED", guild)
    seen = kube.put(f"{path}/runs/seen", kit.raw_run(name="seen"))
    run_event(state.reconciler, "ADDED", seen)
    for clock.now in (30, 60, 90, 120, 150):
        await glance(state.reconciler, [kit.NAMESPACE])
    assert not deaf(state), "control: kopf has shown all there is"
    missed = kube.put(f"{path}/runs/missed", kit.raw_run(name="missed", uid="u-missed"))
    for clock.now in (180, 210):
        await glance(state.reconciler, [kit.NAMESPACE])
    clock.now = 271
    assert deaf(state)
    run_event(state.reconciler, "ADDED", missed)
    assert not deaf(state)
    kube.put(f"{path}/guilds/team", guild)
    for clock.now in (300, 330, 391):
        await glance(state.reconciler, [kit.NAMESPACE])
    assert deaf(state), "a Guild's change counts too"


async def test_what_was_deleted_while_it_was_listed_is_not_expected() -> None:
    state, clock = await serving()
    gone = kit.raw_run(resourceVersion="9")
    state.reconciler.echo.glanced([gone])
    state.reconciler.echo.forget(kit.UID)
    state.reconciler.echo.glanced([])
    clock.now = 1_000
    assert not deaf(state)


async def test_an_echo_that_came_first_is_not_expected() -> None:
    state, clock = await serving()
    state.reconciler.echo.heard(kit.raw_run(resourceVersion="9"))
    state.reconciler.echo.expect(kit.raw_run(resourceVersion="8"))
    clock.now = 100
    assert not any("has not shown" in problem for problem in state.problems())


async def test_red_when_the_queue_stands_still() -> None:
    state, clock = await serving()
    state.reconciler.queue.add(("Run", kit.NAMESPACE, "fix"))
    state.reconciler.queue.take()
    clock.now = 121
    assert any("in the queue" in problem for problem in state.problems())


async def test_red_when_the_lease_is_lost() -> None:
    state, _ = await serving()
    state.leader.leading = False
    assert state.problems() == ["the Lease is lost"]


async def test_a_standby_is_healthy_and_ready() -> None:
    state, clock = await serving()
    state.leader.leading = False
    state.serving = False
    clock.now = 10_000
    assert (state.problems(), state.unready()) == ([], [])


async def test_a_leader_is_not_ready_before_everything_is_listed() -> None:
    state, _ = await serving()
    state.reflectors[0].synced.clear()
    assert len(state.unready()) == 1


async def test_the_three_pages() -> None:
    state, clock = await serving()
    runner = await health.serve(state, 0)
    port = next(address[1] for address in runner.addresses if len(address) == 2)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            async with session.get("/healthz") as answer:
                assert answer.status == 200
            async with session.get("/readyz") as answer:
                assert answer.status == 200
            async with session.get("/metrics") as answer:
                text = await answer.text()
                assert "guildhall_operator_leading 1.0" in text
                assert "guildhall_operator_queue_length 0.0" in text
            clock.now = DEAF_SECONDS + 1
            async with session.get("/healthz") as answer:
                assert answer.status == 503
                assert (await answer.json())["problems"]
    finally:
        await runner.cleanup()
