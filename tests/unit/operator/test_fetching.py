"""From the fetch Job to the run pod's: what is waited for, what is tried again, and how a fetch ends a Run."""

from typing import Any

import pytest
from guildhall_operator.plan import plan
from guildhall_operator.records import PodRecord, pod_record
from guildhall_operator.store import Store
from unit.operator import kit

KINDS = ["ConfigMap", "PersistentVolumeClaim", "PersistentVolumeClaim", "Job"]


def seen(view: kit.RunView, *pods: PodRecord, number: int = 1, **changes: Any) -> Any:
    """The plan for a fetching Run beside its Job and pods, six seconds in."""
    jobs = {key: job for each in range(1, number + 1) for key, job in kit.fetch_job_of(view, each).items()}
    return plan(view, kit.fetch_world(**{"pods": pods, "jobs": jobs, **changes}), kit.at(6))


def test_a_git_source_gets_a_fetch_job_and_no_run_pod() -> None:
    done = plan(kit.run(kit.GIT), kit.fetch_world(), kit.START)
    assert [item["kind"] for item in done.create] == KINDS
    job = done.create[-1]
    assert job["metadata"]["name"] == f"fix-{kit.UID}-f1"
    assert job["metadata"]["labels"]["guildhall.dev/run"] == kit.UID
    template = job["spec"]["template"]
    assert template["metadata"]["labels"]["guildhall.dev/fetch"] == kit.UID
    assert "guildhall.dev/run" not in template["metadata"]["labels"], "the run pods' policy opens nothing for it"
    assert kit.condition(done, "WorkspaceReady")["reason"] == "Fetching"
    assert done.status is not None
    assert done.status["reason"] == "Fetching"
    assert "attempts" not in done.status


def test_the_fetch_pod_is_shut_in_like_any_other() -> None:
    spec = {"workspace": {"git": {**kit.GIT["workspace"]["git"], "secretRef": {"name": "deploy"}}}}
    job = plan(kit.run(spec), kit.fetch_world(), kit.START).create[-1]
    pod = job["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("guildhall-fetch", False)
    assert pod["dnsPolicy"] == "ClusterFirst"
    assert 0 < pod["activeDeadlineSeconds"] <= 660
    (container,) = pod["containers"]
    assert "initContainers" not in pod
    assert (container["name"], container["image"]) == ("fetch", "reg/fetcher:1")
    assert not {"command", "args"} & set(container), "its image says what it does"
    assert container["securityContext"]["runAsUser"] == container["securityContext"]["runAsGroup"] == 10_002
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {item["name"]: item for item in container["volumeMounts"]}
    assert set(mounts) == {"workspace", "tmp", "secret"}
    assert mounts["secret"]["readOnly"] is True
    secrets = [item["secret"]["secretName"] for item in pod["volumes"] if "secret" in item]
    assert secrets == ["deploy"]


def test_no_other_pod_of_the_run_sees_the_secret() -> None:
    spec = {"workspace": {"git": {**kit.GIT["workspace"]["git"], "secretRef": {"name": "deploy"}}}}
    view = kit.fetching(spec)
    (job,) = seen(view, kit.fetch_pod(kit.fetch_says())).create
    pod = job["spec"]["template"]["spec"]
    assert not any("secret" in volume for volume in pod["volumes"])
    mounted = {
        (container["name"], mount["mountPath"], mount["subPath"], mount.get("readOnly", False))
        for container in [*pod["initContainers"], *pod["containers"]]
        for mount in container["volumeMounts"]
        if mount["name"] == "workspace"
    }
    assert mounted == {
        ("prepare", "/workspace", "tree", False),
        ("prepare", "/guildhall/baseline", "baseline", False),
        ("workshop", "/workspace", "tree", False),
        ("workshop", "/guildhall/baseline", "baseline", True),
    }


def test_the_tree_and_the_baseline_share_a_volume_with_room_for_both() -> None:
    claims = [item for item in plan(kit.run(kit.GIT), kit.fetch_world(), kit.START).create if "Claim" in item["kind"]]
    sizes = {
        item["metadata"]["name"].rpartition("-")[2]: item["spec"]["resources"]["requests"]["storage"] for item in claims
    }
    assert sizes == {"journal": "1Gi", "workspace": "1537Mi"}, "1Gi for the tree, 512Mi for the baseline"


def test_a_fetched_repository_starts_the_run_pod_at_once_and_says_the_commit() -> None:
    view = kit.fetching()
    done = seen(view, kit.fetch_pod(kit.fetch_says(submodules=2, submodulePaths=["a b", "c"], lfsFiles=1)))
    assert [item["metadata"]["name"] for item in done.create] == [f"fix-{kit.UID}-a1"]
    assert done.deletions == (), "its pod has not ended yet"
    assert done.status is not None
    assert done.status["source"]["commit"] == "a" * 40
    ready = kit.condition(done, "WorkspaceReady")
    assert (ready["status"], ready["reason"]) == ("Unknown", "Preparing")
    for word in ("a" * 40, "refs/heads/main", "2 submodule(s) not fetched: a b, c", "1 Git LFS pointer(s)"):
        assert word in ready["message"]
    later = kit.after(view, done)
    assert later.started
    assert not later.fetching
    proven = plan(
        later, kit.fetch_world(pods=(kit.pod(), kit.fetch_pod(kit.fetch_says())), jobs=kit.job_of(later)), kit.at(20)
    )
    assert [(act.kind, act.name) for act in proven.deletions] == [], "its Job is gone"
    jobs = {**kit.job_of(later), **kit.fetch_job_of(view)}
    for phase, gone in (("Running", []), ("Succeeded", [("Job", f"fix-{kit.UID}-f1")])):
        pods = (kit.pod(), kit.fetch_pod(kit.fetch_says(), phase=phase))
        ended = plan(later, kit.fetch_world(pods=pods, jobs=jobs), kit.at(20))
        assert [(act.kind, act.name) for act in ended.deletions] == gone
    assert "a" * 40 in kit.condition(proven, "WorkspaceReady")["message"]
    assert "12 files" in kit.condition(proven, "WorkspaceReady")["message"]


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("denied", "WorkspaceFailed"),
        ("host_not_found", "WorkspaceFailed"),
        ("unreachable", "WorkspaceFailed"),
        ("tls_failed", "WorkspaceFailed"),
        ("ref_not_found", "WorkspaceFailed"),
        ("hostile", "WorkspaceFailed"),
        ("timed_out", "WorkspaceFailed"),
        ("refused", "WorkspaceFailed"),
        ("too_large", "SourceTooLarge"),
        ("internal", "Internal"),
    ],
)
def test_what_a_person_must_mend_is_never_tried_again(outcome: str, reason: str) -> None:
    done = seen(kit.fetching(), kit.fetch_pod(kit.fetch_says(outcome, "mend this"), exit_code=1))
    assert done.create == ()
    assert kit.verdict(done) == ("False", reason)
    assert "mend this" in kit.condition(done, "Succeeded")["message"]
    assert kit.condition(done, "WorkspaceReady")["status"] == "False"


def test_what_the_cluster_did_is_tried_again_within_bounds() -> None:
    view = kit.fetching()
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "node was low on memory"}
    gone = kit.fetch_pod("", exit_code=137, **evicted)
    done = seen(view, gone)
    assert [item["metadata"]["name"] for item in done.create] == [f"fix-{kit.UID}-f2"]
    assert done.status is None or kit.condition(done, "Succeeded")["status"] == "Unknown"
    second = kit.fetch_pod("", exit_code=137, number=2, **evicted)
    over = seen(view, gone, second, number=2)
    assert over.create == ()
    assert kit.verdict(over) == ("False", "Evicted")


def test_a_fetcher_on_a_dead_node_is_waited_for_within_bounds() -> None:
    view = kit.fetching()
    stuck = kit.fetch_pod(deleting=kit.stamp(kit.at(5)), disruption="DeletionByTaintManager")
    early = seen(view, stuck)
    assert (early.create, early.status) == ((), None), "its kubelet may come back"
    assert early.requeue_seconds is not None
    lost = seen(view, stuck, waits=dict.fromkeys(early.waiting, 70.0))
    assert lost.create == (), "two fetchers never write to one volume"
    assert lost.requeue_seconds is not None
    last = seen(view, stuck, waits=dict.fromkeys(early.waiting | lost.waiting, 700.0))
    assert last.create == ()
    assert kit.verdict(last) == ("False", "NodeLost")
    said = kit.condition(last, "Succeeded")["message"]
    assert "node 'node1' does not answer" in said
    assert "remove that node or pod" in said


def test_an_image_that_does_not_come_is_tried_again_in_another_pod() -> None:
    view = kit.fetching()
    pulling = {"phase": "Pending", "containers": {"fetch": kit.waiting("ImagePullBackOff", "no such image")}}
    stuck = kit.fetch_pod(**pulling)
    waits = dict.fromkeys(seen(view, stuck).waiting, 100.0)
    stopped = seen(view, stuck, waits=waits)
    assert (stopped.create, [act.name for act in stopped.end_pods]) == ((), ["fetch-pod-1"])
    ended = kit.fetch_pod(**{**pulling, "phase": "Failed"}, reason="DeadlineExceeded", deadline_seconds=1)
    again = seen(view, ended)
    assert [item["metadata"]["name"] for item in again.create] == [f"fix-{kit.UID}-f2"]
    late = kit.fetch_pod("", exit_code=137, reason="DeadlineExceeded")
    assert kit.verdict(seen(view, late)) == ("False", "WorkspaceFailed"), "control: its own deadline"


def test_a_cancelled_fetch_is_not_tried_again_and_its_pod_ends() -> None:
    view = kit.run_view({**kit.raw_run({**kit.GIT, "cancel": True}), "status": kit.fetching().status})
    done = seen(view, kit.fetch_pod())
    assert kit.verdict(done) == ("False", "Cancelled")
    assert [act.name for act in done.end_pods] == ["fetch-pod-1"]
    over = plan(kit.after(view, done), kit.fetch_world(jobs=kit.fetch_job_of(view), pods=(kit.fetch_pod(),)), kit.at(7))
    assert {act.kind for act in over.deletions} == {"Job"}


@pytest.mark.parametrize("asked", ["suspend", "cancel"])
def test_a_run_pod_that_a_crash_kept_out_of_the_status_is_followed(asked: str) -> None:
    view = kit.run_view({**kit.raw_run({**kit.GIT, asked: True}), "status": kit.fetching().status})
    fetched = kit.fetch_pod(kit.fetch_says())
    jobs = kit.fetch_job_of(view) | kit.job_of(view)
    done = plan(view, kit.fetch_world(jobs=jobs, pods=(fetched,)), kit.at(6))
    assert [item["number"] for item in (done.status or {})["attempts"]] == [1]
    assert (done.status or {})["source"]["commit"], "what was fetched is not lost either"
    assert seen(view, fetched).create == (), "control: without that Job it is held, or ends"
    gone = plan(view, kit.fetch_world(jobs=jobs, gateway_ip=None), kit.at(6))
    assert [item["number"] for item in (gone.status or {})["attempts"]] == [1], "the pod that fetched may be gone"
    assert (done.create, gone.create) == ((), ())


def test_suspended_meanwhile_it_waits_with_its_workspace_and_starts_without_another_fetch() -> None:
    view = kit.fetching()
    held = kit.run_view({**kit.raw_run({**kit.GIT, "suspend": True}), "status": view.status})
    done = seen(held, kit.fetch_pod(kit.fetch_says()))
    assert done.create == ()
    assert kit.condition(done, "Queued")["reason"] == "Suspended"
    waiting = kit.after(held, done)
    assert not waiting.holds, "it gave its place back"
    free = kit.run_view({**kit.raw_run(kit.GIT), "status": waiting.status})
    names = [item["metadata"]["name"] for item in plan(free, kit.fetch_world(), kit.at(60)).create]
    assert names[-1] == f"fix-{kit.UID}-a1"
    assert not any(name.endswith("-f1") for name in names)


@pytest.mark.parametrize(
    ("policies", "reason"),
    [
        ((kit.policy(),), "PolicyMissing"),
        ((kit.policy(), kit.fetch_policy(ingress=[{}])), "IsolationNotEnforced"),
        ((kit.policy(), kit.fetch_policy(policyTypes=["Ingress"])), "IsolationNotEnforced"),
        ((kit.policy(), kit.fetch_policy(podSelector={"matchLabels": {"x": "y"}})), "IsolationNotEnforced"),
        (
            (
                kit.policy(),
                kit.fetch_policy(),
                kit.fetch_policy("mine", podSelector={"matchLabels": {"guildhall.dev/fetch": kit.UID}}),
            ),
            "IsolationNotEnforced",
        ),
    ],
)
def test_nothing_is_fetched_unless_the_fetchers_policy_is_all_there_is(policies: tuple[Any, ...], reason: str) -> None:
    done = plan(kit.run(kit.GIT), kit.fetch_world(policies=policies), kit.START)
    assert done.create == ()
    assert done.status is not None
    found = {item["reason"] for item in done.status["conditions"]}
    assert reason in found
    later = seen(kit.fetching(), kit.fetch_pod(), policies=policies)
    assert kit.verdict(later) == ("False", "IsolationNotEnforced")
    assert later.end_pods


def test_the_fetchers_policy_opens_nothing_for_a_run_pod() -> None:
    """Control: the same policy without its second line would, and is then refused."""
    closed = plan(kit.run(), kit.fetch_world(), kit.START)
    assert closed.create
    wide = kit.fetch_policy(podSelector={})
    assert (
        kit.verdict(plan(kit.run(), kit.fetch_world(policies=(kit.policy(), wide)), kit.START))[1]
        == "IsolationNotEnforced"
    )


@pytest.mark.parametrize(
    ("git", "word"),
    [
        ({"url": "https://user:pass@host/x"}, "secretRef"),
        ({"url": "https://host/x?y"}, "plain path"),
        ({"url": "https://host/"}, "plain path"),
        ({"url": "https://host/-x"}, "plain path"),
        ({"url": "ssh://-oProxyCommand=x/y"}, "is not an address"),
        ({"url": "ssh://host/x"}, "secretRef"),
        ({"url": "git://host/x", "secretRef": {"name": "s"}}, "in the clear"),
        ({"url": "https://host:70000/x"}, "70000"),
    ],
)
def test_an_address_that_cannot_work_is_refused_before_anything_is_made(git: dict[str, Any], word: str) -> None:
    done = plan(kit.run({"workspace": {"git": git}}), kit.fetch_world(), kit.START)
    assert done.create == ()
    assert kit.verdict(done) == ("False", "SpecInvalid")
    assert word in kit.condition(done, "Succeeded")["message"]


def test_a_protocol_the_chart_left_out_is_refused() -> None:
    config = kit.config(fetcher={"image": "reg/fetcher:1"})
    done = plan(kit.run({"workspace": {"git": {"url": "git://host/x"}}}), kit.fetch_world(config=config), kit.START)
    assert "https://, ssh://" in kit.condition(done, "Succeeded")["message"]


def test_a_fetching_run_holds_its_place_and_a_restart_changes_nothing() -> None:
    store = Store()
    view = kit.fetching()
    raw = {**kit.raw_run(kit.GIT, dict(view.status)), "metadata": {**kit.raw_run()["metadata"], "resourceVersion": "5"}}
    store.put_run(raw)
    other = kit.run(name="other", uid="22222222-2222-4333-8444-555555555555")
    assert [peer.holds for peer in store.peers(other)] == [True]
    again = seen(view, kit.fetch_pod())
    assert (again.create, again.status) == ((), None)


def test_a_fetch_pod_is_the_runs_and_its_last_word_is_kept() -> None:
    raw = {
        "metadata": {"name": "p", "namespace": kit.NAMESPACE, "uid": "u", "labels": {"guildhall.dev/fetch": kit.UID}},
        "status": {"containerStatuses": [{"name": "fetch", "state": {"terminated": {"message": kit.fetch_says()}}}]},
    }
    record = pod_record(raw)
    assert record is not None
    assert record.run == kit.UID
    assert record.container("fetch").message == kit.fetch_says()


def test_a_word_that_is_not_the_fetchers_is_not_believed() -> None:
    for said in ("", "{}", kit.PASSED, kit.fetch_says(commit="HEAD"), kit.fetch_says() + " " * 3000):
        done = seen(kit.fetching(), kit.fetch_pod(said))
        assert done.create == ()
        assert kit.verdict(done) == ("False", "Internal")
    lied = seen(kit.fetching(), kit.fetch_pod(kit.fetch_says(), exit_code=1))
    assert kit.verdict(lied) == ("False", "Internal"), "its exit code says otherwise"


def test_a_secret_that_is_not_there_is_named() -> None:
    view = kit.fetching()
    stuck = kit.fetch_pod(phase="Pending", mounted=False, containers={"fetch": kit.waiting("ContainerCreating")})
    events = kit.warning(
        stuck.uid, "FailedMount", 'MountVolume.SetUp failed for volume "secret" : secret "key" not found'
    )
    done = seen(view, stuck, events=events, waits={"stall/MountFailed": 61.0})
    assert kit.verdict(done) == ("False", "MountFailed")
    assert "there is no Secret 'key' in namespace 'team-a'; create it" in kit.condition(done, "Succeeded")["message"]


def test_a_job_that_is_gone_ends_the_run_after_a_moment() -> None:
    view = kit.fetching()
    first = plan(view, kit.fetch_world(), kit.at(6))
    assert (first.create, "fetch-job" in first.waiting) == ((), True)
    later = plan(view, kit.fetch_world(waits={"fetch-job": 9.0}), kit.at(15))
    assert kit.verdict(later) == ("False", "Deleted")


STATES = [
    (),
    (kit.fetch_pod(),),
    (kit.fetch_pod(kit.fetch_says()),),
    (kit.fetch_pod(kit.fetch_says("denied", "no"), exit_code=1),),
    (kit.fetch_pod("", exit_code=137, phase="Failed", reason="Evicted"),),
]


@pytest.mark.parametrize("pods", STATES)
def test_a_second_look_at_the_same_world_changes_nothing(pods: tuple[PodRecord, ...]) -> None:
    """Whatever became of the fetch: applied to its own result, the plan makes and writes nothing new."""
    view = kit.fetching()
    done = seen(view, *pods)
    made = {item["metadata"]["name"] for item in done.create}
    jobs = kit.fetch_job_of(view) | (kit.fetch_job_of(view, 2) if f"fix-{kit.UID}-f2" in made else {})
    later = kit.after(view, done)
    jobs |= kit.job_of(later) if later.started else {}
    again = plan(later, kit.fetch_world(pods=pods, jobs=jobs), kit.at(6))
    assert again.create == ()
    assert again.status is None or "Sealed" in str(again.status), "only sealing may follow an end"
