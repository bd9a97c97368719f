"""Stopped at work: a real executor is cancelled and aborted, by the api and by `kubectl`, and asked beside its work."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from support.cluster import eventually
from support.installation import DONE, Installation, condition, one_role_guild, run_manifest
from support.ledger import calls_of
from support.people import GUILD as ASKS
from support.people import intervention, states, told

pytestmark = pytest.mark.cluster

NAMES = {"cancel-by-api", "cancel-by-kubectl", "abort-by-api", "abort-by-kubectl"}
OWN_END_SECONDS = 2.0  # from what it reads in its mailbox to its last event
WHOLE_END_SECONDS = 10.0  # from the request to its last event, on a busy machine


@pytest.fixture(scope="module")
def at_work(installation: Installation) -> Iterator[Installation]:
    """Four Runs, each with a file written and a command under way."""
    here = installation
    for name in NAMES:
        here.delete("run", name)
    here.apply(*(run_manifest(name, guild=one_role_guild("long-work", "write_file", "run_shell")) for name in NAMES))
    for name in NAMES:
        eventually(lambda name=name: bool(told(here, name, "tool.progress")), 90)  # type: ignore[misc]
    yield here
    for name in NAMES:
        here.delete("run", name)


def moment(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["ts"]).timestamp()


def pod_of(here: Installation, run: dict[str, Any]) -> str:
    pods = {pod["metadata"]["uid"]: pod for pod in here.items("pods")}
    pod = pods.get(run["status"]["attempts"][-1]["podUid"])
    return "" if pod is None else str(pod["status"]["phase"])


def ended(here: Installation, name: str, begun: float) -> dict[str, Any]:
    """What holds of every Run that was stopped: soon over, no call after it, its half kept, its pod until sealed."""
    run = here.wait_run(name, lambda run: run["status"]["phase"] == "Cancelled", 30)
    assert condition(run, "Succeeded")["reason"] == "Cancelled", here.story(name)
    assert condition(run, "Sealed").get("status") == "True" or pod_of(here, run), "the pod stays until all is stored"
    sealed = here.wait_run(name, lambda run: condition(run, "Sealed").get("status") == "True", 60)
    assert condition(sealed, "Sealed")["reason"] != "SealTimeout"
    [last] = told(here, name, "run.finished")
    assert last["outcome"] == "cancelled"
    assert moment(last) - begun < WHOLE_END_SECONDS
    assert len(calls_of(here, name)) == 2, "no model call came after it"
    changes = here.api(f"/api/runs/{here.namespace}.{name}/changes").body
    assert "+half of the work" in changes["patch"], "what it had done is kept"
    cut = [event for event in told(here, name, "tool.finished") if event["outcome"] == "cancelled"]
    assert cut, "the command it was in was stopped"
    return last


def test_a_run_is_cancelled_by_the_api(at_work: Installation) -> None:
    here, name = at_work, "cancel-by-api"
    begun = time.time()
    assert here.api(f"/api/runs/{here.namespace}.{name}/cancel", method="POST", body={}).status == 202
    ended(here, name, begun)
    again = here.api(f"/api/runs/{here.namespace}.{name}/cancel", method="POST", body={})
    assert again.status == 409, again.body


def test_a_run_is_cancelled_by_kubectl(at_work: Installation) -> None:
    here, name = at_work, "cancel-by-kubectl"
    begun = time.time()
    here.kubectl("-n", here.namespace, "patch", "run", name, "--type=merge", "-p", '{"spec":{"cancel":true}}')
    ended(here, name, begun)


def test_a_run_is_asked_and_aborted_by_the_api(at_work: Installation) -> None:
    here, name = at_work, "abort-by-api"
    interrupt = f"/api/runs/{here.namespace}.{name}/interrupt"
    asked = here.api(interrupt, method="POST", body={"intent": "inquire", "message": "How far are you?"})
    assert asked.status == 202, asked.body
    eventually(lambda: bool(told(here, name, "interrupt.answered")), 30)
    [answer] = told(here, name, "interrupt.answered")
    assert "the long part" in answer["text"]
    assert not told(here, name, "run.finished"), "the work went on"
    [heard] = told(here, name, "interrupt.received")
    assert (heard["intent"], heard["author"]) == ("inquire", here.api("/api/session").body["user"])
    stop = here.api(interrupt, method="POST", body={"intent": "abort", "message": "Enough."})
    assert stop.status == 202, stop.body
    run = here.wait_run(name, lambda run: run["status"]["phase"] == "Cancelled", 30)
    assert run["status"]["reason"] == "Cancelled"
    here.wait_run(name, lambda run: condition(run, "Sealed").get("status") == "True", 60)
    assert [event["intent"] for event in told(here, name, "interrupt.received")] == ["inquire", "abort"]
    assert "Enough." in told(here, name, "interrupt.received")[1]["message"]
    assert "+half of the work" in here.api(f"/api/runs/{here.namespace}.{name}/changes").body["patch"]
    eventually(lambda: states(here, name) == {"Consumed": 2}, 30)


def test_a_run_is_aborted_by_kubectl(at_work: Installation) -> None:
    here, name = at_work, "abort-by-kubectl"
    who = here.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    here.delete("intervention", "abort-it")
    begun = time.time()
    here.apply(intervention(here, "abort-it", name, who, interrupt={"intent": "abort", "message": "Stop now."}))
    last = ended(here, name, begun)
    [heard] = told(here, name, "interrupt.received")
    assert (heard["intent"], heard["author"], heard["message"]) == ("abort", who, "Stop now.")
    assert moment(last) - moment(heard) <= OWN_END_SECONDS
    eventually(lambda: here.get("intervention", "abort-it")["status"]["state"] == "Consumed", 30)


EARLY = {
    "cancel-fetching": ({"workspace": {"git": {"url": "git://10.200.0.1:9/nobody.git"}}}, "Fetching"),
    "cancel-preparing": ({"workspace": {"storage": {"size": "16Mi"}}}, "Preparing"),
    "cancel-asking": ({"guild": ASKS}, "AwaitingHuman"),
}


def reached(run: dict[str, Any], moment_: str) -> bool:
    status = run.get("status", {})
    ready = condition(run, "WorkspaceReady").get("reason")
    return moment_ in {status.get("phase"), ready} or status.get("phase") in DONE


@pytest.mark.parametrize("name", EARLY)
def test_a_run_is_cancelled_before_it_works(installation: Installation, name: str) -> None:
    here, (spec, when) = installation, EARLY[name]
    here.delete("run", name)
    here.apply(run_manifest(name, **{"guild": one_role_guild("long-work", "write_file", "run_shell"), **spec}))
    run = here.wait_run(name, lambda found: reached(found, when), 90)
    assert run["status"]["phase"] not in DONE, here.story(name)
    here.kubectl("-n", here.namespace, "patch", "run", name, "--type=merge", "-p", '{"spec":{"cancel":true}}')
    run = here.wait_done(name, 60)
    assert (run["status"]["phase"], run["status"]["reason"]) == ("Cancelled", "Cancelled"), here.story(name)
    uid = run["metadata"]["uid"]
    eventually(lambda: not [pod for pod in here.items("pods") if alive(pod) and belongs(pod, uid)], 60)
    events = here.events_of(name) if run["status"].get("attempts") else []
    assert not [event for event in events if event["type"] == "tool.finished" and event["outcome"] == "success"]
    here.delete("run", name)


def alive(pod: dict[str, Any]) -> bool:
    return pod["status"].get("phase") not in {"Succeeded", "Failed"}


def belongs(pod: dict[str, Any], uid: str) -> bool:
    labels = pod["metadata"].get("labels", {})
    return uid in {labels.get("guildhall.dev/run"), labels.get("guildhall.dev/fetch")}
