"""A storage class that clones claims, as CSI drivers with cloning do, for a cluster whose own class cannot.

One thread watches all claims. Those of the class get a folder of the node's disk, empty or a copy of their source's, as
a `local` volume, to which the kubelet applies fsGroup. What cannot be made is said as drivers do: by an Event.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cluster.embedded.layout import NODE
from guildhall_operator.quantity import amount
from support.cluster import Cluster, eventually

DRIVER: Final = "cloning.tests.guildhall.dev"
NODE_CHOSEN: Final = "volume.kubernetes.io/selected-node"
DRIVER_CHOSEN: Final = "volume.kubernetes.io/storage-provisioner"
WATCH: Final = "/api/v1/persistentvolumeclaims?watch=true"
Json = Mapping[str, Any]


class NotMadeError(Exception):
    """No volume can be made for a claim; the message is what a driver would say."""


@dataclass(frozen=True)
class Wish:
    """What one claim of the class waits for. `source`: the claim it is to be a clone of, or empty."""

    namespace: str
    name: str
    uid: str
    node: str
    size: str
    source: str

    @property
    def reference(self) -> dict[str, str]:
        about = {"namespace": self.namespace, "name": self.name, "uid": self.uid}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **about}


def wish(claim: Json, storage_class: str) -> Wish | None:
    """What the driver is asked for; None where there is a volume, or the scheduler has not chosen a node."""
    meta, spec = claim["metadata"], claim["spec"]
    notes = meta.get("annotations", {})
    mine = spec.get("storageClassName") == storage_class and notes.get(DRIVER_CHOSEN) == DRIVER
    if not mine or spec.get("volumeName") or "deletionTimestamp" in meta or NODE_CHOSEN not in notes:
        return None
    source = spec.get("dataSource") or {}
    size = spec["resources"]["requests"]["storage"]
    return Wish(meta["namespace"], meta["name"], meta["uid"], notes[NODE_CHOSEN], size, source.get("name", ""))


def volume(asked: Wish, storage_class: str, folder: Path) -> dict[str, Any]:
    """The PersistentVolume of a folder, for one claim alone."""
    node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [asked.node]}
    notes = {"pv.kubernetes.io/provisioned-by": DRIVER}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": folder.name, "annotations": notes},
        "spec": {
            "capacity": {"storage": asked.size}, "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Delete", "claimRef": asked.reference, "local": {"path": str(folder)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [node]}]}},
        },
    }  # fmt: skip


def warning(asked: Wish, storage_class: str, said: str) -> dict[str, Any]:
    """The Event by which a driver says that it makes nothing."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {
        "apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "ProvisioningFailed", "count": 1,
        "metadata": {"name": f"{asked.name}.{uuid.uuid4().hex[:8]}", "namespace": asked.namespace},
        "involvedObject": asked.reference, "source": {"component": DRIVER}, "firstTimestamp": now, "lastTimestamp": now,
        "message": f'failed to provision volume with StorageClass "{storage_class}": {said}',
    }  # fmt: skip


@dataclass
class Driver:
    """The driver of the StorageClass `name`; its volumes are folders of `root`."""

    cluster: Cluster
    name: str
    root: Path
    _claims: dict[str, Json] = field(default_factory=dict)  # by uid, of every class: each may be a source
    _made: dict[str, Path] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def see(self, kind: str, claim: Json) -> None:
        """Takes one event of the watch, and serves whatever can be served since."""
        uid = claim.get("metadata", {}).get("uid", "")
        if kind == "DELETED":
            self._claims.pop(uid, None)
            self._remove(uid)
        elif kind in {"ADDED", "MODIFIED"}:
            self._claims[uid] = claim
            for asked in filter(None, (wish(known, self.name) for known in self._claims.values())):
                if asked.uid not in self._made:
                    self._serve(asked)

    def folder(self, namespace: str, claim: str) -> Path | None:
        """Where the files of a claim are; None where it has no volume of this class."""
        return self._made.get(self._uid(namespace, claim))

    def filled(self, namespace: str, name: str, size: str) -> Path:
        """Makes a claim whose volume does not wait for a pod, and waits for its folder, which is empty."""
        meta = {"name": name, "namespace": namespace, "annotations": {NODE_CHOSEN: NODE}}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
        self.cluster.apply({**claim, "spec": {**spec, "storageClassName": self.name}})
        eventually(lambda: self._claims.get(self._uid(namespace, name), {}).get("status", {}).get("phase") == "Bound")
        found = self.folder(namespace, name)
        assert found is not None
        return found

    def end(self) -> None:
        """Takes away every claim of the class, volume and folder, and the class."""
        mine = [claim["metadata"] for claim in self._claims.values() if claim["metadata"]["uid"] in self._made]
        for meta in mine:
            where = ("-n", meta["namespace"], "--ignore-not-found", "--wait=false")
            self.cluster.kubectl("delete", "pvc", meta["name"], *where)
        for uid in list(self._made):
            self._remove(uid)
        self.cluster.kubectl("delete", "storageclass", self.name, "--ignore-not-found")

    def _uid(self, namespace: str, name: str) -> str:
        metas = [claim["metadata"] for claim in list(self._claims.values())]
        found = (meta["uid"] for meta in metas if (meta["namespace"], meta["name"]) == (namespace, name))
        return next(found, "")

    def _serve(self, asked: Wish) -> None:
        folder = self.root / f"{self.name}-{asked.uid}"
        try:
            self._lay_out(asked, folder)
        except NotMadeError as error:
            if asked.uid not in self._told:
                self._told.add(asked.uid)
                self.cluster.kubectl("create", "-f", "-", stdin=json.dumps(warning(asked, self.name, str(error))))
            return
        self._made[asked.uid] = folder
        self.cluster.apply(volume(asked, self.name, folder))

    def _lay_out(self, asked: Wish, folder: Path) -> None:
        if not asked.source:
            folder.mkdir()
            folder.chmod(0o777)
            return
        copied = ["cp", "-a", "--reflink=auto", f"{self._source(asked)}/.", str(folder)]
        subprocess.run(copied, check=True, capture_output=True, timeout=60)

    def _source(self, asked: Wish) -> Path:
        """What is to be copied, under the conditions that drivers make."""
        uid = self._uid(asked.namespace, asked.source)
        if not uid:
            raise NotMadeError(f'persistentvolumeclaim "{asked.source}" not found')
        if uid not in self._made:
            raise NotMadeError(f"source claim {asked.source} has no volume of driver {DRIVER}")
        size = self._claims[uid]["spec"]["resources"]["requests"]["storage"]
        if amount(asked.size) < amount(size):
            raise NotMadeError(f"requested size {asked.size} is less than size {size} of the source claim")
        return self._made[uid]

    def _remove(self, uid: str) -> None:
        folder = self._made.pop(uid, None)
        if folder is not None:
            self.cluster.kubectl("delete", "pv", folder.name, "--ignore-not-found", "--wait=false")
            shutil.rmtree(folder)


class Watch:
    """The thread that brings a driver the events of claims, until it is ended."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._over = driver, threading.Event()
        self._kubectl: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._run, name=driver.name)
        self._thread.start()

    def _run(self) -> None:
        cluster = self._driver.cluster
        argv = [str(cluster.bin / "kubectl"), "--kubeconfig", str(cluster.kubeconfig), "get", "--raw", WATCH]
        while not self._over.wait(0.1):  # the server ends a watch now and then
            with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as self._kubectl:
                for line in self._kubectl.stdout or ():
                    event = json.loads(line)
                    self._driver.see(event["type"], event["object"])

    def end(self) -> None:
        self._over.set()
        while self._thread.is_alive():
            if self._kubectl is not None:
                self._kubectl.terminate()
            self._thread.join(0.2)


@contextmanager
def cloning(cluster: Cluster) -> Iterator[Driver]:
    """A StorageClass of its own and its driver; afterwards nothing of either is left."""
    driver = Driver(cluster, f"cloning-{uuid.uuid4().hex[:6]}", cluster.kubeconfig.parents[1] / "pv")
    about = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": driver.name}}
    cluster.apply({**about, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"})
    watch = Watch(driver)
    try:
        yield driver
    finally:
        watch.end()
        driver.end()
