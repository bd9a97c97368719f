"""An installation whose platform team gave up the isolation (`isolation.require: false`): Runs work, and say so."""

import pytest
from support.installation import Installation, condition, one_role_guild, run_manifest

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
CHART = {"isolation": {"require": False}}
OPEN = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "somebody-opens-everything"},
    "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
}


def test_a_run_in_an_open_network_works_and_says_so(own_installation: Installation) -> None:
    """The network is open indeed: where isolation is required the same policy ends a Run (`test_n03_not_enforced`)."""
    here = own_installation
    here.apply(OPEN)
    here.apply(run_manifest("open", guild=one_role_guild("finish-at-once")))
    run = here.wait_done("open", 120)
    assert condition(run, "Succeeded")["status"] == "True", here.story("open")
    verified = condition(run, "IsolationVerified")
    assert (verified["status"], verified["reason"]) == ("False", "IsolationNotRequired")
    assert verified["message"].startswith("isolation.require is false: ")
    assert "answered: canary" in verified["message"], verified
    model = here.api(f"/api/runs/{here.namespace}.open/flow").body["model"]
    assert model["run"]["isolation"] == "not_required", "what the console shows in red"
