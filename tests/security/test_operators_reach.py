"""Our own operator's account touches only what belongs to Runs, and of a pod its deadline alone."""

from typing import Any

import pytest
from support.fence import RULE_CREATE_RUNS, Fence, denied, run
from support.plain_objects import claim, config_map, plain_pod
from support.run_jobs import MakePod, built_job, run_pod, stored

__all__ = ["run_pod", "stored"]
pytestmark = pytest.mark.cluster


def test_the_operator_touches_only_what_belongs_to_runs(rules: Fence, stored: dict[str, Any]) -> None:
    operator = rules.account("operator")
    owner = built_job(rules, stored)["metadata"]["ownerReferences"]
    mine = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"x-{owner[0]['uid']}-snapshot", "ownerReferences": owner},
    }
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-nobody"}}
    done = rules.create(mine, user=operator)
    assert done.returncode == 0, f"control: {done.stderr}"
    assert denied(rules.create(theirs, user=operator), "belongs to a Run")
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "users-claim"},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}  # fmt: skip
    assert rules.create(claim).returncode == 0
    assert denied(rules.attempt("delete", "pvc", "users-claim", user=operator), "belongs to a Run")
    rules.create(plain_pod("users-pod"))
    patch = {"spec": {"activeDeadlineSeconds": 1}}
    assert denied(rules.patch("pod", "users-pod", patch, user=operator), "pods of Runs only")
    assert denied(rules.attempt("delete", "run", stored["metadata"]["name"], user=operator), "have ended")


MORE_THAN_A_DEADLINE: dict[str, dict[str, Any]] = {
    "an annotation": {"metadata": {"annotations": {"other": "x"}}},
    "no annotation": {"metadata": {"annotations": {"guildhall.dev/run-name": None}}},
    "a finalizer": {"metadata": {"finalizers": ["guildhall.dev/keep"]}},
    "another owner": {
        "metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}]}
    },
    "a label": {"metadata": {"labels": {"other": "x"}}},
    "a toleration": {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}},
    "a gate": {"spec": {"schedulingGates": [{"name": "guildhall.dev/later"}]}},
    "a deadline and an annotation": {"metadata": {"annotations": {"other": "x"}}, "spec": {"activeDeadlineSeconds": 1}},
    "a later deadline": {"spec": {"activeDeadlineSeconds": 100_000}},
}


@pytest.fixture(scope="module")
def deadline_pod(run_pod: MakePod) -> str:
    run_pod("pod-deadline")
    return "pod-deadline"


@pytest.mark.parametrize("what", MORE_THAN_A_DEADLINE)
def test_of_a_run_pod_the_operator_changes_nothing_but_the_deadline(rules: Fence, deadline_pod: str, what: str) -> None:
    operator = rules.account("operator")
    done = rules.patch("pod", deadline_pod, {"spec": {"activeDeadlineSeconds": 30}}, user=operator, dry=True)
    assert done.returncode == 0, f"control: {done.stderr}"
    refused = rules.patch("pod", deadline_pod, MORE_THAN_A_DEADLINE[what], user=operator, dry=True)
    assert refused.returncode != 0, "accepted"
    if what not in {"a later deadline", "a gate"}:  # these two the API server lets nobody do
        assert denied(refused, "operator-pods") or denied(refused, "run-pod"), refused.stderr


def test_of_a_run_pod_the_operator_lowers_the_deadline(rules: Fence, deadline_pod: str) -> None:
    operator = rules.account("operator")
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "guildhall.dev/mine:1"}]
    refused = rules.patch("pod", deadline_pod, image, user=operator)
    assert denied(refused, "lower the deadline") or denied(refused, "images of a pod of a Run"), refused.stderr
    done = rules.patch("pod", deadline_pod, {"spec": {"activeDeadlineSeconds": 1}}, user=operator)
    assert done.returncode == 0, done.stderr


def test_what_the_operator_makes_for_a_run_is_named_after_it(rules: Fence, stored: dict[str, Any]) -> None:
    """Under another Run's name it would be taken for that Run's."""
    operator, owners = rules.account("operator"), built_job(rules, stored)["metadata"]["ownerReferences"]
    another = "x-11111111-2222-4333-8444-555555555555"
    for make, kinds in ((config_map, ("snapshot",)), (claim, ("journal", "workspace", "baseline"))):
        for kind in kinds:
            mine = make(f"named-{owners[0]['uid']}-{kind}", ownerReferences=owners)
            done = rules.create(mine, user=operator, dry=True)
            assert done.returncode == 0, f"control: {done.stderr}"
            theirs = make(f"{another}-{kind}", ownerReferences=owners)
            assert denied(rules.create(theirs, user=operator, dry=True), "named after it"), kind
        assert denied(rules.create(make("repo", ownerReferences=owners), user=operator, dry=True), "named after it")


def test_no_claim_is_a_copy_of_a_record(rules: Fence, stored: dict[str, Any]) -> None:
    owners = built_job(rules, stored)["metadata"]["ownerReferences"]
    for field in ("dataSource", "dataSourceRef"):
        copy = claim(f"x-{owners[0]['uid']}-workspace", ownerReferences=owners)
        copy["spec"][field] = {"kind": "PersistentVolumeClaim", "name": "users-template"}
        done = rules.create(copy, user=rules.account("operator"), dry=True)
        assert done.returncode == 0, f"control: {done.stderr}"
        for kind in ("journal", "baseline"):
            copy["spec"][field]["name"] = f"x-11111111-2222-4333-8444-555555555555-{kind}"
            assert denied(rules.create(copy, user=rules.account("operator"), dry=True), "copy of a Run's"), kind


def test_no_run_works_on_the_record_of_another(rules: Fence) -> None:
    """Whoever may read claims may name one: its files would be the workshop's to read and change."""
    record = "x-11111111-2222-4333-8444-555555555555-{}"
    reader = {"apiGroups": [""], "resources": ["persistentvolumeclaims", "configmaps"], "verbs": ["get"]}
    jane = rules.user(RULE_CREATE_RUNS, reader)
    for make in (
        lambda name: {"claim": {"name": name}},
        lambda name: {"template": {"claim": name}},
        lambda name: {"archive": {"configMap": name}},
    ):
        done = rules.create(run(workspace=make("repo")), user=jane, dry=True)
        assert done.returncode == 0, f"control: {done.stderr}"
        for kind in ("journal", "baseline", "snapshot"):
            for user in (jane, rules.account("api"), None):
                done = rules.create(run(workspace=make(record.format(kind))), user=user, dry=True)
                assert denied(done, "never the journal"), (kind, user, done.stderr)
