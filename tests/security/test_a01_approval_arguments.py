"""A1: an approval holds for exactly the arguments that were shown. Same meaning, same hash; another value, another ask.

The positive control is in every test: the untouched request is consumed once.
"""

import json
from typing import Any

import pytest
from guildhall_contracts.approvals import ApprovalDecision, ApprovalRequest
from guildhall_contracts.canonical import NotCanonical, arguments_hash, parse_arguments
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.store import Store
from pydantic import ValidationError
from support.postgres import postgres, store, store_url

__all__ = ["postgres", "store", "store_url"]

RUN = "run-1"
ARGUMENTS: dict[str, Any] = {"command": "git push", "times": 1, "where": {"b": [1, 2], "a": "ä"}}


def asked(**changes: Any) -> ApprovalRequest:
    """A request for one call; the hash is of the arguments unless it is given."""
    values: dict[str, Any] = {
        "approval_id": "a1",
        "run": RUN,
        "call_id": "call-1",
        "role": "coder",
        "tool": "run_shell",
        "effect": "consequential",
        "arguments": ARGUMENTS,
        "expires_seconds": 600,
    } | changes
    return ApprovalRequest(arguments_hash=values.pop("arguments_hash", arguments_hash(values["arguments"])), **values)


async def approved(store: Store, request: ApprovalRequest, clock: list[float]) -> ApprovalStore:
    approvals = ApprovalStore(store, lambda: clock[0])
    assert await approvals.ask(request, RUN) is None
    decision = ApprovalDecision(
        approval_id=request.approval_id, arguments_hash=request.arguments_hash, decision="approve", author="ann"
    )
    assert await approvals.decide(RUN, decision) is None
    return approvals


CHANGED = {
    "one byte": ARGUMENTS | {"command": "git pusH"},
    "a key more": ARGUMENTS | {"force": True},
    "a key less": {key: value for key, value in ARGUMENTS.items() if key != "times"},
    "another number": ARGUMENTS | {"times": 2},
    "a number as text": ARGUMENTS | {"times": "1"},
    "true for one": ARGUMENTS | {"times": True},
    "another order in a list": ARGUMENTS | {"where": {"b": [2, 1], "a": "ä"}},
    "another normal form": ARGUMENTS | {"where": {"b": [1, 2], "a": "a\u0308"}},
    "a zero-width space": ARGUMENTS | {"command": "git\u200b push"},
    "a bidi override": ARGUMENTS | {"command": "git push\u202e"},
}


@pytest.mark.parametrize("arguments", CHANGED.values(), ids=CHANGED.keys())
async def test_other_arguments_are_not_approved(store: Store, arguments: dict[str, Any]) -> None:
    approvals = await approved(store, asked(), [1_000.0])
    assert await approvals.consume(asked(arguments=arguments), RUN) is not None
    lied = asked(arguments=arguments, arguments_hash=arguments_hash(ARGUMENTS))
    assert await approvals.consume(lied, RUN) is not None, "the hash is computed again, not believed"
    assert await approvals.consume(asked(), RUN) is None


SAME = {
    "key order": '{"where": {"a": "ä", "b": [1, 2]}, "times": 1, "command": "git push"}',
    "number form": '{"command": "git push", "times": 1.0, "where": {"b": [1e0, 2.00], "a": "ä"}}',
    "escapes": '{"command": "git\\u0020push", "times": 1, "where": {"b": [1, 2], "a": "\\u00e4"}}',
    "white space": json.dumps(ARGUMENTS, indent=7),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
async def test_the_same_meaning_has_the_same_hash(store: Store, text: str) -> None:
    approvals = await approved(store, asked(), [1_000.0])
    assert await approvals.consume(asked(arguments=parse_arguments(text)), RUN) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 9007199254740993}',
        '{"a": "\\ud800"}',
        "[1]",
        '"git push"',
        "null",
        "",
        '{"a": 1',
        '{"a": 1}{"b": 2}',
        "{'a': 1}",
        '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_ambiguous_arguments_have_no_hash(text: str) -> None:
    assert parse_arguments('{"a": 1}') == {"a": 1}
    with pytest.raises(NotCanonical):
        parse_arguments(text)


async def test_a_hash_that_is_not_of_the_arguments_is_never_shown_to_a_person(store: Store) -> None:
    approvals = ApprovalStore(store, lambda: 1.0)
    assert await approvals.ask(asked(arguments_hash="0" * 64), RUN) is not None
    assert await approvals.open_count(RUN) == 0
    assert await approvals.ask(asked(), RUN) is None
    assert await approvals.open_count(RUN) == 1


async def test_asking_again_with_other_arguments_does_not_change_what_is_approved(store: Store) -> None:
    approvals = await approved(store, asked(), [1_000.0])
    swapped = asked(arguments=CHANGED["one byte"])
    assert await approvals.ask(swapped, RUN) is not None
    assert await approvals.consume(swapped, RUN) is not None
    assert await approvals.ask(asked(), RUN) is None, "asking the same again is harmless"
    assert await approvals.consume(asked(), RUN) is None


async def test_a_decision_about_other_arguments_is_not_taken(store: Store) -> None:
    approvals = ApprovalStore(store, lambda: 1.0)
    assert await approvals.ask(asked(), RUN) is None
    stale = ApprovalDecision(approval_id="a1", arguments_hash="1" * 64, decision="approve", author="ann")
    assert await approvals.decide(RUN, stale) is not None
    assert await approvals.consume(asked(), RUN) is not None
    good = ApprovalDecision(
        approval_id="a1", arguments_hash=arguments_hash(ARGUMENTS), decision="approve", author="ann"
    )
    assert await approvals.decide(RUN, good) is None
    assert await approvals.consume(asked(), RUN) is None


def test_unknown_fields_in_a_request_are_refused() -> None:
    wire = asked().to_wire()
    assert ApprovalRequest.model_validate(wire) == asked()
    with pytest.raises(ValidationError):
        ApprovalRequest.model_validate(wire | {"approved": True})
