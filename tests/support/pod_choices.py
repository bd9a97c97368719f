"""Every Job the operator can build: the product of what a Run, the chart and an attempt can say about its pods."""

import itertools
from collections.abc import Iterator
from typing import Any

from guildhall_contracts.run import Delivery, RunSpec
from guildhall_operator.config import Config
from guildhall_operator.manifests import job as builder
from guildhall_operator.manifests.fetch import fetch_job
from guildhall_operator.manifests.publish import publish_job, publish_request
from guildhall_operator.manifests.reprint import reprint_job
from unit.operator import kit

RUNTIME_CLASS, PRIORITY = "sandboxed", "low"
SSH = {"url": "ssh://git@git.example.test/team/app.git", "secretRef": {"name": "key"}}
GITS: list[dict[str, Any]] = [
    kit.GIT,
    {"workspace": {"git": {**SSH, "ref": "release/1", "depth": 3}, "storage": {"size": "3Gi"}}},
]
WORKSPACES: list[dict[str, Any]] = [
    {},
    {"workspace": {"archive": {"configMap": "sources", "stripComponents": 1}}},
    {"workspace": {"claim": {"name": "repo", "subPath": "one"}}},
    {"workspace": {"claim": {"name": "shared"}}},
    {"workspace": {"template": {"claim": "repo"}, "storage": {"class": "fast"}}},
    {"workspace": {"storage": {"size": "2Gi", "ephemeral": False}}},
    GITS[1],
]
IMAGES: list[dict[str, Any]] = [{}, {"image": "reg/any:1"}]
RESOURCES: list[dict[str, Any]] = [{}, {"resources": {"cpu": "50m", "memory": "64Mi", "ephemeralStorage": "1M"}}]
MODES: list[dict[str, Any]] = [
    {},
    {"mode": "scheduled", "deliver": "branch", "publish": {"secretRef": {"name": "push"}, "allowWillRun": True}},
    {"private": True, "deliver": "none", "retainSeconds": 60},
]
EXTRAS: list[dict[str, Any]] = [
    {},
    {"env": {"PATH": "/evil", "LD_PRELOAD": "$(X)"}, "budget": {"seconds": 1}, "concurrencyGroup": "g"},
    {"runtimeClassName": RUNTIME_CLASS, "priority": PRIORITY},
]
# A number, and whether the kubelet may give volumes to our group.
ATTEMPTS = [(1, True), (1, False), (2, True), (2, False)]


def run_jobs(configs: list[Config], namespace: str = kit.NAMESPACE) -> Iterator[dict[str, Any]]:
    """A run Job for every combination."""
    for config, choice in itertools.product(configs, itertools.product(WORKSPACES, IMAGES, RESOURCES, MODES, EXTRAS)):
        wanted: dict[str, Any] = {}
        for part in choice:
            wanted |= part
        view = kit.run(wanted, namespace=namespace)
        spec = RunSpec.model_validate(view.spec)
        for number, own_group in ATTEMPTS:
            attempt = builder.Try(number, 60, kit.GATEWAY_IP, list(kit.TARGETS), own_group=own_group)
            yield builder.job(view, spec, config, attempt)


def reprint_jobs(configs: list[Config], namespace: str = kit.NAMESPACE) -> Iterator[dict[str, Any]]:
    """The Jobs that print a journal again: the first round and the last."""
    for config, number in itertools.product(configs, (1, 10)):
        yield reprint_job(kit.run(namespace=namespace), config, number, number, number)


def git_jobs(configs: list[Config], namespace: str = kit.NAMESPACE) -> Iterator[dict[str, Any]]:
    """The Jobs that fetch and that publish, with and without Secrets and priority."""
    publishing: list[dict[str, Any]] = [{}, {"publish": {"secretRef": {"name": "push"}}}, {"priority": PRIORITY}]
    for config, git, more in itertools.product(configs, GITS, publishing):
        assert config.fetcher is not None
        fetched = {"source": {"commit": "b" * 40, "ref": "refs/heads/main", "files": 3, "contentBytes": 9}}
        view = kit.run({**git, **more, "deliver": "branch"}, fetched, namespace=namespace)
        spec = RunSpec.model_validate(view.spec)
        delivery = Delivery(branch="guildhall/fix", patch_sha256="a" * 64)
        for number in (1, 2):
            yield fetch_job(view, spec, config, number)
            request = publish_request(view, spec, config.fetcher, delivery)
            yield publish_job(view, spec, config, request, number)
