"""The operator on a real cluster, with stand-ins for the containers: how Runs start, end and leave nothing behind."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import DONE, GUILD, OperatorProcess, condition, installed

__all__ = ["cluster"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow]
UNREACHABLE_IMAGE = "127.0.0.1:9/nothing:1"


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    folder: Path = tmp_path_factory.mktemp("operator")
    with installed(cluster, folder) as found, cluster.enforced():
        found.start()
        yield found


def verdict(run: dict[str, Any]) -> tuple[str, str]:
    return run["status"]["phase"], run["status"]["reason"]


def mine(operator: OperatorProcess, kind: str, name: str) -> list[dict[str, Any]]:
    """The objects of a kind that were made for a Run."""
    uid = operator.run(name)["metadata"]["uid"]
    items = operator.items(kind)
    return [item for item in items if item["metadata"].get("labels", {}).get("guildhall.dev/run") == uid]


def test_a_run_goes_from_created_to_succeeded(operator: OperatorProcess) -> None:
    operator.create("plain", "sleep=2")
    run = operator.done("plain")
    assert verdict(run) == ("Succeeded", "Completed")
    assert condition(run, "IsolationVerified")["status"] == "True"
    attempt = run["status"]["attempts"][0]
    assert attempt["podUid"]
    assert attempt["node"]
    assert run["status"]["guildDigest"]
    assert run["status"]["startTime"] <= run["status"]["completionTime"]
    assert not run["metadata"].get("finalizers")
    assert not run["metadata"].get("annotations")


def test_a_sealed_run_keeps_its_status_and_nothing_else(operator: OperatorProcess) -> None:
    operator.create("sealed", workspace={"storage": {"size": "16Mi"}})
    operator.done("sealed")
    assert mine(operator, "jobs", "sealed")
    kinds = {item["metadata"]["name"].rpartition("-")[2] for item in mine(operator, "persistentvolumeclaims", "sealed")}
    assert kinds == {"journal", "workspace", "baseline"}
    operator.api_stored("sealed", 3)
    eventually(lambda: condition(operator.run("sealed"), "Sealed").get("status") == "True")
    eventually(lambda: not mine(operator, "jobs", "sealed"), seconds=40)
    eventually(lambda: not mine(operator, "pods", "sealed"), seconds=40)
    eventually(lambda: not mine(operator, "persistentvolumeclaims", "sealed"), seconds=40)
    assert verdict(operator.run("sealed")) == ("Succeeded", "Completed")


def test_a_run_costs_few_writes_and_a_finished_one_none(operator: OperatorProcess, cluster: Cluster) -> None:
    def writes(since: int) -> list[dict[str, Any]]:
        account = f"system:serviceaccount:{operator.control}:guildhall-operator"
        found = [item for item in cluster.writes(operator.runs) if item["user"]["username"] == account]
        return [item for item in found if item["objectRef"]["resource"] not in {"leases", "events"}][since:]

    before = len(writes(0))
    operator.create("counted", "sleep=4")
    operator.done("counted")
    operator.api_stored("counted", 3)
    eventually(lambda: not mine(operator, "pods", "counted"), seconds=40)
    time.sleep(2)
    used = writes(before)
    assert len(used) <= 14, [(item["verb"], item["objectRef"]["resource"]) for item in used]
    operator.cluster.kubectl("label", "run", "counted", "-n", operator.runs, "seen=yes")
    time.sleep(3)
    assert len(writes(before)) == len(used)


ENDS = [
    ("budget", "outcome=failed kind=budget_exhausted", ("Failed", "BudgetExceeded")),
    ("cancelled", "outcome=cancelled", ("Cancelled", "Cancelled")),
    ("silent", "outcome=silent", ("Failed", "ExecutorLost")),
    ("memory", "outcome=oom", ("Failed", "OOMKilled")),
]


@pytest.mark.parametrize(("name", "task", "expected"), ENDS)
def test_the_executor_ends_a_run(operator: OperatorProcess, name: str, task: str, expected: tuple[str, str]) -> None:
    operator.create(name, task)
    run = operator.done(name)
    assert verdict(run) == expected
    assert len(mine(operator, "pods", name)) == 1


def test_an_image_that_cannot_be_pulled(operator: OperatorProcess) -> None:
    operator.create("no-image", image=UNREACHABLE_IMAGE)
    run = operator.done("no-image", seconds=90)
    assert verdict(run) == ("Failed", "ImagePullFailed")
    assert UNREACHABLE_IMAGE in condition(run, "Succeeded")["message"]
    assert [item["reason"] for item in run["status"]["attempts"]] == ["ImagePullFailed", "ImagePullFailed"]
    eventually(lambda: not mine(operator, "pods", "no-image"), seconds=40)
    eventually(lambda: not mine(operator, "persistentvolumeclaims", "no-image"), seconds=40)


def test_a_source_that_does_not_exist_is_named(operator: OperatorProcess) -> None:
    operator.create("no-source", workspace={"archive": {"configMap": "not-there"}})
    run = operator.done("no-source", seconds=60)
    assert verdict(run) == ("Failed", "MountFailed")
    assert "there is no ConfigMap 'not-there' in namespace" in condition(run, "Succeeded")["message"]
    eventually(lambda: not mine(operator, "pods", "no-source"), seconds=40)


def test_a_claim_that_does_not_exist_is_named(operator: OperatorProcess) -> None:
    operator.create("no-claim", workspace={"claim": {"name": "not-there"}})
    run = operator.done("no-claim")
    assert verdict(run) == ("Failed", "MountFailed")
    assert "'not-there'" in condition(run, "Succeeded")["message"]
    assert not mine(operator, "jobs", "no-claim")


def test_a_guild_that_does_not_exist(operator: OperatorProcess) -> None:
    operator.create("no-guild", guildRef={"name": "nobody"})
    assert verdict(operator.done("no-guild")) == ("Failed", "GuildNotFound")


def test_a_guild_is_accepted_or_told_why_not(operator: OperatorProcess) -> None:
    def guild(name: str, spec: dict[str, Any]) -> dict[str, Any]:
        return {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Guild", "metadata": {"name": name}, "spec": spec}

    def accepted(name: str) -> str:
        found = operator.cluster.get("guild", name, "-n", operator.runs)
        return str(condition(found, "Accepted").get("status"))

    broken = {**GUILD, "entryRole": "nobody"}
    operator.cluster.apply(guild("good", GUILD), guild("broken", broken), namespace=operator.runs)
    eventually(lambda: accepted("good") == "True")
    eventually(lambda: accepted("broken") == "False")
    operator.create("of-good", guildRef={"name": "good"})
    operator.create("of-broken", guildRef={"name": "broken"})
    assert verdict(operator.done("of-good")) == ("Succeeded", "Completed")
    assert verdict(operator.done("of-broken")) == ("Failed", "GuildInvalid")


def test_suspend_then_cancel_makes_no_pod(operator: OperatorProcess) -> None:
    operator.create("held", suspend=True)
    operator.wait("held", {"Queued"})
    operator.patch("held", cancel=True)
    assert verdict(operator.done("held")) == ("Cancelled", "Cancelled")
    assert not mine(operator, "jobs", "held")


def test_suspend_then_release_runs(operator: OperatorProcess) -> None:
    operator.create("released", suspend=True)
    operator.wait("released", {"Queued"})
    operator.patch("released", suspend=False)
    assert verdict(operator.done("released")) == ("Succeeded", "Completed")


def test_cancel_of_an_executor_that_does_not_listen(operator: OperatorProcess) -> None:
    operator.create("deaf", "sleep=300 term=ignore")
    operator.wait("deaf", {"Running"})
    operator.patch("deaf", cancel=True)
    run = operator.done("deaf", seconds=60)
    assert verdict(run) == ("Cancelled", "Cancelled")
    assert mine(operator, "pods", "deaf"), "the pod stays until it is sealed"


def test_a_pod_over_its_time_is_stopped_and_says_so(operator: OperatorProcess) -> None:
    operator.create("slow", "sleep=300", budget={"seconds": 1})
    operator.wait("slow", {"Running"})
    pod = mine(operator, "pods", "slow")[0]
    assert pod["spec"]["activeDeadlineSeconds"] == 61
    patch = json.dumps({"spec": {"activeDeadlineSeconds": 2}})
    operator.cluster.kubectl("patch", "pod", pod["metadata"]["name"], "-n", operator.runs, "--type=merge", "-p", patch)
    assert verdict(operator.done("slow")) == ("Failed", "DeadlineExceeded")


def test_an_evicted_pod(operator: OperatorProcess) -> None:
    operator.create("evicted", "sleep=300")
    operator.wait("evicted", {"Running"})
    name = mine(operator, "pods", "evicted")[0]["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": operator.runs}}
    path = f"/api/v1/namespaces/{operator.runs}/pods/{name}/eviction"
    operator.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    run = operator.done("evicted", seconds=60)
    assert verdict(run) == ("Failed", "Evicted")
    assert len(run["status"]["attempts"]) == 1, "an agent that had begun is not run again"


def test_a_deleted_pod_is_lost_and_not_replaced(operator: OperatorProcess) -> None:
    operator.create("lost", "sleep=300")
    operator.wait("lost", {"Running"})
    name = mine(operator, "pods", "lost")[0]["metadata"]["name"]
    operator.cluster.kubectl("delete", "pod", name, "-n", operator.runs, "--wait=false")
    assert verdict(operator.done("lost"))[1] in {"ExecutorLost", "Evicted"}
    time.sleep(3)
    left = [pod["metadata"] for pod in mine(operator, "pods", "lost")]
    assert [one for one in left if "guildhall.dev/resend" in one["labels"]], "control: its journal is printed again"
    assert not [one for one in left if "guildhall.dev/resend" not in one["labels"] and "deletionTimestamp" not in one]


def test_a_full_quota_queues_and_lets_go(operator: OperatorProcess) -> None:
    operator.cluster.kubectl("create", "quota", "full", "-n", operator.runs, "--hard=pods=0")
    try:
        operator.create("quota", "sleep=1")
        run = operator.wait("quota", {"Queued"})
        assert run["status"]["reason"] == "QuotaExceeded"
        assert "exceeded quota: full" in condition(run, "Queued")["message"]
    finally:
        operator.cluster.kubectl("delete", "quota", "full", "-n", operator.runs)
    assert verdict(operator.done("quota", seconds=120)) == ("Succeeded", "Completed")


def test_a_claim_is_used_by_one_run_at_a_time(operator: OperatorProcess) -> None:
    workspace = operator.claim("shared")
    operator.create("first", "sleep=4", workspace=workspace)
    operator.wait("first", {"Preparing", "Running"})
    operator.create("second", workspace=workspace)
    second = operator.wait("second", {"Queued"})
    assert second["status"]["reason"] == "WorkspaceBusy"
    assert verdict(operator.done("second", seconds=60)) == ("Succeeded", "Completed")
    first = operator.run("first")
    assert first["status"]["completionTime"] <= operator.run("second")["status"]["startTime"]
    assert operator.cluster.get("pvc", "shared", "-n", operator.runs)["status"]["phase"] == "Bound"


def test_a_claim_is_busy_until_the_pod_of_a_deleted_run_is_gone(operator: OperatorProcess) -> None:
    """The pod bears its SIGTERM: until it has ended it may still write, though its Run is gone."""
    workspace = operator.claim("lingering")
    operator.create("holder", "sleep=300 term=ignore", workspace=workspace)
    holder = operator.wait("holder", {"Running"})["metadata"]["uid"]
    operator.create("next", workspace=workspace)
    waits = operator.wait("next", {"Queued"})
    assert "Run 'holder'" in condition(waits, "Queued")["message"], "it is told who has it"
    operator.cluster.kubectl("delete", "run", "holder", "-n", operator.runs, "--wait=false")

    def there() -> list[str]:
        pods = [pod for pod in operator.items("pods") if pod["metadata"]["labels"].get("guildhall.dev/run") == holder]
        return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] not in {"Succeeded", "Failed"}]

    eventually(lambda: "another pod" in condition(operator.run("next"), "Queued").get("message", ""), seconds=20)
    assert there(), "positive control: its pod is still dying"
    assert operator.run("next")["status"]["reason"] == "WorkspaceBusy"
    started = None
    while there():  # asked after what was seen before: a pod that is still there was there then
        assert not started, "nothing was started beside it"
        started = operator.run("next")["status"].get("attempts")
    assert verdict(operator.done("next", seconds=60)) == ("Succeeded", "Completed")


def test_a_run_is_removed_when_its_time_has_come(operator: OperatorProcess) -> None:
    operator.create("brief", ttlSecondsAfterFinished=3)
    operator.done("brief")
    operator.api_stored("brief", 3)
    eventually(lambda: "brief" not in {item["metadata"]["name"] for item in operator.items("runs")}, seconds=30)


@pytest.mark.parametrize("name", ["x" * 253, "feature.fix-the.thing"])
def test_a_run_of_any_legal_name(operator: OperatorProcess, name: str) -> None:
    operator.create(name)
    assert verdict(operator.done(name)) == ("Succeeded", "Completed")


def test_a_run_says_its_story_in_events(operator: OperatorProcess) -> None:
    operator.create("story", "outcome=failed kind=tool_denied sleep=2")
    operator.done("story")
    uid = operator.run("story")["metadata"]["uid"]

    def reasons() -> list[str]:
        return [item["reason"] for item in operator.items("events") if item["involvedObject"].get("uid") == uid]

    eventually(lambda: set(reasons()) == {"Started", "PolicyDenied"})
    assert len(reasons()) == 2


def test_nothing_was_forbidden_and_nothing_raised(operator: OperatorProcess) -> None:
    log = operator.log()
    assert "403" not in log
    assert "Traceback" not in log
    assert operator.page("/healthz")[0] == 200
    assert "guildhall_operator_canary_answers 1.0" in operator.page("/metrics")[1]


def test_every_run_ended(operator: OperatorProcess) -> None:
    assert {item["status"]["phase"] for item in operator.items("runs")} <= DONE
