"""The caches: which Runs a change concerns, and that an older state never replaces a newer one."""

from typing import Any

from guildhall_operator.feeds import reflectors
from guildhall_operator.observe import World, observe
from guildhall_operator.reflector import Reflector
from guildhall_operator.runs import RunKey
from guildhall_operator.store import Store
from unit.operator import kit
from unit.operator.fake_kube import FakeKube

KEY = (kit.NAMESPACE, "fix")
DONE = {"type": "Succeeded", "status": "True", "reason": "Completed", "lastTransitionTime": "x"}
IN_LINE = {"type": "Queued", "status": "True", "reason": "ConcurrencyLimit", "lastTransitionTime": "x"}


def raw(version: int = 1, status: dict[str, Any] | None = None, name: str = "fix", **meta: Any) -> dict[str, Any]:
    return kit.raw_run({}, status, name, **{"resourceVersion": str(version), **meta})


def pod(uid: str = "p1", run: str = kit.UID, phase: str = "Running", claim: str = "") -> dict[str, Any]:
    labels = {"guildhall.dev/run": run} if run else {}
    volumes = [{"persistentVolumeClaim": {"claimName": claim}}] if claim else []
    meta = {"name": uid, "namespace": kit.NAMESPACE, "uid": uid, "labels": labels}
    return {"metadata": meta, "spec": {"volumes": volumes}, "status": {"phase": phase}}


def test_an_older_state_is_ignored() -> None:
    store = Store()
    store.put_run(raw(9, {"reason": "new"}))
    assert store.put_run(raw(8, {"reason": "old"})) == set()
    assert store.runs[KEY].status["reason"] == "new"
    assert store.put_run(raw(10, {"reason": "newer"})) == {KEY}


def test_a_run_of_the_same_name_is_another_run() -> None:
    store = Store()
    store.put_run(raw(9))
    store.frozen[kit.UID] = kit.frozen(kit.GUILD)
    store.put_run(raw(3, uid="another"))
    assert store.runs[KEY].uid == "another"
    assert store._key_by_uid == {"another": KEY}
    assert kit.UID not in store.frozen
    store.frozen["another"] = kit.frozen(kit.GUILD)
    store.put_run(raw(4, {"attempts": [{"number": 1}]}, uid="another"))
    assert "another" in store.frozen, "a second attempt may need it"
    store.put_run(raw(5, {"conditions": [DONE]}, uid="another"))
    assert store.frozen == {}


def test_pods_jobs_and_events_lead_to_their_run() -> None:
    store = Store()
    store.put_run(raw())
    assert store.put_pod(pod()) == {KEY}
    assert store.put_pod(pod()) == set()
    job = {"metadata": {"name": "j", "namespace": kit.NAMESPACE, "uid": "j1", "labels": {"guildhall.dev/run": kit.UID}}}
    assert store.put_job(job) == {KEY}
    about = {"kind": "Pod", "uid": "p1"}
    warning = {"type": "Warning", "reason": "FailedMount", "message": "m", "involvedObject": about}
    assert store.put_event(warning) == {KEY}
    assert store.put_event(warning) == set()
    assert store.events(["p1"])["p1"][0].message == "m"
    assert store.drop_pod(pod()) == {KEY}
    assert store.events(["p1"]) == {}
    assert store.pods(store.runs[KEY]) == ()


def waiting(name: str, **meta: Any) -> dict[str, Any]:
    return raw(1, {"conditions": [IN_LINE]}, name, uid=f"u-{name}", **meta)


def test_the_end_of_a_run_wakes_those_in_line() -> None:
    store = Store()
    store.put_run(raw(1, {"attempts": [{"number": 1, "job": "j"}]}))
    for name in ("b", "a"):
        store.put_run(waiting(name))
    assert store.put_run(raw(2, {"conditions": [DONE]})) == {KEY, (kit.NAMESPACE, "a"), (kit.NAMESPACE, "b")}
    assert store.put_run(raw(3, {"conditions": [DONE], "archive": {}})) == {KEY}


def test_deleting_a_run_wakes_those_in_line() -> None:
    store = Store()
    store.put_run(raw(1, {"attempts": [{"number": 1, "job": "j"}]}))
    store.put_run(waiting("a"))
    assert store.drop_run(KEY) == {(kit.NAMESPACE, "a")}


def test_nothing_is_kept_of_runs_and_schedules_that_went() -> None:
    store = Store()
    made = raw(1)
    owner = {"kind": "RunSchedule", "name": "nightly", "uid": "s-1", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    store.put_run(made)
    assert store.schedule_of(KEY) == (kit.NAMESPACE, "nightly"), "control: it is known whose it is"
    store.drop_schedule({"metadata": {"namespace": kit.NAMESPACE, "name": "nightly"}})
    store.drop_run(KEY)
    store.put_run(raw(2))
    store.drop_run(KEY)
    assert dict(store._made_by) == {}


def test_a_place_being_given_away_is_held() -> None:
    store = Store()
    store.put_run(raw())
    store.put_run(raw(1, None, "other", uid="o"))
    other = store.runs[(kit.NAMESPACE, "other")]
    assert [peer.holds for peer in store.peers(other)] == [False]
    store.reserved.add(kit.UID)
    assert [peer.holds for peer in store.peers(other)] == [True]
    store.put_run(raw(2, {"attempts": [{"number": 1, "job": "j"}]}))
    assert store.reserved == set()
    assert [peer.holds for peer in store.peers(other)] == [True]


def test_a_claim_is_busy_until_no_pod_that_may_write_holds_it() -> None:
    store = Store()
    store.put_run(raw())
    run = store.runs[KEY]
    store.put_pod(pod("x", run="", claim="repo"))
    assert store.claims_used_by_others(run) == {"repo"}
    store.put_pod(pod("x", run="", claim="repo", phase="Succeeded"))
    assert store.claims_used_by_others(run) == set()
    store.put_pod(pod("mine", claim="repo"))
    assert store.claims_used_by_others(run) == set()


def claim(phase: str = "Pending", **meta: Any) -> dict[str, Any]:
    labels = {"guildhall.dev/run": kit.UID}
    name = f"fix-{kit.UID}-workspace"
    return {
        "metadata": {"name": name, "namespace": kit.NAMESPACE, "uid": "c1", "labels": labels, **meta},
        "status": {"phase": phase},
    }


def test_what_is_said_of_a_runs_claim_leads_to_it_until_there_is_a_volume() -> None:
    store = Store()
    store.put_run(raw())
    run = store.runs[KEY]
    assert store.put_claim(claim()) == {KEY}
    about = {"kind": "PersistentVolumeClaim", "uid": "c1", "name": claim()["metadata"]["name"]}
    said = {"type": "Warning", "reason": "ProvisioningFailed", "message": "m", "involvedObject": about}
    assert store.put_event(said) == {KEY}
    assert observe(World(store, kit.config()), run, 0.0).events["c1"][0].message == "m"
    assert store.put_claim(claim("Bound")) == set(), "its pod tells"
    assert observe(World(store, kit.config()), run, 0.0).events == {}
    assert store.put_claim(claim("Bound", deletionTimestamp="x")) == {KEY}
    assert store.drop_claim(claim()) == {KEY}
    assert store.events(["c1"]) == {}
    assert store._owner == {}
    strangers = claim(labels={"guildhall.dev/run": "another"})
    store.put_claim(strangers)
    assert store.unbound_claims(run) == [], "of its own claims alone"


def test_a_policy_concerns_every_unfinished_run() -> None:
    store = Store()
    store.put_run(raw())
    store.put_run(raw(1, {"conditions": [DONE]}, "over", uid="over"))
    policy = {"metadata": {"name": "n", "namespace": kit.NAMESPACE}, "spec": {}}
    assert store.put_policy(policy) == {KEY}
    assert store.put_policy(policy) == set()
    assert store.drop_policy(policy) == {KEY}


def test_a_guild_concerns_the_runs_that_wait_for_it() -> None:
    store = Store()
    store.put_run(raw())
    store.put_run(raw(1, {"attempts": [{"number": 1, "job": "j"}]}, "on", uid="on"))
    guild = {"metadata": {"name": "pair", "namespace": kit.NAMESPACE}, "spec": kit.GUILD}
    assert store.put_guild(guild) == {KEY}
    assert store.guild_of(store.runs[KEY]) == kit.GUILD
    assert store.drop_guild((kit.NAMESPACE, "pair")) == {KEY}
    assert store.guild_of(store.runs[KEY]) is None


def test_a_fresh_list_forgets_what_is_gone() -> None:
    store = Store()
    store.put_run(raw())
    store.put_run(raw(1, None, "gone", uid="gone"))
    store.replace_runs(kit.NAMESPACE, [raw(5)])
    assert set(store.runs) == {KEY}


def test_phantoms_go_with_every_kind_of_list() -> None:
    store = Store()
    store.put_run(raw())
    looked: set[RunKey] = set()
    kinds: dict[str, Reflector] = {
        item.path.rsplit("/", 1)[-1]: item
        for item in reflectors(FakeKube(), store, kit.NAMESPACE, looked.update, looked.update)
    }
    labels = {"guildhall.dev/run": kit.UID}
    meta = {"name": "x", "namespace": kit.NAMESPACE, "uid": "x", "labels": labels}
    run = store.runs[KEY]
    for kind in ("pods", "jobs", "persistentvolumeclaims", "networkpolicies"):
        kinds[kind]._sink.change("ADDED", {"metadata": meta})
        assert looked == {KEY}, kind
        looked.clear()
    assert store.pods(run)
    assert store.jobs(run)
    for kind in ("pods", "jobs", "persistentvolumeclaims", "networkpolicies"):
        kinds[kind]._sink.replace([])
        assert looked == {KEY}, kind
        looked.clear()
    assert (store.pods(run), store.jobs(run), dict(store.claims(kit.NAMESPACE))) == ((), {}, {})
    assert store.policies(kit.NAMESPACE) == ()


def test_a_pods_labels_lead_to_its_run_when_they_change() -> None:
    store = Store()
    store.put_run(raw())
    assert store.put_pod(pod()) == {KEY}
    assert store.put_pod(pod()) == set(), "control: nothing new, nothing to look at"
    labelled = pod()
    labelled["metadata"]["labels"]["app"] = "web"
    assert store.put_pod(labelled) == {KEY}
    assert store.pods(store.runs[KEY])[0].labels["app"] == "web"


def test_a_free_place_wakes_the_first_in_line_by_priority() -> None:
    store = Store(["urgent"])

    def waits(number: int, name: str, **spec: Any) -> None:
        condition = {"type": "Queued", "status": "True", "reason": "ConcurrencyLimit"}
        run = raw(number, {"conditions": [condition]}, name, uid=name, creationTimestamp=kit.stamp(kit.at(number)))
        store.put_run({**run, "spec": {**run["spec"], **spec}})

    for number in range(1, 7):
        waits(number, f"plain-{number}")
    waits(9, "last", priority="urgent")
    assert store.waiting_in(kit.NAMESPACE) == {
        (kit.NAMESPACE, name) for name in ("last", "plain-1", "plain-2", "plain-3")
    }


def test_a_suspended_run_gives_its_place_back() -> None:
    store = Store()
    attempt = {"number": 1, "job": "j"}
    store.put_run(raw(1, {"attempts": [attempt]}))
    view = store.runs[KEY]
    assert view.holds
    waiting = {"type": "Queued", "status": "True", "reason": "ConcurrencyLimit"}
    store.put_run(raw(2, {"conditions": [waiting]}, "next", uid="next"))
    ended = {**attempt, "reason": "Suspended", "endTime": kit.stamp(kit.at(5))}
    assert (kit.NAMESPACE, "next") in store.put_run(raw(3, {"attempts": [ended]}))
    assert not store.runs[KEY].holds
    evicted = {**ended, "reason": "Evicted"}
    store.put_run(raw(4, {"attempts": [evicted]}))
    assert store.runs[KEY].holds, "control: an evicted Run keeps it"
