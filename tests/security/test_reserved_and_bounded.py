"""What run pods are trusted by cannot be borrowed, and our own operator can make nothing but run pods."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from guildhall_operator.manifests.reprint import reprint_job
from guildhall_operator.run_view import run_view
from support.fence import JOB_CONTROLLER, Fence, denied
from support.injection import FOLDER
from support.plain_objects import POWERS, claim, config_map, plain_job, plain_pod
from support.run_jobs import (
    Change,
    MakePod,
    built_job,
    executor,
    mounts,
    operator_config,
    prepare,
    run_pod,
    stored,
    workshop,
)

__all__ = ["run_pod", "stored"]
pytestmark = pytest.mark.cluster

COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
CORPUS = FOLDER / "pod-security"


def test_nobody_makes_a_pod_that_looks_like_a_runs(rules: Fence) -> None:
    editor = rules.user(POWERS)
    assert rules.create(plain_pod("plain"), user=editor).returncode == 0, "control"
    labelled = plain_pod("fake", **{"guildhall.dev/run": "u"})
    borrowed = plain_pod("borrowed")
    borrowed["spec"]["serviceAccountName"] = "guildhall-run"
    for pod in (labelled, borrowed):
        for user in (editor, None, rules.account("operator"), JOB_CONTROLLER):
            assert rules.create(pod, user=user, dry=True).returncode != 0, (pod["metadata"]["name"], user)


def test_nobody_but_the_operator_makes_a_job_that_looks_like_a_runs(rules: Fence, stored: dict[str, Any]) -> None:
    editor = rules.user(POWERS)
    job = built_job(rules, stored)
    for user in (editor, None, rules.account("gateway")):
        assert rules.create(job, user=user, dry=True).returncode != 0, user
    done = rules.create(job, user=rules.account("operator"), dry=True)
    assert done.returncode == 0, f"control: {done.stderr}"


def test_nobody_gives_the_pod_of_a_waiting_job_to_another_run(rules: Fence) -> None:
    """The labels of a template change while its Job is suspended; a queue that lets it go may add its own."""
    editor = rules.user(POWERS)
    job = built_job(rules, rules.run())
    job["spec"]["suspend"] = True
    assert rules.create(job, user=rules.account("operator")).returncode == 0, "control"
    name = job["metadata"]["name"]

    def relabelled(**labels: str | None) -> Any:
        return rules.patch("job", name, {"spec": {"template": {"metadata": {"labels": labels}}}}, user=editor, dry=True)

    added = relabelled(**{"kueue.x-k8s.io/podset": "main"})
    assert added.returncode == 0, f"control: {added.stderr}"
    for key in ("guildhall.dev/run", "guildhall.dev/attempt"):
        assert job["spec"]["template"]["metadata"]["labels"][key]
        for value in ("9", None):
            assert denied(relabelled(**{key: value}), "belongs to one Run"), (key, value)
    assert denied(relabelled(**{"guildhall.dev/fetch": "u"}), "belongs to one Run")


def test_nobody_lays_a_job_ready_under_a_runs_label(rules: Fence, stored: dict[str, Any]) -> None:
    """With a template of its own, which has none of the labels: the operator would wait for it as for one it made."""
    editor, truly = rules.user(POWERS), built_job(rules, stored)["metadata"]
    job = plain_job("laid-ready")
    job["metadata"]["ownerReferences"] = truly["ownerReferences"]
    assert rules.create(job, user=editor).returncode == 0, "control: the right is there, an owner alone is not ours"
    job["metadata"] |= {"name": f"{truly['name'].rsplit('-', 1)[0]}-p1", "labels": truly["labels"]}
    for user in (editor, None, rules.account("gateway"), rules.account("api")):
        assert rules.create(job, user=user, dry=True).returncode != 0, user
    assert denied(rules.create(job, user=editor), "for Jobs of the operator")
    late: dict[str, Any] = {"metadata": {"labels": truly["labels"]}}
    assert denied(rules.patch("job", "laid-ready", late, user=editor), "own labels")


def test_a_runs_job_stays_that_runs(rules: Fence) -> None:
    editor, run = rules.user(POWERS), rules.run()
    job = built_job(rules, run)
    job["spec"]["suspend"] = True
    assert rules.create(job, user=rules.account("operator")).returncode == 0, "control"
    name, owner = job["metadata"]["name"], job["metadata"]["ownerReferences"][0]

    def changed(what: dict[str, Any], user: str = editor) -> Any:
        return rules.patch("job", name, what, user=user, dry=True)

    assert changed({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}).returncode == 0, "control"
    for value in ("another", None):
        assert denied(changed({"metadata": {"labels": {"guildhall.dev/run": value}}}), "own labels"), value
    assert denied(changed({"metadata": {"labels": {"guildhall.dev/publish": "1"}}}), "own labels")
    for owners in ([], [{**owner, "uid": "another"}]):
        assert denied(changed({"metadata": {"ownerReferences": owners}}), "ownerReferences"), owners
    assert denied(changed({"spec": {"parallelism": 0}}), "parallelism")
    rules.grant(COLLECTOR, POWERS)
    assert changed({"metadata": {"ownerReferences": []}}, COLLECTOR).returncode == 0, "--cascade=orphan has its way"


def test_a_runs_own_job_is_suspended_by_its_queue(rules: Fence) -> None:
    """The operator knows what that means; what a fetch or a publish Job's would is in test_g04_publisher_shape.py."""
    queue, job = rules.user(POWERS), built_job(rules, rules.run())
    assert rules.create(job, user=rules.account("operator")).returncode == 0, "control"
    for suspend in (True, False):
        done = rules.patch("job", job["metadata"]["name"], {"spec": {"suspend": suspend}}, user=queue)
        assert done.returncode == 0, done.stderr


def test_no_waiting_job_becomes_a_runs(rules: Fence) -> None:
    editor = rules.user(POWERS)
    assert rules.create(plain_job("waiting"), user=editor).returncode == 0, "control"
    for key in ("guildhall.dev/run", "guildhall.dev/fetch"):
        late = rules.patch("job", "waiting", {"spec": {"template": {"metadata": {"labels": {key: "u"}}}}}, user=editor)
        assert denied(late, "belongs to one Run"), key


def test_a_cron_job_or_deployment_is_no_way_around(rules: Fence) -> None:
    """Their pods are made by other controllers, which the label refuses."""
    pod = plain_pod("replica", **{"guildhall.dev/run": "u"})
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    ]
    maker = "system:serviceaccount:kube-system:replicaset-controller"
    plain = {**pod, "metadata": {**pod["metadata"], "labels": {}}}
    assert rules.create(plain, user=maker, dry=True).returncode == 0, "control: it may make other pods"
    assert denied(rules.create(pod, user=maker, dry=True), "guildhall.dev/run")


def test_the_label_is_not_put_on_taken_off_or_changed(rules: Fence, run_pod: MakePod) -> None:
    editor = rules.user(POWERS)
    run_pod("pod-label")
    rules.create(plain_pod("bare"))
    note: dict[str, Any] = {"metadata": {"annotations": {"other": "x"}}}
    assert rules.patch("pod", "pod-label", note, user=editor).returncode == 0, "control: the right is there"
    for value in (None, "another"):
        for user in (editor, None, rules.account("operator")):
            patch = {"metadata": {"labels": {"guildhall.dev/run": value}}}
            assert rules.patch("pod", "pod-label", patch, user=user).returncode != 0, (value, user)
    assert denied(
        rules.patch("pod", "bare", {"metadata": {"labels": {"guildhall.dev/run": "u"}}}, user=editor), "label"
    )
    assert "guildhall.dev/run" in rules.get("pod", "pod-label")["metadata"]["labels"]


@pytest.mark.parametrize("label", ["guildhall.dev/attempt", "app.kubernetes.io/component", "app"])
def test_no_label_of_a_run_pod_changes_since_a_policy_could_select_it(
    rules: Fence, run_pod: MakePod, label: str
) -> None:
    editor, name = rules.user(POWERS), f"pod-labels-{label.replace('/', '-')}"
    run_pod(name)
    rules.create(plain_pod(f"plain-{name}"))
    patch: dict[str, Any] = {"metadata": {"labels": {label: "web"}}}
    assert rules.patch("pod", f"plain-{name}", patch, user=editor).returncode == 0, "control: the right is there"
    for user in (editor, None, rules.account("operator")):
        assert rules.patch("pod", name, patch, user=user).returncode != 0, user
    assert denied(rules.patch("pod", name, patch, user=editor), "NetworkPolicy")
    assert rules.get("pod", name)["metadata"]["labels"].get(label) != "web"


@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_no_image_of_a_run_pod_changes(rules: Fence, run_pod: MakePod, where: str) -> None:
    """The kubelet would restart the container with it, beside the token and the journal."""
    editor, name = rules.user(POWERS), f"pod-image-{where.lower()}"
    run_pod(name)
    rules.create(plain_pod(f"plain-{where.lower()}"))
    mine = [{"op": "replace", "path": "/spec/containers/0/image", "value": "guildhall.dev/mine:1"}]
    assert rules.patch("pod", f"plain-{where.lower()}", mine, user=editor).returncode == 0, (
        "control: the right is there"
    )
    before = rules.get("pod", name)["spec"]
    for index in range(len(before[where])):
        patch = [{"op": "replace", "path": f"/spec/{where}/{index}/image", "value": "guildhall.dev/mine:1"}]
        assert denied(rules.patch("pod", name, patch, user=editor), "images of a pod of a Run")
        assert rules.patch("pod", name, patch).returncode != 0, "not even the administrator's slip"
    after = rules.get("pod", name)["spec"]
    assert [c["image"] for c in after[where]] == [c["image"] for c in before[where]]


@pytest.mark.parametrize("make", [config_map, claim])
def test_nobody_lays_ready_what_the_operator_would_take_for_its_own(
    rules: Fence, stored: dict[str, Any], make: Callable[..., dict[str, Any]]
) -> None:
    editor, operator = rules.user(POWERS), rules.account("operator")
    meta = built_job(rules, stored)["metadata"]
    ours = {"labels": meta["labels"], "ownerReferences": meta["ownerReferences"]}
    kind = make("x")["kind"].lower()
    own = f"laid-{meta['ownerReferences'][0]['uid']}-{'snapshot' if kind == 'configmap' else 'journal'}"
    assert rules.create(make("users-own"), user=editor).returncode == 0, "control: the right is there"
    for user in (editor, None, rules.account("api"), rules.account("gateway")):
        assert rules.create(make("laid-ready", **ours), user=user, dry=True).returncode != 0, user
    assert denied(rules.create(make("laid-ready", **ours), user=editor), "guildhall.dev/run")
    assert rules.create(make(own, **ours), user=operator).returncode == 0, "control: the operator makes it"
    label: dict[str, Any] = {"metadata": {"labels": {"guildhall.dev/run": "u"}}}
    note: dict[str, Any] = {"metadata": {"annotations": {"a": "b"}}}
    for name in ("users-own", own):
        assert rules.patch(kind, name, note, user=editor).returncode == 0, "control"
        assert denied(rules.patch(kind, name, label, user=editor), "guildhall.dev/run"), name
    owner = [{**meta["ownerReferences"][0], "uid": "another"}]
    assert denied(rules.patch(kind, own, {"metadata": {"ownerReferences": owner}}, user=editor), "that Run's")
    rules.grant(COLLECTOR, POWERS)
    gone = rules.patch(kind, own, {"metadata": {"ownerReferences": []}}, user=COLLECTOR, dry=True)
    assert gone.returncode == 0, f"--cascade=orphan has its way: {gone.stderr}"


def test_no_ephemeral_container_in_a_run_pod(rules: Fence, run_pod: MakePod) -> None:
    run_pod("pod-debug")
    rules.create(plain_pod("plain-debug"))
    guest = plain_pod("x")["spec"]["containers"][0] | {"name": "guest"}
    patch = json.dumps({"spec": {"ephemeralContainers": [guest]}})
    words = ["--subresource=ephemeralcontainers", "--type=strategic", "-p", patch]
    assert rules.attempt("patch", "pod", "plain-debug", *words).returncode == 0, "control"
    assert denied(rules.attempt("patch", "pod", "pod-debug", *words), "ephemeral")


def test_the_fence_stays_where_it_is(rules: Fence) -> None:
    editor = rules.user(POWERS)
    rules.attempt("create", "configmap", "mine", "--from-literal=a=b")
    assert rules.patch("configmap", "mine", {"data": {"a": "c"}}, user=editor).returncode == 0, "control"
    open_all: dict[str, Any] = {"spec": {"egress": [{}]}}
    assert denied(rules.patch("networkpolicy", "guildhall-run", open_all, user=editor), "administer")
    assert denied(rules.attempt("delete", "networkpolicy", "guildhall-run", user=editor), "administer")
    assert denied(rules.attempt("delete", "networkpolicy", "--all", user=editor), "administer")
    assert denied(
        rules.patch("configmap", "guildhall-gateway-ca", {"data": {"ca.crt": "x"}}, user=editor), "administer"
    )
    assert rules.get("networkpolicy", "guildhall-run")["spec"]["egress"] != [{}]
    assert rules.patch("networkpolicy", "guildhall-run", {"metadata": {"labels": {"a": "b"}}}).returncode == 0, "admin"


WIDER: dict[str, Change] = {
    "host network": lambda pod: pod.update(hostNetwork=True),
    "host pid": lambda pod: pod.update(hostPID=True),
    "host ipc": lambda pod: pod.update(hostIPC=True),
    "shared processes": lambda pod: pod.update(shareProcessNamespace=True),
    "other account": lambda pod: pod.update(serviceAccountName="default"),
    "kubernetes token": lambda pod: pod.update(automountServiceAccountToken=True),
    "service links": lambda pod: pod.update(enableServiceLinks=True),
    "names": lambda pod: pod.update(dnsPolicy="ClusterFirst", dnsConfig=None),
    "a node of choice": lambda pod: pod.update(nodeName="node1"),
    "no deadline": lambda pod: pod.pop("activeDeadlineSeconds"),
    "a year": lambda pod: pod.update(activeDeadlineSeconds=31_536_000),
    "runtime class": lambda pod: pod.update(runtimeClassName="privileged-vm"),
    "priority": lambda pod: pod.update(priorityClassName="system-node-critical"),
    "host path": lambda pod: pod["volumes"].append({"name": "h", "hostPath": {"path": "/"}}),
    "secret": lambda pod: pod["volumes"].append({"name": "s", "secret": {"secretName": "guildhall-providers"}}),
    "projected secret": lambda pod: pod["volumes"].append(
        {"name": "s", "projected": {"sources": [{"secret": {"name": "x"}}]}}
    ),
    "token for the api server": lambda pod: pod["volumes"].append(
        {"name": "s", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    ),
    "long token": lambda pod: pod["volumes"].append(
        {"name": "s", "projected": {"sources": [
            {"serviceAccountToken": {"path": "t", "audience": "guildhall-gateway", "expirationSeconds": 86_400}}]}}
    ),
    "csi": lambda pod: pod["volumes"].append({"name": "s", "csi": {"driver": "x"}}),
    "nfs": lambda pod: pod["volumes"].append({"name": "s", "nfs": {"server": "x", "path": "/"}}),
    "ephemeral": lambda pod: pod["volumes"].append({"name": "s", "ephemeral": {"volumeClaimTemplate": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}),
    "workshop sees the token": lambda pod: mounts(workshop(pod), "token"),
    "prepare sees the token": lambda pod: mounts(prepare(pod), "token"),
    "workshop sees the journal": lambda pod: mounts(workshop(pod), "journal"),
    "executor sees the workspace": lambda pod: mounts(executor(pod), "workspace"),
    "executor of another image": lambda pod: executor(pod).update(image="guildhall.dev/mine:1"),
    "prepare of another image": lambda pod: prepare(pod).update(image="guildhall.dev/mine:1"),
    "a fourth container": lambda pod: pod["containers"].append({**executor(pod), "name": "extra"}),
    "one uid": lambda pod: workshop(pod)["securityContext"].update(runAsUser=10_001),
    "root group": lambda pod: workshop(pod)["securityContext"].update(runAsGroup=0),
    "root": lambda pod: workshop(pod)["securityContext"].update(runAsUser=0, runAsNonRoot=False),
    "privileged": lambda pod: workshop(pod)["securityContext"].update(privileged=True, allowPrivilegeEscalation=True),
    "escalation": lambda pod: workshop(pod)["securityContext"].pop("allowPrivilegeEscalation"),
    "writable root": lambda pod: executor(pod)["securityContext"].pop("readOnlyRootFilesystem"),
    "a capability": lambda pod: workshop(pod)["securityContext"]["capabilities"].update(add=["NET_RAW"]),
    "capabilities kept": lambda pod: workshop(pod)["securityContext"].pop("capabilities"),
    "unconfined": lambda pod: workshop(pod)["securityContext"].update(seccompProfile={"type": "Unconfined"}),
    "proc": lambda pod: (pod.update(hostUsers=False), workshop(pod)["securityContext"].update(procMount="Unmasked")),
    "no security context": lambda pod: workshop(pod).pop("securityContext"),
    "env from a secret": lambda pod: workshop(pod).update(envFrom=[{"secretRef": {"name": "x"}}]),
    "env value from a secret": lambda pod: workshop(pod)["env"].append(
        {"name": "K", "valueFrom": {"secretKeyRef": {"name": "x", "key": "k"}}}
    ),
    "host port": lambda pod: workshop(pod).update(ports=[{"containerPort": 80, "hostPort": 80}]),
    "a port": lambda pod: executor(pod).update(ports=[{"containerPort": 80}]),
    "no limits": lambda pod: workshop(pod).pop("resources"),
    "a resolver": lambda pod: pod.update(dnsConfig={"nameservers": ["198.51.100.1"]}),
    "more names": lambda pod: pod["hostAliases"].append({"ip": "192.0.2.11", "hostnames": ["elsewhere"]}),
    "another name": lambda pod: pod["hostAliases"][0].update(hostnames=["elsewhere"]),
    "labels of a node": lambda pod: pod.update(nodeSelector={"a": "b"}),
    "affinity": lambda pod: pod.update(affinity={"nodeAffinity": {}}),
    "tolerations": lambda pod: pod.update(tolerations=[{"operator": "Exists"}]),
    "the executor's group": lambda pod: pod["securityContext"].update(supplementalGroups=[10_003, 10_001]),
    "groups of the image": lambda pod: pod["securityContext"].update(supplementalGroupsPolicy="Merge"),
    "volumes of the executor's group": lambda pod: pod["securityContext"].update(fsGroup=10_001),
}  # fmt: skip


@pytest.mark.parametrize("what", WIDER)
def test_the_operators_account_makes_no_wider_pod(rules: Fence, stored: dict[str, Any], what: str) -> None:
    job = built_job(rules, stored)
    WIDER[what](job["spec"]["template"]["spec"])
    done = rules.create(job, user=rules.account("operator"), dry=True)
    assert denied(done, "operator-jobs"), done.stderr or "accepted"


OTHER_PRINTERS: dict[str, Change] = {
    "a token": lambda pod: pod["volumes"].append(
        {"name": "token", "projected": {"sources": [
            {"serviceAccountToken": {"path": "t", "audience": "guildhall-gateway", "expirationSeconds": 600}}]}}
    ),
    "a snapshot": lambda pod: pod["volumes"].append({"name": "s", "configMap": {"name": "x"}}),
    "another claim": lambda pod: pod["volumes"][0]["persistentVolumeClaim"].update(claimName="somebodys"),
    "a journal it may write": lambda pod: pod["volumes"][0]["persistentVolumeClaim"].pop("readOnly"),
    "a mount it may write": lambda pod: pod["containers"][0]["volumeMounts"][0].pop("readOnly"),
    "another program": lambda pod: pod["containers"][0]["command"].__setitem__(2, "http.server"),
    "a shell": lambda pod: pod["containers"][0].update(command=["sh", "-c", "cat"]),
    "another Run's journal": lambda pod: pod["containers"][0]["command"].__setitem__(4, "another"),
    "arguments": lambda pod: pod["containers"][0].update(args=["x"]),
    "environment": lambda pod: pod["containers"][0].update(env=[{"name": "PYTHONPATH", "value": "/x"}]),
    "another image": lambda pod: pod["containers"][0].update(image="guildhall.dev/mine:1"),
    "another name": lambda pod: pod["containers"][0].update(name="journal"),
    "a second container": lambda pod: pod["containers"].append({**pod["containers"][0], "name": "workshop"}),
    "an init container": lambda pod: pod.update(initContainers=[{**pod["containers"][0], "name": "prepare"}]),
    "all day": lambda pod: pod.update(activeDeadlineSeconds=86_400),
    "root": lambda pod: pod["containers"][0]["securityContext"].update(runAsUser=0, runAsNonRoot=False),
    "host network": lambda pod: pod.update(hostNetwork=True),
}  # fmt: skip


def built_printer(rules: Fence, stored: dict[str, Any]) -> dict[str, Any]:
    """The Job the operator builds to print a stored Run's journal again."""
    return reprint_job(run_view(stored), operator_config(rules), attempt=1, round_number=1, from_seq=7)


def test_the_operators_account_makes_the_job_that_prints_a_journal(rules: Fence, stored: dict[str, Any]) -> None:
    done = rules.create(built_printer(rules, stored), user=rules.account("operator"), dry=True)
    assert done.returncode == 0, done.stderr
    unlabelled = built_printer(rules, stored)
    del unlabelled["spec"]["template"]["metadata"]["labels"]["guildhall.dev/run"]
    assert denied(rules.create(unlabelled, user=rules.account("operator"), dry=True), "operator-jobs")
    assert rules.create(built_printer(rules, stored), user=rules.user(POWERS), dry=True).returncode != 0


@pytest.mark.parametrize("what", OTHER_PRINTERS)
def test_the_operators_account_prints_a_journal_in_no_other_way(
    rules: Fence, stored: dict[str, Any], what: str
) -> None:
    job = built_printer(rules, stored)
    OTHER_PRINTERS[what](job["spec"]["template"]["spec"])
    done = rules.create(job, user=rules.account("operator"), dry=True)
    assert denied(done, "operator-jobs"), done.stderr or "accepted"


def test_every_corpus_pod_is_refused_as_a_job_of_the_operator(rules: Fence, stored: dict[str, Any]) -> None:
    """A pod of somebody else's shape is refused whether or not Pod Security alone would have."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of Pod Security fixtures is not on this machine")
    names = sorted(CORPUS.glob("*.yaml"))
    assert len(names) > 50
    for path in names:
        job = built_job(rules, stored)
        job["spec"]["template"]["spec"] = yaml.safe_load(path.read_text())["spec"] | {"restartPolicy": "Never"}
        done = rules.create(job, user=rules.account("operator"), dry=True)
        assert done.returncode != 0, path.name


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job["spec"].update(parallelism=2, completions=2),
        lambda job: job["spec"].update(backoffLimit=3),
        lambda job: job["metadata"].update(ownerReferences=[]),
        lambda job: job["metadata"]["ownerReferences"][0].update(uid="another"),
        lambda job: job["spec"]["template"]["metadata"]["labels"].pop("guildhall.dev/run"),
    ],
    ids=["parallel", "retries", "no owner", "another Run's label", "no label"],
)
def test_the_operators_account_makes_no_other_job(rules: Fence, stored: dict[str, Any], change: Change) -> None:
    job = built_job(rules, stored)
    change(job)
    assert denied(rules.create(job, user=rules.account("operator"), dry=True), "operator-jobs")


def test_no_shell_in_a_run_pod(rules: Fence, stored: dict[str, Any]) -> None:
    """The policy knows a run pod by its name, which is the Job's and five letters more."""
    shell = {"apiGroups": [""], "resources": ["pods", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy"]}
    editor = rules.user({**shell, "verbs": ["get", "create"]})
    like_a_runs = f"{built_job(rules, stored)['metadata']['name']}-x7k2p"
    for name in (like_a_runs, "plain-shell"):
        pod = plain_pod(name)
        pod["spec"].pop("schedulerName")
        pod["spec"]["containers"][0] |= {"command": ["sleep", "60"], "imagePullPolicy": "Never"}
        pod["spec"]["terminationGracePeriodSeconds"] = 0
        assert rules.create(pod).returncode == 0
    rules.cluster.ready(rules.runs, "plain-shell", 60)
    rules.cluster.ready(rules.runs, like_a_runs, 60)
    said = rules.attempt("exec", "plain-shell", "--", "echo", "here", user=editor)
    assert said.stdout.strip() == "here", f"control: the right is there; {said.stderr}"
    for words in (
        ("exec", like_a_runs, "--", "echo", "here"),
        ("attach", like_a_runs),
        ("port-forward", like_a_runs, ":80"),
    ):
        refused = rules.attempt(*words, user=editor)
        assert denied(refused, "administer"), (words, refused.stderr)
        assert "here" not in refused.stdout
    for before, after in (("", ""), ("", ":8080"), ("https:", ":8443")):
        reach = f"/api/v1/namespaces/{rules.runs}/pods/{before}{{}}{after}/proxy/"
        refused = rules.attempt("get", "--raw", reach.format(like_a_runs), user=editor)
        assert denied(refused, "administer"), (reach, refused.stderr)
        silence = rules.attempt("get", "--raw", reach.format("plain-shell"), user=editor)
        assert "administer" not in silence.stderr, f"control: nobody listens there, which is another answer; {silence}"
    said = rules.attempt("exec", like_a_runs, "--", "echo", "here")
    assert said.stdout.strip() == "here", f"an administrator may: {said.stderr}"
