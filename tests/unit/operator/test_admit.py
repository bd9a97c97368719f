"""The stage before there is a Job: what is refused, what waits and why, and what starting makes."""

from typing import Any

import pytest
from guildhall_contracts.limits import DEADLINE_GRACE_SECONDS
from guildhall_operator.plan import plan
from guildhall_operator.run_view import rank_of
from unit.operator import kit

CLAIM = {"workspace": {"claim": {"name": "repo"}}}


def peer(number: int, **changes: Any) -> kit.Peer:
    return kit.Peer(
        **{"uid": f"u{number}", "name": f"r{number}", "created": kit.stamp(kit.at(-number)), "holds": True, **changes}
    )


def test_a_run_starts_at_once_where_nothing_is_in_its_way() -> None:
    done = plan(kit.run(), kit.world(), kit.START)
    assert [item["kind"] for item in done.create] == ["ConfigMap", "PersistentVolumeClaim", "Job"]
    assert done.status is not None
    assert done.status["phase"] == "Preparing"
    assert done.status["attempts"] == [{"number": 1, "job": f"fix-{kit.UID}-a1"}]
    assert done.status["guild"] == "pair"
    assert done.status["entryRole"] == "planner"
    assert done.notes == (), "the status says so; an Event each would be a write for nothing"
    assert kit.condition(done, "Accepted")["status"] == "True"


REFUSED = [
    ("guild and guildRef", {"guild": kit.GUILD}, "SpecInvalid", "two Guilds"),
    (
        "git without a fetcher",
        {"workspace": {"git": {"url": "https://x/y"}}},
        "SpecInvalid",
        "images.fetcher",
    ),
    (
        "two sources",
        {"workspace": {"claim": {"name": "a"}, "archive": {"configMap": "b"}}},
        "SpecInvalid",
        "name one source",
    ),
    ("runtime class", {"runtimeClassName": "gvisor"}, "SpecInvalid", "gvisor"),
    ("priority", {"priority": "urgent"}, "SpecInvalid", "urgent"),
    ("private delivers nothing", {"private": True}, "SpecInvalid", "spec.deliver"),
    ("a branch of nothing", {"deliver": "branch"}, "SpecInvalid", "workspace.git"),
    ("unknown field", {"serviceAccountName": "admin"}, "SpecInvalid", "serviceAccountName"),
    ("wrong type", {"task": 7}, "SpecInvalid", "spec.task"),
]


@pytest.mark.parametrize(("case", "spec", "reason", "word"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_spec_that_cannot_be_served_is_refused_with_the_field(
    case: str, spec: dict[str, Any], reason: str, word: str
) -> None:
    done = plan(kit.run(spec), kit.world(), kit.START)
    assert not done.create
    assert kit.verdict(done) == ("False", reason)
    assert kit.condition(done, "Accepted")["status"] == "False"
    assert word in kit.condition(done, "Accepted")["message"]
    assert done.notes[0].warning


def test_an_inline_guild_that_breaks_a_rule_is_named() -> None:
    broken = {**kit.GUILD, "entryRole": "nobody"}
    done = plan(kit.run({"guild": broken, "guildRef": None}), kit.world(), kit.START)
    assert kit.verdict(done) == ("False", "GuildInvalid")
    assert "nobody" in kit.condition(done, "Succeeded")["message"]


def test_an_inline_guild_of_another_shape_is_the_guilds_fault() -> None:
    done = plan(kit.run({"guild": {"entryRole": "x"}, "guildRef": None}), kit.world(), kit.START)
    assert kit.verdict(done) == ("False", "GuildInvalid")


@pytest.mark.parametrize("guild", [{}, {**kit.GUILD, "roles": []}, {**kit.GUILD, "models": "none"}, {"roles": 3}])
def test_a_guild_the_run_names_must_be_valid(guild: dict[str, Any]) -> None:
    done = plan(kit.run(), kit.world(guild=guild), kit.START)
    assert kit.verdict(done) == ("False", "GuildInvalid")
    assert "Guild 'pair'" in kit.condition(done, "Succeeded")["message"]


def test_a_missing_guild_is_waited_for_a_moment_only() -> None:
    first = plan(kit.run(), kit.world(guild=None), kit.START)
    assert first.status is not None
    assert "Succeeded" not in {item["type"] for item in first.status.get("conditions", [])}
    assert first.waiting == {"guild"}
    assert first.requeue_seconds == 10
    last = plan(kit.run(), kit.world(guild=None, waits={"guild": 10.0}), kit.at(10))
    assert kit.verdict(last) == ("False", "GuildNotFound")
    assert last.status is not None
    assert last.status["guild"] == "pair", "the row names the Guild it looked for"


def test_cancel_before_start_ends_without_a_pod() -> None:
    done = plan(kit.run({"cancel": True}), kit.world(), kit.START)
    assert not done.create
    assert kit.verdict(done) == ("False", "Cancelled")
    assert done.status is not None
    assert done.status["phase"] == "Cancelled"


FULL = tuple(peer(number) for number in range(30))


@pytest.mark.parametrize("spec", [{"suspend": True}, {"cancel": True}, {}])
def test_a_job_that_a_crash_kept_out_of_the_status_is_followed_whatever_was_asked_since(spec: dict[str, Any]) -> None:
    """Its pod works: held back or ended here it would go on unseen, and beside another of the same workspace."""
    view = kit.run(spec)
    crashed = kit.world(jobs=kit.job_of(view), peers=FULL)
    done = plan(view, crashed, kit.START)
    assert (done.status or {})["attempts"] == [{"number": 1, "job": f"fix-{kit.UID}-a1"}]
    assert kit.after(view, done).holds
    assert done.create == (), "nothing is made, which the API server could refuse"
    control = plan(view, kit.world(peers=FULL), kit.START)
    assert control.create == ()
    assert not kit.after(view, control).holds


@pytest.mark.parametrize(
    "changes",
    [
        {"gateway_ip": None, "targets": ()},
        {"guild": None},
        {"create_problem": "exceeded quota: jobs"},
        {"policies": ()},
        {"canary_age_seconds": None},
    ],
)
def test_it_is_followed_whatever_else_is_missing_by_then(changes: dict[str, Any]) -> None:
    """After a restart nothing around the Run is known yet; its Guild may be gone, and the quota full of its own Job."""
    view = kit.run({"guildRef": {"name": "pair"}, "cancel": True})
    done = plan(view, kit.world(jobs=kit.job_of(view), **changes), kit.at(3600))
    assert [item["number"] for item in (done.status or {})["attempts"]] == [1]
    assert (done.create, kit.verdict(done)[0]) == ((), "Unknown")


def test_a_fetch_that_a_crash_kept_out_of_the_status_is_followed_too() -> None:
    view = kit.run({**kit.GIT, "suspend": True})
    done = plan(view, kit.fetch_world(jobs=kit.fetch_job_of(view)), kit.START)
    assert kit.condition(done, "WorkspaceReady")["reason"] == "Fetching"
    assert kit.after(view, done).fetching
    assert done.create == ()
    control = plan(view, kit.fetch_world(), kit.START)
    assert kit.condition(control, "Queued")["reason"] == "Suspended"


def test_suspend_holds_and_release_starts() -> None:
    held = plan(kit.run({"suspend": True}), kit.world(), kit.START)
    assert not held.create
    assert (held.status or {})["phase"] == "Queued"
    assert kit.condition(held, "Queued")["reason"] == "Suspended"
    view = kit.after(kit.run(), held)
    released = plan(view, kit.world(), kit.at(5))
    assert released.create
    assert kit.condition(released, "Queued")["status"] == "False"


def test_no_job_without_the_static_policy() -> None:
    held = plan(kit.run(), kit.world(policies=()), kit.START)
    assert not held.create
    assert kit.condition(held, "Queued")["reason"] == "PolicyMissing"
    over = plan(kit.run(), kit.world(policies=(), waits={"policy": 60.0}), kit.at(60))
    assert not over.create
    assert kit.verdict(over) == ("False", "PolicyMissing")
    assert plan(kit.run(), kit.world(), kit.START).create


def test_no_job_where_another_policy_opens_the_pod() -> None:
    opener = {"metadata": {"name": "open"}, "spec": {"podSelector": {}, "egress": [{}]}}
    done = plan(kit.run(), kit.world(policies=(kit.policy(), opener)), kit.START)
    assert not done.create
    assert kit.verdict(done) == ("False", "IsolationNotEnforced")
    assert "'open'" in kit.condition(done, "Succeeded")["message"]


def test_where_isolation_is_not_required_a_missing_policy_does_not_hold() -> None:
    loose = kit.config(isolation={"require": False})
    assert plan(kit.run(), kit.world(config=loose, policies=(), canary_age_seconds=None), kit.START).create


def test_no_job_while_the_canary_does_not_answer_the_operator() -> None:
    quiet = plan(kit.run(), kit.world(canary_age_seconds=None), kit.START)
    assert not quiet.create
    assert quiet.requeue_seconds == 0.5
    dead = kit.world(canary_age_seconds=31.0, canary_problem="timed out")
    held = plan(kit.run(), dead, kit.START)
    assert kit.condition(held, "Queued")["reason"] == "NotVerified"
    over = plan(kit.run(), kit.world(canary_age_seconds=None, waits={"canary": 60.0}), kit.at(60))
    assert kit.verdict(over) == ("False", "NotVerified")


@pytest.mark.parametrize("workspace", [CLAIM["workspace"], {"template": {"claim": "repo"}}])
def test_a_claim_that_does_not_exist_ends_the_run_with_its_name(workspace: dict[str, Any]) -> None:
    held = plan(kit.run({"workspace": workspace}), kit.world(), kit.START)
    assert not held.create
    assert kit.condition(held, "Queued")["reason"] == "MountFailed"
    over = plan(kit.run({"workspace": workspace}), kit.world(waits={"claim": 30.0}), kit.at(30))
    assert kit.verdict(over) == ("False", "MountFailed")
    assert "'repo'" in kit.condition(over, "Succeeded")["message"]


REPO = kit.claim_record(
    {
        "metadata": {"name": "repo"},
        "spec": {"storageClassName": "cloning", "resources": {"requests": {"storage": "8Gi"}}},
        "status": {"capacity": {"storage": "10Gi"}},
    }
)


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        (None, ("cloning", "10Gi")),
        ({"size": "2Gi"}, ("cloning", "10Gi")),
        ({"size": "20Gi"}, ("cloning", "20Gi")),
        ({"class": "fast", "size": "1Gi"}, ("fast", "10Gi")),
    ],
)
def test_a_clone_is_of_its_templates_class_and_no_smaller(
    storage: dict[str, Any] | None, expected: tuple[str, str]
) -> None:
    """No driver clones the volume of another, or into a smaller one."""
    workspace = {"template": {"claim": "repo"}, **({"storage": storage} if storage else {})}
    slow = kit.config(storage={"class": "slow"})
    done = plan(kit.run({"workspace": workspace}), kit.world(config=slow, claims={"repo": REPO}), kit.START)
    claims = {made["metadata"]["name"].rpartition("-")[2]: made["spec"] for made in done.create[1:-1]}
    clone = claims["workspace"]
    assert (clone["storageClassName"], clone["resources"]["requests"]["storage"]) == expected
    assert clone["dataSource"] == {"kind": "PersistentVolumeClaim", "name": "repo"}
    assert claims["baseline"]["storageClassName"] == claims["journal"]["storageClassName"] == "slow"


def test_one_run_at_a_time_on_a_claim() -> None:
    view = kit.run(CLAIM)
    claims = kit.claims_for(view)
    busy = plan(view, kit.world(claims=claims, peers=(peer(1, claim="repo"),)), kit.START)
    assert not busy.create
    assert kit.condition(busy, "Queued")["reason"] == "WorkspaceBusy"
    assert "'r1'" in kit.condition(busy, "Queued")["message"]
    used = plan(view, kit.world(claims=claims, claims_in_use=frozenset({"repo"})), kit.START)
    assert kit.condition(used, "Queued")["reason"] == "WorkspaceBusy"
    other = plan(view, kit.world(claims=claims, peers=(peer(1, claim="elsewhere"),)), kit.START)
    assert other.create


def test_a_read_only_claim_may_be_shared() -> None:
    view = kit.run(CLAIM)
    claims = {"repo": kit.claim_record({"metadata": {"name": "repo"}, "spec": {"accessModes": ["ReadOnlyMany"]}})}
    assert plan(view, kit.world(claims=claims, peers=(peer(1, claim="repo"),)), kit.START).create


def test_one_run_at_a_time_in_a_concurrency_group() -> None:
    view = kit.run({"concurrencyGroup": "deploy"})
    assert not plan(view, kit.world(peers=(peer(1, group="deploy"),)), kit.START).create
    assert plan(view, kit.world(peers=(peer(1, group="other"),)), kit.START).create


def test_the_namespace_limit_queues_with_a_position() -> None:
    two = kit.config(maxConcurrentRuns=2)
    peers = (peer(1), peer(2), peer(3, holds=False, in_line=True))
    done = plan(kit.run(), kit.world(config=two, peers=peers), kit.START)
    assert not done.create
    found = kit.condition(done, "Queued")
    assert found["reason"] == "ConcurrencyLimit"
    assert "position 2" in found["message"]
    assert plan(kit.run(), kit.world(config=two, peers=peers[:1]), kit.START).create


def test_an_older_run_in_line_goes_first() -> None:
    one = kit.config(maxConcurrentRuns=1)
    older = peer(1, holds=False, in_line=True)
    younger = kit.Peer("u9", "r9", kit.stamp(kit.at(60)), holds=False, in_line=True)
    assert not plan(kit.run(), kit.world(config=one, peers=(older,)), kit.START).create
    assert plan(kit.run(), kit.world(config=one, peers=(younger,)), kit.START).create


def test_a_position_is_rewritten_only_when_it_has_halved() -> None:
    one = kit.config(maxConcurrentRuns=1)

    def crowd(ahead: int) -> tuple[kit.Peer, ...]:
        return (peer(99), *(peer(number, holds=False, in_line=True) for number in range(1, ahead + 1)))

    view = kit.after(kit.run(), plan(kit.run(), kit.world(config=one, peers=crowd(9)), kit.START))
    assert plan(view, kit.world(config=one, peers=crowd(7)), kit.at(5)).status is None
    halved = plan(view, kit.world(config=one, peers=crowd(4)), kit.at(5))
    assert "position 5" in kit.condition(halved, "Queued")["message"]


def test_an_object_the_api_server_refuses_holds_the_run_with_the_reason() -> None:
    quota = kit.world(create_problem="Job 'x': exceeded quota: pods")
    held = plan(kit.run(), quota, kit.START)
    assert not held.create
    assert kit.condition(held, "Queued")["reason"] == "QuotaExceeded"
    refused = kit.world(create_problem="Job 'x': denied by policy", waits={"refused": 30.0})
    assert kit.verdict(plan(kit.run(), refused, kit.at(30))) == ("False", "PolicyDenied")


def test_a_frozen_snapshot_keeps_its_digest() -> None:
    newer = {**kit.GUILD, "models": {"big": "scripted:other"}, "defaults": {"seconds": 60}}
    frozen = kit.frozen(newer)
    assert frozen.guild_digest != (plan(kit.run(), kit.world(), kit.START).status or {})["guildDigest"], "control"
    for guild in (kit.GUILD, None, {"roles": 3}):
        done = plan(kit.run(), kit.world(frozen=frozen, guild=guild), kit.START)
        assert (done.status or {})["guildDigest"] == frozen.guild_digest
        assert [item["kind"] for item in done.create] == ["PersistentVolumeClaim", "Job"]
        assert done.create[-1]["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 60 + DEADLINE_GRACE_SECONDS


def test_task_and_guild_too_large_together_are_refused() -> None:
    role = {"prompt": "p" * 32_000, "model": "big", "tools": []}
    names = [f"r{number}" for number in range(16)]
    roles = [{**role, "name": name} for name in names]
    guild = {"entryRole": "r0", "models": {"big": "scripted:x"}, "roles": roles}
    done = plan(kit.run(), kit.world(guild=guild), kit.START)
    assert not done.create
    assert kit.verdict(done)[0] == "False"


def test_a_run_being_deleted_is_left_alone() -> None:
    view = kit.run(deletionTimestamp=kit.stamp(kit.START))
    assert plan(view, kit.world(), kit.START) == plan(view, kit.world(policies=()), kit.START)
    assert plan(view, kit.world(), kit.START).status is None


def test_a_run_that_waits_for_its_group_does_not_hold_up_the_line() -> None:
    busy = plan(kit.run({"concurrencyGroup": "deploy"}), kit.world(peers=(peer(1, group="deploy"),)), kit.START)
    assert kit.condition(busy, "Queued")["reason"] == "WorkspaceBusy"


@pytest.mark.parametrize("key", ["job-name", "batch.kubernetes.io/job-name"])
def test_a_policy_for_the_job_of_this_run_is_seen_before_there_is_one(key: str) -> None:
    for name, kind in ((f"fix-{kit.UID}-a1", "False"), ("another", "Unknown")):
        spec = {"podSelector": {"matchLabels": {key: name}}, "egress": [{}]}
        opened = kit.world(policies=(kit.policy(), {"metadata": {"name": "opener"}, "spec": spec}))
        done = plan(kit.run(), opened, kit.START)
        assert kit.condition(done, "Succeeded")["status"] == kind
        assert bool(done.create) is (kind == "Unknown")


LINE = {"config": kit.config(maxConcurrentRuns=1, priorities=["urgent", "low"])}


def in_line(name: str, seconds: float, rank: int) -> kit.Peer:
    return kit.Peer(name, name, kit.stamp(kit.at(seconds)), holds=False, in_line=True, rank=rank)


def test_the_line_goes_by_priority_then_by_age() -> None:
    """One place is free. A Run waits while another in line comes first."""

    def starts(peer: kit.Peer, **spec: Any) -> bool:
        created = kit.stamp(kit.at(10))
        view = kit.run(spec, creationTimestamp=created)
        return bool(plan(view, kit.world(**LINE, peers=(peer,)), kit.at(20)).create)

    assert starts(in_line("younger", 15, rank=2)), "control: it is the first"
    assert not starts(in_line("older", 5, rank=2))
    assert not starts(in_line("younger-and-urgent", 15, rank=0))
    assert starts(in_line("older", 5, rank=2), priority="urgent")
    assert starts(in_line("older", 5, rank=2), priority="low"), "a class of the list comes before none"
    assert not starts(in_line("older-and-urgent", 5, rank=0), priority="urgent")


def test_a_priority_is_a_rank_of_the_charts_list() -> None:
    assert [rank_of(name, ["urgent", "low"]) for name in ("urgent", "low", "", "unknown")] == [0, 1, 2, 2]
