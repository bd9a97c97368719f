"""A Run that succeeded and delivers a branch: whether its patch may be published, and what became of it. Pure.

Guards the repository against a patch that is not whole, not the one that was shown, or starts something by itself; the
record against being freed before the publisher has read the patch, and against being kept for ever by one that is lost.
"""

from typing import Final

from guildhall_contracts.conditions import RETRYABLE_REASONS, Reason
from guildhall_contracts.gate import PatchWord
from guildhall_contracts.limits import DEADLINE_GRACE_SECONDS, FETCH_TIMEOUT_MAX_SECONDS
from guildhall_contracts.publish import PublishMessage, branch_of
from guildhall_contracts.run import Delivery, RunSpec

from guildhall_operator.actions import CREATE_AGAIN_SECONDS
from guildhall_operator.admit import Refusal, parse_spec
from guildhall_operator.again import living
from guildhall_operator.cancelling import cancel_delivery
from guildhall_operator.config import Config
from guildhall_operator.decision import Decision
from guildhall_operator.delivery import (
    delivery_of,
    end_delivery,
    last_try,
    publish_job_of,
    publish_outcome,
    publish_pod,
    told,
    undelivered,
)
from guildhall_operator.follow import LOST_JOB_SECONDS, end_pod
from guildhall_operator.isolation import Verdict
from guildhall_operator.manifests.publish import (
    base_of,
    planned_publish_labels,
    publish_job,
    publish_request,
)
from guildhall_operator.outcome import Outcome, executor_message, lost, vanished
from guildhall_operator.records import JobRecord, PodRecord, mapping
from guildhall_operator.sources import git_verdict
from guildhall_operator.stalls import SHOWN_AFTER_SECONDS, stall
from guildhall_operator.status import seconds_since

LATE_WORD_SECONDS: Final = 30.0  # the executor's last word is in its pod, which the watch may show a moment later


def deliver(decision: Decision, pod: PodRecord | None) -> None:
    """The stage after the end of a Run that delivers a branch; `pod` is the run pod. Says nothing twice."""
    if not decision.run.delivering:
        return
    if not decision.run.succeeded:
        end_delivery(decision, "False", "NotSucceeded", "only what a Run that succeeded has changed is published")
    elif decision.run.cancelled:
        cancel_delivery(decision)
    elif delivery_of(decision) is None:
        _begin(decision, pod)
    else:
        _follow(decision)


def refusal(word: PatchWord, spec: RunSpec) -> tuple[Reason, str] | None:
    """Why this patch is not published; None where it is."""
    if word.omitted:
        what = f"the patch leaves out the content of {word.omitted} path(s), so a branch would lack it"
        return "NotWhole", f"{what}; the result says which and why"
    if word.will_run and not (spec.publish and spec.publish.allow_will_run):
        what = f"the patch touches {word.will_run} file(s) that run by themselves, which a push may start"
        return "RunsUnasked", f"{what}; look at them in the result, or set publish.allowWillRun in a new Run"
    return None


def _begin(decision: Decision, pod: PodRecord | None) -> None:
    """From the executor's word to the first Job, or to the reason why there is none."""
    said = executor_message(pod, decision.run)
    spec = parse_spec(decision.run.spec)
    if isinstance(spec, Refusal):
        undelivered(decision, spec.message)
    elif said is None and pod is not None and not pod.ended and not decision.waited("patch-word", LATE_WORD_SECONDS):
        return
    elif said is None or said.patch is None:
        what = "the executor left no word about its last change set, so nothing is known to be the whole patch"
        undelivered(decision, f"{what}; the patch in the result may be")
    elif found := refusal(said.patch, spec):
        end_delivery(decision, "False", *found)
    elif said.patch.sha256 is None:
        end_delivery(decision, "True", "NothingToDeliver", "the Run changed nothing")
    else:
        branch = branch_of(decision.run.name, decision.run.uid)
        delivery = Delivery(branch=branch, patch_sha256=said.patch.sha256)
        if _alone(decision) and _make(decision, spec, delivery, 1):
            decision.draft.fields["delivery"] = delivery.to_wire()
            _under_way(decision)


def _under_way(decision: Decision) -> None:
    branch = mapping(decision.draft.fields.get("delivery")).get("branch", "")
    decision.draft.set("Delivered", "Unknown", "Delivering", f"to the branch {branch}")


def _alone(decision: Decision) -> bool:
    """Whether every pod that could write to the journal, and so to the patch, has ended. Waits for it within bounds."""
    pod, limit = living(decision), decision.observed.config.waits.replace_seconds
    if pod is None:
        return True
    where = f"pod '{pod.name}' on node '{pod.node or 'unknown'}'"
    if decision.waited("publish-alone", limit):
        what = f"{where} was still there {limit} s after the Run's end, and no publisher is made beside it"
        undelivered(decision, f"{what}: remove that pod or node, and take the patch from the result")
    elif decision.waited("publish-alone-shown", SHOWN_AFTER_SECONDS):
        decision.draft.set("Delivered", "Unknown", "Delivering", f"{where} is to end first")
    return False


def publish_verdict(decision: Decision, number: int, pod: PodRecord | None = None) -> Verdict:
    """What the namespace's policies let the publish pod of that number do."""
    return git_verdict(decision, planned_publish_labels(decision.run, number), pod)


def _make(decision: Decision, spec: RunSpec, delivery: Delivery, number: int) -> bool:
    """Adds the Job; False where it cannot be made now, which ends the delivery or is looked at again."""
    run, config = decision.run, decision.observed.config
    if config.fetcher is None or not base_of(run):
        what = "nothing says which commit the Run began with" if config.fetcher else "there is no publisher any more"
        undelivered(decision, f"{what}; take the patch from the result")
        return False
    found = publish_verdict(decision, number)
    if config.isolation.require and found.kind != "closed":
        if decision.waited("publish-policy", config.waits.policy_seconds):
            undelivered(decision, f"the publisher's network is not narrowed: {found.message}")
        return False
    if decision.observed.create_problem:
        if decision.waited("publish-refused", config.waits.refused_seconds):
            undelivered(decision, f"the publisher cannot be made: {decision.observed.create_problem}")
        decision.requeue(CREATE_AGAIN_SECONDS)
        return False
    request = publish_request(run, spec, config.fetcher, delivery)
    decision.create.append(publish_job(run, spec, config, request, number))
    return True


def _failed(decision: Decision, pod: PodRecord | None, end: Outcome) -> None:
    """A cause of the infrastructure's is followed by another try, which finds the branch if the first one made it.

    A pod that can be stopped is stopped first; beside one that is lost the same push is made, which changes nothing.
    """
    number, delivery, spec = last_try(decision), delivery_of(decision), parse_spec(decision.run.spec)
    again = end.retry and end.reason in RETRYABLE_REASONS and number < decision.observed.config.attempts_max_count
    if again and delivery is not None and not isinstance(spec, Refusal):
        if pod is None or pod.ended or pod.deleting:
            _make(decision, spec, delivery, number + 1)
        end_pod(decision, pod)
    else:
        end_pod(decision, pod)
        undelivered(decision, f"the publisher came to no end: {end.message}")


def _opened(decision: Decision, pod: PodRecord | None, number: int) -> bool:
    """A policy that came while the publisher was on."""
    found = publish_verdict(decision, max(1, number), pod)
    if found.kind != "open" or not decision.observed.config.isolation.require:
        return False
    end_pod(decision, pod)
    undelivered(decision, f"the publisher's network was opened: {found.message}")
    return True


def limit_seconds(config: Config) -> int:
    """The longest a delivery may take: every try at the end of each of its waits, and of its pod's deadline."""
    waits, fetcher = config.waits, config.fetcher
    start = max(waits.unschedulable_seconds, waits.refused_seconds)
    start += waits.policy_seconds + waits.refused_seconds + waits.image_pull_seconds + waits.mount_seconds
    run = (fetcher.timeout_seconds if fetcher else FETCH_TIMEOUT_MAX_SECONDS) + DEADLINE_GRACE_SECONDS
    return waits.replace_seconds + config.attempts_max_count * (start + run + waits.node_lost_seconds)


def _overdue(decision: Decision, pod: PodRecord | None) -> bool:
    """The last bound, for whatever no other one foresees: what the publisher needs is not kept for ever."""
    since = seconds_since(decision.draft.get("Delivered").get("lastTransitionTime"), decision.now) or 0.0
    limit = limit_seconds(decision.observed.config)
    if since < limit:
        decision.requeue(limit - since)
        return False
    end_pod(decision, pod)
    undelivered(decision, f"the publisher came to no end within {limit} s; look at its Job and pod")
    return True


def _held(decision: Decision, pod: PodRecord | None, job: JobRecord | None) -> None:
    """What keeps the publisher from starting: shown in seconds, and waited for within bounds."""
    waits = decision.observed.config.waits
    held = stall(pod, job, decision.observed.events, waits)
    if held is None:
        _under_way(decision)
        return
    seconds = waits.unschedulable_seconds if held.seconds is None else held.seconds
    if decision.waited(f"publish/{held.reason}", seconds):
        _failed(decision, pod, Outcome("False", held.reason, held.message, retry=held.retry))
    elif decision.waited(f"publish-shown/{held.reason}", held.shown_seconds):
        decision.draft.set("Delivered", "Unknown", held.reason, f"the publisher waits: {held.message}")


def _follow(decision: Decision) -> None:
    number = last_try(decision)
    pod = publish_pod(decision, number)
    job = publish_job_of(decision, number)
    if _opened(decision, pod, number):
        return
    ended = publish_outcome(pod) if pod is not None else None
    if isinstance(ended, PublishMessage):
        told(decision, ended)
    elif _overdue(decision, pod):
        return
    elif ended is not None:
        _failed(decision, pod, ended)
    elif job is None:
        if decision.waited("publish-job", LOST_JOB_SECONDS):
            _failed(decision, None, Outcome("False", "Deleted", "its Job was deleted"))
    elif pod is None and job.failed:
        _failed(decision, None, vanished(job.failed))
    elif pod is not None and pod.deleting:
        if decision.waited("publish-lost", decision.observed.config.waits.node_lost_seconds):
            _failed(decision, pod, lost(pod))
    else:
        _held(decision, pod, job)
