"""Every pod the operator can build passes Pod Security *restricted*; with any one guard taken away it does not."""

import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from guildhall_operator.config import Config
from support.cluster import Cluster
from support.cluster_fixture import cluster
from support.fence import Fence
from support.pod_choices import PRIORITY, RUNTIME_CLASS, git_jobs, reprint_jobs, run_jobs
from support.run_jobs import operator_config
from unit.operator import kit

__all__ = ["cluster"]
pytestmark = pytest.mark.cluster

Job = dict[str, Any]
MAKERS = (run_jobs, reprint_jobs, git_jobs)
PROXY = {"httpsProxy": "http://p:1", "noProxy": "x"}
ALWAYS = {**kit.config().images.to_wire(), "pullPolicy": "Always"}
CONFIGS: list[Config] = [
    kit.config(fetcher=kit.FETCHER),
    kit.config(
        fetcher={**kit.FETCHER, "caConfigMap": "guildhall-fetch-ca", "proxy": PROXY},
        hostUsers=False,
        isolation={"require": False, "ownNodePort": 10_250},
        images=ALWAYS,
    ),
    kit.config(fetcher=kit.FETCHER, hostUsers=True, storage={"class": "fast", "journalSize": "1Gi"}),
]


def distinct(jobs: Iterable[Job]) -> list[Job]:
    """Those whose pods differ in anything, numbered by the name of their Run."""
    found = {json.dumps(job["spec"]["template"]["spec"], sort_keys=True): job for job in jobs}
    for number, job in enumerate(found.values()):
        job["metadata"]["name"] = job["metadata"]["name"].replace("fix-", f"f{number}-", 1)
    return list(found.values())


def pod(job: Job) -> dict[str, Any]:
    """The pod of a Job, as somebody would make it by hand."""
    spec, (name, _, _) = job["spec"]["template"]["spec"], job["metadata"]["name"].partition("-")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def classes(cluster: Cluster) -> Iterator[None]:
    """The runtime class and the priority that Runs name: the API server refuses pods whose class it does not know."""
    made = [
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": RUNTIME_CLASS},
            "handler": "runc",
        },
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": PRIORITY},
            "value": 1,
        },
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
    cluster.kubectl("apply", "-f", "-", stdin=text)
    yield
    cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)


def dry_run(cluster: Cluster, namespace: str, *listed: dict[str, Any]) -> tuple[int, str]:
    """How many the API server would take, and its words about the others."""
    accounts = (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": f"guildhall-{who}"}}
        for who in ("run", "fetch")
    )
    cluster.apply(*accounts, namespace=namespace)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(listed)})
    done = cluster.attempt(
        "create", "-n", namespace, "--dry-run=server", "-o", "name", "-f", "-", stdin=text, seconds=300
    )
    return len(done.stdout.split()), done.stderr


@pytest.mark.usefixtures("classes")
def test_every_pod_is_restricted(cluster: Cluster, namespace: str) -> None:
    listed = [pod(job) for job in distinct(job for make in MAKERS for job in make(CONFIGS))]
    assert len(listed) >= 1_000
    taken, words = dry_run(cluster, namespace, *listed)
    assert taken == len(listed), words[:2_000]
    assert "would violate" not in words


def test_every_job_is_one_its_account_may_create(rules: Fence) -> None:
    """The control of every refusal in test_operators_run_jobs.py: with this release's images and gate, all of them."""
    jobs = distinct(job for make in MAKERS for job in make([operator_config(rules)], rules.runs))
    assert len(jobs) >= 300
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": jobs})
    words = (
        "-n",
        rules.runs,
        f"--as={rules.account('operator')}",
        "create",
        "--dry-run=server",
        "-o",
        "name",
        "-f",
        "-",
    )
    done = rules.cluster.attempt(*words, stdin=text, seconds=300)
    assert len(done.stdout.split()) == len(jobs), done.stderr[:2_000]


def _without_everywhere(spec: dict[str, Any], name: str) -> None:
    """Takes a field out of every security context of a pod."""
    for holder in [spec, *spec["initContainers"], *spec["containers"]]:
        holder["securityContext"].pop(name, None)


BREAKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "host network": lambda spec: spec.update(hostNetwork=True),
    "host PID": lambda spec: spec.update(hostPID=True),
    "a host path": lambda spec: spec["volumes"].append({"name": "h", "hostPath": {"path": "/"}}),
    "root": lambda spec: spec["containers"][0]["securityContext"].update(runAsUser=0),
    "maybe root": lambda spec: _without_everywhere(spec, "runAsNonRoot"),
    "privileged": lambda spec: spec["initContainers"][1]["securityContext"].update(
        privileged=True, allowPrivilegeEscalation=True
    ),
    "escalation": lambda spec: spec["initContainers"][1]["securityContext"].pop("allowPrivilegeEscalation"),
    "a capability": lambda spec: spec["initContainers"][1]["securityContext"]["capabilities"].update(add=["NET_RAW"]),
    "all capabilities": lambda spec: spec["initContainers"][0]["securityContext"].pop("capabilities"),
    "no seccomp": lambda spec: _without_everywhere(spec, "seccompProfile"),
}


@pytest.mark.parametrize("case", BREAKS)
def test_with_one_guard_taken_away_it_is_refused(cluster: Cluster, namespace: str, case: str) -> None:
    """The positive control: the same pod, one field changed."""
    whole = pod(next(run_jobs(CONFIGS)))
    broken = deepcopy(whole)
    BREAKS[case](broken["spec"])
    assert dry_run(cluster, namespace, whole)[0] == 1
    taken, words = dry_run(cluster, namespace, broken)
    assert taken == 0
    assert "violates PodSecurity" in words
