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
from support.installation import Installation, archive_map, condition, one_role_guild, run_manifest

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

AT_ONCE = one_role_guild("finish-at-once")
SLOW = one_role_guild("slow", "write_file", "run_shell")
FAULTS = ("401", "429", "500", "empty", "garbage")
BUDGETS = {
    "few-steps": ({"steps": 2}, "BudgetExceeded"),
    "little-money": ({"costMicroUSD": 1}, "BudgetExceeded"),
    "few-tokens": ({"tokens": 50}, "BudgetExceeded"),
    "little-time": ({"seconds": 5}, "DeadlineExceeded"),
}
RUNS: dict[str, dict[str, Any]] = {
    "shortest": {"guild": AT_ONCE},
    "no-guild": {"guildRef": {"name": "nobody-made-this"}},
    "bad-guild": {"guild": one_role_guild("finish-at-once", "launch_rocket")},
    "no-image": {"guild": AT_ONCE, "image": "example.invalid/nothing:1"},
    "no-map": {"guild": AT_ONCE, "workspace": {"archive": {"configMap": "not-there"}}},
    "no-claim": {"guild": AT_ONCE, "workspace": {"claim": {"name": "not-there"}}},
    "garbage-source": {"guild": AT_ONCE, "workspace": {"archive": {"configMap": "no-archive"}}},
    "large-source": {"guild": AT_ONCE, "workspace": {"archive": {"configMap": "bomb"}}},
    **{f"fault-{fault}": {"guild": one_role_guild(f"fault-{fault}")} for fault in FAULTS},
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


def objects_of(here: Installation, name: str) -> list[str]:
    """Jobs and pods that exist for a Run."""
    uid = here.get("run", name)["metadata"]["uid"]
    selector = f"guildhall.dev/run={uid}"
    return [item["metadata"]["name"] for kind in ("jobs", "pods") for item in here.items(kind, selector=selector)]


def test_the_shortest_run_succeeds(end_of: Ended) -> None:
    done = end_of("shortest")
    assert (done["status"], done["reason"]) == ("True", "Completed")


def test_an_unknown_guild(installation: Installation, end_of: Ended) -> None:
    done = end_of("no-guild")
    assert done["reason"] == "GuildNotFound"
    assert "nobody-made-this" in done["message"]
    assert objects_of(installation, "no-guild") == []


def test_an_invalid_guild(installation: Installation, end_of: Ended) -> None:
    done = end_of("bad-guild")
    assert done["reason"] == "GuildInvalid"
    assert "launch_rocket" in done["message"]
    assert "solo" in done["message"]
    assert objects_of(installation, "bad-guild") == []


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


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "429"])
def test_a_provider_that_fails(end_of: Ended, fault: str) -> None:
    done = end_of(f"fault-{fault}")
    assert (done["status"], done["reason"]) == ("False", "ProviderFailed")
    assert f"scripted:fault-{fault}" in done["message"]


def test_a_busy_provider_is_waited_for(end_of: Ended) -> None:
    assert end_of("fault-429")["status"] == "True"


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


def test_a_full_quota_says_so_and_the_run_starts_when_there_is_room(installation: Installation, end_of: Ended) -> None:
    for name in RUNS.keys() - {"asks-for-money"}:
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
