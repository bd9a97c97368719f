"""From the end of a Run to its branch: what may be published, what is tried again, and what nothing is freed before."""

import json
from dataclasses import replace
from typing import Any

import pytest
from guildhall_contracts.publish import PublishRequest
from guildhall_contracts.run import RunStatus
from guildhall_operator.plan import plan
from guildhall_operator.records import PodRecord
from guildhall_operator.status import stamp
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.operator import kit
from unit.operator.delivery_kit import (
    BRANCH,
    HASH,
    JOURNAL,
    SPEC,
    WORD,
    delivering,
    look,
    over,
    publish_job_of,
    publish_pod,
    run_pod,
    says,
    settled,
)


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
    expired = {"config": kit.config(fetcher=kit.FETCHER, ttlSecondsAfterFinished=1)}
    view = kit.slimmed(kit.after(over(), done))
    later = look(view, run_pod(), publish_pod(), jobs=publish_job_of(), at=600, **expired)
    assert (later.create, later.deletions) == ((), ())
    settled_ = kit.slimmed(kit.after(view, look(view, run_pod(), publish_pod(says()), jobs=publish_job_of())))
    freed = look(settled_, run_pod(), publish_pod(says()), jobs=publish_job_of(), at=600, **expired)
    assert "Run" in {item.kind for item in freed.deletions}, "control: its time to live was over all the while"


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


GOING = stamp(kit.at(40))
LOST: dict[str, Any] = {"deleting": GOING, "disruption": "DeletionByTaintManager"}


def test_a_publisher_on_a_dead_node_is_followed_by_another_and_holds_nothing_back_for_ever() -> None:
    view, jobs = delivering(), publish_job_of(failed="BackoffLimitExceeded")
    stuck = publish_pod(**LOST)
    early = look(view, run_pod(), stuck, jobs=jobs, at=60)
    assert (early.create, early.status) == ((), None), "its kubelet may come back"
    assert early.requeue_seconds is not None
    assert 0 < early.requeue_seconds <= kit.config().waits.node_lost_seconds
    again = look(view, run_pod(), stuck, jobs=jobs, at=130, waits=dict.fromkeys(early.waiting, 70.0))
    assert [item["metadata"]["name"] for item in again.create] == [f"fix-{kit.UID}-p2"]
    both = {**jobs, **publish_job_of(2)}
    last = look(
        view, run_pod(), stuck, publish_pod(number=2, **LOST), jobs=both, waits=dict.fromkeys(early.waiting, 70.0)
    )
    assert settled(last)[:2] == ("False", "DeliveryFailed")
    assert "node 'node1' does not answer" in settled(last)[2]
    freed = look(kit.slimmed(kit.after(view, last)), run_pod(), stuck, jobs=both, at=200)
    assert JOURNAL in {item.name for item in freed.deletions}


@pytest.mark.parametrize("pods", [(), (publish_pod(),)], ids=["no pod was made", "its pod ends by no deadline"])
def test_whatever_nobody_thought_of_ends_in_time(pods: tuple[PodRecord, ...]) -> None:
    view = delivering()
    early = look(view, run_pod(), *pods, jobs=publish_job_of(), at=600)
    assert (early.create, early.status, early.deletions) == ((), None, ())
    assert early.requeue_seconds is not None
    late = look(view, run_pod(), *pods, jobs=publish_job_of(), at=600 + early.requeue_seconds + 1)
    assert settled(late)[:2] == ("False", "DeliveryFailed")
    assert [act.name for act in late.end_pods] == [pod.name for pod in pods]


def test_no_publisher_is_made_beside_a_run_pod_that_has_not_ended() -> None:
    view, living = over(), kit.finished_pod(kit.executor_says(patch=WORD))
    assert not living.ended
    first = look(view, living)
    assert (first.create, first.deletions, kit.condition(first, "Delivered")) == ((), (), {})
    told = look(view, living, waits=dict.fromkeys(first.waiting, 5.0))
    assert settled(told)[:2] == ("Unknown", "Delivering")
    assert "pod 'fix-pod'" in settled(told)[2]
    gone = look(kit.slimmed(kit.after(view, told)), run_pod())
    assert len(gone.create) == 1
    assert settled(gone) == ("Unknown", "Delivering", f"to the branch {BRANCH}")
    given_up = look(view, living, waits=dict.fromkeys(first.waiting, 1_000.0))
    assert given_up.create == ()
    assert settled(given_up)[:2] == ("False", "DeliveryFailed")
    assert "remove that pod or node" in settled(given_up)[2]


def test_what_is_refused_is_told_before_the_run_pod_has_ended() -> None:
    done = look(over(), kit.finished_pod(kit.executor_says(patch={**WORD, "omitted": 1})))
    assert settled(done)[:2] == ("False", "NotWhole")


def test_a_publisher_from_before_a_lost_write_is_not_waited_for() -> None:
    done = look(over(), run_pod(), publish_pod(), jobs=publish_job_of())
    assert settled(done)[:2] == ("Unknown", "Delivering")
    assert done.status is not None
    assert done.status["delivery"]["branch"] == BRANCH


HELD: dict[str, Any] = {"containers": {"publish": kit.waiting("ContainerCreating")}, "phase": "Pending"}
NO_SECRET = 'MountVolume.SetUp failed for volume "secret" : secret "writes" not found'


@pytest.mark.parametrize(
    ("pod", "said", "reason", "words"),
    [
        (publish_pod(**HELD, node="", unschedulable="0/3 nodes fit"), "", "Unschedulable", "0/3 nodes fit"),
        (publish_pod(**HELD, mounted=False), NO_SECRET, "MountFailed", "there is no Secret 'writes'"),
    ],
)
def test_what_holds_it_up_is_told_within_seconds_and_taken_back(
    pod: PodRecord, said: str, reason: str, words: str
) -> None:
    view, events = delivering(), kit.warning(pod.uid, "FailedMount", said) if said else {}
    first = look(view, run_pod(), pod, jobs=publish_job_of(), events=events)
    told = look(view, run_pod(), pod, jobs=publish_job_of(), events=events, waits=dict.fromkeys(first.waiting, 2.0))
    assert settled(told)[:2] == ("Unknown", reason)
    assert words in settled(told)[2]
    assert told.notes == (), "it may still pass"
    on = look(kit.slimmed(kit.after(view, told)), run_pod(), publish_pod(), jobs=publish_job_of())
    assert settled(on) == ("Unknown", "Delivering", f"to the branch {BRANCH}")


@pytest.mark.parametrize("quota", [True, False], ids=["quota", "queue"])
def test_room_that_never_comes_is_not_waited_for_without_end(quota: bool) -> None:
    jobs = publish_job_of(suspended=not quota)
    events = kit.warning("publish-1", "FailedCreate", "exceeded quota: pods=1") if quota else {}
    first = look(delivering(), run_pod(), jobs=jobs, events=events)
    waits = dict.fromkeys(first.waiting, kit.config().waits.unschedulable_seconds + 1.0)
    done = look(delivering(), run_pod(), jobs=jobs, events=events, waits=waits)
    assert settled(done)[:2] == ("False", "DeliveryFailed")


def test_an_image_that_does_not_come_is_tried_again_and_never_beside_a_living_pod() -> None:
    view, pulling = delivering(), {"publish": kit.waiting("ImagePullBackOff", "no such image")}
    pod = publish_pod(containers=pulling, phase="Pending", deadline_seconds=660)
    first = look(view, run_pod(), pod, jobs=publish_job_of())
    waits = dict.fromkeys(first.waiting, 1_000.0)
    stopped = look(view, run_pod(), pod, jobs=publish_job_of(), waits=waits)
    assert (stopped.create, [act.name for act in stopped.end_pods]) == ((), ["publish-pod-1"])
    stopping = replace(pod, deadline_seconds=1)
    meanwhile = look(view, run_pod(), stopping, jobs=publish_job_of(), waits=waits)
    assert (meanwhile.create, meanwhile.end_pods) == ((), ())
    over_ = replace(stopping, phase="Failed", reason="DeadlineExceeded")
    again = look(view, run_pod(), over_, jobs=publish_job_of())
    assert [item["metadata"]["name"] for item in again.create] == [f"fix-{kit.UID}-p2"]
    second = publish_pod(containers=pulling, phase="Pending", number=2)
    both = {**publish_job_of(), **publish_job_of(2)}
    last = look(view, run_pod(), over_, second, jobs=both, waits=waits)
    assert last.create == ()
    assert settled(last)[:2] == ("False", "DeliveryFailed")
    assert "no such image" in settled(last)[2]
    assert [act.name for act in last.end_pods] == ["publish-pod-2"]


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
    disruption=st.sampled_from(["", "DeletionByTaintManager"]), deadline_seconds=st.sampled_from([660, 1]),
    containers=st.sampled_from([
        {"publish": kit.running(30)}, {"publish": kit.waiting("ImagePullBackOff")},
        {"publish": kit.ended(says(), began=30)}, {"publish": kit.ended("", 137, began=30)},
    ]), phase=st.sampled_from(["Pending", "Running", "Failed", "Succeeded"]),
)  # fmt: skip
WORDS = st.sampled_from([None, WORD, {**WORD, "omitted": 1}, {**WORD, "willRun": 1}, {"sha256": None}])


@settings(max_examples=200, deadline=None)
@given(
    word=WORDS, pods=st.lists(PODS, max_size=3), jobs=st.sets(st.integers(1, 3)), waited=st.booleans(),
    failed=st.sampled_from(["", "BackoffLimitExceeded"]), outcome=st.sampled_from(["succeeded", "failed"]),
    phase=st.sampled_from(["Running", "Succeeded"]),
)  # fmt: skip
def test_whatever_its_pods_say_a_delivery_settles_once_and_nothing_is_freed_before(
    *,
    word: dict[str, Any] | None,
    pods: list[PodRecord],
    jobs: set[int],
    waited: bool,
    failed: str,
    outcome: str,
    phase: str,
) -> None:
    there = {name: job for each in jobs for name, job in publish_job_of(each, failed=failed).items()}
    view, made, at, waits = over(outcome), 0, 30, dict[str, float]()
    first = replace(run_pod(word, outcome), phase=phase)
    for _ in range(8):
        done = look(view, first, *pods, jobs=there, waits=waits, at=at)
        made += len(done.create)
        if done.status is not None:
            RunStatus.model_validate(done.status)
            view = kit.slimmed(kit.after(view, done))
        there |= {name: publish_job_of(number)[name] for number in (1, 2, 3) for name in publish_job_of(number)
                  if name in {item["metadata"]["name"] for item in done.create}}  # fmt: skip
        settled_now = view.conditions.get("Delivered", {}).get("status") in {"True", "False"}
        assert settled_now or not done.deletions
        assert settled_now or done.status or done.create or done.requeue_seconds is not None, "somebody looks again"
        if waited:
            at, waits = at + 100_000, dict.fromkeys(done.waiting, 100_000.0)
    assert made <= kit.config().attempts_max_count
    assert settled_now or not waited, "whatever became of its pods, a delivery ends"
    again = look(view, first, *pods, jobs=there, waits=waits, at=at)
    assert (again.create, again.status) == ((), None), "a fixed point"
    commit = view.status.get("delivery", {}).get("commit")
    assert (view.conditions.get("Delivered", {}).get("reason") == "Pushed") == bool(commit)
