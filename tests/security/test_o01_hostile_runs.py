"""O1: whatever is written into a Run, the pod that comes of it is *restricted* and of the one known shape."""

import copy
import json
from typing import Any

import pytest
from guildhall_contracts.gate import Target
from guildhall_contracts.run import RunSpec
from guildhall_operator.config import Config
from guildhall_operator.manifests import job as builder
from guildhall_operator.run_view import run_view
from support.chart import config_of, render
from support.fence import JOB_CONTROLLER, Fence, denied, guild, run

pytestmark = pytest.mark.cluster

ESCAPES: dict[str, Any] = {
    "serviceAccountName": "guildhall-operator",
    "hostNetwork": True,
    "securityContext": {"privileged": True},
    "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}],
    "volumes": [{"name": "h", "hostPath": {"path": "/"}}],
    "initContainers": [{"name": "x", "image": "x"}],
    "podTemplate": {"spec": {"hostPID": True}},
    "envFrom": [{"secretRef": {"name": "x"}}],
    "command": ["sh"],
}
LONGEST = "a" * 253


def _job(rules: Fence, stored: dict[str, Any]) -> dict[str, Any]:
    """The Job the operator builds for what the API server stored, with the configuration the chart gives it."""
    values = {"runNamespaces": [rules.runs]}
    config = Config.model_validate(config_of(render(values, namespace=rules.control), "operator"))
    canary = Target(name="canary", host="192.0.2.10", port=8444)
    attempt = builder.Try(number=1, seconds=600, gateway_ip="192.0.2.10", targets=[canary])
    return builder.job(run_view(stored), RunSpec.model_validate(stored["spec"]), config, attempt)


def _accepted_as_restricted(rules: Fence, stored: dict[str, Any]) -> dict[str, Any]:
    """The pod of the Run, accepted by Pod Security *restricted* and by the operator's own policy."""
    job = _job(rules, stored)
    done = rules.create(job, user=rules.account("operator"), dry=True)
    assert done.returncode == 0, done.stderr
    template = copy.deepcopy(job["spec"]["template"])
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    template["metadata"] |= {"name": "pod", "ownerReferences": [owner]}
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    done = rules.create(pod, user=JOB_CONTROLLER, dry=True)
    assert done.returncode == 0, done.stderr
    bad = copy.deepcopy(pod)
    bad["spec"]["containers"][0]["securityContext"]["capabilities"] = {"drop": []}
    assert denied(rules.create(bad, user=JOB_CONTROLLER, dry=True), "PodSecurity"), "control: the level is enforced"
    return pod


@pytest.mark.parametrize("field", ESCAPES)
def test_an_unknown_field_is_refused_or_pruned(rules: Fence, field: str) -> None:
    hostile = run(**{field: ESCAPES[field]})
    strict = rules.attempt("create", "--validate=strict", "-f", "-", stdin=hostile)
    assert denied(strict, "unknown field", field)
    done = rules.create(hostile, lax=True)
    assert done.returncode == 0, done.stderr
    assert field not in json.loads(done.stdout)["spec"]


def _nameless(pod: dict[str, Any], stored: dict[str, Any]) -> str:
    text = json.dumps(pod["spec"]).replace(stored["metadata"]["uid"], "UID")
    return text.replace(stored["metadata"]["name"], "NAME")


def test_all_of_them_at_once_change_nothing_of_the_pod(rules: Fence) -> None:
    plain = rules.run(name="plain")
    done = rules.create(run("hostile", **ESCAPES), lax=True)
    hostile = json.loads(done.stdout)
    pod, expected = _accepted_as_restricted(rules, hostile), _accepted_as_restricted(rules, plain)
    assert _nameless(pod, hostile) == _nameless(expected, plain)


def test_operator_labels_and_owners_on_a_run_do_not_reach_its_pod(rules: Fence) -> None:
    hostile = run("labelled")
    hostile["metadata"] |= {
        "labels": {"guildhall.dev/run": "another", "app.kubernetes.io/component": "gateway",
                   "app.kubernetes.io/name": "guildhall"},
        "annotations": {"guildhall.dev/run-name": "another"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}],
    }  # fmt: skip
    done = rules.create(hostile)
    assert done.returncode == 0, done.stderr
    stored = json.loads(done.stdout)
    pod = _accepted_as_restricted(rules, stored)
    assert pod["metadata"]["labels"]["guildhall.dev/run"] == stored["metadata"]["uid"]
    assert pod["metadata"]["labels"]["app.kubernetes.io/component"] == "run", "never what the gateway's policies select"


@pytest.mark.parametrize("name", [LONGEST, "a.b.c." + "d" * 200, "0", "x" * 63])
def test_the_longest_names_work(rules: Fence, name: str) -> None:
    _accepted_as_restricted(rules, rules.run(name=name))


def test_a_name_longer_than_any_is_refused(rules: Fence) -> None:
    assert denied(rules.create(run("a" * 254)), "253")


@pytest.mark.parametrize(
    "spec",
    [
        {"env": {"LD_PRELOAD": "/x", "PATH": "$(GUILDHALL_GATE)"}},
        {"image": "guildhall.dev/cluster-busybox:1"},
        {"resources": {"cpu": "100m", "memory": "64Mi", "ephemeralStorage": "64Mi"}},
        {"workspace": {"storage": {"size": "64Mi", "ephemeral": False}}},
        {"workspace": {"claim": {"name": "c", "subPath": "a/b"}}},
        {"workspace": {"archive": {"configMap": "c", "key": "a.tar.gz", "stripComponents": 1}}},
        {"runtimeClassName": "sandboxed"},
        {"budget": {"seconds": 604_800}},
        {"mode": "scheduled", "private": True, "deliver": "none", "retainSeconds": 60},
    ],
    ids="-".join,
)
def test_every_hole_that_is_named_makes_a_restricted_pod(rules: Fence, spec: dict[str, Any]) -> None:
    stored = rules.run(**spec)
    job = _job(rules, stored)
    if "runtimeClassName" in spec:
        stored["spec"].pop("runtimeClassName")  # the class does not exist here; its allow-list is tested elsewhere
        assert job["spec"]["template"]["spec"]["runtimeClassName"] == "sandboxed"
    _accepted_as_restricted(rules, stored)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"task": ""}, "spec.task"),
        ({"task": "x" * 65_537}, "spec.task"),
        ({"task": 7}, "spec.task"),
        ({"image": "a b"}, "spec.image"),
        ({"env": {"A=B": "x"}}, "every key matches"),
        ({"env": {"A": "x" * 4_097}}, "spec.env"),
        ({"env": {f"A{index}": "x" for index in range(33)}}, "spec.env"),
        ({"env": {"A": {"valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}}}, "spec.env"),
        ({"resources": {"cpu": "-1"}}, "spec.resources.cpu"),
        ({"resources": {"memory": "1 GiB"}}, "spec.resources.memory"),
        ({"workspace": {"git": {"url": "file:///etc"}}}, "spec.workspace.git.url"),
        ({"workspace": {"git": {"url": "ext::sh -c x"}}}, "spec.workspace.git.url"),
        ({"workspace": {"git": {"url": "https://h/x", "ref": "--upload-pack=x"}}}, "spec.workspace.git.ref"),
        ({"workspace": {"claim": {"name": "c", "subPath": "/etc"}}}, "spec.workspace.claim.subPath"),
        ({"workspace": {"claim": {"name": "c"}, "git": {"url": "https://h/x"}}}, "at most one source"),
        ({"workspace": {"archive": {"configMap": "c", "key": "../x"}}}, "spec.workspace.archive.key"),
        ({"workspace": {"archive": {"configMap": "c", "stripComponents": 9}}}, "stripComponents"),
        ({"budget": {"steps": 0}}, "spec.budget.steps"),
        ({"budget": {"seconds": 604_801}}, "spec.budget.seconds"),
        ({"budget": {"costMicroUSD": 2**63}}, "costMicroUSD"),
        ({"mode": "root"}, "spec.mode"),
        ({"private": True}, "set deliver to none"),
        ({"retainSeconds": 60}, "retainSeconds goes with private"),
        ({"guildRef": {"name": "g"}, "guild": guild()}, "not both"),
        ({"guild": None}, "not neither"),
        ({"guild": {**guild(), "roles": [guild()["roles"][0]] * 2}}, "Duplicate value"),
        ({"guild": {**guild(), "roles": []}}, "spec.guild.roles"),
        ({"guild": {**guild(), "models": {"Bad Alias": "scripted:x"}}}, "every key matches"),
        ({"guild": {**guild(), "tools": {"run_shell": {"effect": "none"}}}}, "effect"),
        ({"concurrencyGroup": "a/b"}, "concurrencyGroup"),
        ({"ttlSecondsAfterFinished": -1}, "ttlSecondsAfterFinished"),
        ({"deliver": "mail"}, "spec.deliver"),
        ({"priority": "UPPER"}, "spec.priority"),
    ],
)  # fmt: skip
def test_an_unsound_value_is_refused_with_its_field(rules: Fence, spec: dict[str, Any], words: str) -> None:
    assert rules.create(run(), dry=True).returncode == 0, "control"
    assert denied(rules.create(run(**spec), dry=True, lax=True), words), (
        rules.create(run(**spec), dry=True, lax=True).stderr or "accepted"
    )


def test_the_largest_legal_run_fits_within_the_cost_limits(rules: Fence) -> None:
    """Every bound at its end: the rules still fit the API server's budget, on creation and on change."""
    roles = [
        {"name": f"role-{index}", "prompt": "p" * 32_768, "model": "m", "description": "d" * 2_000, "tools": ["finish"]}
        for index in range(16)
    ]
    models = {f"alias-{index}" if index else "m": f"scripted:{'x' * 100}" for index in range(16)}
    env = {f"NAME_{index}": "v" * 4_096 for index in range(32)}
    large = {"entryRole": "role-0", "roles": roles, "models": models}
    stored = rules.run(task="t" * 65_536, guild=large, env=env)
    name = stored["metadata"]["name"]
    assert rules.patch("run", name, {"spec": {"cancel": True}}).returncode == 0
    assert denied(rules.patch("run", name, {"spec": {"task": "other"}}), "cannot be changed")


def test_a_task_that_is_too_large_is_refused_and_the_largest_goes_at_once(rules: Fence) -> None:
    """OP-05."""
    assert denied(rules.create(run("too-large", task="x" * 300 * 1024)), "task", "65536")
    largest = run("largest", task="x" * 64 * 1024)
    assert rules.create(largest).returncode == 0, "control"
    stored = rules.get("run", "largest")["metadata"]
    assert "finalizers" not in stored
    assert "annotations" not in stored
    gone = rules.attempt("delete", "run", "largest", "--wait=true", "--timeout=5s")
    assert gone.returncode == 0, gone.stderr
