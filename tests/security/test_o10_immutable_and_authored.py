"""O10: a Run says tomorrow what it said when it was created, acts carry their author's name, status its writer's."""

import copy
import json
from typing import Any

import pytest
from guildhall_contracts.generate.crds import frozen_run_fields
from guildhall_contracts.intervention import InterventionSpec
from guildhall_contracts.run import MUTABLE_FIELDS, RunSpec, RunStatus
from support.fence import Fence, denied, guild, run

pytestmark = pytest.mark.cluster

OTHER_GUILD = {**guild(), "models": {"m": "scripted:other"}}
# One value to begin with and one to change to; None: the field has a default, so it cannot be absent.
VALUES: dict[str, tuple[Any, Any]] = {
    "guildRef": ({"name": "one"}, {"name": "two"}),
    "guild": (guild(), OTHER_GUILD),
    "task": ("Do it.", "Do something else."),
    "workspace": ({"storage": {"size": "1Gi"}}, {"storage": {"size": "2Gi"}}),
    "image": ("guildhall.dev/a:1", "guildhall.dev/b:1"),
    "resources": ({"cpu": "1"}, {"cpu": "2"}),
    "runtimeClassName": ("sandboxed", "other"),
    "env": ({"A": "1"}, {"A": "2"}),
    "budget": ({"steps": 5}, {"steps": 6}),
    "mode": ("interactive", "scheduled"),
    "private": (False, True),
    "retainSeconds": (600, 700),
    "concurrencyGroup": ("a", "b"),
    "deliver": ("none", "patch"),
    "publish": ({"allowWillRun": False}, {"allowWillRun": True}),
    "priority": ("low", "high"),
}
DEFAULTED = {"mode", "private", "deliver"}
NEEDED = {"task"}
TOGETHER: dict[str, dict[str, Any]] = {
    "guildRef": {"guild": None}, "retainSeconds": {"private": True, "deliver": "none"},
    "publish": {"deliver": "branch", "workspace": {"git": {"url": "https://git.example.test/app.git"}}},
}  # fmt: skip
SAID = "cannot be changed"


def _stored(rules: Fence, field: str, value: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {**TOGETHER.get(field, {}), field: value}
    return rules.run(**spec)


def test_every_frozen_field_has_values_here() -> None:
    assert set(VALUES) == set(frozen_run_fields())
    assert set(VALUES) | MUTABLE_FIELDS == {info.alias or name for name, info in RunSpec.model_fields.items()}


@pytest.mark.parametrize("field", sorted(VALUES))
def test_a_spec_field_cannot_be_changed(rules: Fence, field: str) -> None:
    first, second = VALUES[field]
    stored = _stored(rules, field, first)
    name = stored["metadata"]["name"]
    assert rules.patch("run", name, {"spec": {field: first}}).returncode == 0, "control: saying the same is no change"
    change = [{"op": "replace", "path": f"/spec/{field}", "value": second}]
    assert denied(rules.patch("run", name, change), SAID)
    assert rules.get("run", name)["spec"] == stored["spec"]


@pytest.mark.parametrize("field", sorted(set(VALUES) - DEFAULTED - NEEDED - {"guild"}))
def test_a_spec_field_cannot_be_added(rules: Fence, field: str) -> None:
    together = {key: value for key, value in TOGETHER.get(field, {}).items() if value is not None}
    name = rules.run(**together)["metadata"]["name"]
    assert rules.patch("run", name, {"spec": {"ttlSecondsAfterFinished": 60}}).returncode == 0, "control"
    added = [{"op": "add", "path": f"/spec/{field}", "value": VALUES[field][0]}]
    assert denied(rules.patch("run", name, added), SAID)
    assert field not in rules.get("run", name)["spec"]


@pytest.mark.parametrize("field", sorted(set(VALUES) - DEFAULTED))
def test_a_spec_field_cannot_be_removed(rules: Fence, field: str) -> None:
    name = _stored(rules, field, VALUES[field][0])["metadata"]["name"]
    assert rules.patch("run", name, {"spec": {"ttlSecondsAfterFinished": 60}}).returncode == 0, "control"
    done = rules.patch("run", name, [{"op": "remove", "path": f"/spec/{field}"}])
    assert denied(done, "spec.task: Required value" if field in NEEDED else SAID)
    assert field in rules.get("run", name)["spec"]


@pytest.mark.parametrize("field", sorted(DEFAULTED))
def test_a_defaulted_field_cannot_be_taken_back_to_its_default(rules: Fence, field: str) -> None:
    value = {"mode": "scheduled", "private": True, "deliver": "none"}[field]
    spec: dict[str, Any] = {"deliver": "none", field: value}
    name = rules.run(**spec)["metadata"]["name"]
    assert denied(rules.patch("run", name, [{"op": "remove", "path": f"/spec/{field}"}]), SAID)


def test_the_whole_spec_cannot_be_removed_or_left_out(rules: Fence) -> None:
    name = rules.run()["metadata"]["name"]
    assert denied(rules.patch("run", name, [{"op": "remove", "path": "/spec"}]), "spec: Required value")
    bare = {**run(), "spec": None}
    assert denied(
        rules.create({key: value for key, value in bare.items() if value is not None}), "spec: Required value"
    )


def test_the_mutable_fields_change_and_cancel_only_goes_on(rules: Fence) -> None:
    name = rules.run()["metadata"]["name"]
    for patch in ({"suspend": True}, {"suspend": False}, {"ttlSecondsAfterFinished": 5}, {"cancel": True}):
        done = rules.patch("run", name, {"spec": patch})
        assert done.returncode == 0, done.stderr
    assert rules.patch("run", name, [{"op": "remove", "path": "/spec/ttlSecondsAfterFinished"}]).returncode == 0
    assert denied(rules.patch("run", name, {"spec": {"cancel": False}}), "stays cancelled")


def test_the_apis_account_may_cancel_and_change_nothing_else(rules: Fence) -> None:
    api = rules.account("api")
    name = rules.run()["metadata"]["name"]
    for patch in ({"spec": {"suspend": True}}, {"spec": {"ttlSecondsAfterFinished": 0}},
                  {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"annotations": {"a": "b"}}},
                  {"metadata": {"finalizers": ["guildhall.dev/x"]}}):  # fmt: skip
        assert denied(rules.patch("run", name, patch, user=api), "nothing of a Run but cancel"), patch
    done = rules.patch("run", name, {"spec": {"cancel": True}}, user=api)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def some_run(rules: Fence) -> dict[str, str]:
    """The Run that is acted on; an act that has its owner goes with it, so one on a Run that never was would vanish."""
    made = rules.run(name="some-run")["metadata"]
    return {"name": made["name"], "uid": made["uid"]}


def _act(run_ref: dict[str, str], author: str | None, name: str, **body: Any) -> dict[str, Any]:
    spec = {"runRef": run_ref, **({"author": author} if author else {}), **body}
    return {
        "apiVersion": "guildhall.dev/v1alpha1", "kind": "Intervention", "metadata": {"name": name}, "spec": spec,
    }  # fmt: skip


ABORT = {"interrupt": {"intent": "abort"}}
APPROVAL = {"approval": {"approvalId": "a1", "argumentsHash": "0" * 64, "decision": "approve"}}
MAY_ACT = {"apiGroups": ["guildhall.dev"], "resources": ["interventions"], "verbs": ["create", "get", "patch"]}


def test_an_author_cannot_be_forged(rules: Fence, some_run: dict[str, str]) -> None:
    jane = rules.user(MAY_ACT)
    done = rules.create(_act(some_run, jane, f"mine-{jane}", **ABORT), user=jane)
    assert done.returncode == 0, done.stderr
    assert denied(
        rules.create(_act(some_run, "someone-else", f"forged-{jane}", **ABORT), user=jane), "author must be you"
    )
    assert rules.attempt("get", "intervention", f"forged-{jane}").returncode != 0
    done = rules.create(_act(some_run, "someone-else", f"named-{jane}", **ABORT), user=rules.account("api"))
    assert done.returncode == 0, f"the api names whom it signed in: {done.stderr}"


def test_a_missing_author_is_filled_in_with_the_caller(rules: Fence, some_run: dict[str, str]) -> None:
    jane = rules.user(MAY_ACT)
    done = rules.create(_act(some_run, None, f"unsigned-{jane}", **ABORT), user=jane, lax=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["spec"]["author"] == jane


def test_an_intervention_belongs_to_no_other_than_its_run(rules: Fence, some_run: dict[str, str]) -> None:
    """With another owner, or one the garbage collector cannot find, it would outlive its Run, private words too."""
    jane = rules.user(MAY_ACT)
    another = {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "name": "another", "uid": "u-2"}
    theirs = {**another, **some_run}
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kept", "uid": some_run["uid"]}
    nameless, elsewhere = {**theirs, "name": "nowhere"}, {**theirs, "apiVersion": "example.test/v1"}
    tried = (([theirs], True), ([another], False), ([theirs, another], False), ([kept], False),
             ([nameless], False), ([elsewhere], False))  # fmt: skip
    for number, (owners, may) in enumerate(tried):
        made = _act(some_run, jane, f"owned-{number}-{jane}", **ABORT)
        made["metadata"]["ownerReferences"] = owners
        done = rules.create(made, user=jane)
        assert done.returncode == 0 if may else denied(done, "belongs to the Run it names"), done.stderr


OWNERS = "/metadata/ownerReferences"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
MAY_CHANGE = {"apiGroups": ["guildhall.dev"], "resources": ["interventions"], "verbs": ["*"]}


def _owner(some_run: dict[str, str], **changes: Any) -> dict[str, Any]:
    return {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", **some_run, **changes}


def test_nobody_takes_its_owner_from_an_intervention_or_holds_it_back(rules: Fence, some_run: dict[str, str]) -> None:
    """By hand with every right on it: words about a private Run would stay behind when that is gone."""
    jane = rules.user(MAY_CHANGE)
    name, mine = f"kept-{jane}", _owner(some_run)
    assert rules.create(_act(some_run, jane, name, **ABORT), user=jane).returncode == 0
    other = _owner(some_run, uid="u-2")
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kept", "uid": some_run["uid"]}

    def tried(*steps: dict[str, Any], user: str = jane, dry: bool = False) -> Any:
        return rules.patch("intervention", name, list(steps), user=user, dry=dry)

    for owners in ([other], [kept], [mine, kept]):
        assert denied(tried({"op": "add", "path": OWNERS, "value": owners}), "belongs to the Run it names"), owners
    done = tried({"op": "add", "path": OWNERS, "value": [mine]})
    assert done.returncode == 0, f"control: its own Run may be named: {done.stderr}"
    for owners in ([], [mine | {"blockOwnerDeletion": True}], [mine | {"controller": True}]):
        assert denied(tried({"op": "replace", "path": OWNERS, "value": owners}), "stay as they are"), owners
    assert denied(tried({"op": "remove", "path": OWNERS}), "stay as they are")
    held = {"op": "add", "path": "/metadata/finalizers", "value": ["example.test/keep"]}
    assert denied(tried(held), "leave finalizers out")
    made = _act(some_run, jane, f"held-{jane}", **ABORT)
    made["metadata"]["finalizers"] = ["example.test/keep"]
    assert denied(rules.create(made, user=jane), "leave finalizers out")
    done = tried({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}})
    assert done.returncode == 0, f"control: {done.stderr}"
    done = tried({"op": "remove", "path": OWNERS}, user=COLLECTOR, dry=True)
    assert done.returncode == 0, f"--cascade=orphan must end: {done.stderr}"
    assert rules.get("intervention", name)["metadata"]["ownerReferences"] == [mine]


def test_the_gateways_account_gives_an_intervention_its_run_and_changes_nothing_else(
    rules: Fence, some_run: dict[str, str]
) -> None:
    gateway, name, mine = rules.account("gateway"), "unowned", _owner(some_run)
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "u-3"}
    assert rules.create(_act(some_run, "jane", name, **ABORT), user=rules.account("api")).returncode == 0
    before = rules.get("intervention", name)

    def tried(*steps: dict[str, Any]) -> Any:
        return rules.patch("intervention", name, list(steps), user=gateway)

    given = {"op": "add", "path": OWNERS, "value": [mine]}
    for owners in ([mine | {"uid": "u-2"}], [mine | {"name": "other"}], [mine | {"kind": "Guild"}], [mine, other],
                   [mine | {"apiVersion": "guildhall.dev/v1"}], [mine | {"controller": True}],
                   [mine | {"blockOwnerDeletion": True}], [mine | {"blockOwnerDeletion": False}]):  # fmt: skip
        assert denied(tried(given | {"value": owners}), "ValidatingAdmissionPolicy"), owners
    beside: dict[str, Any] = {"labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["guildhall.dev/x"]}
    for field, value in beside.items():
        step = {"op": "add", "path": f"/metadata/{field}", "value": value}
        assert denied(tried(given, step), "ValidatingAdmissionPolicy"), field
    spec: dict[str, Any] = {"interrupt": {"intent": "redirect"}, "author": "other"}
    for field, value in spec.items():
        assert tried(given, {"op": "replace", "path": f"/spec/{field}", "value": value}).returncode != 0, field
    assert rules.get("intervention", name) == before
    only: dict[str, Any] = {"op": "test", "path": OWNERS, "value": None}
    done = tried(only, given)
    assert done.returncode == 0, f"control: {done.stderr}"
    assert rules.get("intervention", name)["metadata"]["ownerReferences"] == [mine]
    assert denied(tried(only, given), "(Invalid)"), "a second gateway changes nothing"
    assert denied(tried({"op": "remove", "path": OWNERS}), "ValidatingAdmissionPolicy")
    for verb in ("create", "update", "delete", "deletecollection"):
        assert rules.attempt("auth", "can-i", verb, "interventions.guildhall.dev", user=gateway).stdout == "no\n", verb
    for kind in ("runs", "guilds", "connections"):
        assert rules.attempt("auth", "can-i", "patch", f"{kind}.guildhall.dev", user=gateway).stdout == "no\n", kind
    applied = rules.attempt(
        "apply", "--server-side", "-f", "-", user=gateway, stdin=_act(some_run, "jane", "new", **ABORT)
    )
    assert denied(applied, "cannot create resource"), "nor by an apply of what is not there"


def test_approving_needs_the_verb_on_that_run(rules: Fence, some_run: dict[str, str]) -> None:
    jane = rules.user(MAY_ACT)
    assert denied(rules.create(_act(some_run, jane, f"no-{jane}", **APPROVAL), user=jane), "approve")
    other = {"apiGroups": ["guildhall.dev"], "resources": ["runs"], "verbs": ["approve"]}
    rules.grant(jane, {**other, "resourceNames": ["another-run"]})
    assert denied(rules.create(_act(some_run, jane, f"no-{jane}", **APPROVAL), user=jane), "approve")
    rules.grant(jane, {**other, "resourceNames": ["some-run"]})
    done = rules.create(_act(some_run, jane, f"yes-{jane}", **APPROVAL), user=jane)
    assert done.returncode == 0, done.stderr


def test_an_intervention_is_immutable_field_by_field(rules: Fence, some_run: dict[str, str]) -> None:
    changed: dict[str, Any] = {
        "runRef": {"name": "other", "uid": "u-2"}, "author": "other", "interrupt": {"intent": "redirect"},
        "answer": {"questionId": "q", "text": "t"}, "approval": APPROVAL["approval"],
    }  # fmt: skip
    assert set(changed) == {info.alias or name for name, info in InterventionSpec.model_fields.items()}
    api = rules.account("api")
    assert rules.create(_act(some_run, "jane", "fixed", **ABORT), user=api).returncode == 0
    assert rules.patch("intervention", "fixed", {"metadata": {"labels": {"a": "b"}}}).returncode == 0, "control"
    for field, value in changed.items():
        assert denied(rules.patch("intervention", "fixed", {"spec": {field: value}}), SAID), field
        if field in ABORT | {"runRef": 0, "author": 0}:
            assert rules.patch("intervention", "fixed", [{"op": "remove", "path": f"/spec/{field}"}]).returncode != 0


def test_an_intervention_has_exactly_one_body(rules: Fence, some_run: dict[str, str]) -> None:
    assert denied(rules.create(_act(some_run, "kubernetes-admin", "empty"), dry=True), "exactly one of")
    assert denied(
        rules.create(_act(some_run, "kubernetes-admin", "two", **ABORT, **APPROVAL), dry=True), "exactly one of"
    )


WRITERS: dict[str, dict[str, Any]] = {
    "operator": {"observedGeneration": 3, "conditions": None, "phase": "Running", "reason": "Started", "guild": "g",
                 "guildDigest": "a" * 64, "entryRole": "solo", "attempts": [{"number": 1, "job": "j"}],
                 "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z", "duration": "1s",
                 "budget": {"steps": 7}, "source": {"commit": "a" * 40},
                 "delivery": {"branch": "guildhall/a", "patchSHA256": "a" * 64}},
    "gateway": {"usage": {"calls": 1}, "cost": "$0.01", "awaiting": {"questions": 1}},
    "api": {"archive": {"storedSeq": 1}, "result": {"outcome": "succeeded"}, "summary": "Done.",
            "changes": {"files": 1}},
}  # fmt: skip
WRITERS["operator"]["conditions"] = [
    {"type": "Running", "status": "True", "reason": "Started", "lastTransitionTime": "2026-01-01T00:00:00Z"}
]


def test_every_status_field_has_its_writer_here() -> None:
    fields = {info.alias or name for name, info in RunStatus.model_fields.items()}
    assert fields == {field for written in WRITERS.values() for field in written}


@pytest.mark.parametrize("writer", WRITERS)
def test_each_account_writes_its_own_status_fields_and_no_others(rules: Fence, writer: str) -> None:
    name = rules.run()["metadata"]["name"]
    for owner, fields in WRITERS.items():
        for field, value in fields.items():
            done = rules.patch(
                "run", name, {"status": {field: value}}, user=rules.account(writer), status=True, dry=True
            )
            assert (done.returncode == 0) == (owner == writer), (writer, field, done.stderr)


def test_another_account_with_the_right_still_writes_no_status(rules: Fence) -> None:
    meddler = rules.user({"apiGroups": ["guildhall.dev"], "resources": ["*"], "verbs": ["*"]})
    name = rules.run(user=meddler)["metadata"]["name"]
    for fields in WRITERS.values():
        for field, value in fields.items():
            done = rules.patch("run", name, {"status": {field: value}}, user=meddler, status=True)
            assert denied(done, "only the"), field
    assert "status" not in rules.get("run", name)
    done = rules.patch("run", name, {"status": WRITERS["gateway"]}, user=rules.account("gateway"), status=True)
    assert done.returncode == 0, f"control: {done.stderr}"
    clear = {"status": dict.fromkeys(WRITERS["gateway"])}
    assert denied(rules.patch("run", name, clear, user=meddler, status=True), "only the gateway"), "nor removes any"
    assert rules.get("run", name)["status"] == json.loads(json.dumps(WRITERS["gateway"]))


def test_status_is_not_written_by_the_way_of_the_spec(rules: Fence) -> None:
    sneaky = copy.deepcopy(run())
    sneaky["status"] = {"phase": "Succeeded", "usage": {"calls": 0}}
    done = rules.create(sneaky)
    assert done.returncode == 0, done.stderr
    assert "status" not in json.loads(done.stdout)


def test_an_interventions_status_is_the_gateways(rules: Fence, some_run: dict[str, str]) -> None:
    meddler = rules.user({"apiGroups": ["guildhall.dev"], "resources": ["*"], "verbs": ["*"]})
    assert rules.create(_act(some_run, meddler, f"act-{meddler}", **ABORT), user=meddler).returncode == 0
    state = {"status": {"state": "Consumed", "time": "2026-01-01T00:00:00Z"}}
    assert denied(rules.patch("intervention", f"act-{meddler}", state, user=meddler, status=True), "the gateway's")
    done = rules.patch("intervention", f"act-{meddler}", state, user=rules.account("gateway"), status=True)
    assert done.returncode == 0, done.stderr
