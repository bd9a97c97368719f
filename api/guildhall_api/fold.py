"""The fold: LogEvents become the InteractionModel. Pure; `docs/visualization.md` has the rules, numbered as here.

The model is a second reader of an executor's claims: it never fails on an event `decode_event` let through.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from guildhall_contracts import events as ev
from guildhall_contracts.interaction import OperationKind
from guildhall_contracts.limits import DELEGATION_MAX_DEPTH

from guildhall_api.model import Model, Operation, elapsed_seconds, prose

AnyEvent = ev.KnownEvent | ev.UnknownEvent | ev.Unreadable

OPERATION_TOOLS: Final = frozenset({"delegate", "ask_human", "update_plan", "finish", "trigger_interrupt"})
"""Tools that are operations of their own and therefore no participants."""

_TOOL_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_STACK_MAX_COUNT: Final = DELEGATION_MAX_DEPTH + 1
_ASKING: Final = frozenset({"question", "approval"})
_COUNTED: Final = frozenset({"model", "tool"})


def fold(model: Model, event: AnyEvent) -> Model:
    """`model` with `event` taken in (rules 1 and 2); it is changed in place and returned."""
    if type(event) is ev.Unreadable:  # isinstance on a pydantic class costs as much as the rest
        model.head["unreadable"] += 1
        return model
    seq: int = event.seq  # type: ignore[union-attr]
    expected = model.last_seq + 1
    if seq != expected:
        if seq < expected:
            return model
        model.gap(expected, seq - 1)
    model.last_seq = seq
    rule = _RULES.get(event.type)
    if rule is None:
        model.head["unknown"] += 1
    else:
        rule(model, event)
    return model


def fold_all(events: Iterable[AnyEvent], model: Model | None = None) -> Model:
    """`events` folded one after the other, into `model` or a new one."""
    model = model or Model()
    for event in events:
        fold(model, event)
    return model


def close(model: Model, ts: str, status: str) -> Model:
    """Rule 11: the log ended without `run.finished`; `status` is what the Run resource says."""
    if model.ended:
        return model
    for operation in list(model.open.values()):
        _end(model, operation, "cancelled", ts)
    model.head["endedAt"] = ts
    model.head["status"] = status
    return model


# Openings and ends (rules 4 to 6)


def _opened(model: Model, event: ev.Opening, kind: OperationKind) -> Operation | None:
    op = event.op
    known = model.operations.get(op)
    if known is not None:
        known.last_seq = event.seq
        return None
    source, destination = event.source, event.destination
    participants = model.participants
    if source not in participants:
        model.participant(source)
    actor = participants.get(destination) or model.participant(destination)
    parent = model.operations.get(event.parent) if event.parent is not None else None
    stack = parent.stack if parent is not None else ()
    if kind == "delegation" and actor.role is not None:
        stack = (*stack, actor.role)[:_STACK_MAX_COUNT]
    operation = Operation(
        op, kind, event.parent, parent, stack, source, destination, event.role, event.title, event.ts, event.seq
    )
    model.operations[op] = model.open[op] = operation
    actor.invocations += 1
    actor.active += 1
    if actor.kind == "tool":
        tools = participants.get("tools") or model.participant("tools")
        tools.invocations += 1
        tools.active += 1
    elif kind in _ASKING:
        model.waiting += 1
        _await(model)
    return operation


def _ending(model: Model, event: ev.Event, *kinds: OperationKind) -> Operation | None:
    """The open operation `event` ends, if it is of one of `kinds`."""
    operation = model.operations.get(event.op or "")
    if operation is None:
        return None
    operation.last_seq = event.seq
    return operation if operation.ended_at is None and operation.kind in kinds else None


def _end(model: Model, operation: Operation, outcome: str, ts: str) -> None:
    operation.ended_at = ts
    operation.outcome = outcome
    operation.elapsed = elapsed = elapsed_seconds(operation.started_at, ts)
    del model.open[operation.id]
    destination = model.participants[operation.destination]
    destination.active -= 1
    destination.elapsed += elapsed
    if destination.kind == "tool":
        tools = model.participants["tools"]
        tools.active -= 1
        tools.elapsed += elapsed
    if outcome == "error" and operation.kind in _COUNTED:
        model.head["errors"] += 1
    if operation.kind in _ASKING:
        model.waiting -= 1
        _await(model)


def _await(model: Model) -> None:
    if not model.ended:
        model.head["status"] = "awaiting" if model.waiting else "running"


# The rules, one per type


def _run_started(model: Model, event: ev.RunStarted) -> None:
    if model.task_op is not None:
        model.head["attempt"] = event.attempt
        if not model.ended:
            model.head["status"] = "running"
            _await(model)
        _touch(model, event)
        return
    model.head |= {
        "uid": event.run, "guild": event.guild, "guildDigest": event.guild_digest, "entryRole": event.entry_role,
        "roles": [face.to_wire() for face in event.roles], "task": event.task, "mode": event.mode,
        "private": event.private, "budget": event.budget.to_wire(), "isolation": event.isolation,
        "startedAt": event.ts, "attempt": event.attempt,
    }  # fmt: skip
    _await(model)
    _declare(model, event.roles)
    task = _opened(model, event, "task")
    if task is not None:
        task.stack = (event.entry_role,)
        task.details = prose(event.task)
        model.task_op = task


def _declare(model: Model, roles: list[ev.RoleFace]) -> None:
    model.participant("human")
    for face in roles:
        model.participant(f"role:{face.name}").kind = face.kind
    tools = dict.fromkeys(tool for face in roles for tool in face.tools if _is_participant(tool))
    if tools:
        model.participant("tools")
    for tool in tools:
        model.participant(f"tool:{tool}")


def _is_participant(tool: str) -> bool:
    return tool not in OPERATION_TOOLS and _TOOL_NAME.fullmatch(tool) is not None


def _run_summarized(model: Model, event: ev.RunSummarized) -> None:
    model.head["summary"] = event.summary
    _touch(model, event)


def _run_finished(model: Model, event: ev.RunFinished) -> None:
    text = prose(event.result or (event.error.message if event.error else ""))
    result = _opened(model, event, "result")
    if result is not None:
        result.result = text
        _end(model, result, "success", event.ts)
    if model.ended:
        return
    model.head |= {"endedAt": event.ts, "result": event.result, "artifacts": list(event.artifacts)}
    if event.error is not None:
        model.head["error"] = event.error.to_wire()
    for operation in list(model.open.values()):
        if operation is model.task_op:
            operation.result = text
            _end(model, operation, _TASK_OUTCOMES[event.outcome], event.ts)
        else:
            _end(model, operation, "cancelled", event.ts)
    model.head["status"] = event.outcome


def _role_started(model: Model, event: ev.RoleStarted) -> None:
    operation = _opened(model, event, "delegation")
    if operation is not None:
        operation.details = prose(event.brief)


def _role_finished(model: Model, event: ev.RoleFinished) -> None:
    operation = _ending(model, event, "delegation")
    if operation is not None:
        operation.result = prose(event.summary)
        _end(model, operation, event.outcome, event.ts)


def _model_started(model: Model, event: ev.ModelStarted) -> None:
    _opened(model, event, "model")


def _model_text(model: Model, event: ev.ModelText) -> None:
    operation = _ending(model, event, "model")
    if operation is not None:
        operation.result = prose(operation.result + event.text)


def _model_finished(model: Model, event: ev.ModelFinished) -> None:
    if event.scripted:
        model.head["scripted"] = True
    operation = _ending(model, event, "model")
    if operation is None:
        return
    operation.result = prose(event.text)
    cost = event.cost_micro_usd
    if cost is None and event.outcome != "success":
        cost = 0
    usage = event.usage
    tokens, cached, output = usage.tokens, usage.cached_prompt_tokens, usage.output_tokens
    model.add(tokens, cached, output, cost)
    model.participants[operation.source].add(tokens, cached, output, cost)
    paying: Operation | None = operation
    while paying is not None:
        paying.add(tokens, cached, output, cost)
        paying = paying.parent_op
    _end(model, operation, event.outcome, event.ts)


def _tool_started(model: Model, event: ev.ToolStarted) -> None:
    _opened(model, event, "tool")


def _tool_finished(model: Model, event: ev.ToolFinished) -> None:
    operation = _ending(model, event, "tool")
    if operation is not None:
        _end(model, operation, event.outcome, event.ts)


def _question_asked(model: Model, event: ev.QuestionAsked) -> None:
    operation = _opened(model, event, "question")
    if operation is not None:
        operation.details = prose(f"{event.text}\n\n{event.context}" if event.context else event.text)


def _question_answered(model: Model, event: ev.QuestionAnswered) -> None:
    operation = _ending(model, event, "question")
    if operation is not None:
        operation.result = prose(event.text)
        _end(model, operation, event.outcome, event.ts)


def _approval_requested(model: Model, event: ev.ApprovalRequested) -> None:
    _opened(model, event, "approval")


def _approval_decided(model: Model, event: ev.ApprovalDecided) -> None:
    operation = _ending(model, event, "approval")
    if operation is not None:
        operation.result = event.decision
        _end(model, operation, event.outcome, event.ts)


def _interrupt_received(model: Model, event: ev.InterruptReceived) -> None:
    operation = _opened(model, event, "inquiry" if event.intent == "inquire" else "interrupt")
    if operation is not None:
        operation.details = prose(event.message)


def _interrupt_answered(model: Model, event: ev.InterruptAnswered) -> None:
    operation = _ending(model, event, "inquiry", "interrupt")
    if operation is not None:
        operation.result = prose(event.text)
        _end(model, operation, event.outcome, event.ts)


def _interrupt_triggered(model: Model, event: ev.InterruptTriggered) -> None:
    operation = _opened(model, event, "interrupt")
    if operation is not None:
        operation.details = prose(event.message)
        _end(model, operation, "success", event.ts)


def _plan_updated(model: Model, event: ev.PlanUpdated) -> None:
    model.head["plan"] = [item.to_wire() for item in event.items]
    operation = _opened(model, event, "plan")
    if operation is not None:
        _end(model, operation, "success", event.ts)


def _changes_updated(model: Model, event: ev.ChangesUpdated) -> None:
    model.head["changedFiles"] = [file.to_wire() for file in event.files]
    model.head["changedFilesTotal"] = event.files_total
    model.head.pop("patchSHA256", None)
    if event.patch_sha256 is not None:
        model.head["patchSHA256"] = event.patch_sha256
    _touch(model, event)


def _error_raised(model: Model, event: ev.ErrorRaised) -> None:
    model.head["errors"] += 1
    _touch(model, event)


def _touch(model: Model, event: ev.Event) -> None:
    """Rule 6 alone."""
    if event.op is not None:
        operation = model.operations.get(event.op)
        if operation is not None:
            operation.last_seq = event.seq


_TASK_OUTCOMES: Final = {"succeeded": "success", "failed": "error", "cancelled": "cancelled"}

_RULES: Final[dict[str, Callable[[Model, Any], None]]] = {
    "run.started": _run_started,
    "run.summarized": _run_summarized,
    "run.finished": _run_finished,
    "role.started": _role_started,
    "role.finished": _role_finished,
    "model.started": _model_started,
    "model.text": _model_text,
    "model.finished": _model_finished,
    "tool.started": _tool_started,
    "tool.progress": _touch,
    "tool.finished": _tool_finished,
    "question.asked": _question_asked,
    "question.answered": _question_answered,
    "approval.requested": _approval_requested,
    "approval.decided": _approval_decided,
    "interrupt.received": _interrupt_received,
    "interrupt.answered": _interrupt_answered,
    "interrupt.triggered": _interrupt_triggered,
    "plan.updated": _plan_updated,
    "budget.warned": _touch,
    "changes.updated": _changes_updated,
    "error.raised": _error_raised,
}
