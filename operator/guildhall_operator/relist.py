"""A full list of Runs and Guilds at start and every ten minutes: whatever a watch lost or made up is put right.

Between them a list of nothing but their versions, twice a minute: an operator that is idle must not be deaf unnoticed.
"""

import asyncio
import logging
from typing import Any, Final

from guildhall_operator.client import KubeError, list_all
from guildhall_operator.manifests.owner import API_VERSION
from guildhall_operator.reconcile import Reconciler
from guildhall_operator.runs import name_of, uid_of

RELIST_SECONDS: Final = 600.0
GLANCE_SECONDS: Final = 30.0
METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
RETRY_SECONDS: Final = 5.0
logger = logging.getLogger(__name__)


async def relist(reconciler: Reconciler, namespace: str, *, expect: bool) -> None:
    """Lists one namespace and queues every Run and Guild of it. Raises KubeError.

    With `expect`, kopf's watch is held to showing each state found here.
    """
    store = reconciler.world.store
    guilds, _ = await list_all(reconciler.kube, f"/apis/{API_VERSION}/namespaces/{namespace}/guilds", {})
    names = {name_of(raw) for raw in guilds}
    for key in [key for key in store.guilds if key[0] == namespace and key not in names]:
        reconciler.look_at_guild(key, store.drop_guild(key))
    for raw in guilds:
        reconciler.look_at_guild(name_of(raw), store.put_guild(raw))
        reconciler.queue.add(("Guild", *name_of(raw)))
    runs, _ = await list_all(reconciler.kube, f"/apis/{API_VERSION}/namespaces/{namespace}/runs", {})
    uids = {uid_of(raw) for raw in runs}
    for key, run in list(store.runs.items()):
        if key[0] == namespace and run.uid not in uids:
            reconciler.echo.forget(run.uid)
    store.replace_runs(namespace, runs)
    for raw in runs:
        if expect:
            reconciler.echo.expect(raw)
        reconciler.look_at({name_of(raw)})


async def relist_all(reconciler: Reconciler, namespaces: list[str], *, expect: bool) -> None:
    """Every namespace, one after another; one that cannot be listed is tried again until it can."""
    for namespace in namespaces:
        while True:
            try:
                await relist(reconciler, namespace, expect=expect)
                break
            except KubeError as error:
                logger.warning("cannot list Runs of %s: %s", namespace, error)
                await asyncio.sleep(RETRY_SECONDS)


async def keep_relisting(reconciler: Reconciler, namespaces: list[str]) -> None:
    """Never returns."""
    while True:
        await asyncio.sleep(RELIST_SECONDS)
        await relist_all(reconciler, namespaces, expect=True)


async def glance(reconciler: Reconciler, namespaces: list[str]) -> None:
    """Compares the versions of all Runs and Guilds with what kopf's watches have shown. Raises KubeError."""
    found: list[dict[str, Any]] = []
    for namespace in namespaces:
        for plural in ("runs", "guilds"):
            path = f"/apis/{API_VERSION}/namespaces/{namespace}/{plural}"
            found += (await list_all(reconciler.kube, path, {}, content_type=METADATA_ONLY))[0]
    reconciler.echo.glanced(found)


async def keep_glancing(reconciler: Reconciler, namespaces: list[str]) -> None:
    """Never returns."""
    while True:
        await asyncio.sleep(GLANCE_SECONDS)
        try:
            await glance(reconciler, namespaces)
        except KubeError as error:
            logger.warning("cannot list the versions of Runs and Guilds: %s", error)
