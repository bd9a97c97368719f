"""`down` gives the machine back as it was, after a good life and after a crash.

The machine has one cluster, so these take down whichever is running; they run only when allowed to.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster import RESTRICTED, Cluster, attempt_command, command, pod, running
from support.traces import snapshot

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("GUILDHALL_CLUSTER_CYCLE") != "1",
        reason="takes the machine's cluster down and up; GUILDHALL_CLUSTER_CYCLE=1 allows it",
    ),
]

Traces = dict[str, set[str]]


@pytest.fixture
def before() -> Iterator[Traces]:
    """The machine without a cluster; afterwards a cluster is up again for whoever comes next."""
    command("down")
    yield snapshot()
    command("up")


def _populate(cluster: Cluster) -> None:
    """A pod with a volume, a host port and a policy: something of every kind that could be left."""
    busy = pod("busy", ["sleep", "600"], {"app": "busy"})
    main = busy["spec"]["containers"][0]
    main["securityContext"] = dict(RESTRICTED)
    main["ports"] = [{"containerPort": 8080, "hostPort": 18080, "hostIP": "10.200.0.1"}]
    main["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    busy["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "kept"}}]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "kept"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}},
    }
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "closed"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
    }
    cluster.apply(claim, policy, busy, namespace="default")
    cluster.ready("default", "busy")
    command("volume", "create", "left-mounted", "2")


def _differences(before: Traces) -> dict[str, list[str]]:
    after = snapshot()
    return {kind: sorted(after[kind] ^ before[kind]) for kind in before if after[kind] != before[kind]}


def _assert_traces_are_seen(before: Traces) -> None:
    """The positive control: a running cluster differs in every way this test looks at."""
    seen = _differences(before)
    assert {
        "processes",
        "mounts",
        "links",
        "filter rules",
        "ip sets",
        "packet counters",
        "routes",
        "cgroups",
        "files",
    } <= seen.keys()


def test_down_after_a_good_life(before: Traces) -> None:
    command("up")
    cluster = running()
    _populate(cluster)
    _assert_traces_are_seen(before)
    command("down")
    assert _differences(before) == {}
    assert not cluster.kubeconfig.parent.parent.exists()


def test_down_after_everything_was_killed_and_notes_were_lost(before: Traces) -> None:
    command("up")
    cluster = running()
    _populate(cluster)
    records = sorted(Path(cluster.kubeconfig.parent.parent, "run").glob("*.json"))
    assert len(records) == 9
    for record in records:
        if record.stem not in ("etcd", "kubelet"):
            os.kill(json.loads(record.read_text())["pid"], signal.SIGKILL)
    for record in records:
        record.unlink()
    command("down")
    assert _differences(before) == {}


def test_down_twice_is_no_error(before: Traces) -> None:
    done = attempt_command("down")
    assert done.returncode == 0, done.stderr
    assert _differences(before) == {}
