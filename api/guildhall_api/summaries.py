"""What lists, status and details say of a Run: pure, from the raw resource and the folded model.

Guards against resources of any shape: what breaks the contract is left out, never raised.
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

from guildhall_contracts import limits
from guildhall_contracts.api import RunSummary
from guildhall_contracts.base import one_line
from guildhall_contracts.conditions import Condition, Phase, Reason
from guildhall_contracts.run import Changes, Usage
from pydantic import BaseModel, ValidationError

from guildhall_api.records import RunFacts
from guildhall_api.resources import Resource, run_id_of

Wire = dict[str, Any]
TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed", "Cancelled"})
_PHASES: Final = frozenset(get_args(Phase))
_REASONS: Final = frozenset(get_args(Reason))
_LABEL_MAX_CHARS: Final = 120
_STATUS_OF_PHASE: Final = {"Succeeded": "succeeded", "Cancelled": "cancelled"}


def part(value: Any, *names: str) -> Any:
    """The value at a path of keys, or None where something else stands in the way."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def text(value: Any, limit: int) -> str:
    """A string, cut; anything else is empty."""
    return value[:limit] if isinstance(value, str) else ""


def phase_name(resource: Resource) -> str:
    return _word(part(resource, "status", "phase"), _PHASES) or "Pending"


def _word(value: Any, known: frozenset[str]) -> Any:
    """A word of a closed set, or None for whatever else stands there."""
    return value if isinstance(value, str) and value in known else None


def closing_status(resource: Resource | None) -> str:
    """How a Run ended whose log does not say, for the fold's `close`."""
    return _STATUS_OF_PHASE.get(phase_name(resource or {}), "failed")


def _record(kind: type[BaseModel], value: Any) -> Any:
    try:
        return kind.model_validate(value) if isinstance(value, Mapping) else None
    except ValidationError:
        return None


def conditions_of(resource: Resource) -> list[Condition]:
    found = part(resource, "status", "conditions")
    read = [_record(Condition, each) for each in found[:16]] if isinstance(found, list) else []
    return [condition for condition in read if condition is not None]


def label_of(name: str, summary: str, task: str) -> str:
    """What a person calls the Run: its summary, else the first line of its task, else its name."""
    first = next((line for line in task.splitlines() if line.strip()), "")
    return one_line(summary or first.lstrip("# ") or name, _LABEL_MAX_CHARS) or name


def _message(resource: Resource, reason: str | None) -> str:
    found = [each.message for each in conditions_of(resource) if each.reason == reason and each.message]
    return found[-1][: limits.STATUS_MESSAGE_MAX_CHARS] if found else ""


def _awaiting(resource: Resource) -> int:
    counts = [part(resource, "status", "awaiting", name) for name in ("questions", "approvals")]
    return sum(count for count in counts if isinstance(count, int) and count > 0)


def summary_of(resource: Resource, run: Mapping[str, Any] | None = None, *, live: bool = True) -> RunSummary:
    """The row for a Run resource; `run` is `InteractionModel.run` when something was folded."""
    namespace, name = text(part(resource, "metadata", "namespace"), 63), text(part(resource, "metadata", "name"), 253)
    status, run = part(resource, "status") or {}, run or {}
    summary = text(run.get("summary") or part(status, "summary"), limits.SUMMARY_MAX_CHARS)
    task = text(part(resource, "spec", "task"), limits.MODEL_TEXT_MAX_CHARS)
    reason = _word(part(status, "reason"), _REASONS)
    return RunSummary(
        id=run_id_of(namespace, name), uid=text(part(resource, "metadata", "uid"), 64), namespace=namespace, name=name,
        label=label_of(name, summary, task), summary=summary, phase=phase_name(resource), reason=reason,
        message=_message(resource, reason), guild=_guild(resource), task=task,
        created_at=text(part(resource, "metadata", "creationTimestamp"), 32),
        started_at=text(part(status, "startTime"), 32) or None,
        ended_at=text(part(status, "completionTime"), 32) or None,
        usage=_record(Usage, part(status, "usage")),
        changes=changes_of(run) or _record(Changes, part(status, "changes")),
        awaiting=_awaiting(resource), live=live, private=part(resource, "spec", "private") is True,
    )  # fmt: skip


def _guild(resource: Resource) -> str:
    named = part(resource, "spec", "guildRef", "name") or part(resource, "status", "guild")
    return text(named, limits.NAME_MAX_CHARS)


def changes_of(run: Mapping[str, Any]) -> Changes | None:
    """Counts of the changed files, once the log told of any."""
    files = run.get("changedFiles") or []
    if not run.get("changedFilesTotal") and not run.get("patchSHA256"):
        return None
    return Changes(
        files=run["changedFilesTotal"], added=sum(each["added"] for each in files),
        removed=sum(each["removed"] for each in files), patch_sha256=run.get("patchSHA256"),
    )  # fmt: skip


def status_of(run: Mapping[str, Any], stored_seq: int, resend_from: int | None) -> Wire:
    """The api's own status fields, whole: what is left out of a server-side apply is given up."""
    archive: Wire = {"storedSeq": stored_seq}
    if resend_from is not None:
        archive["resendFrom"] = resend_from
    status: Wire = {"archive": archive}
    if run.get("summary"):
        status["summary"] = run["summary"]
    changes = changes_of(run)
    if changes is not None:
        status["changes"] = changes.to_wire()
    if run.get("status") in _OUTCOMES:
        status["result"] = _result(run)
    return status


_OUTCOMES: Final = frozenset({"succeeded", "failed", "cancelled"})


def _result(run: Mapping[str, Any]) -> Wire:
    result: Wire = {"outcome": run["status"], "summary": within_bytes(run["result"], limits.STATUS_RESULT_MAX_BYTES)}
    error = run.get("error")
    if error:
        result |= {"errorKind": error["kind"], "message": error["message"][: limits.STATUS_MESSAGE_MAX_CHARS]}
    return result


def within_bytes(value: str, limit: int) -> str:
    """The longest start of `value` that fits `limit` UTF-8 bytes."""
    data = value.encode("utf-8", "replace")
    return value if len(data) <= limit else data[:limit].decode("utf-8", "ignore")


def facts_of(resource: Resource, run: Mapping[str, Any] | None = None) -> RunFacts:
    """What history keeps of a Run resource. Raises ValidationError for one without a usable name or uid."""
    summary = summary_of(resource, run)
    words = (summary.label, summary.name, summary.summary, summary.guild, summary.task)
    detail = {
        "spec": part(resource, "spec") or {},
        "conditions": [condition.to_wire() for condition in conditions_of(resource)],
        "retainSeconds": part(resource, "spec", "retainSeconds"),
    }
    return RunFacts(
        uid=summary.uid, namespace=summary.namespace, name=summary.name, created_at=summary.created_at,
        phase=summary.phase, guild=summary.guild, search="\n".join(words).lower(), private=summary.private, live=True,
        summary=summary.to_wire(), detail=detail,
    )  # fmt: skip
