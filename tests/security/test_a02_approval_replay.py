"""A2: one approval, at most one execution: no replay, no other Run, call, role or tool, not late, not twice at once."""

import asyncio
import sys
from pathlib import Path

import pytest
from guildhall_contracts.approvals import ApprovalDecision
from guildhall_contracts.canonical import arguments_hash
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.store import Store
from security.test_a01_approval_arguments import ARGUMENTS, RUN, approved, asked
from support.postgres import postgres, store, store_url

__all__ = ["postgres", "store", "store_url"]

YES = ApprovalDecision(approval_id="a1", arguments_hash=arguments_hash(ARGUMENTS), decision="approve", author="ann")
NO = YES.model_copy(update={"decision": "deny"})


async def test_an_approval_is_used_once(store: Store) -> None:
    approvals = await approved(store, asked(), [1_000.0])
    assert await approvals.consume(asked(), RUN) is None
    assert await approvals.consume(asked(), RUN) is not None
    assert await approvals.decide(RUN, YES) is not None, "nor can it be approved again"
    assert await approvals.consume(asked(), RUN) is not None


@pytest.mark.parametrize(
    "other",
    [
        {"call_id": "call-2"},
        {"role": "reviewer"},
        {"tool": "write_file"},
        {"effect": "read"},
        {"approval_id": "a2"},
        {"policy_version": 2},
    ],
    ids=str,
)
async def test_it_is_for_one_call_of_one_role_and_tool(store: Store, other: dict[str, object]) -> None:
    approvals = await approved(store, asked(), [1_000.0])
    assert await approvals.consume(asked(**other), RUN) is not None
    assert await approvals.consume(asked(), RUN) is None


async def test_it_is_for_one_run(store: Store) -> None:
    approvals = await approved(store, asked(), [1_000.0])
    assert await approvals.consume(asked(run="run-2"), "run-2") is not None
    assert await approvals.consume(asked(), "run-2") is not None, "nor by naming the first Run from the second"
    assert await approvals.decide("run-2", YES) is not None
    assert await approvals.consume(asked(), RUN) is None


async def test_silence_is_not_consent(store: Store) -> None:
    approvals = ApprovalStore(store, lambda: 1.0)
    assert await approvals.consume(asked(), RUN) is not None, "never asked"
    assert await approvals.ask(asked(), RUN) is None
    assert await approvals.consume(asked(), RUN) is not None, "asked, not answered"
    assert await approvals.decide(RUN, NO) is None
    assert await approvals.consume(asked(), RUN) is not None, "denied"
    assert await approvals.decide(RUN, YES) is not None, "a no stays a no"


@pytest.mark.parametrize("moment", ["before the decision", "after the decision"])
async def test_it_expires_and_a_clock_set_back_does_not_revive_it(store: Store, moment: str) -> None:
    clock = [1_000.0]
    approvals = ApprovalStore(store, lambda: clock[0])
    assert await approvals.ask(asked(expires_seconds=60), RUN) is None
    if moment == "after the decision":
        assert await approvals.decide(RUN, YES) is None
    clock[0] = 1_061.0
    await approvals.expire()
    clock[0] = 1_001.0  # the clock is set back
    if moment == "before the decision":
        assert "expired" in str(await approvals.decide(RUN, YES))
    assert "expired" in str(await approvals.consume(asked(expires_seconds=60), RUN))


async def test_a_clock_set_back_before_anyone_looked_does_not_lengthen_it(store: Store) -> None:
    clock = [1_000.0]
    approvals = await approved(store, asked(expires_seconds=60), clock)
    clock[0] = 1_100.0
    late = asked(approval_id="a9", call_id="call-9")
    assert await approvals.ask(late, RUN) is None, "some other use of the store that saw the later time"
    clock[0] = 1_010.0
    assert "expired" in str(await approvals.consume(asked(expires_seconds=60), RUN))


async def test_in_time_it_works(store: Store) -> None:
    clock = [1_000.0]
    approvals = await approved(store, asked(expires_seconds=60), clock)
    clock[0] = 1_059.0
    assert await approvals.consume(asked(expires_seconds=60), RUN) is None


async def test_of_fifty_workers_at_once_one_gets_it(store: Store) -> None:
    approvals = await approved(store, asked(), [1_000.0])
    answers = await asyncio.gather(*(approvals.consume(asked(), RUN) for _ in range(50)))
    assert answers.count(None) == 1


CONSUME = """
import asyncio, sys
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.store import Store
from security.test_a01_approval_arguments import RUN, asked

async def main():
    store = Store(sys.argv[1])
    await store.open()
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    print(await ApprovalStore(store, lambda: 1_001.0).consume(asked(), RUN), flush=True)

asyncio.run(main())
"""


async def test_of_two_processes_at_once_one_gets_it(postgres: str) -> None:
    """Two gateways on one PostgreSQL, started together: row locks decide, not a lock in one process."""
    from support.postgres import create_database

    await create_database(postgres, "workers")
    url = f"{postgres}/workers"
    store = Store(url)
    await store.open()
    await approved(store, asked(), [1_000.0])
    tests = str(Path(__file__).parents[1])
    pipe = asyncio.subprocess.PIPE
    workers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", CONSUME, url, stdin=pipe, stdout=pipe, env={"PYTHONPATH": tests}
        )
        for _ in range(4)
    ]
    async with asyncio.timeout(60):
        for worker in workers:
            assert worker.stdout is not None
            assert await worker.stdout.readline() == b"ready\n"
        answers = await asyncio.gather(*(worker.communicate(b"go\n") for worker in workers))
    await store.close()
    assert sorted(out.strip() == b"None" for out, _ in answers) == [False, False, False, True]
