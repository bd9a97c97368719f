"""Promise: a cluster that does not enforce NetworkPolicies, or a policy that opens a Run, ends it before a model call.

The positive control is the same Run with the enforcer on and no second policy: it succeeds.
"""

from typing import Any

import pytest
from support.installation import Installation, condition, one_role_guild, run_manifest

pytestmark = [pytest.mark.cluster, pytest.mark.alone]

OPEN = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "somebody-opens-everything"},
    "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
}


def calls_of(here: Installation, name: str) -> int:
    """Model calls the gateway's ledger holds for a Run."""
    answer = here.api(f"/api/runs/{here.namespace}.{name}/flow")
    assert answer.status == 200, answer.body
    return int((answer.body.get("ledger") or {"totals": {"calls": 0}})["totals"].get("calls", 0))


def ended(here: Installation, name: str, scenario: str = "finish-at-once") -> dict[str, Any]:
    here.delete("run", name)
    here.apply(run_manifest(name, guild=one_role_guild(scenario, "write_file", "run_shell")))
    return condition(here.wait_done(name, 180), "Succeeded")


def test_control_with_the_enforcer_on(installation: Installation) -> None:
    done = ended(installation, "enforced")
    assert done["status"] == "True"
    assert condition(installation.get("run", "enforced"), "IsolationVerified")["status"] == "True"
    assert calls_of(installation, "enforced") == 1


def test_with_the_enforcer_off(installation: Installation) -> None:
    with installation.cluster.enforcer_off():
        done = ended(installation, "not-enforced")
    assert (done["status"], done["reason"]) == ("False", "IsolationNotEnforced")
    assert condition(installation.get("run", "not-enforced"), "IsolationVerified")["status"] == "False"
    assert calls_of(installation, "not-enforced") == 0


def test_a_permissive_policy_before_the_start(installation: Installation) -> None:
    installation.apply(OPEN)
    try:
        done = ended(installation, "opened-before")
    finally:
        installation.delete("networkpolicy", "somebody-opens-everything")
    assert done["reason"] == "IsolationNotEnforced"
    assert "somebody-opens-everything" in done["message"]
    assert calls_of(installation, "opened-before") == 0


def test_a_permissive_policy_during_the_run(installation: Installation) -> None:
    name = "opened-during"
    installation.delete("run", name)
    installation.apply(run_manifest(name, guild=one_role_guild("slow", "write_file", "run_shell")))
    installation.wait_run(name, lambda run: condition(run, "Running").get("status") == "True", 60)
    installation.apply(OPEN)
    try:
        done = condition(installation.wait_done(name, 60), "Succeeded")
    finally:
        installation.delete("networkpolicy", "somebody-opens-everything")
    assert done["reason"] == "IsolationNotEnforced"
    assert calls_of(installation, name) < 6


def test_without_the_static_policy_no_job_exists(installation: Installation) -> None:
    name = "policy-gone"
    saved = installation.kubectl("-n", installation.namespace, "get", "networkpolicy", "guildhall-run", "-o", "yaml")
    installation.delete("run", name)
    installation.delete("networkpolicy", "guildhall-run")
    try:
        installation.apply(run_manifest(name, guild=one_role_guild("finish-at-once")))
        waiting = installation.wait_run(
            name,
            lambda run: any(c["reason"] == "PolicyMissing" for c in run.get("status", {}).get("conditions", [])),
            30,
        )
        uid = waiting["metadata"]["uid"]
        assert installation.items("jobs", selector=f"guildhall.dev/run={uid}") == []
    finally:
        installation.kubectl("-n", installation.namespace, "apply", "-f", "-", stdin=saved)
    assert condition(installation.wait_done(name, 120), "Succeeded")["status"] == "True"
