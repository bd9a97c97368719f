"""What the gateway booked for a Run, as the api passes it on."""

from typing import Any

from support.cluster import eventually
from support.installation import Installation


def calls_of(here: Installation, name: str) -> list[dict[str, Any]]:
    """The model calls of a Run, oldest first. A ledger that does not answer is waited for: it is not an empty one."""
    found: list[Any] = []

    def answered() -> bool:
        answer = here.api(f"/api/runs/{here.namespace}.{name}/flow")
        found[:] = [answer.body.get("ledger")] if answer.status == 200 else []
        return found not in ([], [None])

    eventually(answered, 30)
    calls: list[dict[str, Any]] = found[0]["calls"]
    assert len(calls) >= found[0]["totals"]["calls"], "every call that counts has its row"
    return sorted(calls, key=lambda call: str(call["startedAt"]))
