"""Runs, pods and worlds for the operator's unit tests: valid by default, one thing changed at a time."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from guildhall_contracts.gate import Target
from guildhall_contracts.guild import GuildSpec
from guildhall_contracts.run import RunSpec
from guildhall_contracts.snapshot import RunSnapshot
from guildhall_operator.actions import Observed, Peer, Plan
from guildhall_operator.config import Config
from guildhall_operator.isolation import GATEWAY_LABEL, NAMESPACE_LABEL
from guildhall_operator.manifests.snapshot import run_snapshot
from guildhall_operator.plan import plan
from guildhall_operator.records import (
    ClaimRecord,
    ContainerRecord,
    EventRecord,
    JobRecord,
    PodRecord,
    claim_record,
    job_record,
    pod_record,
)
from guildhall_operator.run_view import RunView, run_view, slimmed
from guildhall_operator.status import stamp

UID = "11111111-2222-4333-8444-555555555555"
POD_UID = "99999999-2222-4333-8444-555555555555"
NAMESPACE = "team-a"
CONTROL = "guildhall"
START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
GATEWAY_IP = "10.96.0.50"
TARGETS = (
    Target(name="canary", host=GATEWAY_IP, port=8444),
    Target(name="api-server", host="10.96.0.1", port=443),
)
GUILD: dict[str, Any] = {
    "entryRole": "planner",
    "models": {"big": "scripted:demo"},
    "roles": [
        {
            "name": "planner",
            "prompt": "Plan.",
            "model": "big",
            "tools": ["delegate", "ask_human"],
            "delegates": ["coder"],
        },
        {"name": "coder", "prompt": "Code.", "model": "big", "tools": ["read_file", "run_shell"]},
    ],
}
SPEC: dict[str, Any] = {"guildRef": {"name": "pair"}, "task": "Fix it."}


def at(seconds: float) -> datetime:
    """`seconds` after the start of the story."""
    return START + timedelta(seconds=seconds)


def config(**changes: Any) -> Config:
    base: dict[str, Any] = {
        "namespace": CONTROL,
        "runNamespaces": [NAMESPACE],
        "gateway": {"service": "guildhall-gateway.guildhall.svc"},
        "images": {"executor": "reg/executor:1", "workshop": "reg/workshop:1", "default": "reg/sandbox:1"},
    }
    return Config.model_validate({**base, **changes})


def policy(name: str = "guildhall-run", **changes: Any) -> dict[str, Any]:
    """The static policy, or one that differs from it in `changes` of its spec."""
    spec: dict[str, Any] = {
        "podSelector": {"matchExpressions": [{"key": "guildhall.dev/run", "operator": "Exists"}]},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [
            {
                "to": [
                    {
                        "namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: CONTROL}},
                        "podSelector": {"matchLabels": {GATEWAY_LABEL[0]: GATEWAY_LABEL[1]}},
                    }
                ],
                "ports": [{"protocol": "TCP", "port": 8443}],
            }
        ],
    }
    return {"metadata": {"name": name}, "spec": {**spec, **changes}}


FETCHER: dict[str, Any] = {"image": "reg/fetcher:1", "schemes": ["https", "ssh", "git"]}
GIT: dict[str, Any] = {"workspace": {"git": {"url": "https://git.example.test/team/app.git"}}}


def fetch_policy(name: str = "guildhall-fetch", **changes: Any) -> dict[str, Any]:
    """The fetchers' static policy, or one that differs from it in `changes` of its spec."""
    selector = {
        "matchExpressions": [
            {"key": "guildhall.dev/fetch", "operator": "Exists"},
            {"key": "guildhall.dev/run", "operator": "DoesNotExist"},
        ]
    }
    rule = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"protocol": "TCP", "port": 443}]}
    spec: dict[str, Any] = {"podSelector": selector, "policyTypes": ["Ingress", "Egress"], "egress": [rule]}
    return {"metadata": {"name": name}, "spec": {**spec, **changes}}


def fetch_world(**changes: Any) -> Observed:
    """A namespace in which a Run with a git source may start at once."""
    policies = (policy(), fetch_policy())
    return world(**{"config": config(fetcher=FETCHER), "policies": policies, **changes})


def fetching(spec: dict[str, Any] | None = None, **meta: Any) -> RunView:
    """A Run right after its fetch Job was made."""
    view = run({**GIT, **(spec or {})}, **meta)
    done = plan(view, fetch_world(), START)
    assert done.create, done
    return after(view, done)


def fetch_job_of(view: RunView, number: int = 1, **changes: Any) -> dict[str, JobRecord]:
    name = f"fix-{UID}-f{number}"
    fields = {"name": name, "namespace": NAMESPACE, "uid": f"fetch-{number}", "run": view.uid, **changes}
    return {name: JobRecord(**fields)}


def fetch_says(outcome: str = "fetched", message: str = "", **source: Any) -> str:
    found = {"v": 1, "outcome": outcome, "message": message}
    if outcome == "fetched":
        found["source"] = {"commit": "a" * 40, "ref": "refs/heads/main", "files": 3, "contentBytes": 9, **source}
    return json.dumps(found)


def fetch_pod(said: str | None = None, *, exit_code: int = 0, number: int = 1, **changes: Any) -> PodRecord:
    """A fetch pod that runs, or that has said its word."""
    container = running(2) if said is None else ended(said, exit_code, began=2, seconds=3)
    base: dict[str, Any] = {
        "name": f"fetch-pod-{number}",
        "namespace": NAMESPACE,
        "uid": f"88888888-2222-4333-8444-55555555555{number}",
        "run": UID,
        "attempt": number,
        "phase": "Running" if said is None else "Succeeded" if exit_code == 0 else "Failed",
        "node": "node1",
        "created": stamp(at(1)),
        "deadline_seconds": 660,
        "mounted": True,
        "containers": {"fetch": container},
        "labels": {"guildhall.dev/fetch": UID, "guildhall.dev/attempt": str(number)},
    }
    return PodRecord(**{**base, **changes})


def raw_run(
    spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None, name: str = "fix", **meta: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Run",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": UID,
            "generation": 1,
            "creationTimestamp": stamp(START),
            **meta,
        },
        "spec": {**SPEC, **(spec or {})},
        "status": status or {},
    }


def run(
    spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None, name: str = "fix", **meta: Any
) -> RunView:
    return run_view(raw_run(spec, status, name, **meta))


def world(**changes: Any) -> Observed:
    """A namespace in which a Run of `SPEC` may start at once."""
    base: dict[str, Any] = {
        "config": config(),
        "guild": GUILD,
        "policies": (policy(),),
        "gateway_ip": GATEWAY_IP,
        "targets": TARGETS,
        "canary_age_seconds": 1.0,
    }
    return Observed(**{**base, **changes})


def frozen(guild: dict[str, Any]) -> RunSnapshot:
    """The snapshot of a Run of `SPEC` with `guild`."""
    spec = RunSpec.model_validate(SPEC)
    return run_snapshot(run(), spec, GuildSpec.model_validate(guild), config(), list(TARGETS))


def after(view: RunView, done: Plan) -> RunView:
    """The Run as the API server would show it after `done` was applied."""
    raw = {
        "metadata": {
            "name": view.name,
            "namespace": view.namespace,
            "uid": view.uid,
            "generation": view.generation,
            "creationTimestamp": view.created,
        },
        "spec": view.spec,
        "status": {**view.status, **(json.loads(json.dumps(done.status)) if done.status else {})},
    }
    return slimmed(run_view(raw))


def started(spec: dict[str, Any] | None = None, **meta: Any) -> RunView:
    """A Run right after its first Job was made."""
    view = run(spec, **meta)
    done = plan(view, world(guild=GUILD, claims=claims_for(view)), START)
    assert done.create, done
    return after(view, done)


def claims_for(view: RunView) -> dict[str, ClaimRecord]:
    """The claims a Run names, as if they existed."""
    workspace = view.spec.get("workspace") or {}
    names = [workspace[kind][key] for kind, key in (("claim", "name"), ("template", "claim")) if kind in workspace]
    return {name: ClaimRecord(name, NAMESPACE) for name in names}


PASSED = json.dumps(
    {
        "v": 1,
        "outcome": "passed",
        "targets": [
            {"name": "canary", "required": True, "attempts": 3, "deniedInARow": 3, "last": "refused"},
            {"name": "api-server", "required": True, "attempts": 3, "deniedInARow": 3, "last": "timeout"},
        ],
        "workspace": {"files": 12, "contentBytes": 3456},
        "elapsedMilliseconds": 700,
    }
)


def prepare_says(outcome: str, message: str = "") -> str:
    return json.dumps({"v": 1, "outcome": outcome, "message": message})


def executor_says(outcome: str = "succeeded", **fields: Any) -> str:
    return json.dumps({"v": 1, "run": UID, "attempt": 1, "outcome": outcome, "lastSeq": 7, **fields})


def ended(
    message: str = "", exit_code: int = 0, reason: str = "Completed", began: float = 5, seconds: float = 20
) -> ContainerRecord:
    return ContainerRecord("terminated", reason, message, exit_code, stamp(at(began)), stamp(at(began + seconds)))


def running(since: float = 8) -> ContainerRecord:
    return ContainerRecord("running", started_at=stamp(at(since)))


def waiting(reason: str = "PodInitializing", message: str = "") -> ContainerRecord:
    return ContainerRecord("waiting", reason, message)


PREPARED = ended(PASSED, began=3, seconds=2)


def pod(**changes: Any) -> PodRecord:
    """A pod whose executor runs; `containers` and every other field can be changed."""
    base: dict[str, Any] = {
        "name": "fix-pod",
        "namespace": NAMESPACE,
        "uid": POD_UID,
        "run": UID,
        "attempt": 1,
        "phase": "Running",
        "node": "node1",
        "created": stamp(at(1)),
        "deadline_seconds": 3_660,
        "containers": {"prepare": PREPARED, "workshop": running(6), "executor": running()},
        "labels": {"guildhall.dev/run": UID, "guildhall.dev/attempt": "1"},
    }
    return PodRecord(**{**base, **changes})


def starting(**changes: Any) -> PodRecord:
    """A pod none of whose containers has begun."""
    waits = {"prepare": waiting(), "workshop": waiting(), "executor": waiting()}
    return pod(**{"phase": "Pending", "containers": waits, **changes})


def finished_pod(message: str | None = None, **changes: Any) -> PodRecord:
    """A pod whose executor has spoken its last word."""
    executor = ended(executor_says() if message is None else message, began=8)
    containers = {"prepare": PREPARED, "workshop": running(6), "executor": executor}
    return pod(**{"containers": containers, **changes})


def job_of(view: RunView, attempt: int = 1, **changes: Any) -> dict[str, JobRecord]:
    name = f"fix-{UID}-a{attempt}"
    record = JobRecord(**{"name": name, "namespace": NAMESPACE, "uid": f"job-{attempt}", "run": view.uid, **changes})
    return {name: record}


def warning(about: str, reason: str, message: str) -> dict[str, tuple[EventRecord, ...]]:
    return {about: (EventRecord(about, reason, message),)}


def condition(done: Plan, kind: str) -> dict[str, Any]:
    """A condition of the status a plan writes."""
    assert done.status is not None, "the plan writes no status"
    return next((item for item in done.status["conditions"] if item["type"] == kind), {})


def verdict(done: Plan) -> tuple[str, str]:
    """Status and reason of Succeeded, as a plan writes them."""
    found = condition(done, "Succeeded")
    return found.get("status", ""), found.get("reason", "")


__all__ = ["Peer", "claim_record", "job_record", "pod_record", "run_view", "slimmed", "stamp"]
