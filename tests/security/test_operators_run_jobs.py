"""Our own operator makes run pods that run our programs on their Run's own volumes, whatever it is talked into."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.cluster import Cluster
from support.fence import Fence, denied, fence
from support.run_jobs import Change, built_job, executor, mounts, prepare, stored, workshop

__all__ = ["stored"]
pytestmark = pytest.mark.cluster


def test_the_operators_own_job_is_made(rules: Fence, stored: dict[str, Any]) -> None:
    """The control of everything below: the same Job, unchanged."""
    done = rules.create(built_job(rules, stored), user=rules.account("operator"), dry=True)
    assert done.returncode == 0, done.stderr


OTHER_PROGRAMS: dict[str, Change] = {
    "a shell beside the token": lambda pod: executor(pod).update(command=["sh", "-c", "cat /guildhall/token/token"]),
    "other code beside the token": lambda pod: executor(pod).update(command=["python3", "-c", "print(1)"]),
    "arguments beside the token": lambda pod: executor(pod).update(args=["-c", "print(1)"]),
    "a module of the workshop's": lambda pod: executor(pod).update(workingDir="/guildhall/socket"),
    "a path of modules": lambda pod: executor(pod)["env"].append({"name": "PYTHONPATH", "value": "/guildhall/socket"}),
    "a loader": lambda pod: executor(pod).update(env=[{"name": "LD_PRELOAD", "value": "/guildhall/socket/x.so"}]),
    "no attempt": lambda pod: executor(pod).pop("env"),
    "another attempt": lambda pod: executor(pod)["env"][0].update(value="2"),
    "a hook": lambda pod: executor(pod).update(lifecycle={"preStop": {"exec": {"command": ["sh"]}}}),
    "a probe": lambda pod: executor(pod).update(livenessProbe={"exec": {"command": ["sh"]}}),
    "a start probe": lambda pod: workshop(pod).update(startupProbe={"exec": {"command": ["sh"]}}),
    "a readiness probe": lambda pod: executor(pod).update(readinessProbe={"exec": {"command": ["sh"]}}),
    "a hook of the workshop": lambda pod: workshop(pod).update(lifecycle={"postStart": {"exec": {"command": ["sh"]}}}),
    "an input": lambda pod: executor(pod).update(stdin=True),
    "a terminal": lambda pod: workshop(pod).update(tty=True),
    "a workshop that is not ours": lambda pod: workshop(pod).update(command=["sh", "-c", "sleep 60"]),
    "a workshop for any peer": lambda pod: workshop(pod)["command"].__setitem__(-1, "10002"),
    "a workshop elsewhere": lambda pod: workshop(pod)["command"].__setitem__(3, "/tmp/s.sock"),
    "a workshop told more": lambda pod: workshop(pod)["env"].append({"name": "A", "value": "b"}),
    "no gate": lambda pod: prepare(pod)["env"].clear(),
    "a gate without a word": lambda pod: prepare(pod)["env"][0].pop("value"),
    "another word of the kubelet's": lambda pod: prepare(pod)["env"][1]["valueFrom"]["fieldRef"].update(
        fieldPath="spec.serviceAccountName"
    ),
    "a word of a Secret": lambda pod: prepare(pod)["env"][1].update(
        valueFrom={"secretKeyRef": {"name": "guildhall-providers", "key": "k"}}
    ),
    "another node": lambda pod: prepare(pod)["env"].__setitem__(
        1, {"name": "GUILDHALL_NODE_IP", "value": "192.0.2.77"}
    ),
    "no node": lambda pod: prepare(pod)["env"].pop(),
    "the node's address in the workshop": lambda pod: workshop(pod)["env"].append(prepare(pod)["env"][1]),
    "a preparation of its own": lambda pod: prepare(pod)["command"].__setitem__(1, "serve"),
    "a preparation from elsewhere": lambda pod: prepare(pod)["command"].extend(["--archive", "/tmp/../x.tar"]),
    "words in one": lambda pod: prepare(pod).update(command=[" ".join(prepare(pod)["command"])]),
    "an init container that is not waited for": lambda pod: prepare(pod).update(restartPolicy="Always"),
    "a workshop that is waited for": lambda pod: workshop(pod).pop("restartPolicy"),
    "the workshop first": lambda pod: pod["initContainers"].reverse(),
    "no workshop": lambda pod: pod["initContainers"].pop(),
}


def _gate(**changes: Any) -> Change:
    """Another configuration of the gate, written as the operator writes it."""

    def change(pod: dict[str, Any]) -> None:
        entry = prepare(pod)["env"][0]
        entry["value"] = json.dumps({**json.loads(entry["value"]), **changes}, separators=(",", ":"))

    return change


def _gate_text(old: str, new: str) -> Change:
    def change(pod: dict[str, Any]) -> None:
        entry = prepare(pod)["env"][0]
        assert old in entry["value"], entry
        entry["value"] = entry["value"].replace(old, new)

    return change


CANARY = {"name": "canary", "host": "192.0.2.10", "port": 8444, "required": True}
OTHER_GATES: dict[str, Change] = {
    "not enforced": _gate(enforce=False),
    "not enforced in the end": _gate_text('"enforce":true}', '"enforce":true,"Enforce":false}'),
    "enforced by another name": _gate_text('"enforce":true}', '"enforce":false,"\\"enforce":true}'),
    "enforced somewhere else": _gate_text('"enforce":true}', '"enforce":false,"x":{"enforce":true}}'),
    "asked once": _gate(consecutiveDenials=1),
    "not waited for": _gate(attemptTimeoutMilliseconds=50),
    "no canary": _gate(targets=[{**CANARY, "name": "other"}]),
    "a canary elsewhere": _gate(targets=[{**CANARY, "host": "192.0.2.11"}]),
    "a canary on another port": _gate(targets=[{**CANARY, "port": 1}]),
    "a canary that may answer": _gate(targets=[{**CANARY, "required": False}]),
    "a canary on its way out": _gate(targets=[{**CANARY, "x": 1}]),
    "another port of its node": _gate(ownNodePort=1),
    "no target": _gate(targets=[]),
}
JOURNAL_OF_ANOTHER = "x-11111111-2222-4333-8444-555555555555-journal"


def _claimed(name: str, claim: str) -> Change:
    """The volume `name`, on this claim instead of what it was."""

    def change(pod: dict[str, Any]) -> None:
        volume = next(volume for volume in pod["volumes"] if volume["name"] == name)
        volume.clear()
        volume |= {"name": name, "persistentVolumeClaim": {"claimName": claim}}

    return change


def _own_journal_as(name: str) -> Change:
    def change(pod: dict[str, Any]) -> None:
        journal = next(volume for volume in pod["volumes"] if volume["name"] == "journal")
        _claimed(name, journal["persistentVolumeClaim"]["claimName"])(pod)

    return change


def _configured(name: str, config_map: str) -> Change:
    def change(pod: dict[str, Any]) -> None:
        next(volume for volume in pod["volumes"] if volume["name"] == name)["configMap"]["name"] = config_map

    return change


def _mount_at(container: Callable[[dict[str, Any]], dict[str, Any]], place: str, **changes: Any) -> Change:
    def change(pod: dict[str, Any]) -> None:
        next(mount for mount in container(pod)["volumeMounts"] if mount["mountPath"] == place).update(changes)

    return change


OTHER_VOLUMES: dict[str, Change] = {
    "its journal as the workspace": _own_journal_as("workspace"),
    "its journal as the baseline": _own_journal_as("baseline"),
    "its journal as a folder": _own_journal_as("bin"),
    "another Run's journal as the workspace": _claimed("workspace", JOURNAL_OF_ANOTHER),
    "another Run's baseline as the workspace": _claimed("workspace", JOURNAL_OF_ANOTHER.replace("journal", "baseline")),
    "another Run's journal": _claimed("journal", JOURNAL_OF_ANOTHER),
    "somebody's claim as the journal": _claimed("journal", "repo"),
    "somebody's claim as the baseline": _claimed("baseline", "repo"),
    "a claim by another name": lambda pod: pod["volumes"].append(
        {"name": "x", "persistentVolumeClaim": {"claimName": "repo"}}
    ),
    "another Run's snapshot": _configured("snapshot", "x-11111111-2222-4333-8444-555555555555-snapshot"),
    "somebody's snapshot": _configured("snapshot", "mine"),
    "another CA": _configured("ca", "mine"),
    "a ConfigMap by another name": lambda pod: pod["volumes"].append({"name": "x", "configMap": {"name": "y"}}),
    "a snapshot as the source": lambda pod: pod["volumes"].append(
        {"name": "source", "configMap": {"name": "x-11111111-2222-4333-8444-555555555555-snapshot"}}
    ),
    "a journal in memory": lambda pod: (
        pod["volumes"].remove(next(volume for volume in pod["volumes"] if volume["name"] == "journal")),
        pod["volumes"].append({"name": "journal", "emptyDir": {}}),
    ),
    "the workspace where modules are": lambda pod: executor(pod)["volumeMounts"][0].update(mountPath="/usr/lib"),
    "a program that may be changed": _mount_at(workshop, "/guildhall/bin", readOnly=False),
    "a baseline that may be changed": _mount_at(workshop, "/guildhall/baseline", readOnly=False),
    "a part of the journal": _mount_at(executor, "/guildhall/journal", subPath="x"),
    "a part that a variable names": _mount_at(workshop, "/workspace", subPathExpr="$(GUILDHALL_RUN_ENV)"),
    "the executor's folder": lambda pod: mounts(workshop(pod), "tmp-executor"),
    "the socket in prepare": lambda pod: mounts(prepare(pod), "socket"),
}


def refused(rules: Fence, stored: dict[str, Any], change: Change) -> None:
    job = built_job(rules, stored)
    change(job["spec"]["template"]["spec"])
    done = rules.create(job, user=rules.account("operator"), dry=True)
    assert denied(done, "operator-jobs"), done.stderr or "accepted"


@pytest.mark.parametrize("what", OTHER_PROGRAMS)
def test_it_runs_no_other_program(rules: Fence, stored: dict[str, Any], what: str) -> None:
    refused(rules, stored, OTHER_PROGRAMS[what])


@pytest.mark.parametrize("what", OTHER_GATES)
def test_it_asks_for_no_weaker_gate(rules: Fence, stored: dict[str, Any], what: str) -> None:
    refused(rules, stored, OTHER_GATES[what])


@pytest.mark.parametrize("what", OTHER_VOLUMES)
def test_it_mounts_no_other_volume(rules: Fence, stored: dict[str, Any], what: str) -> None:
    refused(rules, stored, OTHER_VOLUMES[what])


def test_where_images_are_allowed_by_prefix_it_runs_no_other(cluster: Cluster) -> None:
    prefix = "images.example/team/"
    with fence(cluster, {"allowed": {"imagePrefixes": [prefix]}}) as strict:
        own = built_job(strict, strict.run())

        def made(image: str) -> Any:
            workshop(own["spec"]["template"]["spec"])["image"] = image
            return strict.create(own, user=strict.account("operator"), dry=True)

        for image in (workshop(own["spec"]["template"]["spec"])["image"], f"{prefix}any:1"):
            done = made(image)
            assert done.returncode == 0, f"control: {done.stderr}"
        assert denied(made("images.example/other:1"), "operator-jobs")
