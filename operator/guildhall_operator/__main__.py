"""The operator, from the first line to the last."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Coroutine
from typing import Any, cast

import kopf

from guildhall_operator import canary, handlers, health
from guildhall_operator.client import Kube, access_of, connection_info
from guildhall_operator.config import Config, ConfigError, load_config
from guildhall_operator.feeds import reflectors
from guildhall_operator.leader import Leader
from guildhall_operator.metrics import Metrics
from guildhall_operator.observe import World
from guildhall_operator.queue import WorkQueue
from guildhall_operator.reconcile import Reconciler
from guildhall_operator.relist import keep_glancing, keep_relisting, relist_all
from guildhall_operator.store import Store

logger = logging.getLogger("guildhall_operator")


async def run(config: Config) -> int:
    """Waits for the Lease, serves until told to stop or until anything it needs ends; the exit code."""
    kube = Kube(access_of(connection_info()))
    leader = Leader(kube, config.run_namespaces[0], f"{socket.gethostname()}-{os.getpid()}")
    reconciler = Reconciler(kube, World(Store(config.priorities), config), WorkQueue(), Metrics())
    state = health.Health(reconciler, leader)
    pages = await health.serve(state, config.port)
    try:
        await leader.acquire()
        return await lead(config, reconciler, leader, state)
    finally:
        await leader.release()
        await pages.cleanup()
        await kube.close()


async def lead(config: Config, reconciler: Reconciler, leader: Leader, state: health.Health) -> int:
    """Serves while the Lease is held. The end of any part ends all: a half-alive operator is worse than a restart."""
    namespaces = list(config.run_namespaces)
    for namespace in namespaces:
        state.reflectors += reflectors(
            reconciler.kube, reconciler.world.store, namespace, reconciler.look_at, reconciler.look_at_schedules
        )
    stop = asyncio.Event()
    parts = [start(reflector.run(), reflector.path) for reflector in state.reflectors]
    parts.append(start(leader.hold(), "lease"))
    parts.append(start(canary.keep_looking(config, reconciler.world.around), "canary"))
    main = start(serve(config, reconciler, state, stop), "kopf")
    try:
        await asyncio.wait([main, *parts], return_when=asyncio.FIRST_COMPLETED)
        ended = [task for task in [main, *parts] if task.done()]
        for task in ended:
            logger.info("'%s' ended: %s", task.get_name(), task.exception() or "done")
        return 0 if ended == [main] and main.exception() is None else 1
    finally:
        state.serving = False
        stop.set()
        for task in parts:
            task.cancel()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(main, 10)
        await asyncio.gather(*parts, return_exceptions=True)


async def serve(config: Config, reconciler: Reconciler, state: health.Health, stop: asyncio.Event) -> None:
    """Lists everything once, then lets the workers and kopf go. Returns on SIGTERM, SIGINT or `stop`."""
    namespaces = list(config.run_namespaces)
    await asyncio.gather(*(reflector.synced.wait() for reflector in state.reflectors))
    await relist_all(reconciler, namespaces, expect=False)
    workers = [start(reconciler.work(), f"worker {number}") for number in range(config.workers_count)]
    workers.append(start(keep_relisting(reconciler, namespaces), "relist"))
    workers.append(start(keep_glancing(reconciler, namespaces), "glance"))
    state.serving = True
    logger.info("serving Runs in %s", ", ".join(namespaces))
    try:
        await kopf.operator(
            registry=handlers.registry(reconciler),
            settings=handlers.settings(),
            namespaces=namespaces,
            standalone=True,
            identity=cast("Any", socket.gethostname()),  # else kopf asks for a user name, and our uid has none
            stop_flag=stop,
        )
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def start(work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
    return asyncio.create_task(work, name=name)


def main() -> int:
    """The entry point; the exit code is 0 after SIGTERM, 1 when a part failed, 2 for a bad configuration."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        config = load_config()
    except ConfigError as error:
        print(error, file=sys.stderr)  # noqa: T201  a person starts it wrongly, a person reads it
        return 2
    return asyncio.run(run(config))


if __name__ == "__main__":
    sys.exit(main())
