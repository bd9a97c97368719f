"""The Jobs the operator builds for a stored Run by the chart's own configuration, and the containers of their pods."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from guildhall_contracts.gate import Target
from guildhall_contracts.run import RunSpec
from guildhall_operator.config import Config
from guildhall_operator.manifests import job as builder
from guildhall_operator.run_view import run_view
from support.chart import config_of, render
from support.fence import JOB_CONTROLLER, Fence, pod_of_job

Change = Callable[[dict[str, Any]], object]
MakePod = Callable[[str], dict[str, Any]]


@cache
def operator_config(rules: Fence) -> Config:
    """The operator's configuration exactly as the chart writes it."""
    values = {"runNamespaces": [rules.runs], "allowed": {"runtimeClasses": ["sandboxed"], "priorities": ["low"]}}
    return Config.model_validate(config_of(render(values, namespace=rules.control), "operator"))


def built_job(rules: Fence, stored: dict[str, Any]) -> dict[str, Any]:
    """The Job the operator builds for a stored Run."""
    canary = Target(name="canary", host="192.0.2.10", port=8444)
    attempt = builder.Try(number=1, seconds=600, gateway_ip="192.0.2.10", targets=[canary])
    spec = RunSpec.model_validate(stored["spec"])
    return builder.job(run_view(stored), spec, operator_config(rules), attempt)


def _container(index: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def find(pod: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (pod["initContainers"] + pod["containers"])[index]
        return found

    return find


prepare, workshop, executor = _container(0), _container(1), _container(2)


def mounts(container: dict[str, Any], name: str) -> Any:
    """Mounts a volume of the pod in a container, somewhere."""
    return container["volumeMounts"].append({"name": name, "mountPath": f"/x-{name}"})


@pytest.fixture(scope="module")
def stored(rules: Fence) -> dict[str, Any]:
    return rules.run()


@pytest.fixture(scope="module")
def run_pod(rules: Fence, stored: dict[str, Any]) -> MakePod:
    """Makes a pod as the Job controller does; nobody schedules it, and its Job (suspended) keeps it from collection."""
    job = built_job(rules, stored)
    job["spec"]["suspend"] = True
    done = rules.create(job, user=rules.account("operator"))
    assert done.returncode == 0, f"control: {done.stderr}"
    uid = json.loads(done.stdout)["metadata"]["uid"]

    def make(name: str) -> dict[str, Any]:
        pod = pod_of_job(job, name, uid)
        made = rules.create(pod, user=JOB_CONTROLLER)
        assert made.returncode == 0, f"control: {made.stderr}"
        return pod

    return make
