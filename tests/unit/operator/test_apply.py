"""Acting: created once, status before deletion, and what a refusal does."""

import asyncio
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from guildhall_operator.actions import Deletion, EndPod, Note, Plan
from guildhall_operator.apply import CreateRefused, Hands, SnapshotDiffers, apply, collection, event_of, said_of
from guildhall_operator.client import KubeError
from guildhall_operator.plan import plan
from guildhall_operator.store import Store
from unit.operator import kit
from unit.operator.fake_kube import FakeKube, until

RUNS = f"/apis/guildhall.dev/v1alpha1/namespaces/{kit.NAMESPACE}/runs"


def hands() -> tuple[Hands, FakeKube, list[dict[str, Any]]]:
    kube, wrote = FakeKube(), list[dict[str, Any]]()
    kube.put(f"{RUNS}/fix", kit.raw_run())
    store = Store()

    def remember(raw: Any) -> None:
        wrote.append(dict(raw))
        store.put_run(raw)

    return Hands(kube, store, remember, pod_seconds=0), kube, wrote


def first() -> Plan:
    return plan(kit.run(), kit.world(), kit.START)


async def test_everything_is_made_once_and_in_order() -> None:
    doing, kube, wrote = hands()
    await apply(doing, kit.run(), first(), kit.START)
    assert [(method, path.split("/")[-1]) for method, path, _ in kube.log] == [
        ("POST", "configmaps"),
        ("POST", "persistentvolumeclaims"),
        ("POST", "jobs"),
        ("PATCH", "status"),
    ]
    assert wrote[0]["status"]["phase"] == "Preparing"
    kube.log.clear()
    await apply(doing, kit.run(), first(), kit.START)
    names = [path for path in kube.objects if "/jobs/" in path]
    assert len(names) == 1


async def test_a_job_and_a_status_are_known_before_the_watch_shows_them() -> None:
    doing, _, _ = hands()
    await apply(doing, kit.run(), first(), kit.START)
    run = doing.store.runs[(kit.NAMESPACE, "fix")]
    assert run.started
    assert list(doing.store.jobs(run)) == [f"fix-{kit.UID}-a1"]


def its_pod(uid: str = kit.POD_UID, created: float = 1, **labels: str) -> dict[str, Any]:
    meta = {
        "name": f"pod-{uid}",
        "namespace": kit.NAMESPACE,
        "uid": uid,
        "creationTimestamp": kit.stamp(kit.at(created)),
    }
    common = {"guildhall.dev/run": kit.UID, "guildhall.dev/attempt": "1"}
    return {"metadata": {**meta, "labels": {**common, **labels}}, "spec": {}, "status": {"phase": "Pending"}}


async def test_a_pod_that_comes_at_once_costs_no_status_write_of_its_own() -> None:
    doing, kube, wrote = hands()
    doing = replace(doing, pod_seconds=5)
    started = asyncio.create_task(apply(doing, kit.run(), first(), kit.START))
    await until(lambda: any(path.endswith("/jobs") for _, path, _ in kube.log))
    doing.store.put_pod(its_pod("printer", 0, **{"guildhall.dev/resend": "1"}))
    doing.store.put_pod(its_pod("later", 9))
    doing.store.put_pod(its_pod())
    await asyncio.wait_for(started, 1)
    (status,) = [body["status"] for method, _, body in kube.log if method == "PATCH"]
    assert status["attempts"] == [
        {"number": 1, "job": f"fix-{kit.UID}-a1", "pod": f"pod-{kit.POD_UID}", "podUid": kit.POD_UID}
    ]
    view = doing.store.runs[kit.NAMESPACE, "fix"]
    world = kit.world(pods=doing.store.pods(view), jobs=doing.store.jobs(view))
    assert plan(view, world, kit.at(1)).status is None, "nothing is left to be said of the pod"
    assert len(wrote) == 1


async def test_a_pod_that_does_not_come_is_waited_for_no_longer_than_that() -> None:
    doing, kube, wrote = hands()
    await asyncio.wait_for(apply(replace(doing, pod_seconds=0.02), kit.run(), first(), kit.START), 1)
    assert "podUid" not in wrote[0]["status"]["attempts"][0]
    assert sum(method == "PATCH" for method, _, _ in kube.log) == 1


async def test_the_pod_of_a_job_that_a_queue_holds_is_not_waited_for() -> None:
    doing, kube, wrote = hands()
    put = kube.put

    def held(path: str, body: dict[str, Any]) -> dict[str, Any]:
        return put(path, {**body, "spec": {**body["spec"], "suspend": True}} if "/jobs/" in path else body)

    kube.put = held  # type: ignore[method-assign]
    await asyncio.wait_for(apply(replace(doing, pod_seconds=600), kit.run(), first(), kit.START), 1)
    assert wrote[0]["status"]["phase"] == "Preparing"


async def test_status_is_written_before_anything_is_deleted() -> None:
    doing, kube, _ = hands()
    act = Plan(
        status={"phase": "Failed"},
        deletions=(Deletion("Job", kit.NAMESPACE, "j", "u"),),
        end_pods=(EndPod(kit.NAMESPACE, "p"),),
    )
    kube.put(f"/apis/batch/v1/namespaces/{kit.NAMESPACE}/jobs/j", {"metadata": {}})
    kube.put(f"/api/v1/namespaces/{kit.NAMESPACE}/pods/p", {"metadata": {"name": "p"}})
    await apply(doing, kit.run(), act, kit.START)
    assert [method for method, _, _ in kube.log] == ["PATCH", "PATCH", "DELETE"]
    assert kube.log[-1][2] == {"propagationPolicy": "Background", "preconditions": {"uid": "u"}}
    assert kube.log[1][2] == {"spec": {"activeDeadlineSeconds": 1}}


async def test_what_is_gone_already_is_done() -> None:
    doing, _, _ = hands()
    act = Plan(
        deletions=(Deletion("PersistentVolumeClaim", kit.NAMESPACE, "c"),), end_pods=(EndPod(kit.NAMESPACE, "p"),)
    )
    await apply(doing, kit.run(), act, kit.START)


@pytest.mark.parametrize("code", [400, 403, 422])
async def test_a_refused_object_is_a_refusal_and_nothing_after_it_is_done(code: int) -> None:
    doing, kube, _ = hands()

    def refuse(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/jobs"):
            raise KubeError(code, "Forbidden", "exceeded quota: count/jobs.batch")

    kube.refuse = refuse
    with pytest.raises(CreateRefused, match="exceeded quota"):
        await apply(doing, kit.run(), first(), kit.START)
    assert not any(method == "PATCH" for method, _, _ in kube.log)


async def test_an_api_server_in_trouble_is_not_a_refusal() -> None:
    doing, kube, _ = hands()

    def refuse(method: str, path: str) -> None:
        if method == "POST":
            raise KubeError(500, "InternalError", "etcd")

    kube.refuse = refuse
    with pytest.raises(KubeError):
        await apply(doing, kit.run(), first(), kit.START)


async def test_a_snapshot_of_an_older_guild_is_the_one_that_counts() -> None:
    doing, _, _ = hands()
    await apply(doing, kit.run(), first(), kit.START)
    newer = {**kit.GUILD, "models": {"big": "scripted:other"}}
    changed = plan(kit.run(), kit.world(guild=newer), kit.START)
    assert changed.status is not None
    with pytest.raises(SnapshotDiffers) as found:
        await apply(doing, kit.run(), changed, kit.START)
    assert found.value.frozen.guild_digest == (first().status or {})["guildDigest"]


CONFIG_MAP = f"/api/v1/namespaces/{kit.NAMESPACE}/configmaps/fix-{kit.UID}-snapshot"
JOURNAL = f"/api/v1/namespaces/{kit.NAMESPACE}/persistentvolumeclaims/fix-{kit.UID}-journal"
JOB = f"/apis/batch/v1/namespaces/{kit.NAMESPACE}/jobs/fix-{kit.UID}-a1"
FOREIGN: dict[str, Callable[[dict[str, Any]], object]] = {
    "no label": lambda there: there["metadata"]["labels"].pop("guildhall.dev/run"),
    "another Run's label": lambda there: there["metadata"]["labels"].update({"guildhall.dev/run": "another"}),
    "no labels": lambda there: there["metadata"].pop("labels"),
    "no owner": lambda there: there["metadata"].pop("ownerReferences"),
    "another owner": lambda there: there["metadata"]["ownerReferences"][0].update(uid="another"),
    "owned by something else": lambda there: there["metadata"]["ownerReferences"][0].update(kind="Pod"),
    "owners of another shape": lambda there: there["metadata"].update(ownerReferences="mine"),
}


@pytest.mark.parametrize("path", [CONFIG_MAP, JOURNAL, JOB])
@pytest.mark.parametrize("what", FOREIGN)
async def test_an_object_laid_ready_under_our_name_is_not_taken(path: str, what: str) -> None:
    """It says all that ours would say: the same snapshot, the same digest."""
    doing, kube, _ = hands()
    ours = {f"{collection(item['kind'], kit.NAMESPACE)}/{item['metadata']['name']}": item for item in first().create}
    kube.put(path, deepcopy(ours[path]))
    await apply(doing, kit.run(), first(), kit.START)  # control: one of our own is
    kube.objects.pop(JOB, None)
    laid = deepcopy(ours[path])
    FOREIGN[what](laid)
    kube.put(path, laid)
    kube.log.clear()
    with pytest.raises(CreateRefused, match="is there already"):
        await apply(doing, kit.run(), first(), kit.START)
    assert not any(method == "PATCH" for method, _, _ in kube.log)


async def test_an_object_that_goes_as_we_look_does_not_make_the_run_look_gone() -> None:
    doing, kube, _ = hands()
    await apply(doing, kit.run(), first(), kit.START)

    def refuse(method: str, path: str) -> None:
        if method == "GET" and path == CONFIG_MAP:
            raise KubeError(404, "NotFound", path)

    kube.refuse = refuse
    with pytest.raises(KubeError) as found:
        await apply(doing, kit.run(), first(), kit.START)
    assert found.value.code == 409


@pytest.mark.parametrize("immutable", [False, None, "true"])
async def test_a_snapshot_that_can_still_be_changed_is_not_taken(immutable: object) -> None:
    doing, kube, _ = hands()
    await apply(doing, kit.run(), first(), kit.START)
    kube.put(CONFIG_MAP, {**kube.objects[CONFIG_MAP], "immutable": immutable})
    with pytest.raises(CreateRefused, match="not immutable"):
        await apply(doing, kit.run(), first(), kit.START)


@pytest.mark.parametrize("content", ["", "{}", "[", None, 7])
async def test_a_snapshot_that_cannot_be_read_is_a_refusal(content: object) -> None:
    doing, kube, _ = hands()
    await apply(doing, kit.run(), first(), kit.START)
    kube.put(CONFIG_MAP, {**kube.objects[CONFIG_MAP], "data": {"snapshot.json": content}})
    with pytest.raises(CreateRefused, match="cannot read"):
        await apply(doing, kit.run(), first(), kit.START)


def test_the_same_note_has_the_same_name_and_a_legal_one() -> None:
    note = Note("Evicted", "m" * 5_000, warning=True, attempt=1)
    long = kit.run(name="x" * 199 + "-" + "x" * 53)
    one, two = event_of(said_of(long, note), kit.START), event_of(said_of(long, note), kit.at(60))
    assert one["metadata"]["name"] == two["metadata"]["name"]
    assert len(one["metadata"]["name"]) <= 253
    assert "-." not in one["metadata"]["name"], "each part of a name ends in a letter or digit"
    assert len(one["message"]) <= 1_000
    again = event_of(said_of(long, Note("Evicted", "m", warning=True, attempt=2)), kit.START)
    assert again["metadata"]["name"] != one["metadata"]["name"]


async def test_a_note_that_cannot_be_posted_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    doing, kube, wrote = hands()

    def refuse(_method: str, path: str) -> None:
        if path.endswith("/events"):
            raise KubeError(403, "Forbidden", "no events here")

    kube.refuse = refuse
    note = Note("Started", "", warning=False, attempt=1)
    await apply(doing, kit.run(), replace(first(), notes=(note,)), kit.START)
    assert "no events here" in caplog.text
    assert wrote[0]["status"]["phase"] == "Preparing"


@pytest.mark.parametrize("refused", ["configmaps", "persistentvolumeclaims", ""])
async def test_no_job_without_all_that_its_pod_needs(refused: str) -> None:
    """What a pod needs is made side by side; whatever of it is refused, the rest is made and the Job is not."""
    doing, kube, wrote = hands()

    def refuse(method: str, path: str) -> None:
        if method == "POST" and refused and path.endswith(refused):
            raise KubeError(403, "Forbidden", "not that one")

    kube.refuse = refuse
    if refused:
        with pytest.raises(CreateRefused):
            await apply(doing, kit.run(), first(), kit.START)
        assert wrote == []
    else:
        await apply(doing, kit.run(), first(), kit.START)
    made = {path.split("/")[-2] for path in kube.objects} - {"runs"}
    everything = {"configmaps", "persistentvolumeclaims", "jobs"}
    assert made & everything == (everything if not refused else everything - {refused, "jobs"})
