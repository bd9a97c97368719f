"""Promise: a cluster that does not enforce NetworkPolicies, or a policy that opens a Run, ends it before a model call.

The positive control is the same Run with the enforcer on and no second policy: it succeeds.
"""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.cluster import eventually
from support.installation import Installation, condition, instant, one_role_guild, run_manifest
from support.ledger import calls_of

pytestmark = [pytest.mark.cluster, pytest.mark.alone]

OPEN = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "somebody-opens-everything"},
    "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
}
RECHECK_SECONDS = 10  # the executor asks again this often: `isolation.recheckSeconds` of the chart
BUSY = "steady"  # three calls a second for most of a minute: a call after the flag would be seen
BUSY_CALLS = 120
WHOLE_SECOND = timedelta(seconds=1)  # a condition's time is cut to it


def start(here: Installation, name: str, scenario: str) -> None:
    here.delete("run", name)
    here.apply(run_manifest(name, guild=one_role_guild(scenario, "list_files", "write_file", "run_shell")))


def ended(here: Installation, name: str) -> dict[str, Any]:
    start(here, name, "finish-at-once")
    return condition(here.wait_done(name, 180), "Succeeded")


def at_work(here: Installation, name: str) -> None:
    """A Run in the middle of its work: its calls are booked."""
    start(here, name, BUSY)
    here.wait_run(name, lambda run: condition(run, "IsolationVerified").get("status") == "True", 90)
    eventually(lambda: len(calls_of(here, name)) >= 3, 30)


@contextlib.contextmanager
def opened(here: Installation) -> Iterator[None]:
    here.apply(OPEN)
    try:
        yield
    finally:
        here.delete("networkpolicy", "somebody-opens-everything")


def stopped_in_the_middle(here: Installation, name: str, since: datetime) -> list[dict[str, Any]]:
    """The calls of a Run that worked before `since` and was ended for its isolation; it had many more to make."""
    run = here.get("run", name)
    assert condition(run, "Succeeded")["reason"] == "IsolationNotEnforced", run["status"]
    verified = condition(run, "IsolationVerified")
    assert (verified["status"], verified["reason"]) == ("False", "IsolationNotEnforced")
    calls = calls_of(here, name)
    assert any(instant(call["startedAt"]) < since for call in calls), "control: it was at work"
    assert len(calls) < BUSY_CALLS, "control: it had not finished"
    return calls


def test_control_with_the_enforcer_on(installation: Installation) -> None:
    done = ended(installation, "enforced")
    assert done["status"] == "True"
    assert condition(installation.get("run", "enforced"), "IsolationVerified")["status"] == "True"
    assert len(calls_of(installation, "enforced")) == 1


def test_with_the_enforcer_off(installation: Installation) -> None:
    with installation.cluster.enforcer_off():
        done = ended(installation, "not-enforced")
    assert (done["status"], done["reason"]) == ("False", "IsolationNotEnforced")
    assert condition(installation.get("run", "not-enforced"), "IsolationVerified")["status"] == "False"
    assert calls_of(installation, "not-enforced") == []


def test_the_enforcer_goes_off_during_the_run(installation: Installation) -> None:
    """No policy changed: only the executor, which asks the canary again and again, can see this."""
    name = "enforcer-went"
    at_work(installation, name)
    with installation.cluster.enforcer_off():
        off = datetime.now(UTC)
        done = condition(installation.wait_done(name, 60), "Succeeded")
    assert "'canary'" in done["message"], done
    assert "answered from the run pod" in done["message"]
    calls = stopped_in_the_middle(installation, name, off)
    installation.wait_run(name, lambda run: condition(run, "Sealed").get("status") == "True", 60)
    events = installation.events_of(name)
    told = [event for event in events if "isolation is gone" in event.get("error", {}).get("message", "")]
    assert [event["type"] for event in told] == ["error.raised", "run.finished"], "what it had to say is kept"
    raised = instant(told[0]["ts"])
    assert raised - off < timedelta(seconds=RECHECK_SECONDS + 5)
    assert [call for call in calls if instant(call["startedAt"]) > raised] == []


def test_a_permissive_policy_before_the_start(installation: Installation) -> None:
    with opened(installation):
        done = ended(installation, "opened-before")
    assert done["reason"] == "IsolationNotEnforced"
    assert "somebody-opens-everything" in done["message"]
    assert calls_of(installation, "opened-before") == []


def test_a_permissive_policy_during_the_run(installation: Installation) -> None:
    """The operator sees it first; from the status it writes on, the gateway makes no more calls for the Run."""
    name = "opened-during"
    at_work(installation, name)
    before = datetime.now(UTC)
    with opened(installation):
        run = installation.wait_done(name, 60)
    assert "somebody-opens-everything" in condition(run, "Succeeded")["message"]
    flagged = instant(condition(run, "IsolationVerified")["lastTransitionTime"])
    assert flagged - before < timedelta(seconds=5)
    calls = stopped_in_the_middle(installation, name, before)
    assert [call for call in calls if instant(call["startedAt"]) > flagged + WHOLE_SECOND] == []


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
