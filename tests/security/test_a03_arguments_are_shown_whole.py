"""A3, the gateway's half: what a person is shown is the tool and every byte of the canonical arguments, never prose.

The console's half (hidden characters spelt out, 10 MB, apart from prose): `tests/web/dom/views.test.js` and
`tests/web/browser/people.test.js` and `timed/arguments.test.js`, "A3".
"""

import json
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.awaiting import AwaitingApproval
from guildhall_contracts.canonical import arguments_hash
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.awaiting import AwaitingBoard
from guildhall_gateway.runs import RunView
from guildhall_gateway.store import Store
from guildhall_gateway.views import ViewCache
from security.test_a01_approval_arguments import RUN, asked
from support.postgres import postgres, store, store_url

__all__ = ["postgres", "store", "store_url"]

HOSTILE: dict[str, dict[str, Any]] = {
    "says another thing": {"command": "git push --force", "description": "run tests", "tool": "run_tests"},
    "turned and hidden": {
        "command": "echo \u202ehsup tig\u202c\u200b\u2066\u2028\u0007\U000e0041",
        "\u200bcommand": "x",
    },
    "far to the right": {"command": "true" + " " * 5_000 + "; rm -rf ."},
    "a megabyte": {"command": "x" * (limits.TOOL_ARGUMENTS_MAX_BYTES - 100), "last": "git push"},
    "markup": {"command": "<script>alert(1)</script>", "__proto__": {"a": 1}, "numbers": [1e300, -0.0, 1]},
}


def board(store: Store) -> AwaitingBoard:
    source = ViewCache()
    source.tell("set", RunView(uid=RUN, namespace="team", name="fix"))
    return AwaitingBoard(store, source)  # type: ignore[arg-type]


async def shown(store: Store, arguments: dict[str, Any]) -> AwaitingApproval:
    request = asked().model_copy(update={"arguments": arguments, "arguments_hash": arguments_hash(arguments)})
    assert await ApprovalStore(store, lambda: 1_000.0).ask(request, RUN) is None
    [found] = (await board(store).of(RUN, request.approval_id, 1_001.0)).approvals
    return found


@pytest.mark.parametrize("arguments", HOSTILE.values(), ids=HOSTILE.keys())
async def test_every_byte_of_the_arguments_is_shown_and_is_what_the_hash_is_of(
    store: Store, arguments: dict[str, Any]
) -> None:
    found = await shown(store, arguments)
    assert found.arguments is not None
    assert json.loads(found.arguments) == arguments
    assert arguments_hash(json.loads(found.arguments)) == found.arguments_hash
    assert found.arguments_bytes == len(found.arguments.encode())
    assert found.tool == asked().tool, "the tool is the call's own, whatever the arguments say"


async def test_a_list_shows_them_whole_or_not_at_all(store: Store) -> None:
    await shown(store, HOSTILE["a megabyte"])
    [listed] = (await board(store).of(RUN, "", 1_001.0)).approvals
    assert listed.arguments is None
    assert listed.arguments_bytes > limits.LISTED_ARGUMENTS_MAX_BYTES
