"""Every way a Run can fail to do its job: it ends, says why, says what to do, and leaves nothing half-made.

All Runs are applied at once and each test waits for its own, so that one's failure must not touch another's.
"""

import json
import os
import tarfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_operator.names import snapshot_name
from support.cluster import eventually
from support.installation import Installation, archive_map, condition, instant, one_role_guild, run_manifest
from support.remains import made_for, remains_of

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

AT_ONCE = one_role_guild("finish-at-once")
SLOW = one_role_guild("slow", "write_file", "run_shell")
FAULTS = {
    "401": "scripted:fault-401 refused the gateway's key (HTTP 401); the platform team must check the provider's key",
    "500": "scripted:fault-500 answered HTTP 500; this usually passes",
    "empty": "scripted:fault-empty answered with nothing at all",
    "garbage": "scripted:fault-garbage answered with something that is not its protocol; check the provider's URL",
}
BUDGETS = {
    "few-steps": ({"steps": 2}, "BudgetExceeded"),
    "little-money": ({"costMicroUSD": 1}, "BudgetExceeded"),
    "few-tokens": ({"tokens": 50}, "BudgetExceeded"),
    "little-time": ({"seconds": 5}, "DeadlineExceeded"),
}
NEVER_BEGAN = {"no-guild", "bad-guild", "no-claim"}
RUNS: dict[str, dict[str, Any]] = {
    "shortest": {"guild": AT_ONCE},
    "no-guild": {"guildRef": {"name": "nobody-made-this"}},
    "bad-guild": {"guild": one_role_guild("finish-at-once", "launch_rocket")},
    "no-image": {"guild": AT_ONCE, "image": "example.invalid/nothing:1"},
    "no-map": {"guild": AT_ONCE, "workspace": {"archive": {"configMap": "not-there"}}},
    "no-claim": {"guild": AT_ONCE, "workspace": {"claim": {"name": "not-there"}}},
    "garbage-source": {"guild": AT_ONCE, "workspace": {"archive": {"configMap": "no-archive"}}},
    "large-source": {"guild": AT_ONCE, "workspace": {"archive": {"configMap": "bomb"}}},
    **{f"fault-{fault}": {"guild": one_role_guild(f"fault-{fault}")} for fault in (*FAULTS, "429")},
    "fault-hang": {"guild": one_role_guild("fault-hang"), "budget": {"seconds": 8}, "mode": "scheduled"},
    **{name: {"guild": SLOW, "budget": budget, "mode": "scheduled"} for name, (budget, _) in BUDGETS.items()},
    "asks-for-money": {"guild": SLOW, "budget": {"costMicroUSD": 1}},
}


def bomb(size: int) -> bytes:
    """A small archive of one file of `size` zeros."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    member = tarfile.TarInfo("zeros")
    member.size = size
    piece, parts = bytes(1024 * 1024), [compressor.compress(member.tobuf())]
    parts += [compressor.compress(piece) for _ in range(size // len(piece))]
    parts += [compressor.compress(bytes(size % len(piece) + -size % 512 + 1024)), compressor.flush()]
    return b"".join(parts)


def create_sources(here: Installation) -> None:
    """One ConfigMap that is no archive, and one that unpacks to more than a workspace may hold."""
    large = bomb(limits.ARCHIVE_UNPACKED_MAX_BYTES + 88 * limits.MIB)
    assert len(large) < 900_000, "it fits a ConfigMap"
    for name, archive in {"no-archive": os.urandom(2_000), "bomb": large}.items():
        here.delete("configmap", name)
        # Created, not applied: kubectl would copy it into an annotation, which is too small.
        here.kubectl("-n", here.namespace, "create", "-f", "-", stdin=json.dumps(archive_map(name, archive)))


@pytest.fixture(scope="module")
def end_of(installation: Installation) -> Callable[[str], dict[str, Any]]:
    """Applies every Run once; the returned function waits for one and gives its Succeeded condition."""
    create_sources(installation)
    for name in RUNS:
        installation.delete("run", name)
    installation.apply(*(run_manifest(name, **spec) for name, spec in RUNS.items()))
    return lambda name: condition(installation.wait_done(name, 300), "Succeeded")


Ended = Callable[[str], dict[str, Any]]


def test_the_shortest_run_succeeds(end_of: Ended) -> None:
    done = end_of("shortest")
    assert (done["status"], done["reason"]) == ("True", "Completed")


def test_an_unknown_guild(end_of: Ended) -> None:
    done = end_of("no-guild")
    assert done["reason"] == "GuildNotFound"
    assert "nobody-made-this" in done["message"]


def test_an_invalid_guild(end_of: Ended) -> None:
    done = end_of("bad-guild")
    assert done["reason"] == "GuildInvalid"
    assert "launch_rocket" in done["message"]
    assert "solo" in done["message"]


def test_an_image_that_cannot_be_pulled(end_of: Ended) -> None:
    done = end_of("no-image")
    assert done["reason"] == "ImagePullFailed"
    assert "example.invalid/nothing:1" in done["message"]


@pytest.mark.parametrize("name", ["no-map", "no-claim"])
def test_a_missing_source(end_of: Ended, name: str) -> None:
    done = end_of(name)
    assert done["reason"] == "MountFailed"
    assert "not-there" in done["message"]


def test_a_source_that_is_no_archive(end_of: Ended) -> None:
    done = end_of("garbage-source")
    assert done["reason"] == "WorkspaceFailed"
    assert "archive" in done["message"]


def test_a_source_that_unpacks_to_too_much(end_of: Ended) -> None:
    done = end_of("large-source")
    assert done["reason"] == "SourceTooLarge"
    assert str(limits.ARCHIVE_UNPACKED_MAX_BYTES) in done["message"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_provider_that_fails(installation: Installation, end_of: Ended, fault: str) -> None:
    done = end_of(f"fault-{fault}")
    assert (done["status"], done["reason"]) == ("False", "ProviderFailed")
    assert FAULTS[fault] in done["message"]
    flow = installation.api(f"/api/runs/{installation.namespace}.fault-{fault}/flow").body
    assert FAULTS[fault] in flow["model"]["run"]["error"]["message"]


def test_a_busy_provider_is_waited_for(installation: Installation, end_of: Ended) -> None:
    assert end_of("fault-429")["status"] == "True"
    told = [event["error"]["message"] for event in installation.events_of("fault-429") if "error" in event]
    busy = [words for words in told if "scripted:fault-429 is rate-limited; it asks to wait 1 s; trying again" in words]
    assert len(busy) == 2, told


def test_a_provider_that_never_answers_holds_a_run_no_longer_than_its_budget(
    installation: Installation, end_of: Ended
) -> None:
    done = end_of("fault-hang")
    assert (done["status"], done["reason"]) == ("False", "DeadlineExceeded")
    assert "the Run used its 8 seconds (budget.seconds)" in done["message"]
    run = installation.get("run", "fault-hang")["status"]
    took = instant(run["completionTime"]) - instant(run["startTime"])
    assert 7 <= took.total_seconds() <= 8 + 10
    types = [event["type"] for event in installation.events_of("fault-hang")]
    assert "model.started" in types, "control: it was asked"


@pytest.mark.parametrize("name", BUDGETS)
def test_a_budget_that_is_used_up(installation: Installation, end_of: Ended, name: str) -> None:
    budget, reason = BUDGETS[name]
    assert end_of(name)["reason"] == reason
    usage = installation.get("run", name)["status"].get("usage", {})
    assert usage.get("costMicroUSD", 0) <= budget.get("costMicroUSD", 10**9)


@pytest.mark.usefixtures("end_of")
def test_where_a_person_is_there_he_is_asked_first(installation: Installation) -> None:
    name = "asks-for-money"
    waiting = installation.wait_run(name, lambda run: run.get("status", {}).get("phase") == "AwaitingHuman", 300)
    assert condition(waiting, "AwaitingHuman")["reason"] == "QuestionOpen"
    installation.delete("run", name)


@pytest.mark.parametrize("name", sorted(RUNS.keys() - {"asks-for-money"}))
def test_nothing_half_made_is_left(installation: Installation, end_of: Ended, name: str) -> None:
    """A sealed Run keeps what it was given, until it is deleted; one that never began has nothing at all."""
    end_of(name)
    uid = installation.get("run", name)["metadata"]["uid"]
    expected = [] if name in NEVER_BEGAN else [f"configmap/{snapshot_name(name, uid)}"]
    assert remains_of(installation, name, expected) == expected
    for kept in expected:
        owners = installation.get("configmap", kept.partition("/")[2])["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [uid], "it goes with the Run"


def test_a_deleted_run_leaves_nothing_at_all(installation: Installation, end_of: Ended) -> None:
    end_of("shortest")
    uid = installation.get("run", "shortest")["metadata"]["uid"]
    assert made_for(installation, uid), "control: something was there"
    installation.delete("run", "shortest")
    eventually(lambda: not made_for(installation, uid), 30)


def test_a_full_quota_says_so_and_the_run_starts_when_there_is_room(installation: Installation, end_of: Ended) -> None:
    for name in RUNS.keys() - {"asks-for-money", "shortest"}:
        end_of(name)
    installation.delete("run", "no-room")
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}, "spec": {"hard": {"pods": "0"}}}
    installation.apply(quota)
    try:
        installation.apply(run_manifest("no-room", guild=AT_ONCE))
        waiting = installation.wait_run(
            "no-room", lambda run: condition(run, "Queued").get("reason") == "QuotaExceeded", seconds=60
        )
        assert "full" in condition(waiting, "Queued")["message"]
    finally:
        installation.delete("resourcequota", "full")
    done = installation.wait_done("no-room", 120)
    assert condition(done, "Succeeded")["status"] == "True"
