"""A Run that is over: seal its record, free what it held, remove it when its time has come. Pure.

Guards against deleting the only copy of what a Run did before the api had its bounded time to store it.
"""

from guildhall_operator.actions import Deletion
from guildhall_operator.decision import Decision
from guildhall_operator.delivering import deliver
from guildhall_operator.follow import current_pod, end_pod
from guildhall_operator.names import baseline_name, journal_name, workspace_name
from guildhall_operator.outcome import executor_began, last_seq
from guildhall_operator.records import PodRecord, mapping, number
from guildhall_operator.reprint import reprint
from guildhall_operator.status import seconds_since


def _stored(decision: Decision) -> int:
    return number(mapping(decision.run.status.get("archive")).get("storedSeq"))


def seal_what_is_stored(decision: Decision) -> None:
    """Sealed where the api has stored the last event, or there is none: with the end itself, if it is so by then."""
    draft, pod = decision.draft, current_pod(decision)
    if draft.is_true("Sealed"):
        return
    if not draft.fields.get("startTime") and not executor_began(pod):
        draft.set("Sealed", "True", "Sealed", "nothing was recorded: the executor never started")
        return
    last = last_seq(decision.observed.pods, pod, decision.run)
    if last is not None and _stored(decision) >= last:
        draft.set("Sealed", "True", "Sealed", f"{_stored(decision)} events are stored")


def _seal(decision: Decision, pod: PodRecord | None) -> None:
    """Sealed once all is stored; given up after a bounded wait, mended if it comes later."""
    draft = decision.draft
    seal_what_is_stored(decision)
    if draft.get("Sealed"):
        return
    last, stored = last_seq(decision.observed.pods, pod, decision.run), _stored(decision)
    limit = decision.observed.config.seal_wait_seconds
    age = seconds_since(draft.fields.get("completionTime"), decision.now)
    if age is not None and age < limit:
        decision.requeue(limit - age)
        return
    whole = f"of {last} " if last is not None else ""
    until = "the Run is deleted" + ("" if ttl_seconds(decision) is None else ", which its time to live does")
    what = f"{stored} {whole}events are stored after {limit} s; pod and journal are kept until {until}"
    draft.set("Sealed", "False", "SealTimeout", what)


def _stop(decision: Decision, pod: PodRecord | None) -> None:
    if pod is not None and executor_began(pod) and pod.container("executor").state != "terminated":
        end_pod(decision, pod)


def _free(decision: Decision) -> None:
    """Deletes what a sealed Run no longer needs. A claim is freed by the end of its pod, so the Job goes first."""
    run, observed = decision.run, decision.observed
    for job in observed.jobs.values():
        if not job.deleting:
            decision.deletions.append(Deletion("Job", job.namespace, job.name, job.uid))
    storage = mapping(mapping(run.spec.get("workspace")).get("storage"))
    mine = [journal_name(run.name, run.uid), baseline_name(run.name, run.uid)]
    if storage.get("ephemeral", True) is not False:
        mine.append(workspace_name(run.name, run.uid))
    for name in mine:
        claim = observed.claims.get(name)
        if claim is not None and claim.run == run.uid and not claim.deleting:
            decision.deletions.append(Deletion("PersistentVolumeClaim", run.namespace, name))


def _owes_branch(decision: Decision) -> bool:
    """Whether its patch is still to be published, which is bounded: nothing it needs is freed before."""
    return decision.run.delivering and decision.draft.get("Delivered").get("status") not in {"True", "False"}


def ttl_seconds(decision: Decision) -> int | None:
    """How long a finished Run is kept; None for ever. A private Run is kept no longer than it allows."""
    spec, default = decision.run.spec, decision.observed.config.ttl_seconds_after_finished
    chosen = number(spec["ttlSecondsAfterFinished"]) if "ttlSecondsAfterFinished" in spec else default
    retain = number(spec["retainSeconds"]) if spec.get("private") is True and "retainSeconds" in spec else None
    given = [value for value in (chosen, retain) if value is not None]
    return min(given) if given else None


def _expire(decision: Decision) -> None:
    ttl = ttl_seconds(decision)
    age = seconds_since(decision.draft.fields.get("completionTime"), decision.now)
    if ttl is None or age is None or not decision.draft.get("Sealed") or _owes_branch(decision):
        return
    if age >= ttl:
        run = decision.run
        decision.deletions.append(Deletion("Run", run.namespace, run.name, run.uid))
    else:
        decision.requeue(ttl - age)


def finish(decision: Decision) -> None:
    """The stage after the end."""
    pod = current_pod(decision)
    _stop(decision, pod)
    _seal(decision, pod)
    deliver(decision, pod)
    if not decision.draft.is_true("Sealed"):
        reprint(decision, pod)
    elif not _owes_branch(decision):
        _free(decision)
    _expire(decision)
