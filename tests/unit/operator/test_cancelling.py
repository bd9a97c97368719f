"""Cancelled after the Run itself had succeeded: no more is pushed, and nobody says what he cannot know."""

from dataclasses import replace

from guildhall_operator.run_view import RunView
from unit.operator import kit
from unit.operator.delivery_kit import (
    BRANCH,
    delivering,
    look,
    over,
    publish_job_of,
    publish_pod,
    run_pod,
    says,
    settled,
)

FIRST, SECOND = f"fix-{kit.UID}-p1", f"fix-{kit.UID}-p2"


def cancelled(view: RunView) -> RunView:
    return replace(view, spec={**view.spec, "cancel": True})


def open_still(done: object) -> bool:
    conditions = (done.status or {}).get("conditions", [])  # type: ignore[attr-defined]
    return not any(item["type"] == "Delivered" and item["status"] != "Unknown" for item in conditions)


def test_a_delivery_that_is_cancelled_in_time_pushes_nothing() -> None:
    done = look(cancelled(over()), run_pod())
    assert done.create == ()
    assert settled(done) == ("False", "Cancelled", "cancelled before anything was pushed")
    assert done.status is not None
    assert done.status["phase"] == "Succeeded", "the Run is what it was"


def test_a_publisher_without_a_pod_gets_none_and_what_it_did_is_not_guessed() -> None:
    view = cancelled(delivering())
    for changes in ({}, {"failed": "the pod is gone"}):
        done = look(view, run_pod(), jobs=publish_job_of(**changes))
        assert FIRST in {item.name for item in done.deletions}
        assert settled(done)[:2] == ("False", "Cancelled")
        assert f"look whether the branch {BRANCH} is there" in settled(done)[2]


def test_a_job_that_was_just_made_is_waited_for() -> None:
    view = cancelled(delivering())
    first = look(view, run_pod())
    assert open_still(first)
    assert first.requeue_seconds > 0
    late = look(view, run_pod(), waits=dict.fromkeys(first.waiting, 1_000.0))
    assert settled(late)[:2] == ("False", "Cancelled")


def test_a_publisher_at_work_is_stopped_and_its_last_word_counts() -> None:
    view = cancelled(delivering())
    first = look(view, run_pod(), publish_pod(), jobs=publish_job_of())
    assert [item.name for item in first.end_pods] == ["publish-pod-1"]
    assert (first.create, open_still(first)) == ((), True)
    pushed = look(view, run_pod(), publish_pod(says()), jobs=publish_job_of())
    assert settled(pushed)[:2] == ("True", "Pushed"), "it was faster, and that is what is told"
    stopped = look(view, run_pod(), publish_pod("", exit_code=143), jobs=publish_job_of())
    assert settled(stopped)[:2] == ("False", "Cancelled")
    assert BRANCH in settled(stopped)[2]


def test_the_publisher_of_an_earlier_try_is_stopped_too() -> None:
    view = cancelled(delivering())
    both = publish_job_of() | publish_job_of(2)
    first = look(view, run_pod(), publish_pod(), jobs=both)
    assert [item.name for item in first.end_pods] == ["publish-pod-1"], "on a lost node, which may come back"
    assert open_still(first)
    pushed = look(view, run_pod(), publish_pod(says()), jobs=both)
    assert settled(pushed)[:2] == ("True", "Pushed")
    lost = look(view, run_pod(), publish_pod(), jobs=both, waits=dict.fromkeys(first.waiting, 1_000.0))
    assert {FIRST, SECOND} <= {item.name for item in lost.deletions}
    assert settled(lost)[:2] == ("False", "Cancelled")


def test_a_publisher_that_does_not_end_is_waited_for_within_bounds() -> None:
    view = cancelled(delivering())
    first = look(view, run_pod(), publish_pod(), jobs=publish_job_of())
    assert 0 < first.requeue_seconds <= kit.config().waits.cancel_grace_seconds
    given_up = look(view, run_pod(), publish_pod(), jobs=publish_job_of(), waits=dict.fromkeys(first.waiting, 1_000.0))
    assert settled(given_up)[:2] == ("False", "Cancelled")
    assert FIRST in {item.name for item in given_up.deletions}, "nothing makes a pod any more"
