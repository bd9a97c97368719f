"""Volumes that wait for their claims, so that many Runs at once are not held up by making and removing theirs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.installation import Installation


def _volume(name: str, storage_class: str, node: str, folder: Path) -> dict[str, Any]:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {"made-for": storage_class}},
        "spec": {
            "capacity": {"storage": "64Mi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": storage_class,
            "local": {"path": str(folder)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }


@contextmanager
def ready_volumes(here: Installation, storage_class: str, folder: Path, count: int) -> Iterator[None]:
    """`count` volumes of 64 MiB of a class of their own, in folders of this machine, which is the node."""
    node = here.items("nodes")[0]["metadata"]["labels"]["kubernetes.io/hostname"]
    places = [folder / str(number) for number in range(count)]
    for place in places:
        place.mkdir()
    kind = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": storage_class},
        "provisioner": "kubernetes.io/no-provisioner",
    }
    made = [_volume(f"{storage_class}-{number}", storage_class, node, place) for number, place in enumerate(places)]
    here.apply(kind, *made)
    try:
        yield
    finally:
        here.kubectl("delete", "persistentvolume", "-l", f"made-for={storage_class}", "--wait=false")
        here.kubectl("delete", "storageclass", storage_class)
