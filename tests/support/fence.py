"""The chart's rules on a real API server without its pods: CRDs, RBAC, policies, in namespaces of a test's own."""

from __future__ import annotations

import copy
import json
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml
from support import writes
from support.chart import attempt
from support.cluster import Cluster, eventually
from support.crds import install_crds
from support.writes import Who

LEFT_OUT = {"Deployment", "PersistentVolumeClaim"}
JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
QUEUE = "system:serviceaccount:queue-system:queue"  # of admission.queueControllers, where a suite names it


@dataclass(frozen=True)
class Fence:
    """One release's rules. `control` and `runs` are its two namespaces."""

    cluster: Cluster
    control: str
    runs: str

    def account(self, component: str) -> str:
        return f"system:serviceaccount:{self.control}:guildhall-{component}"

    def attempt(
        self, *words: str, user: str | None = None, groups: tuple[str, ...] = (), stdin: Any = None
    ) -> subprocess.CompletedProcess[str]:
        """kubectl in the run namespace as `user` (None: the cluster's administrator)."""
        who = [f"--as={user}", *(f"--as-group={group}" for group in groups)] if user else []
        text = None if stdin is None else json.dumps(stdin)
        return self.cluster.attempt("-n", self.runs, *who, *words, stdin=text)

    def create(
        self, manifest: Mapping[str, Any], *, user: str | None = None, dry: bool = False, lax: bool = False,
        groups: tuple[str, ...] = (),
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Create one object. `lax` leaves unknown fields to be pruned instead of refused by kubectl."""
        who = Who(user, groups)
        done = writes.create(self.cluster.kubeconfig, manifest, self.runs, who, dry=dry, lax=lax)
        if done is not None:
            return done
        words = ["create", "-f", "-", "-o", "json"]
        words += ["--dry-run=server"] if dry else []
        words += ["--validate=ignore"] if lax else []
        return self.attempt(*words, user=user, groups=groups, stdin=manifest)

    def patch(
        self, kind: str, name: str, patch: Any, *, user: str | None = None, status: bool = False, dry: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Merge patch, or JSON patch when `patch` is a list."""
        where = f"{self.runs}/{kind}/{name}{'/status' if status else ''}"
        done = writes.patch(self.cluster.kubeconfig, where, patch, Who(user), dry=dry)
        if done is not None:
            return done
        words = [
            "patch",
            kind,
            name,
            f"--type={'json' if isinstance(patch, list) else 'merge'}",
            "-p",
            json.dumps(patch),
        ]
        words += ["--subresource=status"] if status else []
        words += ["--dry-run=server"] if dry else []
        return self.attempt(*words, user=user)

    def get(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.get(kind, name, "-n", self.runs)
        return found

    def grant(self, user: str, *rules: dict[str, Any]) -> None:
        """Give `user` exactly these rules in the run namespace."""
        name = f"test-{uuid.uuid4().hex[:8]}"
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": name},
            "rules": list(rules),
        }
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }  # fmt: skip
        self.cluster.apply(role, binding, namespace=self.runs)
        for rule in rules:  # the authorizer hears of them a moment later
            eventually(lambda rule=rule: writes.may(self.cluster.kubeconfig, user, self.runs, rule), 20, 0.02)  # type: ignore[misc]

    def user(self, *rules: dict[str, Any], prefix: str = "jane") -> str:
        """A fresh user with exactly these rules."""
        name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        self.grant(name, *rules)
        return name

    def run(self, *, user: str | None = None, name: str | None = None, **spec: Any) -> dict[str, Any]:
        """Create a Run and return it as stored."""
        done = self.create(run(name, **spec), user=user)
        assert done.returncode == 0, done.stderr
        stored: dict[str, Any] = json.loads(done.stdout)
        return stored


RULE_CREATE_RUNS = {"apiGroups": ["guildhall.dev"], "resources": ["runs"], "verbs": ["create", "get", "patch"]}


def guild() -> dict[str, Any]:
    """The smallest valid Guild, as a spec."""
    role = {"name": "solo", "prompt": "Do the task.", "model": "m", "tools": ["finish"]}
    return {"entryRole": "solo", "models": {"m": "scripted:one"}, "roles": [role]}


def run(name: str | None = None, **spec: Any) -> dict[str, Any]:
    """A Run with an inline Guild unless `spec` names one; a field given as None is left out."""
    body = {"task": "Do it.", **({} if "guildRef" in spec else {"guild": guild()}), **spec}
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": name or f"run-{uuid.uuid4().hex[:8]}"},
        "spec": {key: value for key, value in body.items() if value is not None},
    }


def pod_of_job(job: Mapping[str, Any], name: str, uid: str = "u") -> dict[str, Any]:
    """The pod the Job controller makes of a Job with this uid; nobody schedules it."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"], "uid": uid, "controller": True}
    template = copy.deepcopy(job["spec"]["template"])
    template["metadata"] |= {"name": name, "ownerReferences": [owner]}
    template["spec"]["schedulerName"] = "nobody"
    return {"apiVersion": "v1", "kind": "Pod", **template}


def denied(done: subprocess.CompletedProcess[str], *words: str) -> bool:
    """Whether the API server refused, and said `words`."""
    return done.returncode != 0 and all(word in done.stderr for word in words)


@contextmanager
def fence(cluster: Cluster, values: dict[str, Any] | None = None) -> Iterator[Fence]:
    """The chart applied without its pods, its rules in force; everything but the CRDs removed afterwards."""
    mark = uuid.uuid4().hex[:8]
    control, runs = f"fence-control-{mark}", f"fence-runs-{mark}"
    objects = _objects(control, {"runNamespaces": [runs], **(values or {})})
    install_crds(cluster)
    cluster.kubectl("create", "namespace", control)
    try:
        cluster.kubectl("apply", "--server-side", "-f", "-", stdin=_listing(_namespaces(objects, yes=True)))
        cluster.kubectl("apply", "--server-side", "-f", "-", stdin=_listing(_namespaces(objects, yes=False)))
        made = Fence(cluster, control, runs)
        _wait_until_in_force(made)
        yield made
    finally:
        rest = [item for item in objects if "namespace" not in item["metadata"] and item["kind"] != "Namespace"]
        cluster.attempt("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=_listing(rest))
        cluster.attempt("delete", "namespace", control, runs, "--wait=false", "--ignore-not-found")


def _objects(control: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    done = attempt(values=values, namespace=control)
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.safe_load_all(done.stdout) if item and item["kind"] not in LEFT_OUT]


def _namespaces(objects: list[dict[str, Any]], *, yes: bool) -> list[dict[str, Any]]:
    return [item for item in objects if (item["kind"] == "Namespace") == yes]


def _listing(items: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _wait_until_in_force(made: Fence, seconds: float = 30) -> None:
    """The API server takes a moment to compile new policies: wait until each kind of request is judged."""
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "probe"},
        "spec": {"template": {"metadata": {"labels": {"guildhall.dev/run": "x"}},
                              "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
    }  # fmt: skip
    act = {
        "apiVersion": "guildhall.dev/v1alpha1", "kind": "Intervention", "metadata": {"name": "probe"},
        "spec": {"runRef": {"name": "r", "uid": "u"}, "author": "nobody", "interrupt": {"intent": "abort"}},
    }  # fmt: skip
    probes = [job, act, run("probe", priority="nothing-like-it")]
    end = time.monotonic() + seconds
    while not all(denied(made.create(probe, dry=True), "ValidatingAdmissionPolicy") for probe in probes):
        assert time.monotonic() < end, f"the policies of {made.control} are not in force after {seconds:g} s"
        time.sleep(0.3)
