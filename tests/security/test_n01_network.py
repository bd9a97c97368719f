"""Promise: from a run pod nothing answers but the gateway, and that only 401 to anyone without the token.

Every target is a listener that really answers: the same probe, by the same tool, from an unrestricted pod (or, of a
listener inside a run pod, from that pod itself) is the positive control.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from support.cluster import eventually
from support.inpod import RunningPod, waiting_run
from support.installation import Installation
from support.probes import Probe, Target, by_bash, by_busybox, by_python, script, tried

pytestmark = pytest.mark.cluster

FREE, SPACE = "free-prober", "n01-free"
SERVED, ECHOED = 8099, 8098
# Kubernetes lets a pod and its own node talk; it is reported, not required.
EXEMPT = {"kubelet"}
SERVE = f"""
import http.server, socket, threading
def echo():
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("", {ECHOED}))
    while True:
        data, whose = made.recvfrom(512)
        made.sendto(data, whose)
threading.Thread(target=echo, daemon=True).start()
http.server.test(http.server.SimpleHTTPRequestHandler, port={SERVED})
"""


@dataclass(frozen=True)
class Place:
    """A container with a tool in it, whose word is asked for through kubectl."""

    here: Installation
    namespace: str
    pod: str
    container: str

    def answers(self, probe: Probe, targets: list[Target]) -> set[str]:
        """The names of the targets that answered."""
        command = ("-n", self.namespace, "exec", self.pod, "-c", self.container, "--", "sh", "-c")
        return set(self.here.kubectl(*command, script(probe, targets)).split())


def prober(images: dict[str, str]) -> dict[str, Any]:
    """An unrestricted pod, in a namespace of its own: root, raw sockets, listeners, and the same tools."""
    root = {"runAsUser": 0, "capabilities": {"add": ["NET_RAW"]}}
    common = {"imagePullPolicy": "IfNotPresent", "securityContext": root}
    python = {"name": "python", "image": images["sandbox-python"], "command": ["python3", "-c", SERVE], **common}
    busybox = {"name": "busybox", "image": images["busybox"], "command": ["sleep", "3600"], **common}
    spec = {"containers": [python, busybox], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": FREE}, "spec": spec}


@pytest.fixture(scope="module")
def free_ip(installation: Installation) -> Iterator[str]:
    """Address of the unrestricted pod."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    installation.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    installation.apply(prober(installation.images), namespace=SPACE)
    installation.kubectl("-n", SPACE, "wait", "pod", FREE, "--for=condition=Ready", "--timeout=60s")
    yield installation.get("pod", FREE, SPACE)["status"]["podIP"]
    installation.kubectl("delete", "namespace", SPACE, "--wait=false")


@pytest.fixture(scope="module")
def other(installation: Installation) -> Iterator[RunningPod]:
    """Another Run, in an image of busybox alone; beside it, with the executor's python, a server for who reaches it."""
    with waiting_run(installation, "n01-busybox", image=installation.images["busybox"]) as running:
        serve = f"python3 -m http.server -d /tmp {SERVED} </dev/null >/dev/null 2>&1 &"
        done = running.inside("executor", "sh", "-c", serve)
        assert done.returncode == 0, done.stderr
        yield running


@pytest.fixture(scope="module")
def pod(shared_pod: RunningPod) -> Iterator[RunningPod]:
    """A Run in an image with python and bash, which serves a page too."""
    serve = f"mkdir -p /tmp/n01; exec python3 -m http.server -d /tmp/n01 {SERVED} >/dev/null 2>&1 & echo $!"
    number = shared_pod.shell(f"({serve})").stdout.strip()
    yield shared_pod
    shared_pod.shell(f"kill {number}; rm -r /tmp/n01")


@pytest.fixture(scope="module")
def runs(pod: RunningPod, other: RunningPod) -> dict[str, RunningPod]:
    return {"python": pod, "busybox": other}


def inside(run: RunningPod, container: str) -> Place:
    return Place(run.here, run.here.namespace, run.pod["metadata"]["name"], container)


def ip_of(pod: dict[str, Any]) -> str:
    return str(pod["status"]["podIP"])


def targets(here: Installation, free_ip: str) -> list[Target]:
    """Everything around that answers, each by a way of its own."""

    def address(name: str, namespace: str) -> str:
        return str(here.get("service", name, namespace)["spec"]["clusterIP"])

    (gateway, *_) = here.items("pods", here.control, "app.kubernetes.io/component=gateway")
    (resolver, *_) = here.items("pods", "kube-system", "k8s-app=kube-dns")
    dns, node = address("kube-dns", "kube-system"), here.items("nodes")[0]["status"]["addresses"][0]["address"]
    return [
        Target("api-server", "tcp", address("kubernetes", "default"), 443),
        Target("api-server-itself", "tcp", node, 6443),
        Target("dns-tcp", "tcp", dns, 53),
        Target("dns-udp", "dns", dns, 53),
        Target("other-namespace", "tcp", free_ip, SERVED),
        Target("other-namespace-udp", "udp", free_ip, ECHOED),
        Target("canary", "tcp", address("guildhall-gateway", here.control), 8444),
        Target("guildhall-api", "tcp", address("guildhall-api", here.control), 80),
        Target("gateway-health", "tcp", ip_of(gateway), 8081),
        Target("dns-ping", "icmp", ip_of(resolver)),
        Target("kubelet", "tcp", node, 10250),
    ]


@dataclass(frozen=True)
class Tool:
    """A way to probe, and the container of a run pod that has it."""

    probe: Probe
    run: str
    container: str
    control: str  # the container of the unrestricted pod that has it too


TOOLS = {
    "python": Tool(by_python, "python", "workshop", "python"),
    "python beside it": Tool(by_python, "python", "executor", "python"),
    "bash": Tool(by_bash, "python", "workshop", "python"),
    "bash beside it": Tool(by_bash, "python", "executor", "python"),
    "busybox": Tool(by_busybox, "busybox", "workshop", "busybox"),
}


@pytest.mark.parametrize("name", TOOLS)
def test_nothing_answers_a_run_pod(
    installation: Installation, runs: dict[str, RunningPod], free_ip: str, name: str
) -> None:
    tool, listed = TOOLS[name], targets(installation, free_ip)
    free = Place(installation, SPACE, FREE, tool.control)
    assert free.answers(tool.probe, listed) == tried(tool.probe, listed), "positive control: each answers that probe"
    assert inside(runs[tool.run], tool.container).answers(tool.probe, listed) <= EXEMPT


@pytest.mark.parametrize(("asks", "serves"), [("python", "busybox"), ("busybox", "python")])
def test_no_run_reaches_another(runs: dict[str, RunningPod], asks: str, serves: str) -> None:
    probes = {"python": by_python, "busybox": by_busybox}
    page = [Target("page", "tcp", ip_of(runs[serves].pod), SERVED)]
    eventually(
        lambda: inside(runs[serves], "workshop").answers(probes[serves], page), 10
    )  # control: it is served there
    assert inside(runs[asks], "workshop").answers(probes[asks], page) == set()


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


def test_names_do_not_resolve(installation: Installation, pod: RunningPod, other: RunningPod, free_ip: str) -> None:
    """Not by the resolver a pod is given, and not by asking the cluster's; the same look-ups work from a free pod."""
    name = "kubernetes.default.svc.cluster.local"
    resolve = ("python3", "-c", f"import socket; print(socket.getaddrinfo('{name}', 443)[0][4][0])")
    look_up = ("timeout", "5", "nslookup", name)
    free = ("-n", SPACE, "exec", FREE, "-c")
    service = installation.get("service", "kubernetes", "default")["spec"]["clusterIP"]
    assert installation.kubectl(*free, "python", "--", *resolve).strip() == service, f"control, from {free_ip}"
    assert service in installation.kubectl(*free, "busybox", "--", *look_up)
    assert pod.inside("workshop", *resolve, seconds=60).returncode != 0
    assert other.inside("workshop", *look_up, seconds=60).returncode != 0
