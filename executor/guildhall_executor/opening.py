"""How a Run begins, and how a later attempt takes it up where the journal ends."""

from collections.abc import Sequence

from guildhall_contracts import limits
from guildhall_contracts.base import cut
from guildhall_contracts.errors import error_info
from guildhall_contracts.events import ErrorRaised, ModelFinished, RoleStarted, RunStarted
from guildhall_contracts.external import ExternalTool

from guildhall_executor import calls, codecalls, ending, prompt, replies, waits
from guildhall_executor.draft import TASK_OP, Draft
from guildhall_executor.emit import event_text
from guildhall_executor.roster import equipped, listed_external
from guildhall_executor.state import RoleRun
from guildhall_executor.tools.result import failed

_INTERRUPTED = (
    "the executor was replaced while this call was running. Whether it took effect is unknown: "
    "look before you repeat it."
)


def equip(draft: Draft, offered: Sequence[ExternalTool]) -> None:
    """The external tools of the Run, before anything of it began."""
    if offered and not draft.state.roles:
        draft.change(roster=equipped(draft.state.roster, offered))


def begin(draft: Draft, problem: str = "") -> None:
    """The task operation, with the entry role in it. `problem`: why external tools are missing."""
    if draft.state.roles or draft.state.ending:
        return
    snapshot = draft.state.roster.snapshot
    entry = snapshot.guild.entry_role
    draft.change(attempt=draft.at.attempt)
    _run_started(draft, None)
    draft.emit(
        RoleStarted(
            **draft.head(),
            op=TASK_OP,
            role=entry,
            source="human",
            destination=f"role:{entry}",
            title=draft.state.roster.members[entry].role.label or entry,
            brief=event_text(snapshot.task),
        )
    )
    missing = [name for name in listed_external(snapshot) if name not in draft.state.roster.external]
    if missing:
        why = problem or "no connection offers them to this Run"
        message = cut(f"external tools are missing ({', '.join(missing)}): {why}", limits.EVENT_MESSAGE_MAX_CHARS)
        draft.emit(ErrorRaised(**draft.head(), parent=TASK_OP, error=error_info("tool_denied", message)))
    member = draft.state.roster.members[entry]
    task = prompt.task_message(snapshot.task, snapshot.origin)
    draft.begin(RoleRun(entry, TASK_OP, (member.system, task), member.tools))


def _run_started(draft: Draft, resumed_from: int | None) -> None:
    snapshot = draft.state.roster.snapshot
    draft.emit(
        RunStarted(
            **draft.head(),
            op=TASK_OP,
            source="human",
            destination=f"role:{snapshot.guild.entry_role}",
            role=snapshot.guild.entry_role,
            title="task",
            guild=snapshot.guild_name,
            guild_digest=snapshot.guild_digest,
            entry_role=snapshot.guild.entry_role,
            roles=list(draft.state.roster.faces),
            task=snapshot.task,
            mode=snapshot.mode,
            private=snapshot.private,
            budget=snapshot.budget,
            isolation="verified" if snapshot.isolation_required else "not_required",
            resumed_from=resumed_from,
        )
    )


def resume(draft: Draft) -> None:
    """Closes what was in flight. Model and external calls are asked for again by their own ids, under which the gateway
    makes each once; any other tool call is never repeated."""
    draft.change(attempt=draft.at.attempt)
    if draft.state.ending is not None:
        ending.take_up(draft)
        return
    if not draft.state.roles:
        begin(draft)
        return
    _run_started(draft, max(draft.at.seq, 1))
    for invocation in tuple(draft.state.roles.values()):
        _take_up(draft, invocation)
    waits.take_up(draft)


def _take_up(draft: Draft, invocation: RoleRun) -> None:
    if invocation.wait is not None:
        role, call_id = invocation.role, invocation.wait.call_id
        draft.emit(ModelFinished(**draft.head(), op=invocation.wait.op, role=role, outcome="cancelled"))
        replies.call(draft, invocation.op, call_id)
    for call in invocation.calls:
        if call.stage == "running" and not calls.ask_again(draft, invocation.op, call):
            codecalls.end(draft, call.op)
            calls.take_result(draft, call.op, failed("interrupted", _INTERRUPTED), cancelled=True)
    draft.wake(invocation.op)
