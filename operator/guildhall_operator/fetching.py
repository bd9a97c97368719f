"""A Run whose repository is being fetched: until the run pod's Job, or the reason there is none. Pure.

Guards against a run pod beside a fetcher that still writes, and against asking again for what a person must mend.
"""

from dataclasses import replace
from typing import Final

from guildhall_contracts.conditions import RETRYABLE_REASONS, Reason
from guildhall_contracts.fetch import FetchedSource, FetchMessage, FetchOutcome
from guildhall_contracts.gate import decode_message
from guildhall_contracts.run import RunSpec
from guildhall_contracts.snapshot import FETCH_LABEL

from guildhall_operator import names
from guildhall_operator.admit import Refusal, may_go_on, parse_spec
from guildhall_operator.decision import Decision
from guildhall_operator.follow import LOST_JOB_SECONDS, end_pod
from guildhall_operator.manifests.fetch import CONTAINER
from guildhall_operator.outcome import Outcome, died, lost, stopped_to_replace, vanished
from guildhall_operator.records import Json, PodRecord, mapping, oldest
from guildhall_operator.sources import fetch_verdict, source_text
from guildhall_operator.stalls import Stall, stall
from guildhall_operator.start import begin_fetch, is_made, next_attempt, record_attempt

_REASONS: Final[dict[FetchOutcome, Reason]] = {"too_large": "SourceTooLarge", "internal": "Internal"}


def _number(decision: Decision) -> int:
    """The number of the last fetch Job there is; 0 where there is none."""
    return names.last_number(names.fetch_name, decision.run.name, decision.run.uid, decision.observed.jobs)


def _pod(decision: Decision, number: int) -> PodRecord | None:
    mine = [pod for pod in decision.observed.pods if FETCH_LABEL in pod.labels and pod.attempt == number]
    return oldest(mine)


def fetch_outcome(pod: PodRecord) -> Outcome | FetchedSource | None:
    """How the fetch ended; None while it goes on."""
    container = pod.container(CONTAINER)
    if container.state != "terminated" and not pod.ended:
        return None
    message = decode_message(FetchMessage, container.message)
    at = container.finished_at
    if message is not None and message.outcome == "fetched" and message.source is not None and container.exit_code == 0:
        return message.source
    if message is not None and message.outcome != "fetched":
        return Outcome("False", _REASONS.get(message.outcome, "WorkspaceFailed"), message.message, at)
    if replaced := stopped_to_replace(pod, CONTAINER):
        return replaced
    if pod.reason == "DeadlineExceeded":
        what = "the fetcher did not end within the chart value fetcher.timeoutSeconds and was stopped"
        return Outcome("False", "WorkspaceFailed", what, at)
    return died(pod, CONTAINER)


def _ended(decision: Decision, pod: PodRecord | None, end: Outcome) -> bool:
    """Whether nothing writes to the volume any more; stops what does, and ends the Run where it cannot be stopped."""
    if pod is None or pod.ended:
        return True
    end_pod(decision, pod)
    limit = decision.observed.config.waits.replace_seconds
    if decision.waited("replace", limit):
        what = f"{end.message}; pod '{pod.name}' on node '{pod.node or 'unknown'}' was still there {limit} s later"
        _over(decision, pod, replace(end, message=f"{what}; no second pod may use its volume: remove that node or pod"))
    return False


def _fail(decision: Decision, pod: PodRecord | None, end: Outcome) -> None:
    """Ends the fetch; a cause of the infrastructure's is followed by another, a person's never."""
    spec, number = parse_spec(decision.run.spec), _number(decision)
    again = end.retry and end.reason in RETRYABLE_REASONS and number < decision.observed.config.attempts_max_count
    if not again or isinstance(spec, Refusal) or decision.run.cancelled:
        _over(decision, pod, end)
    elif _ended(decision, pod, end) and may_go_on(decision, spec):
        begin_fetch(decision, spec, number + 1)


def _over(decision: Decision, pod: PodRecord | None, end: Outcome) -> None:
    decision.draft.set("WorkspaceReady", "False", end.reason, end.message)
    decision.draft.end(end.status, end.reason, f"the repository was not fetched: {end.message}", end.at)
    end_pod(decision, pod)


def _fetched(decision: Decision, source: FetchedSource) -> None:
    """The workspace is there: the run pod's Job follows at once, unless somebody suspended the Run meanwhile."""
    spec = parse_spec(decision.run.spec)
    if isinstance(spec, Refusal):
        decision.draft.end("False", spec.reason, spec.message)
        return
    decision.draft.fields["source"] = source.to_wire()
    if decision.run.suspended:
        _show(decision, source.to_wire())
        decision.draft.set("Running", "False", "NotStarted", "")
        decision.hold("Suspended", "spec.suspend is true; set it to false to start", look_again_seconds=600)
    elif may_go_on(decision, spec):
        begin_run_pod(decision, spec)
    elif not decision.draft.finished:
        decision.draft.fields.pop("source")  # it waits, and is still the fetcher's turn in the eyes of the next plan


def begin_run_pod(decision: Decision, spec: RunSpec) -> None:
    """The first run pod on a fetched workspace; snapshot, journal and claims were made before the fetch."""
    next_attempt(decision, spec)
    _show(decision, mapping(decision.draft.fields["source"]))


def _show(decision: Decision, source: Json) -> None:
    decision.draft.set("WorkspaceReady", "Unknown", "Preparing", source_text(source))


def _opened(decision: Decision, pod: PodRecord | None) -> bool:
    """A policy that came, or the fetchers' own that went, while git's egress was in use."""
    verdict = fetch_verdict(decision, max(1, _number(decision)), pod)
    if verdict.kind == "closed" or not decision.observed.config.isolation.require:
        return False
    decision.draft.set("WorkspaceReady", "False", "IsolationNotEnforced", verdict.message)
    decision.draft.end("False", "IsolationNotEnforced", verdict.message)
    end_pod(decision, pod)
    return True


def _stalled(decision: Decision, pod: PodRecord | None, found: Stall) -> None:
    if found.seconds is not None and decision.waited(f"stall/{found.reason}", found.seconds):
        _fail(decision, pod, Outcome("False", found.reason, found.message, retry=found.retry))
    elif found.queued:
        decision.hold(found.reason, found.message)
    elif decision.waited(f"shown/{found.reason}", found.shown_seconds):
        decision.draft.set("Running", "False", found.reason, found.message)


def _without_pod(decision: Decision, number: int) -> None:
    job = decision.observed.jobs.get(names.fetch_name(decision.run.name, decision.run.uid, number))
    if job is None:
        if decision.waited("fetch-job", LOST_JOB_SECONDS):
            what = "the fetch Job was deleted before it made the workspace"
            _fail(decision, None, Outcome("False", "Deleted", what))
    elif job.failed:
        _fail(decision, None, vanished(job.failed))
    else:
        found = stall(None, job, decision.observed.events, decision.observed.config.waits)
        if found is not None:
            _stalled(decision, None, found)


def _adopt(decision: Decision, pod: PodRecord | None) -> None:
    """The run pod's Job is there, so the repository was fetched, whatever has become of the pod that did it."""
    source = fetch_outcome(pod) if pod is not None else None
    record_attempt(decision)
    if isinstance(source, FetchedSource):
        decision.draft.fields["source"] = source.to_wire()
        _show(decision, source.to_wire())


def fetching(decision: Decision) -> None:
    """The stage between the fetch Job and the run pod's."""
    number = _number(decision)
    pod = _pod(decision, number)
    if is_made(decision):
        _adopt(decision, pod)
        return
    if decision.run.cancelled:
        decision.draft.set("WorkspaceReady", "False", "Cancelled", "")
        decision.draft.end("False", "Cancelled", "cancelled while the repository was fetched")
        end_pod(decision, pod)
        return
    if _opened(decision, pod):
        return
    if pod is None:
        _without_pod(decision, number)
        return
    ended = fetch_outcome(pod)
    if isinstance(ended, FetchedSource):
        _fetched(decision, ended)
    elif ended is not None:
        _fail(decision, pod, ended)
    elif pod.deleting and pod.disruption and decision.waited("lost", decision.observed.config.waits.node_lost_seconds):
        _fail(decision, pod, lost(pod))
    else:
        job = decision.observed.jobs.get(names.fetch_name(decision.run.name, decision.run.uid, number))
        found = stall(pod, job, decision.observed.events, decision.observed.config.waits)
        if found is not None:
            _stalled(decision, pod, found)
