"""One operator at a time: a Lease in the first run namespace.

Guards against two processes deciding about one Run. Who cannot renew in time stops at once, before another may begin.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from guildhall_operator.client import Kube, KubeError
from guildhall_operator.records import Json, mapping, number, text

LEASE_NAME: Final = "guildhall-operator"
LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 3.0
GIVE_UP_SECONDS: Final = 10.0  # earlier than anybody else may take over

logger = logging.getLogger(__name__)


def _micro(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Leader:
    """Holds, or waits for, the Lease. Another's Lease is judged by when *we* saw it change: clocks may differ."""

    def __init__(self, kube: Kube, namespace: str, identity: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace
        self._identity = identity
        self._clock = clock
        self._seen: tuple[str, float] = ("", clock())
        self._renewed = clock()
        self.leading = False

    def _spec(self, old: Json) -> dict[str, Any]:
        now = _micro(datetime.now(UTC))
        mine = old.get("holderIdentity") == self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now,
            "acquireTime": old.get("acquireTime", now) if mine else now,
            "leaseTransitions": number(old.get("leaseTransitions")) + (0 if mine else 1),
        }

    def _free(self, lease: Json) -> bool:
        """Whether the Lease is ours, nobody's, or was not renewed for its whole duration while we watched."""
        spec = mapping(lease.get("spec"))
        holder = text(spec.get("holderIdentity"), 253)
        if holder in {"", self._identity}:
            return True
        version = text(mapping(lease.get("metadata")).get("resourceVersion"), 64)
        if version != self._seen[0]:
            self._seen = (version, self._clock())
            return False
        return self._clock() - self._seen[1] > max(1, number(spec.get("leaseDurationSeconds")) or LEASE_SECONDS)

    async def try_once(self) -> bool:
        """Takes or renews the Lease; False when it is another's. Raises KubeError."""
        began = self._clock()  # others count from when the write arrives, which is never before
        try:
            lease = await self._kube.call("GET", f"{self._path}/{LEASE_NAME}")
        except KubeError as error:
            if error.code != 404:
                raise
            meta = {"name": LEASE_NAME, "namespace": self._namespace}
            fresh = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": self._spec({})}
            return await self._write("POST", self._path, fresh, began)
        if not self._free(lease):
            return False
        renewed = {**lease, "spec": self._spec(mapping(lease.get("spec")))}
        return await self._write("PUT", f"{self._path}/{LEASE_NAME}", renewed, began)

    async def _write(self, method: str, path: str, body: dict[str, Any], began: float) -> bool:
        try:
            await self._kube.call(method, path, body)
        except KubeError as error:
            if error.code == 409:
                return False
            raise
        self._renewed = began
        self.leading = True
        return True

    async def acquire(self) -> None:
        """Returns once the Lease is held."""
        while True:
            try:
                if await self.try_once():
                    logger.info("leading as %s", self._identity)
                    return
            except KubeError as error:
                logger.warning("cannot read the Lease: %s", error)
            await asyncio.sleep(RENEW_SECONDS)

    def _left(self) -> float:
        """Seconds until it must have been renewed."""
        return max(0.0, self._renewed + GIVE_UP_SECONDS - self._clock())

    async def hold(self) -> None:
        """Renews until the Lease is lost or too old, then returns; the caller must stop the process."""
        while self._left() > 0:
            await asyncio.sleep(min(RENEW_SECONDS, self._left()))
            try:
                async with asyncio.timeout(min(GIVE_UP_SECONDS / 2, self._left())):
                    if not await self.try_once():
                        logger.error("another operator holds the Lease; stopping")
                        break
            except (KubeError, TimeoutError) as error:
                logger.warning("cannot renew the Lease: %r", error)
        else:
            logger.error("the Lease could not be renewed for %.0f s; stopping", GIVE_UP_SECONDS)
        self.leading = False

    async def release(self) -> None:
        """Gives the Lease back, so that the next operator need not wait for it to run out."""
        if not self.leading:
            return
        self.leading = False
        try:
            lease = await self._kube.call("GET", f"{self._path}/{LEASE_NAME}")
            spec = mapping(lease.get("spec"))
            if spec.get("holderIdentity") == self._identity:
                body = {**lease, "spec": {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}}
                await self._kube.call("PUT", f"{self._path}/{LEASE_NAME}", body)
        except KubeError as error:
            logger.info("the Lease was not given back: %s", error)
