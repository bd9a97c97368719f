"""When the api misses events of a Run whose executor is gone: has the journal printed again, in bounded rounds. Pure.

Guards against asking for ever: each round is one Job, and a Run has a few; all go when it is sealed.
"""

from typing import Final

from guildhall_contracts.limits import REPRINT_ROUNDS_MAX_COUNT
from guildhall_contracts.snapshot import RESEND_LABEL

from guildhall_operator import names
from guildhall_operator.actions import CREATE_AGAIN_SECONDS
from guildhall_operator.decision import Decision
from guildhall_operator.manifests.reprint import reprint_job
from guildhall_operator.outcome import last_seq
from guildhall_operator.records import PodRecord, mapping, number

ASKED_SECONDS: Final = 1.0  # a hole that the log itself fills at once needs no Job
BETWEEN_ROUNDS_SECONDS: Final = 10.0  # the api is still storing what the last round printed


def _last_round(decision: Decision) -> int:
    """The number of the last round there was a Job for; 0 before the first."""
    run, jobs = decision.run, decision.observed.jobs
    rounds = range(1, REPRINT_ROUNDS_MAX_COUNT + 1)
    return max((each for each in rounds if names.reprint_name(run.name, run.uid, each) in jobs), default=0)


def _over(decision: Decision, round_number: int) -> bool:
    """Whether that round has printed all it will."""
    job = decision.observed.jobs[names.reprint_name(decision.run.name, decision.run.uid, round_number)]
    pods = [pod for pod in decision.observed.pods if pod.labels.get(RESEND_LABEL) == str(round_number)]
    return bool(job.failed) if not pods else all(pod.ended for pod in pods)


def _journal_is_there(decision: Decision) -> bool:
    claim = decision.observed.claims.get(names.journal_name(decision.run.name, decision.run.uid))
    return claim is not None and claim.run == decision.run.uid and not claim.deleting


def _wanted(decision: Decision, pod: PodRecord | None) -> int:
    """From which event on the journal is to be printed; 0 for not at all.

    The api names what it misses. Where nobody said which event is the last, the journal is asked even so.
    """
    archive = mapping(decision.run.status.get("archive"))
    asked = number(archive.get("resendFrom"))
    if asked < 1 and last_seq(decision.observed.pods, pod, decision.run) is None:
        return number(archive.get("storedSeq")) + 1
    return asked


def reprint(decision: Decision, pod: PodRecord | None) -> None:
    """Asks for the next round where an event is missed, or may be, and nobody else can print it."""
    wanted = _wanted(decision, pod)
    alive = pod is not None and not pod.ended and pod.container("executor").state != "terminated"
    if wanted < 1 or alive or not _journal_is_there(decision):
        return
    last = _last_round(decision)
    if last >= REPRINT_ROUNDS_MAX_COUNT or (last and not _over(decision, last)):
        return
    if not decision.waited(f"reprint/{last + 1}", BETWEEN_ROUNDS_SECONDS if last else ASKED_SECONDS):
        return
    if decision.observed.create_problem:
        decision.requeue(CREATE_AGAIN_SECONDS)
        return
    attempt = number(decision.draft.attempt.get("number"))
    decision.create.append(reprint_job(decision.run, decision.observed.config, attempt, last + 1, wanted))
