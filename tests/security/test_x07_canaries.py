"""Promise: a secret of the platform appears in no stream, status, event, log or answer of the api."""

import json
from collections.abc import Iterator

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation

pytestmark = pytest.mark.cluster
CANARY = "canary-provider-key-90210"


@pytest.fixture(scope="module")
def installation(own_installation: Installation) -> Installation:
    """A release of its own: its gateway is restarted."""
    return own_installation


@pytest.fixture(scope="module")
def pod(installation: Installation) -> Iterator[RunningPod]:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "guildhall-providers"},
        "stringData": {"openai": CANARY},
    }
    installation.apply(secret, namespace=installation.control)
    installation.apply({**secret, "metadata": {"name": "somebody-elses"}})
    installation.control_kubectl("rollout", "restart", "deployment/guildhall-gateway")
    installation.control_kubectl("rollout", "status", "deployment/guildhall-gateway", "--timeout=120s")
    with waiting_run(installation, "x07") as running:
        yield running
    installation.delete("secret", "guildhall-providers", installation.control)
    installation.delete("secret", "somebody-elses")


def test_the_workshop_finds_none(pod: RunningPod) -> None:
    files = f"grep -rls {CANARY} / --exclude-dir=proc --exclude-dir=sys 2>/dev/null"
    search = f"{files}; env; cat /proc/*/environ 2>/dev/null"
    assert CANARY not in pod.shell(search, seconds=180).stdout
    control = pod.shell(f"echo {CANARY} > /tmp/c; grep -rls {CANARY} /tmp")
    assert "/tmp/c" in control.stdout, "positive control: the search finds what is there"
    pod.shell("rm /tmp/c")


def test_nothing_the_product_shows_has_it(installation: Installation, pod: RunningPod) -> None:
    read = installation.control_kubectl("get", "secret", "guildhall-providers", "-o", "jsonpath={.data.openai}")
    assert read, "positive control: the canary is there"
    run = f"/api/runs/{installation.namespace}.{pod.name}"
    for path in (
        "/api/config",
        "/api/runs",
        run,
        f"{run}/flow",
        f"{run}/events",
        f"{run}/changes",
        "/metrics",
        "/healthz",
    ):
        assert CANARY not in json.dumps(installation.api(path).body), path
    for component in ("operator", "gateway", "api"):
        assert CANARY not in installation.control_kubectl("logs", f"deployment/guildhall-{component}"), component
    for kind in ("runs", "guilds", "configmaps", "events", "pods", "jobs"):
        listed = installation.kubectl("-n", installation.namespace, "get", kind, "-o", "json")
        assert CANARY not in listed, kind
        assert read not in listed, kind
