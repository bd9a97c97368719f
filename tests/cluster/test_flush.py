"""The running cluster's own rules, loaded into an empty network namespace and taken away there.

So the removal is tried on real rules while the cluster that made them goes on working.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.cluster import Cluster, eventually, pod

pytestmark = pytest.mark.cluster

PROBE = Path(__file__).with_name("flush_probe.py")


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_our_rules_go_and_a_stranger_s_stay(cluster: Cluster) -> None:
    with cluster.namespace("flush", security="privileged") as namespace:
        forwarded = pod("forwarded", ["sleep", "600"])
        forwarded["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 18082}]
        closed = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
        policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "closed"}}
        cluster.apply({**policy, "spec": closed}, forwarded, namespace=namespace)
        cluster.ready(namespace, "forwarded")
        eventually(lambda: "KUBE-POD-FW-" in _output("iptables-save"))
        # Packet counters belong to a network namespace; the rules that use one do not load without it.
        rules = [line for line in _output("iptables-save").splitlines(keepends=True) if "nfacct" not in line]
        given = {"sets": _output("ipset", "save"), "rules": "".join(rules)}
    done = subprocess.run(
        ["unshare", "--net", sys.executable, PROBE],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for kind in ("KUBE-SERVICES", "KUBE-ROUTER-FORWARD", "KUBE-POD-FW-", "CNI-DN-", "CNI-HOSTPORT-DNAT", "STRANGER"):
        assert any(kind in line for line in said["before"]), kind
    assert said["setsBefore"]
    assert not any("KUBE-ROUTER" in line or "KUBE-POD-FW" in line for line in said["unenforced"])
    assert any("KUBE-SERVICES" in line for line in said["unenforced"])
    assert said["after"] == [":STRANGER - [0:0]", "-A FORWARD -j STRANGER"]
    assert said["sets"] == []
