"""Promise: from a run pod nothing answers but the gateway, and that only 401 to anyone without the token.

Every target is a listener that really answers: the same probe from an unrestricted pod is the positive control.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation

pytestmark = pytest.mark.cluster

PROBE = r"""
import json, socket, sys
out = {}
for name, kind, host, port in json.loads(sys.argv[1]):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if kind == "udp":
            s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(2)
            s.sendto(bytes.fromhex("12340100000100000000000003777777076578616d706c6503636f6d0000010001"), (host, port))
            s.recvfrom(512)
        else:
            s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(2); s.connect((host, port))
        out[name] = "answered"
    except OSError as error:
        out[name] = type(error).__name__
print(json.dumps(out))
"""
FREE = "free-prober"


def prober(image: str) -> dict[str, Any]:
    """An unrestricted pod with a listener on 8099, in a namespace of its own."""
    serve = "import http.server; http.server.test(http.server.SimpleHTTPRequestHandler, port=8099)"
    container = {"name": "c", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["python3", "-c", serve]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": FREE}, "spec": {"containers": [container]}}


@pytest.fixture(scope="module")
def free_pod(installation: Installation) -> Iterator[str]:
    """Address of the unrestricted pod."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n01-free"}}
    installation.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    installation.apply(prober(installation.images["sandbox-python"]), namespace="n01-free")
    installation.kubectl("-n", "n01-free", "wait", "pod", FREE, "--for=condition=Ready", "--timeout=60s")
    yield installation.get("pod", FREE, "n01-free")["status"]["podIP"]
    installation.kubectl("delete", "namespace", "n01-free", "--wait=false")


@pytest.fixture(scope="module")
def pod(installation: Installation) -> Iterator[RunningPod]:
    with waiting_run(installation, "n01") as running:
        yield running


def targets(here: Installation, free_ip: str) -> list[tuple[str, str, str, int]]:
    service = here.get("service", "kubernetes", "default")["spec"]["clusterIP"]
    dns = here.get("service", "kube-dns", "kube-system")["spec"]["clusterIP"]
    gateway = here.get("service", "guildhall-gateway", here.control)["spec"]["clusterIP"]
    api = here.get("service", "guildhall-api", here.control)["spec"]["clusterIP"]
    node = here.items("nodes")[0]["status"]["addresses"][0]["address"]
    return [
        ("api-server", "tcp", service, 443),
        ("dns-tcp", "tcp", dns, 53),
        ("dns-udp", "udp", dns, 53),
        ("other-namespace", "tcp", free_ip, 8099),
        ("canary", "tcp", gateway, 8444),
        ("guildhall-api", "tcp", api, 80),
        ("kubelet", "tcp", node, 10250),
    ]


def test_nothing_answers_a_run_pod(installation: Installation, pod: RunningPod, free_pod: str) -> None:
    listed = json.dumps(targets(installation, free_pod))
    command = ("-n", "n01-free", "exec", FREE, "--", "python3", "-c", PROBE, listed)
    control = json.loads(installation.kubectl(*command))
    assert set(control.values()) == {"answered"}, control
    for container in ("workshop", "executor"):
        found = json.loads(pod.inside(container, "python3", "-c", PROBE, listed).stdout)
        exempt = {"kubelet"}  # Kubernetes lets a pod and its own node talk; it is reported, not required
        assert {name for name, what in found.items() if what == "answered"} <= exempt, (container, found)


def test_the_gateway_answers_401_without_the_token(installation: Installation, pod: RunningPod) -> None:
    host = f"guildhall-gateway.{pod.here.control}.svc"
    ask = f"""
import ssl, http.client
context = ssl._create_unverified_context()
connection = http.client.HTTPSConnection({host!r}, 443, timeout=5, context=context)
connection.request("GET", "/v1/mailbox?cursor=&waitSeconds=0")
print(connection.getresponse().status)
"""
    assert pod.python("workshop", ask).stdout.strip() == "401"
    with_token = ask.replace(
        'waitSeconds=0")',
        'waitSeconds=0", headers={"Authorization": "Bearer " + open("/guildhall/token/token").read()})',
    )
    assert pod.python("executor", with_token).stdout.strip() == "200", "positive control: the executor is let in"


def test_names_do_not_resolve(pod: RunningPod) -> None:
    resolve = "import socket; socket.getaddrinfo('kubernetes.default.svc.cluster.local', 443)"
    assert pod.python("workshop", resolve, seconds=60).returncode != 0
