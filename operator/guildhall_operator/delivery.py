"""What is known of a delivery: its branch, the publishers made for it, what they said, and how it ended. Pure."""

from typing import Any

from guildhall_contracts.conditions import Reason
from guildhall_contracts.gate import decode_message
from guildhall_contracts.publish import PublishMessage
from guildhall_contracts.run import Delivery
from guildhall_contracts.snapshot import PUBLISH_LABEL
from pydantic import ValidationError

from guildhall_operator import names
from guildhall_operator.decision import Decision
from guildhall_operator.manifests.publish import CONTAINER
from guildhall_operator.outcome import Outcome, died, stopped_to_replace
from guildhall_operator.records import JobRecord, PodRecord, mapping, oldest
from guildhall_operator.status import Truth


def end_delivery(decision: Decision, status: Truth, reason: Reason, message: str) -> None:
    decision.draft.set("Delivered", status, reason, message)


def undelivered(decision: Decision, message: str) -> None:
    end_delivery(decision, "False", "DeliveryFailed", message)


def delivery_of(decision: Decision) -> Delivery | None:
    try:
        return Delivery.model_validate(decision.draft.fields.get("delivery"))
    except ValidationError:
        return None


def last_try(decision: Decision) -> int:
    """The number of the last publish Job there is; 0 where there is none."""
    return names.last_number(names.publish_name, decision.run.name, decision.run.uid, decision.observed.jobs)


def publish_pod(decision: Decision, number: int) -> PodRecord | None:
    mine = [pod for pod in decision.observed.pods if pod.labels.get(PUBLISH_LABEL) == str(number)]
    return oldest(mine)


def publish_pods(decision: Decision) -> list[PodRecord]:
    """Every publisher there is or was, of every try."""
    return [pod for pod in decision.observed.pods if PUBLISH_LABEL in pod.labels]


def publish_job_of(decision: Decision, number: int) -> JobRecord | None:
    return decision.observed.jobs.get(names.publish_name(decision.run.name, decision.run.uid, number))


def publish_outcome(pod: PodRecord) -> Outcome | PublishMessage | None:
    """How the delivery ended; None while it goes on."""
    container = pod.container(CONTAINER)
    if container.state != "terminated" and not pod.ended:
        return None
    message = decode_message(PublishMessage, container.message)
    if message is not None and message.outcome == "published" and message.commit and container.exit_code == 0:
        return message
    if message is not None and message.outcome != "published":
        return message
    if replaced := stopped_to_replace(pod, CONTAINER):
        return replaced
    if pod.reason == "DeadlineExceeded":
        what = "the publisher did not end within the chart value fetcher.timeoutSeconds and was stopped"
        return Outcome("False", "DeadlineExceeded", what, container.finished_at)
    return died(pod, CONTAINER)


def told(decision: Decision, message: PublishMessage) -> None:
    delivery: dict[str, Any] = dict(mapping(decision.draft.fields.get("delivery")))
    branch = delivery.get("branch", "")
    if message.outcome == "published":
        decision.draft.fields["delivery"] = {**delivery, "commit": message.commit}
        end_delivery(decision, "True", "Pushed", f"branch {branch} at commit {message.commit}")
    elif message.outcome == "branch_taken":
        end_delivery(decision, "False", "BranchExists", message.message)
    else:
        undelivered(decision, message.message)
