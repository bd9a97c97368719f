"""What lists, status and details say of a Run: pure, from the raw resource and the folded model.

Guards against resources of any shape: what breaks the contract is left out, never raised.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, get_args

from guildhall_contracts import limits
from guildhall_contracts.api import RunSummary
from guildhall_contracts.base import one_line
from guildhall_contracts.conditions import Condition, Phase, Reason
from guildhall_contracts.run import Changes, Delivery, Usage
from pydantic import BaseModel, ValidationError

from guildhall_api.records import RunFacts
from guildhall_api.resources import Resource, run_id_of

Wire = dict[str, Any]
TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed", "Cancelled"})
_PHASES: Final = frozenset(get_args(Phase))
_REASONS: Final = frozenset(get_args(Reason))
_LABEL_MAX_CHARS: Final = 120
_MARKUP: Final = re.compile(r"\*\*|`+")
_STATUS_OF_PHASE: Final = {"Succeeded": "succeeded", "Cancelled": "cancelled"}
_PHASE_OF_STATUS: Final = {"succeeded": "Succeeded", "failed": "Failed", "cancelled": "Cancelled"}
DELETED: Final = "Deleted"
_DELETED_MESSAGE: Final = "The Run was deleted before it had ended"


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


def as_deleted(resource: Resource, at: str) -> Resource:
    """A Run that was deleted at `at`: one that had not ended is cancelled by that."""
    if phase_name(resource) in TERMINAL_PHASES:
        return resource
    condition = {
        "type": "Succeeded", "status": "False", "reason": DELETED, "message": _DELETED_MESSAGE, "lastTransitionTime": at
    }  # fmt: skip
    others = [each.to_wire() for each in conditions_of(resource) if each.type != "Succeeded"]
    status = part(resource, "status") or {}
    ended = {"phase": "Cancelled", "reason": DELETED, "completionTime": at, "conditions": [*others, condition]}
    return {**resource, "status": {**status, **ended}}


def summary_deleted(summary: Wire, run: Mapping[str, Any]) -> Wire:
    """The last row of a Run that is gone: if it had not ended, as its log `run` did."""
    if summary.get("phase") in TERMINAL_PHASES and summary.get("reason") != DELETED:
        return summary
    phase = _PHASE_OF_STATUS.get(str(run.get("status")), "Cancelled")
    ended = {"phase": phase, "endedAt": run.get("endedAt") or summary.get("endedAt")}
    if phase == "Succeeded":
        line = line_of(summary["name"], summary["label"], "", text(run.get("summary"), limits.SUMMARY_MAX_CHARS))
        return summary | ended | {"reason": "Completed", "message": "", "summary": line}
    return summary | ended | {"reason": DELETED, "message": _DELETED_MESSAGE, "summary": _DELETED_MESSAGE}


def _record(kind: type[BaseModel], value: Any) -> Any:
    try:
        return kind.model_validate(value) if isinstance(value, Mapping) else None
    except ValidationError:
        return None


def conditions_of(resource: Resource) -> list[Condition]:
    found = part(resource, "status", "conditions")
    read = [_record(Condition, each) for each in found[:16]] if isinstance(found, list) else []
    return [condition for condition in read if condition is not None]


def label_of(name: str, task: str) -> str:
    """What a person calls the Run: the first line of its task without its markup, else its name."""
    first = next((line for line in task.splitlines() if line.strip()), "")
    plain = _MARKUP.sub("", first.lstrip("#> "))
    return one_line(plain or name, _LABEL_MAX_CHARS) or name


def line_of(name: str, label: str, message: str, summary: str) -> str:
    """The line beside the label, which never says the same: why it failed, else its summary, else its name."""
    lines = (one_line(each, limits.SUMMARY_MAX_CHARS) for each in (message, summary, name))
    return next((line for line in lines if line and line != label), "")


def _message(resource: Resource, reason: str | None) -> str:
    """What the condition of that reason says; the Succeeded condition before all others."""
    found = [each for each in conditions_of(resource) if each.reason == reason and each.message]
    found.sort(key=lambda condition: condition.type == "Succeeded")
    return found[-1].message[: limits.STATUS_MESSAGE_MAX_CHARS] if found else ""


def _tells_why(phase: str, reason: str | None) -> bool:
    """Whether the reason says more than the executor's last words: it failed, or was deleted while it ran."""
    return phase == "Failed" or reason == DELETED


def _awaiting(resource: Resource) -> int:
    counts = [part(resource, "status", "awaiting", name) for name in ("questions", "approvals")]
    return sum(count for count in counts if isinstance(count, int) and count > 0)


def summary_of(resource: Resource, run: Mapping[str, Any] | None = None, *, live: bool = True) -> RunSummary:
    """The row for a Run resource; `run` is `InteractionModel.run` when something was folded."""
    namespace, name = text(part(resource, "metadata", "namespace"), 63), text(part(resource, "metadata", "name"), 253)
    status, run = part(resource, "status") or {}, run or {}
    said = text(run.get("summary") or part(status, "summary"), limits.SUMMARY_MAX_CHARS)
    task = text(part(resource, "spec", "task"), limits.MODEL_TEXT_MAX_CHARS)
    phase, reason = phase_name(resource), _word(part(status, "reason"), _REASONS)
    message = _message(resource, reason)
    label = label_of(name, task)
    return RunSummary(
        id=run_id_of(namespace, name), uid=text(part(resource, "metadata", "uid"), 64), namespace=namespace, name=name,
        label=label, summary=line_of(name, label, message if _tells_why(phase, reason) else "", said), phase=phase,
        reason=reason, message=message, guild=_guild(resource), task=task,
        created_at=text(part(resource, "metadata", "creationTimestamp"), 32),
        started_at=text(part(status, "startTime"), 32) or None,
        ended_at=text(part(status, "completionTime"), 32) or None,
        usage=_record(Usage, part(status, "usage")),
        changes=changes_of(run) or _record(Changes, part(status, "changes")), branch=_branch(status),
        delivered=next((each.reason for each in conditions_of(resource) if each.type == "Delivered"), None),
        awaiting=_awaiting(resource), live=live, private=part(resource, "spec", "private") is True,
    )  # fmt: skip


def _branch(status: Any) -> str | None:
    """The branch that was pushed; one that was only asked for is none."""
    delivery = _record(Delivery, part(status, "delivery"))
    return delivery.branch if delivery is not None and delivery.commit is not None else None


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
    said = text((run or {}).get("summary"), limits.SUMMARY_MAX_CHARS)
    words = (summary.label, summary.name, summary.summary, said, summary.guild, summary.task)
    detail = {
        "spec": part(resource, "spec") or {},
        "conditions": [condition.to_wire() for condition in conditions_of(resource)],
    }
    return RunFacts(
        uid=summary.uid, namespace=summary.namespace, name=summary.name, created_at=summary.created_at,
        phase=summary.phase, guild=summary.guild, search="\n".join(words).lower(), private=summary.private, live=True,
        summary=summary.to_wire(), detail=detail,
    )  # fmt: skip
