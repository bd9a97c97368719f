"""Interventions by kubectl: each ends with a clear state; one that is taken in goes with its Run, others can be read.

A private Run that waits for a person is acted on, and deleted; beside it, acts that name Runs which are not there.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from guildhall_contracts.limits import REFUSED_KEPT_SECONDS
from support.cluster import eventually
from support.installation import Installation
from support.people import GUILD

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

RUN = "acted-on"
NOWHERE = "00000000-0000-4000-8000-000000000000"
QUICKLY_SECONDS = 15  # the wait for a Run is 5 s


def act(name: str, author: str, run: str, uid: str) -> dict[str, Any]:
    said = {"intent": "redirect", "message": f"private: {name}"}
    spec = {"runRef": {"name": run, "uid": uid}, "author": author, "interrupt": said}
    return {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Intervention", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module", name="acts")
def _acts(installation: Installation) -> dict[str, dict[str, Any]]:
    """All applied at once, as soon as the Run is there, and each as it stands when its state is known."""
    here = installation
    here.delete("run", RUN)
    here.apply(
        {
            "apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "metadata": {"name": RUN},
            "spec": {"task": "Ask.", "guild": GUILD, "private": True, "deliver": "none", "retainSeconds": 60},
        }
    )  # fmt: skip
    uid = here.get("run", RUN)["metadata"]["uid"]
    made = {"true": (RUN, uid), "wrong-uid": (RUN, NOWHERE), "wrong-name": ("no-such", NOWHERE),
            "another-name": ("no-such", uid)}  # fmt: skip
    for name in made:
        here.delete("intervention", name)
    who = here.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    here.apply(*(act(name, who, *ref) for name, ref in made.items()))
    for name in made.keys() - {"true"}:
        eventually(lambda name=name: state(here, name) == "Refused", QUICKLY_SECONDS)  # type: ignore[misc]
    return {name: here.get("intervention", name) for name in made}


def state(here: Installation, name: str) -> str:
    found: str = here.get("intervention", name).get("status", {}).get("state", "")
    return found


def owners(item: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = item["metadata"].get("ownerReferences", [])
    return found


def test_one_that_names_no_run_is_told_so_and_stays(acts: dict[str, dict[str, Any]]) -> None:
    said = {name: item["status"]["message"] for name, item in acts.items() if name != "true"}
    assert f"there is no Run {RUN} with uid {NOWHERE}" in said["wrong-uid"]
    assert f"of an earlier Run {RUN}" in said["wrong-uid"]
    for name in ("wrong-name", "another-name"):
        assert "there is no Run no-such with uid" in said[name]
        assert "there is no Run of that name" in said[name]
    for name, message in said.items():
        assert "kubectl get run NAME -o jsonpath='{.metadata.uid}'" in message, name
        assert owners(acts[name]) == [], "with an owner that is not there it would be removed at once"


def test_kubectl_shows_state_and_message(installation: Installation, acts: dict[str, dict[str, Any]]) -> None:
    here = installation
    narrow = here.kubectl("-n", here.namespace, "get", "interventions", "wrong-uid").splitlines()
    assert narrow[0].split() == ["NAME", "RUN", "AUTHOR", "STATE", "AGE"]
    assert narrow[1].split()[1] == RUN
    assert narrow[1].split()[3] == "Refused"
    wide = here.kubectl("-n", here.namespace, "get", "interventions", "wrong-uid", "-o", "wide")
    assert acts["wrong-uid"]["status"]["message"] in wide


def test_one_for_a_run_that_waits_is_owned_by_it(installation: Installation, acts: dict[str, dict[str, Any]]) -> None:
    here, ref = installation, acts["true"]["spec"]["runRef"]
    eventually(lambda: owners(here.get("intervention", "true")) != [], 10)
    assert owners(here.get("intervention", "true")) == [
        {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "name": RUN, "uid": ref["uid"]}
    ]
    eventually(lambda: state(here, "true") == "Consumed", 90)


def test_it_goes_with_its_private_run_and_the_others_when_they_could_be_read(
    installation: Installation, acts: dict[str, dict[str, Any]]
) -> None:
    here = installation
    eventually(lambda: owners(here.get("intervention", "true")) != [], 10)
    here.delete("run", RUN)
    gone = ("wait", "--for=delete", "--timeout=60s")
    here.kubectl("-n", here.namespace, *gone, "intervention/true")
    left = {item["metadata"]["name"] for item in here.items("interventions")}
    refused = acts.keys() - {"true"}
    assert refused <= left, "control: those could not yet be read for long enough"
    long_ago = f"{datetime.now(UTC) - timedelta(seconds=REFUSED_KEPT_SECONDS - 2):%Y-%m-%dT%H:%M:%SZ}"
    patch = json.dumps({"status": {"time": long_ago}})
    for name in refused - {"wrong-name"}:
        here.kubectl("-n", here.namespace, "patch", "intervention", name, "--subresource=status", "--type=merge",
                     "-p", patch)  # fmt: skip
    for name in refused - {"wrong-name"}:
        here.kubectl("-n", here.namespace, *gone, f"intervention/{name}")
    assert state(here, "wrong-name") == "Refused", "control: this one's time is not over"
    here.delete("intervention", "wrong-name")
