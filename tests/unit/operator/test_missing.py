"""What is not there is told at once, by its name and with what to do, in the words of nobody but us."""

from typing import Any

import pytest
from guildhall_operator.actions import Plan
from guildhall_operator.missing import SUMMARY, missing
from guildhall_operator.plan import plan
from guildhall_operator.records import PodRecord
from guildhall_operator.store import Store
from unit.operator import kit

CREATE = "create it, or name another in a new Run"
ADD = "add the key, or name another in a new Run"
UPGRADE = "it belongs to the installation: the platform team restores it with helm upgrade"
AGAIN = "it was made for this Run and somebody deleted it: create the Run again"
SOURCE = 'MountVolume.SetUp failed for volume "source" : '
CASES = [
    (
        SOURCE + 'configmap "app-source" not found',
        f"there is no ConfigMap 'app-source' in namespace '{kit.NAMESPACE}'; {CREATE}",
    ),
    (
        'MountVolume.SetUp failed for volume "secret" : secret "git-login" not found',
        f"there is no Secret 'git-login' in namespace '{kit.NAMESPACE}'; {CREATE}",
    ),
    (
        SOURCE + "references non-existent config key: app.tar.gz",
        f"the ConfigMap of spec.workspace.archive in namespace '{kit.NAMESPACE}' has no key 'app.tar.gz'; {ADD}",
    ),
    (
        'MountVolume.SetUp failed for volume "ca" : configmap "guildhall-gateway-ca" not found',
        f"there is no ConfigMap 'guildhall-gateway-ca' in namespace '{kit.NAMESPACE}'; {UPGRADE}",
    ),
    (
        f'MountVolume.SetUp failed for volume "snapshot" : configmap "fix-{kit.UID}-snapshot" not found',
        f"there is no ConfigMap 'fix-{kit.UID}-snapshot' in namespace '{kit.NAMESPACE}'; {AGAIN}",
    ),
    (
        '0/1 nodes are available: persistentvolumeclaim "repo" not found. not found',
        f"there is no PersistentVolumeClaim 'repo' in namespace '{kit.NAMESPACE}'; {CREATE}",
    ),
]


@pytest.mark.parametrize(("said", "words"), CASES)
def test_what_is_missing_is_named_with_what_to_do(said: str, words: str) -> None:
    assert missing(said, kit.NAMESPACE, kit.UID) == words


@pytest.mark.parametrize(
    "said",
    [
        "",
        "timed out waiting for the condition",
        f"{SUMMARY}: unmounted volumes=[source]",
        "0/1 nodes: cpu",
        'configmap "',
    ],
)
def test_other_words_are_left_alone(said: str) -> None:
    assert missing(said, kit.NAMESPACE, kit.UID) == ""


def look(pod: PodRecord, seconds: float = 10, **world: Any) -> Plan:
    view = kit.started()
    return plan(view, kit.world(pods=(pod,), jobs=kit.job_of(view), **world), kit.at(seconds))


@pytest.mark.parametrize("where", ["mount", "configuration", "scheduler"])
def test_it_is_told_at_once_and_waited_for_as_long_as_was_set(where: str) -> None:
    said, words = CASES[5 if where == "scheduler" else 0]
    pods = {
        "mount": kit.starting(),
        "configuration": kit.starting(containers={"prepare": kit.waiting("CreateContainerConfigError", said)}),
        "scheduler": kit.starting(node="", unschedulable=said),
    }
    events = kit.warning(kit.POD_UID, "FailedMount", said) if where == "mount" else {}
    first = look(pods[where], events=events)
    running = kit.condition(first, "Running")
    assert (running["status"], running["reason"], running["message"]) == ("False", "MountFailed", words)
    assert kit.verdict(first)[0] == "Unknown", "it may still be made"
    last = look(pods[where], seconds=80, events=events, waits={"stall/MountFailed": 60.0})
    assert kit.verdict(last) == ("False", "MountFailed")
    assert words in kit.condition(last, "Succeeded")["message"]


def test_the_kubelets_summary_does_not_hide_what_it_said_before() -> None:
    store = Store()
    store.put_run(kit.raw_run())
    about = {"kind": "Pod", "uid": kit.POD_UID}

    def say(message: str) -> str:
        store.put_event({"type": "Warning", "reason": "FailedMount", "message": message, "involvedObject": about})
        return store.events([kit.POD_UID])[kit.POD_UID][0].message

    assert say(f"{SUMMARY}: early") == f"{SUMMARY}: early", "alone, it is all there is"
    assert say(CASES[0][0]) == CASES[0][0]
    assert say(f"{SUMMARY}: timed out") == CASES[0][0]
    assert say(CASES[2][0]) == CASES[2][0], "another cause takes its place"


@pytest.mark.parametrize("owner", ["ours", "theirs"])
def test_a_claim_made_a_moment_ago_is_not_called_deleted(owner: str) -> None:
    name = f"fix-{kit.UID}-journal" if owner == "ours" else "repo"
    pod = kit.starting(node="", unschedulable=f'0/1 nodes are available: persistentvolumeclaim "{name}" not found.')
    first = look(pod)
    if owner == "theirs":
        assert kit.condition(first, "Running")["reason"] == "MountFailed", "control: nothing but a person helps"
        return
    assert kit.condition(first, "Running")["reason"] == "NotStarted", "the scheduler may not have seen it yet"
    assert first.notes == ()
    later = look(pod, waits=dict.fromkeys(first.waiting, 2.0))
    assert AGAIN in kit.condition(later, "Running")["message"]
    assert [note.warning for note in later.notes] == [True]
