#!/usr/bin/env python3
"""Draining 500 Runs on a node without a kubelet (M4), what a whole Run costs the operator (M2), and its memory (M5).

KWOK plays the node: a pod there ends at once, with the last words of its containers (bench/kwok/stages.yaml). Measured
are the operator, the controllers, the scheduler and the API server. There are two floors, through the same controllers
to the same node: as many raw Jobs from a script, and as many with a claim each, which a journal needs. The scheduler's
own limit of calls (50 a second by default) binds first where there are claims. All of it is in namespaces and on a node
of its own, which are removed afterwards.
`go install sigs.k8s.io/kwok/cmd/kwok@v0.8.0`, then `.venv/bin/python bench/drain_on_kwok.py PATH_OF_KWOK [RUNS]`; it
prints a line for each round and writes artifacts/bench/drain_on_kwok.json.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "tests")
sys.path.append(str(ROOT / "bench"))

from guildhall_operator.client import Kube, list_all  # noqa: E402
from operator_pace import administrator, cpu_seconds  # noqa: E402
from support.cluster import Cluster, running  # noqa: E402
from support.operator_process import GUILD, OperatorProcess, installed  # noqa: E402

NAME: Final = "kwok-bench"
ANNOTATION: Final = "kwok.x-k8s.io/node"
PARALLEL: Final = 50
DRAIN_MAX_SECONDS: Final = 240.0


def node() -> dict[str, Any]:
    room = {"cpu": "10000", "memory": "10000Gi", "ephemeral-storage": "10000Gi", "pods": "2000"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NAME, "labels": {"bench": NAME}, "annotations": {ANNOTATION: "fake"}},
        "spec": {"taints": [{"key": NAME, "effect": "NoSchedule"}]},
        "status": {"capacity": room, "allocatable": room},
    }


def steering(namespace: str) -> list[dict[str, Any]]:
    """What sends every pod of the namespace to KWOK's node and no other pod there."""
    group = "admissionregistration.k8s.io/v1"
    where = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    toleration = f'[{{"key": "{NAME}", "operator": "Exists", "effect": "NoSchedule"}}]'
    expression = (  # a JSON patch: tolerations are atomic, which an apply configuration may not change
        f'[JSONPatch{{op: "add", path: "/spec/nodeSelector", value: {{"bench": "{NAME}"}}}}, '
        f'JSONPatch{{op: "add", path: "/spec/tolerations", value: {toleration}}}]'
    )
    policy = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "matchResources": where},
    }
    return [policy, binding]


def storage(count: int) -> list[dict[str, Any]]:
    """Volumes that are there already: no provisioner has a part in the measure."""
    made: dict[str, Any] = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": NAME},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",  # Immediate would measure the scheduler's pauses between tries
    }
    volumes = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"{NAME}-{number}", "labels": {"bench": NAME}},
            "spec": {
                "capacity": {"storage": "16Mi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": NAME,
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": "/nowhere"},
            },
        }
        for number in range(count)
    ]
    return [made, *volumes]


@contextlib.contextmanager
def kwok(cluster: Cluster, binary: str, namespace: str, count: int) -> Iterator[None]:
    """KWOK, its node, volumes and steering, while the context is open."""
    cluster.apply(node(), *steering(namespace), *storage(2 * count))
    command = [binary, "--kubeconfig", str(cluster.kubeconfig), "--config", str(ROOT / "bench/kwok/stages.yaml"),
               f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        cluster.kubectl("wait", "--for=condition=Ready", f"node/{NAME}", "--timeout=60s")
        yield
    finally:
        process.terminate()
        process.wait(10)
        kinds = "mutatingadmissionpolicybinding,mutatingadmissionpolicy,storageclass,node"
        cluster.attempt("delete", kinds, NAME, "--ignore-not-found", "--wait=false")
        cluster.attempt("delete", "--raw", f"/api/v1/persistentvolumes?labelSelector=bench%3D{NAME}")


def run_body(number: int, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": f"drain-{number}", "namespace": namespace},
        "spec": {"guild": GUILD, "task": "End."},
    }


def claim_body(number: int, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"raw-{number}", "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": NAME,
            "resources": {"requests": {"storage": "16Mi"}},
        },
    }


def job_body(number: int, namespace: str, *, claim: bool = False) -> dict[str, Any]:
    secure = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True,
              "runAsUser": 10_002, "seccompProfile": {"type": "RuntimeDefault"}}  # fmt: skip
    container: dict[str, Any] = {"name": "executor", "image": "i", "securityContext": secure}
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
    if claim:
        container["volumeMounts"] = [{"name": "journal", "mountPath": "/journal"}]
        pod["volumes"] = [{"name": "journal", "persistentVolumeClaim": {"claimName": f"raw-{number}"}}]
    template = {"metadata": {"labels": {"bench": NAME}}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"raw-{number}{'-with-claim' if claim else ''}", "namespace": namespace},
        "spec": {"backoffLimit": 0, "template": template},
    }


async def create_all(kube: Kube, path: str, bodies: list[dict[str, Any]]) -> None:
    places = asyncio.Semaphore(PARALLEL)

    async def create(body: dict[str, Any]) -> None:
        async with places:
            await kube.call("POST", path, body)

    await asyncio.gather(*(create(body) for body in bodies))


async def drained(kube: Kube, path: str, bodies: list[dict[str, Any]], condition: str) -> float:
    """Seconds from the first creation until every object has its condition. Raises TimeoutError with how many have."""
    begin, names, there = time.monotonic(), {body["metadata"]["name"] for body in bodies}, 0
    await create_all(kube, path, bodies)
    while (there := await done(kube, path, names, condition)) < len(bodies):  # a list tells what a watch would cost
        if time.monotonic() - begin > DRAIN_MAX_SECONDS:
            raise TimeoutError(f"{there} of {len(bodies)} are {condition} after {DRAIN_MAX_SECONDS} s: {path}")
        await asyncio.sleep(1)
    return time.monotonic() - begin


async def done(kube: Kube, path: str, names: set[str], condition: str) -> int:
    items, _ = await list_all(kube, path, {})
    states = (item.get("status", {}).get("conditions", []) for item in items if item["metadata"]["name"] in names)
    return sum(any(each["type"] == condition and each["status"] == "True" for each in found) for found in states)


async def floors(kube: Kube, namespace: str, count: int) -> tuple[float, float]:
    """Seconds for as many raw Jobs, and for as many with a claim each."""
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    bare = [job_body(number, namespace) for number in range(count)]
    raw = await drained(kube, jobs, bare, "Complete")
    begin = time.monotonic()
    await create_all(kube, claims, [claim_body(number, namespace) for number in range(count)])
    asked = time.monotonic() - begin
    kept = [job_body(number, namespace, claim=True) for number in range(count)]
    return raw, asked + await drained(kube, jobs, kept, "Complete")


def resident_mib(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1024 * 1024)


async def measured(operator: OperatorProcess, count: int) -> dict[str, float]:
    kube, ours = administrator(operator.cluster.kubeconfig), operator.process.pid if operator.process else 0
    runs = f"/apis/guildhall.dev/v1alpha1/namespaces/{operator.runs}/runs"
    try:
        raw, kept = await floors(kube, operator.runs, count)
        before, small = cpu_seconds(ours), resident_mib(ours)
        whole = await drained(kube, runs, [run_body(number, operator.runs) for number in range(count)], "Succeeded")
        await asyncio.sleep(5)
        used = cpu_seconds(ours) - before
    finally:
        await kube.close()
    return {
        "runs": count,
        "runsPerSecond": round(count / whole, 2),
        "rawJobsPerSecond": round(count / raw, 2),
        "rawJobsWithClaimPerSecond": round(count / kept, 2),
        "ratio": round(raw / whole, 2),
        "ratioWithClaim": round(kept / whole, 2),
        "operatorCpuMillisecondsPerRun": round(used / count * 1_000, 2),
        "operatorResidentMiBBefore": round(small, 1),
        "operatorResidentMiB": round(resident_mib(ours), 1),
        "loadAverage": round(os.getloadavg()[0], 2),
    }


def main() -> int:
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
    cluster = running()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        operator = stack.enter_context(installed(cluster, folder))
        stack.enter_context(cluster.enforced())
        stack.enter_context(kwok(cluster, binary, operator.runs, count))
        operator.start(maxConcurrentRuns=10_000, storage={"class": NAME, "journalSize": "16Mi"})
        found = asyncio.run(measured(operator, count))
        print(json.dumps(found), flush=True)
        out = ROOT / "artifacts" / "bench" / "drain_on_kwok.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
