"""The credential that may write is the publisher's alone: its pod has one shape, and no workspace is in it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from guildhall_contracts.run import Delivery, RunSpec
from guildhall_operator.config import Config
from guildhall_operator.manifests.publish import publish_job, publish_request
from guildhall_operator.run_view import run_view
from support.chart import config_of, render
from support.fence import JOB_CONTROLLER, QUEUE, Fence, denied, pod_of_job

pytestmark = pytest.mark.cluster
Change = Callable[[dict[str, Any]], object]
GIT = {"git": {"url": "https://git.example.test/x.git"}}
TOKEN = {"sources": [{"serviceAccountToken": {"path": "t", "audience": "guildhall-gateway"}}]}


@pytest.fixture(scope="module")
def job(rules: Fence) -> dict[str, Any]:
    """The publish Job the operator builds for a Run of the fence, with the chart's own configuration."""
    stored = rules.run()
    stored["spec"] |= {"workspace": GIT, "deliver": "branch", "publish": {"secretRef": {"name": "key"}}}
    stored["status"] = {"source": {"commit": "a" * 40}, "completionTime": "2026-01-01T00:00:00Z"}
    config = Config.model_validate(
        config_of(render({"runNamespaces": [rules.runs]}, namespace=rules.control), "operator")
    )
    assert config.fetcher is not None
    run, spec = run_view(stored), RunSpec.model_validate(stored["spec"])
    delivery = Delivery(branch="guildhall/x-1", patch_sha256="b" * 64)
    return publish_job(run, spec, config, publish_request(run, spec, config.fetcher, delivery), 1)


def test_the_operator_makes_this_job_and_nobody_else_does(rules: Fence, job: dict[str, Any]) -> None:
    done = rules.create(job, user=rules.account("operator"), dry=True)
    assert done.returncode == 0, f"control: {done.stderr}"
    for user in (None, rules.account("gateway"), rules.account("api")):
        assert rules.create(job, user=user, dry=True).returncode != 0, user


def test_nobody_holds_it_up(rules: Fence, job: dict[str, Any]) -> None:
    """Suspended, or with no pod at a time, it would neither end nor fail."""
    may = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "patch"]}
    editor = rules.user(may)
    rules.grant(QUEUE, may)
    made, queued = copy.deepcopy(job), copy.deepcopy(job)
    queued["metadata"]["name"] += "q"
    queued["spec"]["suspend"] = True  # as a queue's webhook does on creation
    for each in (made, queued):
        done = rules.create(each, user=rules.account("operator"))
        assert done.returncode == 0, f"control: {done.stderr}"
    name: str = made["metadata"]["name"]
    assert rules.patch("job", name, {"metadata": {"annotations": {"a": "b"}}}, user=editor).returncode == 0, "control"
    for user in (editor, None):
        assert denied(rules.patch("job", name, {"spec": {"suspend": True}}, user=user), "cancel the Run"), user
        assert denied(rules.patch("job", name, {"spec": {"parallelism": 0}}, user=user), "cancel the Run"), user
    assert not rules.get("job", name)["spec"]["suspend"]
    let_go = rules.patch("job", queued["metadata"]["name"], {"spec": {"suspend": False}}, user=editor)
    assert let_go.returncode == 0, f"its queue lets it go: {let_go.stderr}"
    taken_back = rules.patch("job", name, {"spec": {"suspend": True}}, user=QUEUE, dry=True)
    assert taken_back.returncode == 0, f"a queue of admission.queueControllers may: {taken_back.stderr}"


def test_its_pod_is_made_by_the_job_controller_and_opened_by_nobody(rules: Fence, job: dict[str, Any]) -> None:
    pod = pod_of_job(job, f"{job['metadata']['name']}-abcde")
    done = rules.create(pod, user=JOB_CONTROLLER, dry=True)
    assert done.returncode == 0, f"control: Pod Security and the fence take it: {done.stderr}"
    pod["metadata"]["labels"]["guildhall.dev/run"] = pod["metadata"]["labels"]["guildhall.dev/fetch"]
    assert denied(rules.create(pod, user=JOB_CONTROLLER, dry=True), "never both")


def _container(change: Change) -> Change:
    return lambda job: change(job["spec"]["template"]["spec"]["containers"][0])


def _spec(change: Change) -> Change:
    return lambda job: change(job["spec"]["template"]["spec"])


def _labels(change: Change) -> Change:
    return lambda job: change(job["spec"]["template"]["metadata"]["labels"])


def _mount(name: str, **fields: Any) -> Change:
    return _container(lambda c: next(m for m in c["volumeMounts"] if m["name"] == name).update(**fields))


SHAPES: dict[str, Change] = {
    "another image": _container(lambda c: c.update(image="evil:1")),
    "another command": _container(lambda c: c["command"].append("--delivery=/guildhall/secret/password")),
    "the fetcher's command": _container(lambda c: c.pop("command")),
    "arguments": _container(lambda c: c.update(args=["--workspace=/"])),
    "a folder whose modules come first": _container(lambda c: c.update(workingDir="/workspace")),
    "labels of a node": _spec(lambda s: s.update(nodeSelector={"a": "b"})),
    "affinity": _spec(lambda s: s.update(affinity={"nodeAffinity": {}})),
    "tolerations": _spec(lambda s: s.update(tolerations=[{"operator": "Exists"}])),
    "a hook": _container(lambda c: c.update(lifecycle={"postStart": {"exec": {"command": ["sh"]}}})),
    "a variable": _container(lambda c: c["env"].append({"name": "GIT_SSH_COMMAND", "value": "x"})),
    "root": _container(lambda c: c["securityContext"].update(runAsUser=0)),
    "the executor's uid": _container(lambda c: c["securityContext"].update(runAsUser=10001)),
    "a second container": _spec(lambda s: s["containers"].append({**s["containers"][0], "name": "other"})),
    "an init container": _spec(lambda s: s.update(initContainers=[{**s["containers"][0], "name": "publish"}])),
    "a second Secret": _spec(lambda s: s["volumes"].append({"name": "more", "secret": {"secretName": "other"}})),
    "a token": _spec(lambda s: s["volumes"].append({"name": "t", "projected": TOKEN})),
    "the workspace": _spec(
        lambda s: s["volumes"].append({"name": "workspace", "persistentVolumeClaim": {"claimName": "x-workspace"}})
    ),
    "the workspace in the journal's place": _spec(
        lambda s: s["volumes"][0]["persistentVolumeClaim"].update(
            claimName=s["volumes"][0]["persistentVolumeClaim"]["claimName"].replace("-journal", "-workspace")
        )
    ),
    "a journal it could write": _spec(lambda s: s["volumes"][0]["persistentVolumeClaim"].pop("readOnly")),
    "another Run's journal": _spec(lambda s: s["volumes"][0].update(persistentVolumeClaim={"claimName": "x-journal"})),
    "the whole journal": _mount("journal", subPath=""),
    "another folder of the journal": _mount("journal", subPath="other/delivery"),
    "a patch it could write": _mount("journal", readOnly=False),
    "the Secret where the patch is": _mount("secret", mountPath="/guildhall/delivery"),
    "the run pods' account": _spec(lambda s: s.update(serviceAccountName="guildhall-run")),
    "a Kubernetes token": _spec(lambda s: s.update(automountServiceAccountToken=True)),
    "the node's network": _spec(lambda s: s.update(hostNetwork=True)),
    "names of its own": _spec(lambda s: s.update(hostAliases=[{"ip": "127.0.0.1", "hostnames": ["git.example.test"]}])),
    "no deadline": _spec(lambda s: s.pop("activeDeadlineSeconds")),
    "the run pod's label": _labels(lambda found: found.update({"guildhall.dev/run": "u"})),
    "another Run's uid": _labels(lambda found: found.update({"guildhall.dev/fetch": "u"})),
    "no mark of its own, so that it would be a fetch": _labels(lambda found: found.pop("guildhall.dev/publish")),
    "no fetch label, so that it would be a Run": _labels(lambda found: found.pop("guildhall.dev/fetch")),
    "more than one try": lambda job: job["spec"].update(backoffLimit=3),
}


@pytest.mark.parametrize("what", SHAPES)
def test_the_operator_makes_no_other_shape(rules: Fence, job: dict[str, Any], what: str) -> None:
    other = copy.deepcopy(job)
    SHAPES[what](other)
    assert other != job
    assert rules.create(other, user=rules.account("operator"), dry=True).returncode != 0


def test_a_run_without_a_repository_delivers_no_branch(rules: Fence) -> None:
    spec = {"guildRef": {"name": "theirs"}, "task": "x", "deliver": "branch"}
    run = {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "metadata": {"name": "no-repository"}, "spec": spec}
    assert denied(rules.create(run, dry=True), "workspace.git")
    with_publish = {**spec, "deliver": "patch", "workspace": GIT, "publish": {"allowWillRun": True}}
    assert denied(rules.create({**run, "spec": with_publish}, dry=True), "publish goes with deliver: branch only")
    done = rules.create({**run, "spec": {**spec, "workspace": GIT, "publish": {"allowWillRun": True}}}, dry=True)
    assert done.returncode == 0, f"control: {done.stderr}"


def test_what_may_be_published_cannot_be_changed_afterwards(rules: Fence) -> None:
    spec = {"guildRef": {"name": "theirs"}, "task": "x", "deliver": "branch", "workspace": GIT}
    run = {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "metadata": {"name": "later"}, "spec": spec}
    assert rules.create(run).returncode == 0
    for change in (
        {"publish": {"allowWillRun": True}},
        {"publish": {"secretRef": {"name": "x"}}},
        {"deliver": "patch"},
    ):
        assert denied(rules.patch("run", "later", {"spec": change}), "cannot be changed")
    assert rules.patch("run", "later", {"spec": {"cancel": True}}).returncode == 0, "control"
