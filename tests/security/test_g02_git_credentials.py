"""Git's egress and a Run's Secret are the fetcher's alone: nobody borrows its label, and it has one shape."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from guildhall_contracts.run import RunSpec
from guildhall_operator.config import Config
from guildhall_operator.manifests.fetch import fetch_job
from guildhall_operator.run_view import run_view
from support.chart import config_of, render
from support.fence import JOB_CONTROLLER, Fence, denied, pod_of_job

pytestmark = pytest.mark.cluster
Change = Callable[[dict[str, Any]], object]
GIT = {"git": {"url": "https://git.example.test/x.git", "secretRef": {"name": "key"}}}
TOKEN = {"path": "t", "audience": "guildhall-gateway"}
POWERS = {"apiGroups": ["", "batch", "networking.k8s.io"], "resources": ["*"],
          "verbs": ["create", "get", "list", "update", "patch", "delete"]}  # fmt: skip


@pytest.fixture(scope="module")
def job(rules: Fence) -> dict[str, Any]:
    """The fetch Job the operator builds for a Run of the fence, with the chart's own configuration."""
    stored = rules.run()
    stored["spec"]["workspace"] = GIT
    config = Config.model_validate(
        config_of(render({"runNamespaces": [rules.runs]}, namespace=rules.control), "operator")
    )
    return fetch_job(run_view(stored), RunSpec.model_validate(stored["spec"]), config, 1)


def _pod(name: str, labels: dict[str, str], account: str = "default") -> dict[str, Any]:
    container = {"name": "c", "image": "guildhall.dev/cluster-busybox:1", "securityContext": {
        "allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 10002,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}}  # fmt: skip
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "schedulerName": "nobody",
        "serviceAccountName": account,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def test_the_operator_makes_this_job_and_nobody_else_does(rules: Fence, job: dict[str, Any]) -> None:
    done = rules.create(job, user=rules.account("operator"), dry=True)
    assert done.returncode == 0, f"control: {done.stderr}"
    for user in (rules.user(POWERS), None, rules.account("gateway"), rules.account("api")):
        assert rules.create(job, user=user, dry=True).returncode != 0, user


def test_nobody_borrows_the_label_or_the_account(rules: Fence) -> None:
    editor = rules.user(POWERS)
    assert rules.create(_pod("plain", {}), user=editor, dry=True).returncode == 0, "control"
    for pod in (_pod("label", {"guildhall.dev/fetch": "u"}), _pod("account", {}, "guildhall-fetch")):
        for user in (editor, None, rules.account("operator"), JOB_CONTROLLER):
            assert rules.create(pod, user=user, dry=True).returncode != 0, (pod["metadata"]["name"], user)


def test_no_pod_has_both_labels(rules: Fence, job: dict[str, Any]) -> None:
    """Policies add up: it would have git hosts and the gateway at once."""
    pod = pod_of_job(job, "both")
    done = rules.create(pod, user=JOB_CONTROLLER, dry=True)
    assert done.returncode == 0, f"control: {done.stderr}"
    pod["metadata"]["labels"]["guildhall.dev/run"] = pod["metadata"]["labels"]["guildhall.dev/fetch"]
    assert denied(rules.create(pod, user=JOB_CONTROLLER, dry=True), "never both")


def _container(change: Change) -> Change:
    return lambda job: change(job["spec"]["template"]["spec"]["containers"][0])


def _spec(change: Change) -> Change:
    return lambda job: change(job["spec"]["template"]["spec"])


SHAPES: dict[str, Change] = {
    "another image": _container(lambda c: c.update(image="evil:1")),
    "another command": _container(lambda c: c.update(command=["sh"])),
    "arguments": _container(lambda c: c.update(args=["--secret=/workspace"])),
    "a folder whose modules come first": _container(lambda c: c.update(workingDir="/workspace")),
    "labels of a node": _spec(lambda s: s.update(nodeSelector={"a": "b"})),
    "affinity": _spec(lambda s: s.update(affinity={"nodeAffinity": {}})),
    "tolerations": _spec(lambda s: s.update(tolerations=[{"operator": "Exists"}])),
    "a hook": _container(lambda c: c.update(lifecycle={"postStart": {"exec": {"command": ["sh"]}}})),
    "a probe": _container(lambda c: c.update(livenessProbe={"exec": {"command": ["sh"]}})),
    "a variable": _container(lambda c: c["env"].append({"name": "GIT_SSH_COMMAND", "value": "x"})),
    "a variable from a Secret": _container(
        lambda c: c["env"].append({"name": "NO_PROXY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}})
    ),
    "root": _container(lambda c: c["securityContext"].update(runAsUser=10001)),
    "a second container": _spec(lambda s: s["containers"].append({**s["containers"][0], "name": "other"})),
    "an init container": _spec(lambda s: s.update(initContainers=[{**s["containers"][0], "name": "fetch"}])),
    "a second Secret": _spec(lambda s: s["volumes"].append({"name": "more", "secret": {"secretName": "other"}})),
    "another ConfigMap": _spec(lambda s: s["volumes"].append({"name": "ca", "configMap": {"name": "mine"}})),
    "a token": _spec(
        lambda s: s["volumes"].append(
            {
                "name": "t",
                "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "guildhall-gateway"}}]},
            }
        )
    ),
    "the journal": _spec(
        lambda s: s["volumes"].append({"name": "workspace2", "persistentVolumeClaim": {"claimName": "x-journal"}})
    ),
    "somebody's claim": _spec(lambda s: s["volumes"][0].update(persistentVolumeClaim={"claimName": "mine"})),
    "the Secret where the workspace is": _container(
        lambda c: next(m for m in c["volumeMounts"] if m["name"] == "secret").update(mountPath="/workspace/secret")
    ),
    "the run pods' account": _spec(lambda s: s.update(serviceAccountName="guildhall-run")),
    "a Kubernetes token": _spec(lambda s: s.update(automountServiceAccountToken=True)),
    "the node's network": _spec(lambda s: s.update(hostNetwork=True)),
    "names of its own": _spec(lambda s: s.update(hostAliases=[{"ip": "127.0.0.1", "hostnames": ["git.example.test"]}])),
    "no deadline": _spec(lambda s: s.pop("activeDeadlineSeconds")),
    "the run pod's label": lambda job: job["spec"]["template"]["metadata"]["labels"].update({"guildhall.dev/run": "u"}),
    "another Run's uid": lambda job: job["spec"]["template"]["metadata"]["labels"].update({"guildhall.dev/fetch": "u"}),
    "more than one try": lambda job: job["spec"].update(backoffLimit=3),
}


@pytest.mark.parametrize("what", SHAPES)
def test_the_operator_makes_no_other_shape(rules: Fence, job: dict[str, Any], what: str) -> None:
    other = copy.deepcopy(job)
    SHAPES[what](other)
    assert other != job
    assert rules.create(other, user=rules.account("operator"), dry=True).returncode != 0


def test_the_fetchers_policy_and_cas_stay_as_they_were_installed(rules: Fence) -> None:
    editor = rules.user(POWERS)
    assert rules.get("networkpolicy", "guildhall-fetch")["spec"].get("ingress", []) == []
    wide = {"spec": {"egress": [{}]}}
    assert rules.patch("networkpolicy", "guildhall-fetch", wide, user=editor, dry=True).returncode != 0
    done = rules.attempt("delete", "networkpolicy", "guildhall-fetch", "--dry-run=server", user=editor)
    assert done.returncode != 0
    assert rules.attempt("delete", "serviceaccount", "default", "--dry-run=server", user=editor).returncode == 0, (
        "control"
    )
