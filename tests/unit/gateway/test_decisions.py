"""A person's decision and the item that tells its executor are one write; a full mailbox says so, and a cancel fits."""

from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.approvals import ApprovalDecision, ApprovalRequest
from guildhall_contracts.model_api import MailboxItem
from guildhall_gateway import inbox as inboxes
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.approvals import Kept, decidable
from guildhall_gateway.inbox import Inbox
from guildhall_gateway.mailbox import FULL, Turned
from guildhall_gateway.store import Store
from sqlalchemy import Connection
from unit.gateway import kit
from unit.gateway.test_mailbox import ABORT, asked, items

RUN = "run-1"


def decision(**changes: Any) -> ApprovalDecision:
    values = {"approval_id": "a1", "arguments_hash": asked()["argumentsHash"], "decision": "approve", "author": "ann"}
    return ApprovalDecision(**(values | changes))


def item(identity: str, **fields: Any) -> MailboxItem:
    return MailboxItem(id=identity, author="ann", **fields)


@pytest.mark.parametrize("failure", ["full", "crash"])
async def test_a_decision_that_could_not_be_delivered_was_not_taken(store: Store, failure: str) -> None:
    inbox, approvals = Inbox(store), ApprovalStore(store, lambda: 1.0)
    assert await approvals.ask(ApprovalRequest.model_validate(asked()), RUN) is None
    told = item("i1", approval=decision())

    def undelivered(connection: Connection) -> bool:
        inbox.put(connection, RUN, told)
        if failure == "crash":
            raise OSError("the gateway dies here")
        return False

    if failure == "crash":
        with pytest.raises(OSError, match="dies here"):
            await approvals.decide(RUN, decision(), undelivered)
    else:
        assert await approvals.decide(RUN, decision(), undelivered) == FULL
    assert await inbox.state("i1") is None
    assert await approvals.open_count(RUN) == 1

    delivered = await approvals.decide(RUN, decision(), lambda found: inbox.put(found, RUN, told) == "added")
    assert delivered is None
    assert await inbox.state("i1")
    assert await approvals.open_count(RUN) == 0
    again = item("i2", approval=decision())
    refused = await approvals.decide(RUN, decision(), lambda found: inbox.put(found, RUN, again) == "added")
    assert refused == Turned("Refused", "the approval was approved already")
    assert await inbox.state("i2") is None, "a decision that is not taken tells nobody"


def test_what_is_turned_away_says_as_what() -> None:
    kept = Kept(RUN, "a1", "c", "coder", "expired", "read", "0" * 64, 1, "open", expires_at=10.0)
    assert decidable(kept, "0" * 64, 9.0) is None
    late = decidable(kept, "0" * 64, 10.0)
    other = decidable(kept, "1" * 64, 9.0)
    assert late is not None
    assert other is not None
    assert (late.state, other.state) == ("Expired", "Refused")


async def test_a_full_box_takes_nothing_but_the_cancel_and_what_it_has(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inboxes, "ITEMS_PER_RUN_MAX_COUNT", 2)
    inbox = Inbox(store)
    assert [await inbox.add(RUN, item(name)) for name in ("i1", "i2", "i3")] == ["added", "added", "full"]
    assert await inbox.add(RUN, item("i1")) == "there"
    assert await inbox.add(RUN, MailboxItem(id="cancel", cancel=True)) == "added"
    assert await inbox.add(RUN, MailboxItem(id="cancel", cancel=True)) == "there"
    assert [found.id for found in (await inbox.page(RUN, 0))[0]] == ["i1", "i2", "cancel"]
    assert await inbox.add("run-2", item("i9")) == "added", "another Run's box is its own"


async def test_whoever_writes_to_a_full_box_is_told_and_the_cancel_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inboxes, "ITEMS_PER_RUN_MAX_COUNT", 1)
    async with kit.serve(tmp_path) as served:
        run = served.cluster.add_run()
        messages: dict[str, str] = {}
        write = served.cluster.write_intervention

        async def noting(view: Any, status: dict[str, Any]) -> None:
            messages[view.uid] = status.get("message", "")
            await write(view, status)

        served.cluster.write_intervention = noting  # type: ignore[method-assign,assignment]
        async with served.client() as client:
            assert (await client.put("/v1/approvals/a1", json=asked())).status_code == 204
        served.cluster.intervene("i1", run, **ABORT)
        served.cluster.intervene("i22", run, **ABORT)
        body = {"approvalId": "a1", "argumentsHash": asked()["argumentsHash"], "decision": "approve"}
        served.cluster.intervene("i333", run, approval=body)
        await kit.until(lambda: {("i22", "Refused"), ("i333", "Refused")} <= set(served.cluster.item_statuses))
        assert messages["i22"] == messages["i333"] == "the mailbox of this Run is full"
        assert await served.gateway.approvals.open_count(RUN) == 1, "the approval is still open"
        served.cluster.change_run(cancelled=True)
        found, _ = await items(served, "", 2)
        assert [one["id"] for one in found] == ["i1", "cancel-run-1"]
