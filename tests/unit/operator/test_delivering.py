"""From the end of a Run to its branch: what may be published, what is tried again, and what nothing is freed before."""

import json
from typing import Any

import pytest
from guildhall_contracts.publish import PublishRequest, branch_of
from guildhall_contracts.run import RunStatus
from guildhall_operator.actions import Plan
from guildhall_operator.plan import plan
from guildhall_operator.records import ClaimRecord, JobRecord, PodRecord
from guildhall_operator.run_view import RunView
from guildhall_operator.status import stamp
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.operator import kit

HASH = "c" * 64
BRANCH = branch_of("fix", kit.UID)
JOURNAL = f"fix-{kit.UID}-journal"
SPEC: dict[str, Any] = {**kit.GIT, "deliver": "branch", "task": "\n# Mend the build\n\nIt is broken."}
WORD: dict[str, Any] = {"sha256": HASH, "omitted": 0, "willRun": 0}
SOURCE = {"commit": "a" * 40, "ref": "refs/heads/main"}


def over(outcome: str = "succeeded", word: dict[str, Any] | None = None, spec: dict[str, Any] | None = None) -> RunView:
    """A finished Run, as the operator keeps it in memory."""
    asked = {**SPEC, **(spec or {})}
    ended = {"type": "Succeeded", "status": "True" if outcome == "succeeded" else "False", "reason": "Completed",
             "lastTransitionTime": stamp(kit.at(28))}  # fmt: skip
    if outcome != "succeeded":
        ended["reason"] = "Cancelled" if outcome == "cancelled" else "ExecutorFailed"
    status = {
        "conditions": [ended], "source": SOURCE, "startTime": stamp(kit.at(8)), "completionTime": stamp(kit.at(28)),
        "attempts": [{"number": 1, "job": f"fix-{kit.UID}-a1", "podUid": kit.POD_UID, "endTime": stamp(kit.at(28))}],
        "archive": {"storedSeq": 7},
    }  # fmt: skip
    return kit.slimmed(kit.run(asked, status))


def run_pod(word: dict[str, Any] | None = WORD, outcome: str = "succeeded") -> PodRecord:
    said = kit.executor_says(outcome, **({"patch": word} if word is not None else {}))
    return kit.finished_pod(said, phase="Succeeded")


def says(outcome: str = "published", message: str = "", **fields: Any) -> str:
    found: dict[str, Any] = {"v": 1, "outcome": outcome, "message": message, **fields}
    if outcome == "published":
        found["commit"] = "d" * 40
    return json.dumps(found)


def publish_pod(said: str | None = None, *, exit_code: int = 0, number: int = 1, **changes: Any) -> PodRecord:
    container = kit.running(30) if said is None else kit.ended(said, exit_code, began=30, seconds=3)
    base: dict[str, Any] = {
        "name": f"publish-pod-{number}", "uid": f"77777777-2222-4333-8444-55555555555{number}", "attempt": 0,
        "phase": "Running" if said is None else "Succeeded" if exit_code == 0 else "Failed", "mounted": True,
        "containers": {"publish": container}, "created": stamp(kit.at(29)),
        "labels": {"guildhall.dev/fetch": kit.UID, "guildhall.dev/publish": str(number)},
    }  # fmt: skip
    return kit.pod(**{**base, **changes})


def publish_job_of(number: int = 1, **changes: Any) -> dict[str, JobRecord]:
    name = f"fix-{kit.UID}-p{number}"
    fields = {"name": name, "namespace": kit.NAMESPACE, "uid": f"publish-{number}", "run": kit.UID, **changes}
    return {name: JobRecord(**fields)}


def look(view: RunView, *pods: PodRecord, at: float = 30, **changes: Any) -> Plan:
    claims = {JOURNAL: ClaimRecord(JOURNAL, kit.NAMESPACE, run=kit.UID)}
    jobs = {**kit.job_of(view), **changes.pop("jobs", {})}
    return plan(view, kit.fetch_world(**{"pods": pods, "jobs": jobs, "claims": claims, **changes}), kit.at(at))


def delivering() -> RunView:
    """A Run right after its publish Job was made."""
    view = over()
    done = look(view, run_pod())
    assert done.create, done
    return kit.slimmed(kit.after(view, done))


def settled(done: Plan) -> tuple[str, str, str]:
    found = kit.condition(done, "Delivered")
    return found["status"], found["reason"], found["message"]


def test_a_patch_gets_a_publisher_and_nothing_is_freed_meanwhile() -> None:
    done = look(over(), run_pod())
    (job,) = done.create
    assert job["metadata"]["name"] == f"fix-{kit.UID}-p1"
    assert settled(done) == ("Unknown", "Delivering", f"to the branch {BRANCH}")
    assert done.status is not None
    assert done.status["delivery"] == {"branch": BRANCH, "patchSHA256": HASH}
    assert done.status["phase"] == "Succeeded"
    assert kit.condition(done, "Sealed")["status"] == "True"
    assert done.deletions == (), "journal and patch are still needed"
    later = look(kit.slimmed(kit.after(over(), done)), run_pod(), publish_pod(), jobs=publish_job_of(), at=100_000)
    assert (later.create, later.deletions) == ((), ())


def test_the_publisher_is_asked_for_the_patch_that_was_told_on_the_commit_that_was_fetched() -> None:
    (job,) = look(over(), run_pod()).create
    pod = job["spec"]["template"]["spec"]
    env = {entry["name"]: entry["value"] for entry in pod["containers"][0]["env"]}
    asked = PublishRequest.model_validate_json(env["GUILDHALL_PUBLISH"].replace("$$", "$"), strict=True)
    assert (asked.url, asked.commit, asked.patch_sha256) == (kit.GIT["workspace"]["git"]["url"], "a" * 40, HASH)
    assert (asked.branch, asked.title, asked.at) == (BRANCH, "Mend the build", stamp(kit.at(28)))


def test_its_pod_sees_one_patch_and_nothing_else_of_the_run() -> None:
    git = {**kit.GIT["workspace"]["git"], "secretRef": {"name": "reads"}}
    (job,) = look(
        over(spec={"workspace": {"git": git}, "publish": {"secretRef": {"name": "writes"}}}), run_pod()
    ).create
    template = job["spec"]["template"]
    pod, labels = template["spec"], template["metadata"]["labels"]
    assert (labels["guildhall.dev/fetch"], labels["guildhall.dev/publish"]) == (kit.UID, "1")
    assert not {"guildhall.dev/run", "guildhall.dev/attempt"} & set(labels)
    (container,) = pod["containers"]
    assert container["command"][:3] == ["python3", "-m", "guildhall_fetcher.publisher"]
    mounts = {item["name"]: item for item in container["volumeMounts"]}
    assert set(mounts) == {"journal", "scratch", "tmp", "secret"}
    assert mounts["journal"]["subPath"] == f"{kit.UID}/delivery"
    assert mounts["journal"]["readOnly"] is True
    claims = [item["persistentVolumeClaim"] for item in pod["volumes"] if "persistentVolumeClaim" in item]
    assert claims == [{"claimName": JOURNAL, "readOnly": True}]
    assert [item["secret"]["secretName"] for item in pod["volumes"] if "secret" in item] == ["writes"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("guildhall-fetch", False)


def test_without_a_secret_of_its_own_it_uses_the_fetchers() -> None:
    git = {**kit.GIT["workspace"]["git"], "secretRef": {"name": "both"}}
    (job,) = look(over(spec={"workspace": {"git": git}}), run_pod()).create
    assert [v["secret"]["secretName"] for v in job["spec"]["template"]["spec"]["volumes"] if "secret" in v] == ["both"]


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_only_a_run_that_succeeded_is_published(outcome: str) -> None:
    done = look(over(outcome), run_pod(outcome=outcome))
    assert done.create == ()
    assert settled(done)[:2] == ("False", "NotSucceeded")
    assert done.deletions, "nothing holds back what it had"


@pytest.mark.parametrize(
    ("word", "status", "reason", "words"),
    [
        ({**WORD, "omitted": 2}, "False", "NotWhole", "2 path(s)"),
        ({"sha256": None, "omitted": 1, "willRun": 0}, "False", "NotWhole", "1 path(s)"),
        ({**WORD, "willRun": 3}, "False", "RunsUnasked", "3 file(s)"),
        ({"omitted": 0, "willRun": 0}, "True", "NothingToDeliver", ""),
        (None, "False", "DeliveryFailed", "left no word"),
    ],
)
def test_what_is_not_published(word: dict[str, Any] | None, status: str, reason: str, words: str) -> None:
    done = look(over(), run_pod(word))
    assert done.create == ()
    assert settled(done)[:2] == (status, reason)
    assert words in settled(done)[2]
    assert done.status is not None
    assert "delivery" not in done.status
    assert done.deletions


def test_files_that_run_are_published_where_the_run_allows_it() -> None:
    done = look(over(spec={"publish": {"allowWillRun": True}}), run_pod({**WORD, "willRun": 3}))
    assert len(done.create) == 1
    lacking = look(over(spec={"publish": {"allowWillRun": True}}), run_pod({**WORD, "willRun": 3, "omitted": 1}))
    assert settled(lacking)[1] == "NotWhole", "it allows that and nothing else"


def test_deliver_patch_publishes_nothing() -> None:
    done = look(over(spec={"deliver": "patch"}), run_pod())
    assert done.create == ()
    assert kit.condition(done, "Delivered") == {}


def test_a_word_of_another_attempt_is_no_word() -> None:
    said = kit.executor_says(patch=WORD).replace('"attempt": 1', '"attempt": 2')
    assert settled(look(over(), kit.finished_pod(said, phase="Succeeded")))[:2] == ("False", "DeliveryFailed")


def test_the_branch_and_commit_are_in_the_status() -> None:
    done = look(delivering(), run_pod(), publish_pod(says()), jobs=publish_job_of())
    assert settled(done) == ("True", "Pushed", f"branch {BRANCH} at commit {'d' * 40}")
    assert done.status is not None
    assert done.status["delivery"] == {"branch": BRANCH, "commit": "d" * 40, "patchSHA256": HASH}
    assert [(note.reason, note.warning) for note in done.notes] == [("Pushed", False)], "an Event, once"
    names = {item.name for item in done.deletions}
    assert {f"fix-{kit.UID}-p1", f"fix-{kit.UID}-a1", JOURNAL} <= names, "now all of it is freed"


@pytest.mark.parametrize(
    ("said", "reason"),
    [(says("branch_taken", "it is there"), "BranchExists"), (says("failed", "mend this"), "DeliveryFailed"),
     (says("unsound", "no such patch"), "DeliveryFailed")],
)  # fmt: skip
def test_what_a_person_must_mend_is_not_tried_again(said: str, reason: str) -> None:
    done = look(delivering(), run_pod(), publish_pod(said, exit_code=1), jobs=publish_job_of())
    assert done.create == ()
    assert settled(done)[:2] == ("False", reason)
    assert settled(done)[2] == json.loads(said)["message"]
    assert [(note.reason, note.warning, note.message) for note in done.notes] == [(reason, True, settled(done)[2])]
    assert done.status is not None
    assert "commit" not in done.status["delivery"]
    assert done.status["phase"] == "Succeeded", "the work was done"


@pytest.mark.parametrize("said", ["", "{}", says() + "x", json.dumps({"v": 1, "outcome": "published"})])
def test_no_branch_is_believed_without_its_word(said: str) -> None:
    done = look(delivering(), run_pod(), publish_pod(said), jobs=publish_job_of())
    assert settled(done)[:2] == ("False", "DeliveryFailed")


def test_success_is_not_believed_beside_an_exit_code_that_says_otherwise() -> None:
    done = look(delivering(), run_pod(), publish_pod(says(), exit_code=1), jobs=publish_job_of())
    assert settled(done)[:2] == ("False", "DeliveryFailed")


def test_what_the_cluster_broke_is_tried_again_and_no_more_than_allowed() -> None:
    evicted = publish_pod("", exit_code=137, reason="Evicted", message="the node was low on memory")
    again = look(delivering(), run_pod(), evicted, jobs=publish_job_of())
    assert [item["metadata"]["name"] for item in again.create] == [f"fix-{kit.UID}-p2"]
    assert again.deletions == ()
    both = {**publish_job_of(), **publish_job_of(2)}
    second = publish_pod("", exit_code=137, number=2, reason="Evicted", message="the node was low on memory")
    last = look(delivering(), run_pod(), evicted, second, jobs=both)
    assert last.create == ()
    assert settled(last)[:2] == ("False", "DeliveryFailed")


def test_a_deadline_and_a_missing_secret_end_it() -> None:
    late = publish_pod("", exit_code=137, reason="DeadlineExceeded")
    assert "fetcher.timeoutSeconds" in settled(look(delivering(), run_pod(), late, jobs=publish_job_of()))[2]
    held = kit.waiting("CreateContainerConfigError", 'secret "writes" not found')
    waiting = publish_pod(containers={"publish": held}, phase="Pending")
    view = delivering()
    first = look(view, run_pod(), waiting, jobs=publish_job_of())
    assert first.deletions == ()
    waits = dict.fromkeys(first.waiting, 1000.0)
    given_up = look(view, run_pod(), waiting, jobs=publish_job_of(), waits=waits)
    assert [act.name for act in given_up.end_pods] == ["publish-pod-1"]
    assert settled(given_up)[:2] == ("False", "DeliveryFailed")
    assert "there is no Secret 'writes'" in settled(given_up)[2]


def test_a_deleted_job_is_no_branch() -> None:
    view = delivering()
    first = look(view, run_pod())
    assert first.status is None
    done = look(view, run_pod(), waits=dict.fromkeys(first.waiting, 1000.0))
    assert settled(done)[:2] == ("False", "DeliveryFailed")


def test_nothing_is_published_through_a_network_nobody_narrowed() -> None:
    wide = kit.policy("wide", podSelector={}, egress=[{}])
    open_: dict[str, Any] = {"policies": (kit.policy(), kit.fetch_policy(), wide)}
    before = look(over(), run_pod(), **open_)
    assert before.create == ()
    assert before.waiting
    given_up = look(over(), run_pod(), waits=dict.fromkeys(before.waiting, 1000.0), **open_)
    assert settled(given_up)[:2] == ("False", "DeliveryFailed")
    during = look(delivering(), run_pod(), publish_pod(), jobs=publish_job_of(), **open_)
    assert [act.name for act in during.end_pods] == ["publish-pod-1"]
    assert settled(during)[:2] == ("False", "DeliveryFailed")


def test_a_settled_delivery_is_never_taken_up_again() -> None:
    view = delivering()
    done = look(view, run_pod(), publish_pod(says()), jobs=publish_job_of())
    after = kit.slimmed(kit.after(view, done))
    assert "task" not in after.spec
    later = look(after, run_pod({**WORD, "sha256": "e" * 64}), jobs=publish_job_of(), at=60)
    assert (later.create, later.status) == ((), None)


def test_a_branch_needs_a_repository() -> None:
    done = plan(kit.run({"deliver": "branch"}), kit.fetch_world(), kit.START)
    assert "spec.workspace.git" in kit.condition(done, "Accepted")["message"]
    clear = {"workspace": {"git": {"url": "git://git.example.test/x.git"}}, "publish": {"secretRef": {"name": "key"}}}
    refused = plan(kit.run({"deliver": "branch", **clear}), kit.fetch_world(), kit.START)
    assert "in the clear" in kit.condition(refused, "Accepted")["message"]
    assert plan(kit.run(SPEC), kit.fetch_world(), kit.START).create, "control"


SAID = st.sampled_from([None, "", "{}", says(), says("branch_taken"), says("failed", "x"), says() + "x"])
PODS = st.builds(
    publish_pod, SAID, exit_code=st.sampled_from([0, 1, 137]), number=st.integers(1, 3),
    reason=st.sampled_from(["", "Evicted", "DeadlineExceeded"]), deleting=st.sampled_from(["", stamp(kit.at(9))]),
)  # fmt: skip
WORDS = st.sampled_from([None, WORD, {**WORD, "omitted": 1}, {**WORD, "willRun": 1}, {"sha256": None}])


@settings(max_examples=200, deadline=None)
@given(
    word=WORDS, pods=st.lists(PODS, max_size=3), jobs=st.sets(st.integers(1, 3)), waited=st.booleans(),
    failed=st.sampled_from(["", "BackoffLimitExceeded"]), outcome=st.sampled_from(["succeeded", "failed"]),
)  # fmt: skip
def test_whatever_its_pods_say_a_delivery_settles_once_and_nothing_is_freed_before(
    *, word: dict[str, Any] | None, pods: list[PodRecord], jobs: set[int], waited: bool, failed: str, outcome: str
) -> None:
    there = {name: job for each in jobs for name, job in publish_job_of(each, failed=failed).items()}
    view, made = over(outcome), 0
    for _ in range(6):
        waits = dict.fromkeys(("publish-job", "patch-word", "publish-policy"), 1_000.0) if waited else {}
        done = look(view, run_pod(word, outcome), *pods, jobs=there, waits=waits)
        made += len(done.create)
        if done.status is not None:
            RunStatus.model_validate(done.status)
            view = kit.slimmed(kit.after(view, done))
        there |= {name: publish_job_of(number)[name] for number in (1, 2, 3) for name in publish_job_of(number)
                  if name in {item["metadata"]["name"] for item in done.create}}  # fmt: skip
        settled_now = view.conditions.get("Delivered", {}).get("status") in {"True", "False"}
        assert settled_now or not done.deletions
    assert made <= kit.config().attempts_max_count
    again = look(view, run_pod(word, outcome), *pods, jobs=there, waits=waits)
    assert (again.create, again.status) == ((), None), "a fixed point"
    commit = view.status.get("delivery", {}).get("commit")
    assert (view.conditions.get("Delivered", {}).get("reason") == "Pushed") == bool(commit)
