"""The cluster does what the product's tests rely on; each refusal is shown beside something that is allowed."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.cluster import BUSYBOX, RESTRICTED, Cluster, attempt_command, command, eventually, pod

pytestmark = pytest.mark.cluster

SERVE = ["/bin/sh", "-c", "echo $ANSWER > /tmp/index.html; exec httpd -f -p 8080 -h /tmp"]
FORK = "i=0; while [ $i -lt {count} ]; do sleep 5 & i=$((i+1)); echo $i; done"


def _server(name: str) -> list[dict[str, Any]]:
    served = pod(name, SERVE, {"app": name})
    served["spec"]["containers"][0]["env"] = [{"name": "ANSWER", "value": f"here is {name}"}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    return [served, service]


def _egress_only_to(app: str) -> dict[str, Any]:
    to = [{"podSelector": {"matchLabels": {"app": app}}}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "client"},
        "spec": {
            "podSelector": {"matchLabels": {"app": "client"}},
            "policyTypes": ["Egress"],
            "egress": [{"to": to, "ports": [{"port": 8080, "protocol": "TCP"}]}],
        },
    }


def _fetch(cluster: Cluster, namespace: str, address: str) -> str:
    """The page the client pod reads from an address, or an empty text."""
    script = f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 {address} 80"
    return cluster.execute(namespace, "client", "sh", "-c", script).stdout.rpartition("\n\n")[2]


def _resolves(cluster: Cluster, namespace: str) -> bool:
    name = "kubernetes.default.svc.cluster.local"
    answer = cluster.execute(namespace, "client", "timeout", "4", "nslookup", name)
    return answer.returncode == 0 and "10.96.0.1" in answer.stdout


def _addresses(cluster: Cluster, namespace: str, *names: str) -> list[str]:
    return [cluster.get("service", name, "-n", namespace)["spec"]["clusterIP"] for name in names]


def _stage(cluster: Cluster, namespace: str) -> tuple[str, str]:
    """A client and two servers; returns the addresses of the friend and of the foe, both answering."""
    client = pod("client", ["sleep", "600"], {"app": "client"})
    cluster.apply(client, *_server("friend"), *_server("foe"), namespace=namespace)
    for name in ("client", "friend", "foe"):
        cluster.ready(namespace, name)
    friend, foe = _addresses(cluster, namespace, "friend", "foe")
    eventually(lambda: _fetch(cluster, namespace, friend) == "here is friend\n")
    eventually(lambda: _fetch(cluster, namespace, foe) == "here is foe\n")
    return friend, foe


def test_node_is_ready_at_the_supported_version(cluster: Cluster) -> None:
    node = cluster.get("node", "node1")
    conditions = {c["type"]: c["status"] for c in node["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    major, minor = node["status"]["nodeInfo"]["kubeletVersion"].removeprefix("v").split(".")[:2]
    assert (int(major), int(minor)) >= (1, 33)


def test_job_runs_and_its_first_output_comes_soon(cluster: Cluster, namespace: str) -> None:
    template = {"metadata": {}, "spec": pod("job", ["echo", "first output"])["spec"]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "hello"}, "spec": {"template": template}}
    began = time.monotonic()
    cluster.apply(job, namespace=namespace)
    eventually(lambda: cluster.attempt("logs", "-n", namespace, "job/hello").stdout == "first output\n", pause=0.1)
    assert time.monotonic() - began < 20
    cluster.kubectl("wait", "-n", namespace, "--for=condition=Complete", "job/hello", "--timeout=20s")


def test_network_policy_refuses_what_answered_before(cluster: Cluster, namespace: str) -> None:
    friend, foe = _stage(cluster, namespace)
    assert _resolves(cluster, namespace)
    with cluster.enforced():
        cluster.apply(_egress_only_to("friend"), namespace=namespace)
        eventually(lambda: _fetch(cluster, namespace, foe) == "", seconds=10)
        assert _fetch(cluster, namespace, friend) == "here is friend\n"
        assert not _resolves(cluster, namespace)
        assert _fetch(cluster, namespace, foe) == ""


@pytest.mark.alone
def test_policy_stops_binding_while_the_enforcer_is_off(cluster: Cluster, namespace: str) -> None:
    friend, foe = _stage(cluster, namespace)
    cluster.apply(_egress_only_to("friend"), namespace=namespace)
    with cluster.enforced():
        eventually(lambda: _fetch(cluster, namespace, foe) == "", seconds=10)
    with cluster.enforcer_off():
        assert json.loads(attempt_command("status", "--json").stdout)["enforcing"] is False
        eventually(lambda: _fetch(cluster, namespace, foe) == "here is foe\n", seconds=10)
    with cluster.enforced():
        eventually(lambda: _fetch(cluster, namespace, foe) == "", seconds=10)
        assert _fetch(cluster, namespace, friend) == "here is friend\n"


def test_pids_limit_binds(cluster: Cluster, namespace: str) -> None:
    few = pod("few", ["sh", "-c", FORK.format(count=100)])
    many = pod("many", ["sh", "-c", FORK.format(count=2000)])
    cluster.apply(few, many, namespace=namespace)
    eventually(lambda: _last_number(cluster, namespace, "few") == 100)
    eventually(lambda: "can't fork" in cluster.attempt("logs", "-n", namespace, "many").stdout)
    assert 400 < _last_number(cluster, namespace, "many") <= 512


def _last_number(cluster: Cluster, namespace: str, name: str) -> int:
    lines = cluster.attempt("logs", "-n", namespace, name).stdout.split()
    return max((int(word) for word in lines if word.isdigit()), default=0)


def test_audit_log_counts_each_write_once_and_no_read(cluster: Cluster, namespace: str) -> None:
    def writes() -> list[str]:
        events = [e for e in cluster.writes(namespace) if e["objectRef"].get("name") == "counted"]
        return [event["verb"] for event in events]

    assert writes() == []
    cluster.kubectl("create", "configmap", "counted", "-n", namespace)
    eventually(lambda: writes() == ["create"], seconds=5)
    cluster.get("configmap", "counted", "-n", namespace)
    cluster.kubectl("label", "configmap", "counted", "-n", namespace, "a=b")
    cluster.kubectl("delete", "configmap", "counted", "-n", namespace)
    eventually(lambda: len(writes()) >= 3, seconds=5)
    assert writes() == ["create", "patch", "delete"]


def test_fs_group_shares_the_default_volume_between_two_users(cluster: Cluster, namespace: str) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}},
    }
    script = (
        "umask 007; echo from-$(id -u) > /shared/$(id -u); sleep 1; while ! cat /shared/{other}; do sleep 0.2; done"
    )
    sharing = pod("sharing", [], securityContext={"fsGroup": 10003})
    sharing["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "shared"}}]
    sharing["spec"]["containers"] = [
        {
            "name": f"user-{user}",
            "image": BUSYBOX,
            "command": ["sh", "-c", script.format(other=other)],
            "securityContext": dict(RESTRICTED, runAsUser=user, runAsGroup=user),
            "volumeMounts": [{"name": "v", "mountPath": "/shared"}],
        }
        for user, other in ((10001, 10002), (10002, 10001))
    ]
    cluster.apply(claim, sharing, namespace=namespace)
    cluster.kubectl("wait", "-n", namespace, "--for=jsonpath={.status.phase}=Succeeded", "pod/sharing", "--timeout=40s")
    assert "from-10002" in cluster.kubectl("logs", "-n", namespace, "sharing", "-c", "user-10001")


def test_restricted_namespace_refuses_what_another_accepts(cluster: Cluster, namespace: str) -> None:
    privileged = pod("bad", ["id"])
    privileged["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    text = json.dumps(privileged)
    create = ["create", "--dry-run=server", "-f", "-"]
    refused = cluster.attempt(*create, "-n", namespace, stdin=text)
    assert refused.returncode != 0
    assert 'violates PodSecurity "restricted' in refused.stderr
    with cluster.namespace(security="privileged") as open_namespace:
        cluster.kubectl(*create, "-n", open_namespace, stdin=text)
    cluster.kubectl(*create, "-n", namespace, stdin=json.dumps(pod("good", ["id"])))


def _policy(kind: str, namespace: str, spec: dict[str, Any]) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    binding: dict[str, Any] = {"policyName": namespace}
    if kind.startswith("Validating"):
        binding["validationActions"] = ["Deny"]
    common = {"failurePolicy": "Fail", "matchConstraints": {"namespaceSelector": selector, "resourceRules": rules}}
    version = "admissionregistration.k8s.io/v1"
    metadata = {"name": namespace}
    return [
        {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {**common, **spec}},
        {"apiVersion": version, "kind": f"{kind}Binding", "metadata": metadata, "spec": binding},
    ]


def test_validating_admission_policy_denies_by_its_rule(cluster: Cluster, namespace: str) -> None:
    rule = {"expression": "!('secret' in object.data)", "message": "no secrets in ConfigMaps"}
    objects = _policy("ValidatingAdmissionPolicy", namespace, {"validations": [rule]})
    create = ["create", "configmap", "probe", "-n", namespace, "--dry-run=server"]
    cluster.kubectl(*create, "--from-literal=secret=x")
    try:
        cluster.apply(*objects)
        eventually(lambda: "no secrets in ConfigMaps" in cluster.attempt(*create, "--from-literal=secret=x").stderr)
        cluster.kubectl(*create, "--from-literal=open=x")
    finally:
        _remove(cluster, objects)


def test_mutating_admission_policy_fills_a_field(cluster: Cluster, namespace: str) -> None:
    patch = 'Object{metadata: Object.metadata{annotations: {"author": request.userInfo.username}}}'
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": patch}}
    spec = {"mutations": [mutation], "reinvocationPolicy": "Never"}
    objects = _policy("MutatingAdmissionPolicy", namespace, spec)
    create = ["create", "configmap", "probe", "-n", namespace, "--dry-run=server", "-o", "json"]
    assert "annotations" not in json.loads(cluster.kubectl(*create))["metadata"]
    try:
        cluster.apply(*objects)
        eventually(lambda: "author" in json.loads(cluster.kubectl(*create))["metadata"].get("annotations", {}))
    finally:
        _remove(cluster, objects)


def _remove(cluster: Cluster, objects: list[dict[str, Any]]) -> None:
    for item in objects:
        cluster.kubectl("delete", item["kind"], item["metadata"]["name"], "--ignore-not-found")


def test_bounded_volume_is_full_at_its_size(cluster: Cluster, namespace: str) -> None:
    name = f"bounded-{namespace}"
    command("volume", "create", name, "4")
    try:
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "small"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "bounded",
                "volumeName": name,
                "resources": {"requests": {"storage": "4Mi"}},
            },
        }
        script = "dd if=/dev/zero of=/v/fits bs=1M count=3 && dd if=/dev/zero of=/v/more bs=1M count=3; wc -c /v/*"
        writer = pod("writer", ["sh", "-c", script])
        writer["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "small"}}]
        writer["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
        cluster.apply(claim, writer, namespace=namespace)
        cluster.kubectl(
            "wait", "-n", namespace, "--for=jsonpath={.status.phase}=Succeeded", "pod/writer", "--timeout=40s"
        )
        said = cluster.kubectl("logs", "-n", namespace, "writer")
        assert "No space left on device" in said
        assert "3145728 /v/fits" in said
        assert "1048576 /v/more" in said
    finally:
        command("volume", "delete", name)


@pytest.mark.alone
def test_up_repairs_a_killed_kubelet_and_keeps_its_pods(cluster: Cluster, namespace: str) -> None:
    cluster.apply(pod("kept", ["sleep", "600"]), namespace=namespace)
    cluster.ready(namespace, "kept")
    record = Path(cluster.kubeconfig.parent.parent, "run", "kubelet.json")
    killed = json.loads(record.read_text())["pid"]
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: attempt_command("status").returncode == 1, seconds=5)
    command("up")
    assert json.loads(record.read_text())["pid"] != killed
    assert cluster.execute(namespace, "kept", "echo", "still here").stdout == "still here\n"
    status = cluster.get("pod", "kept", "-n", namespace)["status"]
    assert status["containerStatuses"][0]["restartCount"] == 0


@pytest.mark.alone
def test_up_replaces_a_component_whose_record_was_lost(cluster: Cluster) -> None:
    record = Path(cluster.kubeconfig.parent.parent, "run", "kube-scheduler.json")
    lost = json.loads(record.read_text())["pid"]
    record.unlink()
    command("up")
    assert json.loads(record.read_text())["pid"] != lost
    eventually(lambda: not Path(f"/proc/{lost}/cmdline").exists() or Path(f"/proc/{lost}/cmdline").read_bytes() == b"")
    assert json.loads(attempt_command("status", "--json").stdout)["components"]["kube-scheduler"] is True


def test_second_up_starts_nothing(cluster: Cluster) -> None:
    folder = Path(cluster.kubeconfig.parent.parent, "run")
    before = {path.name: path.read_text() for path in folder.glob("*.json")}
    began = time.monotonic()
    command("up")
    assert time.monotonic() - began < 15
    assert {path.name: path.read_text() for path in folder.glob("*.json")} == before
    assert len(before) == 9


def test_unknown_component_is_refused_with_the_known_names(cluster: Cluster) -> None:
    refused = attempt_command("restart", "kube-nothing")
    assert refused.returncode == 2
    assert "kube-router" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
