"""A delivery that is cancelled. Pure.

Guards the person who cancelled: nothing more is pushed, and what may have been is told, not guessed.
"""

from guildhall_contracts.publish import PublishMessage
from guildhall_contracts.snapshot import PUBLISH_LABEL

from guildhall_operator.again import delete_job
from guildhall_operator.decision import Decision
from guildhall_operator.delivery import (
    delivery_of,
    end_delivery,
    last_try,
    publish_job_of,
    publish_outcome,
    publish_pods,
    told,
)
from guildhall_operator.follow import LOST_JOB_SECONDS, end_pod


def cancel_delivery(decision: Decision) -> None:
    """Stops every publisher and waits for its last word; one that had pushed by then is believed."""
    delivery = delivery_of(decision)
    if delivery is None:
        end_delivery(decision, "False", "Cancelled", "cancelled before anything was pushed")
        return
    words = [(pod, publish_outcome(pod)) for pod in publish_pods(decision)]
    pushed = next((word for _, word in words if isinstance(word, PublishMessage) and word.outcome == "published"), None)
    if pushed is not None:
        told(decision, pushed)
        return
    at_work = [pod for pod, word in words if word is None]
    for pod in at_work:
        end_pod(decision, pod)
    if at_work and not decision.waited("publish-cancel", decision.observed.config.waits.cancel_grace_seconds):
        return
    if _stop_making(decision, {pod.labels[PUBLISH_LABEL] for pod, word in words if word is not None}):
        what = (
            f"cancelled before a publisher said that it had pushed: look whether the branch {delivery.branch} is there"
        )
        end_delivery(decision, "False", "Cancelled", what)


def _stop_making(decision: Decision, ended: set[str]) -> bool:
    """Deletes every Job that may still make a pod; False while the last one has not been seen yet."""
    last = last_try(decision)
    if last == 0 and not ended and not decision.waited("publish-job", LOST_JOB_SECONDS):
        return False
    for number in range(1, last + 1):
        if str(number) not in ended:
            delete_job(decision, publish_job_of(decision, number))
    return True
