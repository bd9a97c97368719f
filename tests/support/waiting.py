"""What a gateway would say waits in the Run of `support.api_run`."""

from typing import Any

from guildhall_contracts.awaiting import AwaitingApproval, AwaitingQuestion
from support.api_run import UID

HASH = "c" * 64
TIMES = {"asked_at": "2026-01-05T09:00:00.000Z", "expires_at": "2026-01-05T09:10:00.000Z"}


def question(identity: str = "q1", run: str = UID, state: Any = "open") -> AwaitingQuestion:
    return AwaitingQuestion(run=run, id=identity, role="coder", text="May I?", options=["Yes"], state=state, **TIMES)


def approval(identity: str = "a1", run: str = UID, state: Any = "open") -> AwaitingApproval:
    return AwaitingApproval(
        run=run, approval_id=identity, call_id="call-1", role="coder", tool="deploy", effect="consequential",
        arguments='{"to":"prod"}', arguments_bytes=13, arguments_hash=HASH, state=state, **TIMES,
    )  # fmt: skip
