"""Every way a Run can fail to do its job: it ends, says why, says what to do, and leaves nothing half-made."""

import base64
import json
import os
import tarfile
import zlib
from typing import Any

import pytest
from guildhall_contracts import limits
from support.installation import NAMESPACE, Installation, condition, one_role_guild, run_manifest

pytestmark = pytest.mark.cluster


def end_of(here: Installation, name: str, *, seconds: float = 120, **spec: Any) -> dict[str, Any]:
    """Applies a Run, waits for its end, and returns its Succeeded condition; the Run is left for the test."""
    here.delete("run", name)
    here.apply(run_manifest(name, **spec))
    return condition(here.wait_done(name, seconds), "Succeeded")


def objects_of(here: Installation, name: str) -> list[str]:
    """Jobs and pods that exist for a Run."""
    uid = here.get("run", name)["metadata"]["uid"]
    selector = f"guildhall.dev/run={uid}"
    return [item["metadata"]["name"] for kind in ("jobs", "pods") for item in here.items(kind, selector=selector)]


def test_the_shortest_run_succeeds(installation: Installation) -> None:
    done = end_of(installation, "shortest", guild=one_role_guild("finish-at-once"))
    assert (done["status"], done["reason"]) == ("True", "Completed")


def test_an_unknown_guild(installation: Installation) -> None:
    done = end_of(installation, "no-guild", guildRef={"name": "nobody-made-this"})
    assert done["reason"] == "GuildNotFound"
    assert "nobody-made-this" in done["message"]
    assert objects_of(installation, "no-guild") == []


def test_an_invalid_guild(installation: Installation) -> None:
    guild = one_role_guild("finish-at-once", "launch_rocket")
    done = end_of(installation, "bad-guild", guild=guild)
    assert done["reason"] == "GuildInvalid"
    assert "launch_rocket" in done["message"]
    assert "solo" in done["message"]
    assert objects_of(installation, "bad-guild") == []


def test_an_image_that_cannot_be_pulled(installation: Installation) -> None:
    done = end_of(
        installation, "no-image", guild=one_role_guild("finish-at-once"), image="example.invalid/nothing:1", seconds=240
    )
    assert done["reason"] == "ImagePullFailed"
    assert "example.invalid/nothing:1" in done["message"]


@pytest.mark.parametrize(
    ("name", "workspace", "says"),
    [
        ("no-map", {"archive": {"configMap": "not-there"}}, "not-there"),
        ("no-claim", {"claim": {"name": "not-there"}}, "not-there"),
    ],
)
def test_a_missing_source(installation: Installation, name: str, workspace: dict[str, Any], says: str) -> None:
    done = end_of(installation, name, guild=one_role_guild("finish-at-once"), workspace=workspace, seconds=240)
    assert done["reason"] in {"MountFailed", "WorkspaceFailed"}
    assert says in done["message"]


def test_a_source_that_is_no_archive(installation: Installation) -> None:
    installation.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "no-archive"},
            "binaryData": {"workspace.tar.gz": base64.b64encode(os.urandom(2_000)).decode()},
        }
    )
    done = end_of(
        installation,
        "garbage-source",
        guild=one_role_guild("finish-at-once"),
        workspace={"archive": {"configMap": "no-archive"}},
    )
    assert done["reason"] == "WorkspaceFailed"
    assert "archive" in done["message"]


def bomb(size: int) -> bytes:
    """A small archive of one file of `size` zeros."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    member = tarfile.TarInfo("zeros")
    member.size = size
    piece, parts = bytes(1024 * 1024), [compressor.compress(member.tobuf())]
    parts += [compressor.compress(piece) for _ in range(size // len(piece))]
    parts += [compressor.compress(bytes(size % len(piece) + -size % 512 + 1024)), compressor.flush()]
    return b"".join(parts)


def test_a_source_that_unpacks_to_too_much(installation: Installation) -> None:
    archive = bomb(limits.ARCHIVE_UNPACKED_MAX_BYTES + 88 * limits.MIB)
    assert len(archive) < 900_000, "it fits a ConfigMap"
    data = {"workspace.tar.gz": base64.b64encode(archive).decode()}
    source = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bomb"}, "binaryData": data}
    installation.delete("configmap", "bomb")
    installation.kubectl("-n", NAMESPACE, "create", "-f", "-", stdin=json.dumps(source))  # too large for an annotation
    done = end_of(
        installation,
        "large-source",
        guild=one_role_guild("finish-at-once"),
        workspace={"archive": {"configMap": "bomb"}},
    )
    assert done["reason"] == "SourceTooLarge"
    assert str(limits.ARCHIVE_UNPACKED_MAX_BYTES) in done["message"]


@pytest.mark.parametrize("fault", ["401", "500", "empty", "garbage"])
def test_a_provider_that_fails(installation: Installation, fault: str) -> None:
    done = end_of(installation, f"fault-{fault}", guild=one_role_guild(f"fault-{fault}"), seconds=240)
    assert done["status"] == "False"
    assert done["reason"] == "ProviderFailed"
    assert len(done["message"]) > 20


def test_a_busy_provider_is_waited_for(installation: Installation) -> None:
    done = end_of(installation, "fault-429", guild=one_role_guild("fault-429"))
    assert done["status"] == "True"


def test_a_full_quota_says_so_and_the_run_starts_when_there_is_room(installation: Installation) -> None:
    installation.delete("run", "no-room")
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}, "spec": {"hard": {"pods": "0"}}}
    installation.apply(quota)
    try:
        installation.apply(run_manifest("no-room", guild=one_role_guild("finish-at-once")))
        waiting = installation.wait_run(
            "no-room", lambda run: condition(run, "Queued").get("reason") == "QuotaExceeded", seconds=60
        )
        assert "full" in condition(waiting, "Queued")["message"]
    finally:
        installation.delete("resourcequota", "full")
    done = installation.wait_done("no-room", 120)
    assert condition(done, "Succeeded")["status"] == "True"


@pytest.mark.parametrize(
    ("name", "budget", "reason"),
    [
        ("few-steps", {"steps": 2}, "BudgetExceeded"),
        ("little-money", {"costMicroUSD": 1}, "BudgetExceeded"),
        ("few-tokens", {"tokens": 50}, "BudgetExceeded"),
        ("little-time", {"seconds": 5}, "DeadlineExceeded"),
    ],
)
def test_a_budget_that_is_used_up(installation: Installation, name: str, budget: dict[str, int], reason: str) -> None:
    guild = one_role_guild("slow", "write_file", "run_shell")
    done = end_of(installation, name, guild=guild, budget=budget)
    assert done["reason"] in {reason, "BudgetExceeded"}
    usage = installation.get("run", name)["status"].get("usage", {})
    assert usage.get("costMicroUSD", 0) <= budget.get("costMicroUSD", 10**9)


def test_a_broken_run_among_good_ones(installation: Installation) -> None:
    """One Run that fails at once does not hold up the next."""
    end_of(installation, "broken-first", guildRef={"name": "nobody-made-this"})
    done = end_of(installation, "good-second", guild=one_role_guild("finish-at-once"))
    assert done["status"] == "True"
