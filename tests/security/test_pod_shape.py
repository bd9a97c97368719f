"""Every pod the operator can build passes Pod Security *restricted*; with any one guard taken away it does not."""

import itertools
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from guildhall_contracts.run import RunSpec
from guildhall_operator.manifests.fetch import fetch_job
from guildhall_operator.manifests.reprint import reprint_job
from guildhall_operator.plan import plan
from support.cluster import Cluster
from support.cluster_fixture import cluster
from unit.operator import kit
from unit.operator.manifest_cases import CLAIMS

__all__ = ["cluster"]
pytestmark = pytest.mark.cluster

WORKSPACES: list[dict[str, Any]] = [
    {},
    {"workspace": {"archive": {"configMap": "sources", "stripComponents": 1}}},
    {"workspace": {"claim": {"name": "repo", "subPath": "one"}}},
    {"workspace": {"claim": {"name": "shared"}}},
    {"workspace": {"template": {"claim": "repo"}, "storage": {"class": "fast"}}},
    {"workspace": {"storage": {"size": "2Gi", "ephemeral": False}}},
]
IMAGES: list[dict[str, Any]] = [{}, {"image": "reg/any:1"}]
RESOURCES: list[dict[str, Any]] = [{}, {"resources": {"cpu": "50m", "memory": "64Mi", "ephemeralStorage": "1M"}}]
MODES: list[dict[str, Any]] = [
    {},
    {"mode": "scheduled"},
    {"private": True, "deliver": "none", "retainSeconds": 60},
]
EXTRAS: list[dict[str, Any]] = [
    {},
    {"env": {"PATH": "/evil", "LD_PRELOAD": "$(X)"}, "budget": {"seconds": 1}, "concurrencyGroup": "g"},
]
ALWAYS = {**kit.config().images.to_wire(), "pullPolicy": "Always"}
CONFIGS: list[dict[str, Any]] = [
    {},
    {"hostUsers": False, "isolation": {"require": False}, "images": ALWAYS},
    {"hostUsers": True, "storage": {"class": "fast", "journalSize": "1Gi"}},
]


def pods() -> Iterator[dict[str, Any]]:
    """A pod for every combination of what a Run and the chart can say."""
    combinations = itertools.product(WORKSPACES, IMAGES, RESOURCES, MODES, EXTRAS, CONFIGS)
    for number, (workspace, image, resources, mode, extra, config) in enumerate(combinations):
        view = kit.run({**workspace, **image, **resources, **mode, **extra}, name=f"run-{number}")
        done = plan(view, kit.world(config=kit.config(**config), claims=CLAIMS), kit.START)
        template = done.create[-1]["spec"]["template"]
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": template["spec"]}


def reprint_pods() -> Iterator[dict[str, Any]]:
    """The pod that prints a journal again, for every configuration."""
    for number, config in enumerate(CONFIGS):
        made = reprint_job(kit.run(name=f"run-{number}"), kit.config(**config), 1, 1, 1)
        spec = made["spec"]["template"]["spec"]
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"r{number}"}, "spec": spec}


def fetch_pods() -> Iterator[dict[str, Any]]:
    """The pod that fetches a repository, with and without Secret, CA and proxy."""
    proxy = {"httpsProxy": "http://p:1", "noProxy": "x"}
    fetchers = [kit.FETCHER, {**kit.FETCHER, "caConfigMap": "guildhall-fetch-ca", "proxy": proxy}]
    git = kit.GIT["workspace"]["git"]
    choices = itertools.product((git, {**git, "secretRef": {"name": "key"}}), fetchers, CONFIGS)
    for number, (source, fetcher, config) in enumerate(choices):
        spec = RunSpec.model_validate({**kit.SPEC, "workspace": {"git": source}})
        made = fetch_job(kit.run(), spec, kit.config(**{**config, "fetcher": fetcher}), 1)["spec"]["template"]["spec"]
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"f{number}"}, "spec": made}


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


def test_every_pod_is_restricted(cluster: Cluster, namespace: str) -> None:
    listed = list(
        {json.dumps(pod["spec"], sort_keys=True): pod for pod in (*pods(), *reprint_pods(), *fetch_pods())}.values()
    )
    assert len(listed) >= 100
    taken, words = dry_run(cluster, namespace, *listed)
    assert taken == len(listed), words[:2_000]
    assert "would violate" not in words


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
    pod = next(pods())
    broken = deepcopy(pod)
    BREAKS[case](broken["spec"])
    assert dry_run(cluster, namespace, pod)[0] == 1
    taken, words = dry_run(cluster, namespace, broken)
    assert taken == 0
    assert "violates PodSecurity" in words
