"""The loop: a Run from created to removed against an API server of records; broken objects stay their own trouble."""

import asyncio
import itertools
from datetime import datetime
from typing import Any

import pytest
from guildhall_operator.apply import SnapshotDiffers
from guildhall_operator.client import KubeError
from guildhall_operator.handlers import guild_event, run_event
from guildhall_operator.metrics import Metrics
from guildhall_operator.observe import Surroundings, World
from guildhall_operator.queue import WorkQueue
from guildhall_operator.reconcile import Reconciler
from guildhall_operator.relist import relist
from guildhall_operator.store import Store
from unit.operator import kit
from unit.operator.fake_kube import FakeKube, until

RUNS = f"/apis/guildhall.dev/v1alpha1/namespaces/{kit.NAMESPACE}/runs"
SCHEDULES = f"/apis/guildhall.dev/v1alpha1/namespaces/{kit.NAMESPACE}/runschedules"
GUILDS = f"/apis/guildhall.dev/v1alpha1/namespaces/{kit.NAMESPACE}/guilds"


class Story:
    """A reconciler whose time and cluster the test moves."""

    def __init__(self, **config: Any) -> None:
        self.seconds = 0.0
        self.kube = FakeKube()
        around = Surroundings(kit.GATEWAY_IP, targets=kit.TARGETS, canary_at=0.0)
        self.store = Store()
        self.reconciler = Reconciler(
            self.kube,
            World(self.store, kit.config(**config), around),
            WorkQueue(self.monotonic),
            Metrics(),
            monotonic=self.monotonic,
            wall=self.wall,
            pod_seconds=0,
        )
        self.store.put_policy({**kit.policy(), "metadata": {"name": "guildhall-run", "namespace": kit.NAMESPACE}})
        self.guild("pair", kit.GUILD)

    def monotonic(self) -> float:
        self.reconciler.world.around.canary_at = self.seconds
        return self.seconds

    def wall(self) -> datetime:
        return kit.at(self.seconds)

    def guild(self, name: str, spec: Any) -> None:
        raw = {"metadata": {"name": name, "namespace": kit.NAMESPACE, "generation": 1}, "spec": spec}
        guild_event(self.reconciler, "ADDED", self.kube.put(f"{GUILDS}/{name}", raw))

    def create(self, name: str = "fix", uid: str = kit.UID, **spec: Any) -> None:
        raw = self.kube.put(f"{RUNS}/{name}", kit.raw_run(spec, None, name, uid=uid))
        run_event(self.reconciler, "ADDED", raw)

    def change(self, name: str = "fix", **fields: Any) -> None:
        """Somebody else's write, and its event."""
        there = self.kube.objects[f"{RUNS}/{name}"]
        changed = {key: {**there.get(key, {}), **value} for key, value in fields.items()}
        run_event(self.reconciler, "MODIFIED", self.kube.put(f"{RUNS}/{name}", {**there, **changed}))

    def pod(self, status: dict[str, Any], **spec: Any) -> None:
        labels = {"guildhall.dev/run": kit.UID, "guildhall.dev/attempt": "1"}
        meta = {"name": "fix-pod", "namespace": kit.NAMESPACE, "uid": kit.POD_UID, "labels": labels}
        raw = {
            "metadata": meta,
            "spec": {"nodeName": "node1", "activeDeadlineSeconds": 3_660, **spec},
            "status": status,
        }
        self.kube.put(f"/api/v1/namespaces/{kit.NAMESPACE}/pods/fix-pod", raw)
        self.reconciler.look_at(self.store.put_pod(raw))

    async def work(self) -> None:
        """Works the queue empty, as a worker would."""
        queue = self.reconciler.queue
        while (key := queue.take()) is not None:
            try:
                await self.reconciler.reconcile(key)
                queue.succeeded(key)
            except (KubeError, SnapshotDiffers):
                queue.failed(key)
            finally:
                queue.done(key)

    def status(self, name: str = "fix") -> dict[str, Any]:
        found: dict[str, Any] = self.kube.objects[f"{RUNS}/{name}"].get("status", {})
        return found

    def writes(self) -> int:
        """Writes of the operator so far, Events apart."""
        return sum(1 for _, path, _ in self.kube.log if not path.endswith("/events"))


def terminated(message: str, began: float, ended: float) -> dict[str, Any]:
    times = {"startedAt": kit.stamp(kit.at(began)), "finishedAt": kit.stamp(kit.at(ended))}
    return {"terminated": {"exitCode": 0, "reason": "Completed", "message": message, **times}}


def containers(executor: dict[str, Any]) -> dict[str, Any]:
    prepare = {"name": "prepare", "state": terminated(kit.PASSED, 2, 4)}
    return {"initContainerStatuses": [prepare], "containerStatuses": [{"name": "executor", "state": executor}]}


async def test_a_whole_run_costs_few_writes_and_a_finished_one_none() -> None:
    story = Story()
    await story.work()
    story.kube.log.clear()
    story.create(workspace={"storage": {}}, ttlSecondsAfterFinished=600)
    await story.work()
    story.seconds = 2
    story.pod({"phase": "Pending"})
    await story.work()
    assert story.status()["attempts"][0]["podUid"] == kit.POD_UID
    story.seconds = 5
    story.pod({"phase": "Running", **containers({"running": {"startedAt": kit.stamp(kit.at(5))}})})
    await story.work()
    assert story.status()["phase"] == "Running"
    story.seconds = 20
    story.pod({"phase": "Succeeded", **containers(terminated(kit.executor_says(), 5, 20))})
    await story.work()
    assert story.status()["phase"] == "Succeeded"
    story.change(status={"archive": {"storedSeq": 7}})
    await story.work()
    assert {item["type"]: item["status"] for item in story.status()["conditions"]}["Sealed"] == "True"
    assert story.writes() <= 14
    before = story.writes()
    for seconds in (60, 120, 500):
        story.seconds = seconds
        await relist(story.reconciler, kit.NAMESPACE, expect=False)
        await story.work()
    assert story.writes() == before
    story.seconds = 700
    await story.work()
    assert f"{RUNS}/fix" not in story.kube.objects


async def test_a_broken_huge_or_wrongly_typed_run_fails_alone() -> None:
    story = Story()
    story.create("wrong", "u-wrong", task=7, workspace="none")
    story.create("huge", "u-huge", task="x" * 600_000)
    story.create("odd", "u-odd", guild={"roles": [None]}, env=[1])
    story.create()
    await story.work()
    assert story.status("wrong")["reason"] == "SpecInvalid"
    assert story.status("huge")["reason"] == "SpecInvalid"
    assert story.status("odd")["phase"] == "Failed"
    assert story.status()["phase"] == "Preparing"


async def test_two_runs_never_get_one_place() -> None:
    story = Story(maxConcurrentRuns=1)
    story.create("a", "u-a")
    story.create("b", "u-b")
    await story.work()
    phases = sorted(story.status(name)["phase"] for name in "ab")
    assert phases == ["Preparing", "Queued"]
    first, second = ("a", "b") if story.status("a")["phase"] == "Preparing" else ("b", "a")
    story.change(first, spec={"cancel": True})
    await story.work()
    assert story.status(first)["phase"] == "Cancelled"
    assert story.status(second)["phase"] == "Preparing"


async def test_a_place_that_was_kept_for_a_run_which_is_held_after_all_is_another_ones() -> None:
    """The API server failed while its Job was made, and before the next try it was suspended."""
    story = Story(maxConcurrentRuns=1)
    story.create("a", "u-a")

    def no_jobs(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/jobs"):
            raise KubeError(500, "InternalError", "etcd is tired")

    story.kube.refuse = no_jobs
    await story.work()
    story.kube.refuse = lambda _method, _path: None
    story.change("a", spec={"suspend": True})
    story.create("b", "u-b")
    story.seconds = 30
    await story.work()
    assert (story.status("a")["reason"], story.status("b")["phase"]) == ("Suspended", "Preparing")


async def test_a_status_that_could_not_be_written_is_written_later_though_the_quota_is_full_of_that_run() -> None:
    story = Story(maxConcurrentRuns=1)
    story.create("a", "u-a")

    def no_status(method: str, _path: str) -> None:
        if method == "PATCH":
            raise KubeError(500, "InternalError", "etcd is tired")

    def full(method: str, path: str) -> None:
        if method == "POST" and not path.endswith("/events"):
            raise KubeError(403, "Forbidden", "exceeded quota: jobs")

    story.kube.refuse = no_status
    await story.work()
    assert any("/jobs/" in path for path in story.kube.objects)
    story.kube.refuse = full
    story.create("b", "u-b")
    story.seconds = 30
    await story.work()
    assert [item["number"] for item in story.status("a")["attempts"]] == [1]
    assert story.status("b")["reason"] == "ConcurrencyLimit", "its place is its own"


async def test_places_are_not_given_away_twice_by_workers_at_once() -> None:
    story = Story(maxConcurrentRuns=3)
    for number in range(12):
        story.create(f"r{number}", f"u-{number}")
    workers = [asyncio.create_task(story.reconciler.work()) for _ in range(8)]
    await until(lambda: all(story.status(f"r{number}") for number in range(12)))
    for worker in workers:
        worker.cancel()
    jobs = [path for path in story.kube.objects if "/jobs/" in path]
    assert len(jobs) == 3


async def test_cancelled_runs_in_the_queue_never_get_a_pod() -> None:
    story = Story(maxConcurrentRuns=2)
    for number in range(10):
        story.create(f"r{number}", f"u-{number}")
    await story.work()
    for number in range(10):
        story.change(f"r{number}", spec={"cancel": True})
    await story.work()
    assert len([path for path in story.kube.objects if "/jobs/" in path]) <= 2
    assert {story.status(f"r{number}")["phase"] for number in range(10)} == {"Cancelled"}


async def test_a_quota_on_our_objects_is_waited_out() -> None:
    story = Story()

    def refuse(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/jobs"):
            raise KubeError(403, "Forbidden", "exceeded quota: jobs")

    story.kube.refuse = refuse
    story.create()
    await story.work()
    assert (story.status()["phase"], story.status()["reason"]) == ("Queued", "QuotaExceeded")
    story.kube.refuse = lambda _method, _path: None
    story.seconds = 6
    await story.work()
    assert story.status()["phase"] == "Preparing"


@pytest.mark.parametrize("is_refused", [True, False])
async def test_a_run_is_replaced_only_by_one_that_was_made(is_refused: bool) -> None:
    story = Story()
    template = {"spec": {"guildRef": {"name": "pair"}, "task": "Again."}}
    spec = {"schedule": "0 2 * * *", "runTemplate": template, "concurrencyPolicy": "Replace"}
    meta = {"name": "nightly", "namespace": kit.NAMESPACE, "uid": "s-1", "creationTimestamp": kit.stamp(kit.at(0))}
    schedule = story.kube.put(f"{SCHEDULES}/nightly", {"metadata": meta, "spec": spec})
    story.reconciler.look_at_schedules(story.store.put_schedule(schedule))
    await story.work()
    story.seconds = 15 * 3_600  # the first 02:00 is over
    await story.work()
    (first,) = (name for name in story.kube.objects if name.startswith(f"{RUNS}/"))

    def refuse(method: str, path: str) -> None:
        if is_refused and (method, path) == ("POST", RUNS):
            raise KubeError(403, "Forbidden", "exceeded quota: runs")

    story.kube.refuse = refuse
    story.seconds += 24 * 3_600
    await story.work()
    made = [name for name in story.kube.objects if name.startswith(f"{RUNS}/")]
    assert len(made) == (1 if is_refused else 2)
    assert story.kube.objects[first]["spec"].get("cancel", False) is not is_refused


async def test_a_schedule_whose_guild_is_not_there_says_so_and_heals_when_it_comes_and_not_before() -> None:
    story = Story()
    template = {"spec": {"guildRef": {"name": "late"}, "task": "Again."}}
    meta = {"name": "nightly", "namespace": kit.NAMESPACE, "uid": "s-1", "creationTimestamp": kit.stamp(kit.at(0))}
    raw = {"metadata": meta, "spec": {"schedule": "@daily", "runTemplate": template}}
    story.reconciler.look_at_schedules(story.store.put_schedule(story.kube.put(f"{SCHEDULES}/nightly", raw)))

    async def reason() -> str:
        await story.work()
        (condition,) = story.kube.objects[f"{SCHEDULES}/nightly"]["status"]["conditions"]
        return str(condition["reason"])

    assert await reason() == "GuildNotFound"
    story.guild("other", kit.GUILD)
    assert await reason() == "GuildNotFound"
    story.guild("late", {"roles": 3})
    assert await reason() == "GuildInvalid"
    story.guild("late", kit.GUILD)
    assert await reason() == "Accepted"
    gone = story.kube.objects.pop(f"{GUILDS}/late")
    guild_event(story.reconciler, "DELETED", gone)
    assert await reason() == "GuildNotFound"


async def test_an_api_server_in_trouble_is_tried_again() -> None:
    story = Story()

    def refuse(method: str, path: str) -> None:
        if method == "PATCH":
            raise KubeError(500, "InternalError", "etcd")

    story.kube.refuse = refuse
    story.create()
    await story.work()
    assert story.status() == {}
    story.kube.refuse = lambda _method, _path: None
    story.seconds = 1
    await story.work()
    assert story.status()["phase"] == "Preparing"
    assert len([path for path in story.kube.objects if "/jobs/" in path]) == 1


async def test_a_crash_between_job_and_status_makes_no_second_job() -> None:
    story = Story()
    story.create()
    await story.work()
    story.kube.objects[f"{RUNS}/fix"]["status"] = {}
    again = Story()
    again.kube = story.kube
    again.reconciler.kube = story.kube
    await relist(again.reconciler, kit.NAMESPACE, expect=False)
    await again.work()
    assert len([path for path in story.kube.objects if "/jobs/" in path]) == 1
    assert again.status()["attempts"][0]["number"] == 1


async def test_a_guild_that_changed_in_a_crash_changes_nothing_and_costs_one_more_look() -> None:
    """The snapshot was made, the Job was not; meanwhile the Guild got another model and a shorter budget."""
    story = Story()
    story.create()
    await story.work()
    before = story.status()["guildDigest"]
    for path in [path for path in story.kube.objects if "/jobs/" in path]:
        del story.kube.objects[path]
    story.kube.objects[f"{RUNS}/fix"]["status"] = {}
    again = Story()
    again.kube = story.kube
    again.reconciler.kube = story.kube
    again.guild("pair", {**kit.GUILD, "models": {"big": "scripted:other"}, "defaults": {"seconds": 60}})
    await relist(again.reconciler, kit.NAMESPACE, expect=False)
    again.kube.log.clear()
    await again.work()
    assert again.status() == {}, "it pauses before it looks again"
    again.seconds = 0.5
    await again.work()
    assert (again.status()["phase"], again.status()["guildDigest"]) == ("Preparing", before)
    (job,) = [item for path, item in again.kube.objects.items() if "/jobs/" in path]
    assert job["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 3_660
    assert sum(path.endswith("/configmaps") for _, path, _ in again.kube.log) == 1


async def test_a_snapshot_laid_ready_ends_the_run_with_a_reason_and_not_in_a_loop() -> None:
    story = Story()
    name = f"fix-{kit.UID}-snapshot"
    laid = {"metadata": {"name": name, "namespace": kit.NAMESPACE}, "data": {"snapshot.json": "{}"}}
    story.kube.put(f"/api/v1/namespaces/{kit.NAMESPACE}/configmaps/{name}", laid)
    story.create()
    for seconds in range(60):
        story.seconds = float(seconds)
        await story.work()
    assert (story.status()["phase"], story.status()["reason"]) == ("Failed", "PolicyDenied")
    (said,) = [item["message"] for item in story.status()["conditions"] if item["type"] == "Succeeded"]
    assert name in said
    assert "was not made for this Run" in said
    assert not [path for path in story.kube.objects if "/jobs/" in path]
    assert sum(method == "POST" and path.endswith("/configmaps") for method, path, _ in story.kube.log) <= 8


async def test_a_second_attempt_that_is_refused_is_tried_again_after_a_pause() -> None:
    story = Story()
    story.create()
    await story.work()
    story.pod({"phase": "Failed", "reason": "Evicted", "message": "node pressure"})

    def refuse(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/jobs"):
            tries.append(path)
            raise KubeError(403, "Forbidden", "exceeded quota: jobs")

    tries: list[str] = []
    story.kube.refuse = refuse
    await asyncio.wait_for(story.work(), 5)
    assert [item.get("reason") for item in story.status()["attempts"]] == ["Evicted"]
    story.seconds = 1
    await asyncio.wait_for(story.work(), 5)
    assert len(tries) == 1
    story.kube.refuse = lambda _method, _path: None
    story.seconds = 8
    await story.work()
    assert len(story.status()["attempts"]) == 2


async def test_a_guild_gets_its_status_once() -> None:
    story = Story()
    story.guild("bad", {"roles": 3})
    await story.work()
    good = story.kube.objects[f"{GUILDS}/pair"]["status"]
    assert good["conditions"][0]["reason"] == "Accepted"
    assert len(good["digest"]) == 64
    assert {"name": "coder", "tools": ["read_file", "run_shell", "finish"]} in good["roles"]
    bad = story.kube.objects[f"{GUILDS}/bad"]["status"]
    assert bad["conditions"][0]["reason"] == "GuildInvalid"
    assert bad["conditions"][0]["message"]
    before = story.writes()
    await relist(story.reconciler, kit.NAMESPACE, expect=False)
    await story.work()
    assert story.writes() == before


async def test_a_guild_that_comes_late_lets_its_run_start() -> None:
    story = Story()
    story.create(guildRef={"name": "late"})
    await story.work()
    assert story.status().get("phase") == "Pending"
    story.guild("late", kit.GUILD)
    await story.work()
    assert story.status()["phase"] == "Preparing"


async def test_what_a_person_wrote_just_before_our_own_write_is_seen_in_its_answer() -> None:
    """The watch shows both afterwards, as versions that are known already."""
    story = Story()
    story.create()
    await story.work()
    story.seconds = 2
    story.pod({"phase": "Pending"})
    await story.work()
    story.seconds = 5
    there = story.kube.objects[f"{RUNS}/fix"]
    theirs = story.kube.put(f"{RUNS}/fix", {**there, "spec": {**there["spec"], "suspend": True}})
    story.pod({"phase": "Running", **containers({"running": {"startedAt": kit.stamp(kit.at(5))}})})
    await story.work()
    run_event(story.reconciler, "MODIFIED", theirs)
    await story.work()
    assert (story.status()["phase"], story.status()["reason"]) == ("Failed", "Suspended"), "no volume keeps its files"


async def test_a_run_deleted_under_our_hands_is_forgotten() -> None:
    story = Story()
    story.create()
    del story.kube.objects[f"{RUNS}/fix"]
    await story.work()
    assert story.store.runs == {}


async def test_a_worker_survives_what_it_cannot_understand() -> None:
    story = Story()
    story.create()

    def refuse(_method: str, _path: str) -> None:
        raise ZeroDivisionError

    story.kube.refuse = refuse
    worker = asyncio.create_task(story.reconciler.work())
    await until(lambda: len(story.reconciler.queue) == 0)
    assert not worker.done()
    worker.cancel()


@pytest.mark.parametrize("code", [413, 422])
async def test_a_status_the_server_will_not_store_is_tried_ever_later(code: int) -> None:
    story, tried = Story(), list[float]()
    await story.work()

    def refuse(method: str, path: str) -> None:
        if method == "PATCH" and path.startswith(f"{RUNS}/fix"):
            tried.append(story.seconds)
            raise KubeError(code, "TooLarge", "etcdserver: request is too large")

    story.kube.refuse = refuse
    story.create()
    for story.seconds in range(600):
        await story.work()
    pauses = [after - before for before, after in itertools.pairwise(tried)]
    assert len(tried) <= 20, "ten minutes of it are no storm"
    assert max(pauses) >= 50
    story.kube.refuse = lambda _method, _path: None
    story.seconds += 61
    await story.work()
    assert story.status()["phase"], "and it goes on by itself once the server takes it"


async def test_a_storm_of_warnings_is_one_look() -> None:
    """20,000 different Warnings about one pod cost one place in the queue and one record."""
    story = Story()
    story.create()
    await story.work()
    story.pod({"phase": "Pending"})
    await story.work()
    about, before = {"kind": "Pod", "uid": kit.POD_UID}, story.writes()
    for number in range(20_000):
        warning = {"type": "Warning", "reason": "FailedMount", "message": f"try {number}", "involvedObject": about}
        story.reconciler.look_at(story.store.put_event(warning))
    assert len(story.store.events([kit.POD_UID])[kit.POD_UID]) == 1
    assert story.reconciler.queue.take() is not None
    assert story.reconciler.queue.take() is None, "one key, however often it was put there"
    assert story.writes() == before
