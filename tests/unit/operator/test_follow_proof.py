"""What IsolationVerified says: what was denied, and apart from it what was only looked at."""

import json
from typing import Any

import pytest
from guildhall_operator.plan import plan
from unit.operator import kit


def target(name: str, last: str, attempts: int, *, required: bool = False) -> dict[str, Any]:
    denied = 0 if last == "answered" else attempts
    return {"name": name, "required": required, "attempts": attempts, "deniedInARow": denied, "last": last}


CANARY = target("canary", "refused", 3, required=True)


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        ([], "denied: canary refused x3"),
        ([target("own-node", "answered", 3)], "denied: canary refused x3; reported: own-node answered"),
        (
            [target("metadata", "timeout", 0), target("own-node", "refused", 2)],
            "denied: canary refused x3; reported: metadata said nothing, own-node refused",
        ),
    ],
)
def test_the_proof_tells_denied_from_reported(reported: list[dict[str, Any]], words: str) -> None:
    said = json.loads(kit.PASSED) | {"targets": [CANARY, *reported]}
    view = kit.started()
    pod = kit.pod(containers={"prepare": kit.ended(json.dumps(said), began=3, seconds=2), "workshop": kit.running(6),
                              "executor": kit.running()})  # fmt: skip
    done = plan(view, kit.world(pods=(pod,), jobs=kit.job_of(view)), kit.at(9))
    verified = kit.condition(done, "IsolationVerified")
    assert (verified["status"], verified["reason"], verified["message"]) == ("True", "Verified", words)


def test_what_answered_is_never_called_denied() -> None:
    """Where isolation is not required the gate lets a Run pass through an open network, and tells of it."""
    said = json.loads(kit.PASSED) | {"targets": [target("api-server", "timeout", 3, required=True),
                                                 target("canary", "answered", 3, required=True)]}  # fmt: skip
    view = kit.started()
    pod = kit.pod(containers={"prepare": kit.ended(json.dumps(said), began=3, seconds=2), "workshop": kit.running(6),
                              "executor": kit.running()})  # fmt: skip
    world = kit.world(pods=(pod,), jobs=kit.job_of(view), config=kit.config(isolation={"require": False}))
    verified = kit.condition(plan(view, world, kit.at(9)), "IsolationVerified")
    assert (verified["status"], verified["reason"]) == ("False", "IsolationNotRequired")
    assert verified["message"] == "isolation.require is false: answered: canary; denied: api-server timeout x3"
