"""One decision in the making: what the stages of a plan add to, and how it becomes a Plan."""

from datetime import datetime
from typing import Any, Final

from guildhall_contracts.conditions import Reason

from guildhall_operator.actions import Deletion, EndPod, Note, Observed, Plan
from guildhall_operator.records import text
from guildhall_operator.run_view import RunView
from guildhall_operator.status import Draft, owned

_GOOD_NEWS: Final = frozenset({"Fetching", "Started", "Completed", "QuestionOpen", "ApprovalOpen"})
_SILENT: Final = frozenset({"Accepted", "Pending", "Preparing"})  # the status says so


class Decision:
    """Run, world and time on one side; what to do on the other."""

    def __init__(self, run: RunView, observed: Observed, now: datetime) -> None:
        self.run = run
        self.observed = observed
        self.now = now
        self.draft = Draft(run, now)
        self.create: list[dict[str, Any]] = []
        self.end_pods: list[EndPod] = []
        self.deletions: list[Deletion] = []
        self._waiting: set[str] = set()
        self._requeue: float | None = None

    def requeue(self, seconds: float) -> None:
        """Look again after `seconds`, or earlier if something else asked for it."""
        bounded = max(0.1, seconds)
        self._requeue = bounded if self._requeue is None else min(self._requeue, bounded)

    def waited(self, name: str, seconds: float) -> bool:
        """Times `name`; True once it has lasted `seconds`, which ends when a plan no longer asks."""
        self._waiting.add(name)
        left = seconds - self.observed.waits.get(name, 0.0)
        if left <= 0:
            return True
        self.requeue(left)
        return False

    def refuse(self, reason: Reason, message: str) -> None:
        """The Run cannot be accepted."""
        self.draft.set("Accepted", "False", reason, message)
        self.draft.end("False", reason, message)

    def hold(self, reason: Reason, message: str, *, look_again_seconds: float = 60.0) -> None:
        """The Run waits its turn; people see why."""
        self.draft.set("Queued", "True", reason, message)
        self.requeue(look_again_seconds)

    def _notes(self, status: dict[str, Any]) -> tuple[Note, ...]:
        return (*self._headline_note(status), *self._delivery_note(status))

    def _delivery_note(self, status: dict[str, Any]) -> tuple[Note, ...]:
        """What became of the branch, once it is settled: it is no headline of the Run."""
        told = self.draft.get("Delivered")
        old = self.run.conditions.get("Delivered", {}).get("status")
        if told.get("status") not in {"True", "False"} or told.get("status") == old:
            return ()
        attempt = len(status.get("attempts", []))
        return (Note(told["reason"], told["message"] or told["reason"], told["status"] == "False", attempt),)

    def _headline_note(self, status: dict[str, Any]) -> tuple[Note, ...]:
        reason = status.get("reason", "Pending")
        if reason == self.run.status.get("reason") or reason in _SILENT:
            return ()
        attempt = len(status.get("attempts", []))
        return (Note(reason, self.draft.message or self._in_words(reason), reason not in _GOOD_NEWS, attempt),)

    def _in_words(self, reason: str) -> str:
        """What an Event says of a reason that has no message of its own."""
        pod, node = text(self.draft.attempt.get("pod"), 253), text(self.draft.attempt.get("node"), 253)
        if reason != "Started" or not pod:
            return reason
        return f"the executor works in pod {pod}" + (f" on node {node}" if node else "")

    def to_plan(self) -> Plan:
        status = self.draft.to_status()
        changed = status != owned(self.run)
        return Plan(
            create=tuple(self.create),
            status=status if changed else None,
            end_pods=tuple(self.end_pods),
            deletions=tuple(self.deletions),
            notes=self._notes(status) if changed else (),
            waiting=frozenset(self._waiting),
            requeue_seconds=self._requeue,
        )
