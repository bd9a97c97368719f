"""O5: a RunSchedule makes Runs by the operator's hand, and reaches nothing its author may not read himself."""

import uuid
from typing import Any

import pytest
from security.test_o05_confused_deputies import NAMED
from support.fence import RULE_CREATE_RUNS, Fence, denied, guild, run

pytestmark = pytest.mark.cluster

RULE_SCHEDULES = {
    "apiGroups": ["guildhall.dev"], "resources": ["runschedules"], "verbs": ["create", "get", "patch"],
}  # fmt: skip


def schedule(name: str | None = None, **template: Any) -> dict[str, Any]:
    """A RunSchedule whose template has an inline Guild unless it names one."""
    body = {"task": "Do it.", **({} if "guildRef" in template else {"guild": guild()}), **template}
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "RunSchedule",
        "metadata": {"name": name or f"nightly-{uuid.uuid4().hex[:8]}"},
        "spec": {"schedule": "0 2 * * *", "runTemplate": {"spec": body}},
    }


def owned(name: str, uid: str = "nobody", **spec: Any) -> dict[str, Any]:
    """A Run as the operator makes it for a schedule; one of `nobody` is collected as garbage soon."""
    made = run(name, **{"mode": "scheduled", **spec})
    owner = {"apiVersion": "guildhall.dev/v1alpha1", "kind": "RunSchedule", "name": "s", "uid": uid, "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


@pytest.mark.parametrize("what", NAMED)
def test_a_template_names_only_what_its_author_may_read(rules: Fence, what: str) -> None:
    spec, group, resource, name = NAMED[what]
    nobody = rules.user(RULE_SCHEDULES, RULE_CREATE_RUNS)
    plain = schedule()
    assert rules.create(plain, user=nobody).returncode == 0, "control: this user may schedule a plain Run"
    assert denied(rules.create(schedule("stolen", **spec), user=nobody), "you may not get", name)
    assert rules.attempt("get", "runschedule", "stolen").returncode != 0, "nothing was stored"

    later = {"spec": {"runTemplate": {"spec": {**spec, **({"guild": None} if "guildRef" in spec else {})}}}}
    assert denied(rules.patch("runschedule", plain["metadata"]["name"], later, user=nobody), "you may not get", name)

    owner = rules.user(
        RULE_SCHEDULES,
        RULE_CREATE_RUNS,
        {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": ["get"]},
    )
    theirs = schedule(**spec)
    done = rules.create(theirs, user=owner)
    assert done.returncode == 0, done.stderr
    held = rules.patch("runschedule", theirs["metadata"]["name"], {"spec": {"suspend": True}}, user=nobody)
    assert held.returncode == 0, "whoever may patch it may stop it, for that reaches nothing"
    rewritten = {"spec": {"runTemplate": {"spec": {"task": "Print the secret."}}}}
    assert denied(rules.patch("runschedule", theirs["metadata"]["name"], rewritten, user=nobody), "you may not get")


def test_a_schedule_is_no_way_around_the_right_to_create_runs(rules: Fence) -> None:
    assert denied(rules.create(schedule(), user=rules.user(RULE_SCHEDULES)), "may not create Runs")


def test_a_template_keeps_to_the_allow_lists(rules: Fence) -> None:
    assert denied(rules.create(schedule(runtimeClassName="privileged-vm")), "runtimeClassName")
    assert denied(rules.create(schedule(priority="system-node-critical")), "priority")
    assert rules.create(schedule(runtimeClassName="sandboxed"), dry=True).returncode == 0, "control"


def test_what_a_template_cannot_say(rules: Fence) -> None:
    for bad, word in (
        ({"mode": "interactive"}, "mode"),
        ({"cancel": True}, "leave cancel"),
        ({"private": True}, "deliver"),
        ({"guildRef": {"name": "a"}, "guild": guild()}, "not both"),
    ):
        assert denied(rules.create(schedule(**bad)), word), bad
    labelled = schedule()
    labelled["spec"]["runTemplate"]["labels"] = {"guildhall.dev/run": "x"}
    assert denied(rules.create(labelled), "operator's")
    for bad_times in ("* * * *", "@reboot", "* * * * * *", "0 2 * * *; rm"):
        wrong = schedule()
        wrong["spec"]["schedule"] = bad_times
        assert rules.create(wrong, dry=True).returncode != 0, bad_times


def test_the_operator_creates_only_runs_of_schedules(rules: Fence) -> None:
    operator = rules.account("operator")
    assert rules.create(owned("of-a-schedule"), user=operator).returncode == 0, "control"
    assert denied(rules.create(run("by-hand", mode="scheduled"), user=operator), "of a RunSchedule")
    assert denied(rules.create(owned("with-a-person", mode="interactive"), user=operator), "scheduled mode")


def test_nobody_passes_a_run_off_as_a_schedules(rules: Fence) -> None:
    """Such a Run would stand in for the one that is due, hold back the next, and push true ones out of the history."""
    rules.create(schedule("s"))
    uid = rules.get("runschedule", "s")["metadata"]["uid"]
    anybody = rules.user({"apiGroups": ["guildhall.dev"], "resources": ["runs"], "verbs": ["create", "get", "patch"]})
    assert denied(rules.create(owned("forged", uid), user=anybody), "only the operator makes Runs of a RunSchedule")
    labelled = run("labelled")
    labelled["metadata"]["labels"] = {"guildhall.dev/schedule": uid}
    assert denied(rules.create(labelled, user=anybody), "guildhall.dev/schedule")
    assert rules.create(run("nobodys"), user=anybody).returncode == 0, "control"
    forged = {"metadata": owned("nobodys", uid)["metadata"]}
    assert denied(rules.patch("run", "nobodys", forged, user=anybody), "only the operator makes Runs of a RunSchedule")
    label = {"metadata": {"labels": {"guildhall.dev/schedule": uid}}}
    assert denied(rules.patch("run", "nobodys", label, user=anybody), "guildhall.dev/schedule")

    assert rules.create(owned("true", uid), user=rules.account("operator")).returncode == 0, "control"
    assert rules.patch("run", "true", {"spec": {"cancel": True}}, user=anybody).returncode == 0, "a person may stop it"
    left = rules.patch("run", "true", {"metadata": {"ownerReferences": []}}, user=anybody)
    assert left.returncode == 0, "the collector takes owners away where a schedule is deleted without its Runs"


def test_of_a_run_the_operator_switches_on_cancel_and_nothing_else(rules: Fence) -> None:
    operator = rules.account("operator")
    rules.create(schedule("s"))
    rules.create(owned("replaced", rules.get("runschedule", "s")["metadata"]["uid"]), user=operator)
    persons = rules.run()["metadata"]["name"]
    assert denied(rules.patch("run", persons, {"spec": {"cancel": True}}, user=operator), "RunSchedule")
    assert denied(rules.patch("run", "replaced", {"spec": {"suspend": True}}, user=operator), "cancel")
    assert denied(rules.patch("run", "replaced", {"metadata": {"labels": {"a": "b"}}}, user=operator), "cancel")
    assert denied(rules.patch("run", "replaced", {"metadata": {"ownerReferences": []}}, user=operator), "cancel")
    assert rules.patch("run", "replaced", {"spec": {"cancel": True}}, user=operator).returncode == 0, "control"


def test_only_the_operator_writes_a_schedules_status(rules: Fence) -> None:
    name = schedule()["metadata"]["name"]
    rules.create(schedule(name))
    forger = rules.user(
        {"apiGroups": ["guildhall.dev"], "resources": ["runschedules/status"], "verbs": ["get", "patch"]}
    )
    said = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
    assert denied(rules.patch("runschedule", name, said, user=forger, status=True), "operator")
    done = rules.patch("runschedule", name, said, user=rules.account("operator"), status=True)
    assert done.returncode == 0, done.stderr
