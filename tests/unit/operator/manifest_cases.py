"""The Runs whose manifests are kept whole in tests/golden/operator.

`cd tests && python -m unit.operator.manifest_cases` writes them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guildhall_contracts.run import Delivery, RunSpec
from guildhall_operator.config import Config
from guildhall_operator.manifests import job as builder
from guildhall_operator.manifests.publish import publish_job, publish_request
from guildhall_operator.manifests.reprint import reprint_job
from guildhall_operator.plan import plan
from guildhall_operator.records import ClaimRecord
from guildhall_operator.run_view import RunView
from unit.operator import kit

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "operator"
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "archive": {"workspace": {"archive": {"configMap": "sources", "key": "repo.tar.gz", "stripComponents": 1}}},
    "claim": {"workspace": {"claim": {"name": "repo", "subPath": "checkouts/one"}}},
    "claim-with-consent": {"workspace": {"claim": {"name": "shared"}}},
    "template": {
        "workspace": {"template": {"claim": "repo"}, "storage": {"size": "5Gi", "class": "fast", "ephemeral": False}}
    },
    "git": {
        "workspace": {
            "git": {
                "url": "ssh://git@git.example.test:2222/team/app.git",
                "ref": "release/1",
                "depth": 3,
                "secretRef": {"name": "deploy-key"},
            },
            "storage": {"size": "3Gi"},
        }
    },
    "everything": {
        "workspace": {"storage": {"size": "2Gi"}},
        "image": "reg/node:22",
        "resources": {"cpu": "50m", "memory": "96Mi", "ephemeralStorage": "3Gi"},
        "runtimeClassName": "gvisor",
        "priority": "low",
        "env": {"GREETING": 'say "hi" to $(HOME) & <you>', "LANG": "C.UTF-8"},
        "budget": {"seconds": 120, "steps": 5, "tokens": 1000, "costMicroUSD": 10},
        "mode": "scheduled",
        "deliver": "none",
        "private": True,
        "retainSeconds": 600,
        "concurrencyGroup": "nightly",
    },
}
REPRINT, RESUME, PUBLISH = "reprint", "resume", "publish"
CLAIMS = {
    "repo": ClaimRecord("repo", kit.NAMESPACE),
    "shared": ClaimRecord("shared", kit.NAMESPACE, group_consent=True),
}


def config(case: str) -> Config:
    if case == "git":
        proxy = {"httpsProxy": "http://proxy.example.test:3128", "noProxy": ".example.test"}
        return kit.config(fetcher={**kit.FETCHER, "caConfigMap": "guildhall-fetch-ca", "proxy": proxy})
    if case != "everything":
        return kit.config()
    return kit.config(
        runtimeClasses=["gvisor"],
        priorities=["low"],
        hostUsers=False,
        storage={"class": "slow", "journalSize": "64Mi"},
        isolation={
            "targets": [{"name": "metadata", "host": "192.0.2.9", "port": 80, "required": False}],
            "ownNodePort": 10250,
        },
    )


def reprint_manifest() -> dict[str, Any]:
    """The Job that prints a Run's journal again: second round, from event 41 on."""
    view = kit.run(name="fix", labels={"kueue.x-k8s.io/queue-name": "team"})
    made = reprint_job(view, config("everything"), attempt=1, round_number=2, from_seq=41)
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def resume_manifest() -> dict[str, Any]:
    """The run Job of a second attempt, which goes on in the workspace and with the baseline of the first."""
    view = kit.run(CASES["template"], name="fix")
    attempt = builder.Try(2, 90, kit.GATEWAY_IP, list(kit.TARGETS), own_group=False)
    made = builder.job(view, RunSpec.model_validate(view.spec), config("template"), attempt)
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def publish_manifest() -> dict[str, Any]:
    """The Job that pushes a Run's patch to a new branch: its second try, with a Secret of its own."""
    wanted = {**CASES["git"], "deliver": "branch", "publish": {"secretRef": {"name": "push-key"}}, "priority": "low"}
    fetched = {"commit": "b" * 40, "ref": "refs/heads/release/1", "files": 3, "contentBytes": 9}
    view = kit.run(wanted, {"source": fetched, "completionTime": "2026-03-01T12:05:00Z"}, name="fix")
    spec, settings = RunSpec.model_validate(view.spec), config("git")
    assert settings.fetcher is not None
    delivery = Delivery(branch="guildhall/fix", patch_sha256="a" * 64)
    request = publish_request(view, spec, settings.fetcher, delivery)
    return json.loads(json.dumps(publish_job(view, spec, settings, request, 2)))  # type: ignore[no-any-return]


ALONE: dict[str, Callable[[], dict[str, Any]]] = {
    REPRINT: reprint_manifest,
    RESUME: resume_manifest,
    PUBLISH: publish_manifest,
}


def manifests(case: str) -> list[dict[str, Any]]:
    """Everything made for the Run of a case."""
    labels = {"kueue.x-k8s.io/queue-name": "team"} if case == "everything" else {}
    view = kit.run(CASES[case], labels=labels)
    policies = (kit.policy(), kit.fetch_policy())
    done = plan(view, kit.world(config=config(case), claims=CLAIMS, policies=policies), kit.START)
    assert done.create, (case, done)
    made = [*done.create, *(_after_the_fetch(case, kit.after(view, done)) if case == "git" else ())]
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def _after_the_fetch(case: str, view: RunView) -> tuple[dict[str, Any], ...]:
    """What is made once the fetcher has spoken."""
    fetched = kit.fetch_world(config=config(case), pods=(kit.fetch_pod(kit.fetch_says()),), jobs=kit.fetch_job_of(view))
    done = plan(view, fetched, kit.at(6))
    assert done.create, done
    return done.create


def write() -> None:
    for case in CASES:
        text = json.dumps(manifests(case), indent=2, sort_keys=True) + "\n"
        (FOLDER / f"{case}.json").write_text(text)
    for case, make in ALONE.items():
        (FOLDER / f"{case}.json").write_text(json.dumps(make(), indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    write()
