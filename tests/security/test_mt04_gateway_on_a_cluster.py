"""MT-04 on a real API server: what a projected token really says, and that the gateway's own account can do its work.

The gateway's client runs with the token and the rights that the chart gives its account, and no others.
"""

import asyncio
import base64
import contextlib
import json
import ssl
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from guildhall_contracts.model_api import TOKEN_AUDIENCE, LedgerTotals
from guildhall_contracts.run import Awaiting
from guildhall_gateway.kube import KubeClient, KubeError
from guildhall_gateway.token_review import KubernetesIdentity
from guildhall_gateway.usage import status_of
from guildhall_gateway.watch import KubernetesRuns
from support.cluster import BUSYBOX, RESTRICTED, Cluster
from support.fence import Fence
from unit.gateway.kit import until

pytestmark = pytest.mark.cluster


@dataclass(frozen=True)
class Bound:
    """A pod and the tokens it was given, for our audience and for the API server's own."""

    namespace: str
    pod: str
    uid: str
    ours: str
    theirs: str


@pytest.fixture(scope="module")
def bound(cluster: Cluster) -> Iterator[Bound]:
    """A pod with two projected tokens, which it prints."""
    with cluster.namespace("gateway-tokens") as namespace:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "guildhall-run"}}
        sources = [
            {"serviceAccountToken": {"path": "ours", "audience": TOKEN_AUDIENCE, "expirationSeconds": 600}},
            {"serviceAccountToken": {"path": "theirs", "expirationSeconds": 600}},
        ]
        container = {
            "name": "one",
            "image": BUSYBOX,
            "imagePullPolicy": "Never",
            "command": ["sh", "-c", "cat /t/ours; echo; cat /t/theirs; echo; sleep 600"],
            "securityContext": RESTRICTED,
            "volumeMounts": [{"name": "t", "mountPath": "/t"}],
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "caller"},
            "spec": {
                "serviceAccountName": "guildhall-run",
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 0,
                "containers": [container],
                "volumes": [{"name": "t", "projected": {"sources": sources}}],
            },
        }
        cluster.apply(account, pod, namespace=namespace)
        cluster.ready(namespace, "caller")
        lines: list[str] = []
        for _ in range(50):
            lines = cluster.kubectl("logs", "-n", namespace, "caller").split()
            if len(lines) == 2:
                break
            time.sleep(0.2)
        uid = cluster.get("pod", "caller", "-n", namespace)["metadata"]["uid"]
        yield Bound(namespace, "caller", uid, *lines)


@contextlib.asynccontextmanager
async def gateway_client(rules: Fence, folder: Path) -> AsyncIterator[KubeClient]:
    """A client that is the gateway's account and nobody else."""
    settings = yaml.safe_load(rules.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    data = settings.get("certificate-authority-data")
    file = None if data else settings["certificate-authority"]
    context = ssl.create_default_context(cafile=file, cadata=base64.b64decode(data).decode() if data else None)
    token = folder / "token"
    token.write_text(rules.cluster.kubectl("create", "token", "guildhall-gateway", "-n", rules.control))
    client = KubeClient(settings["server"], context, token)
    try:
        yield client
    finally:
        await client.close()


async def test_a_projected_token_names_its_pod_and_only_ours_is_good(
    rules: Fence, bound: Bound, tmp_path: Path
) -> None:
    async with gateway_client(rules, tmp_path) as client:
        identity = KubernetesIdentity(client, TOKEN_AUDIENCE)
        facts = await identity.review(bound.ours)
        assert facts is not None
        assert facts.username == f"system:serviceaccount:{bound.namespace}:guildhall-run"
        assert (facts.namespace, facts.pod_name, facts.pod_uid) == (bound.namespace, "caller", bound.uid)
        assert await identity.review(bound.theirs) is None, "the API server's audience is not ours"
        head, payload, signature = bound.ours.split(".")
        flipped = ("A" if signature[9] != "A" else "B").join((signature[:9], signature[10:]))
        assert await identity.review(f"{head}.{payload}.{flipped}") is None
        claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
        claims["kubernetes.io"]["pod"]["uid"] = str(uuid.uuid4())
        forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
        assert await identity.review(f"{head}.{forged}.{signature}") is None
        assert await identity.review("junk") is None


async def test_a_minted_token_that_is_bound_to_no_pod_has_none(rules: Fence, bound: Bound, tmp_path: Path) -> None:
    minted = rules.cluster.kubectl(
        "create", "token", "guildhall-run", "-n", bound.namespace, f"--audience={TOKEN_AUDIENCE}"
    )
    async with gateway_client(rules, tmp_path) as client:
        facts = await KubernetesIdentity(client, TOKEN_AUDIENCE).review(minted.strip())
    assert facts is not None
    assert facts.pod_uid == ""


async def test_a_token_dies_with_its_pod(rules: Fence, bound: Bound, tmp_path: Path) -> None:
    """Its own pod, so that the order of tests does not matter: a token bound to a pod object that is deleted."""
    namespace = bound.namespace
    container = {
        "name": "one",
        "image": BUSYBOX,
        "imagePullPolicy": "Never",
        "command": ["sleep", "600"],
        "securityContext": RESTRICTED,
    }
    spec = {"serviceAccountName": "guildhall-run", "terminationGracePeriodSeconds": 0, "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "brief"}, "spec": spec}
    rules.cluster.apply(pod, namespace=namespace)
    rules.cluster.ready(namespace, "brief")
    token = rules.cluster.kubectl(
        "create", "token", "guildhall-run", "-n", namespace, f"--audience={TOKEN_AUDIENCE}",
        "--bound-object-kind=Pod", "--bound-object-name=brief",
    ).strip()  # fmt: skip
    async with gateway_client(rules, tmp_path) as client:
        identity = KubernetesIdentity(client, TOKEN_AUDIENCE)
        facts = await identity.review(token)
        assert facts is not None
        assert facts.pod_name == "brief"
        rules.cluster.kubectl("delete", "pod", "brief", "-n", namespace)
        for _ in range(60):
            if await identity.review(token) is None:
                break
            await asyncio.sleep(0.5)
        assert await identity.review(token) is None


@contextlib.asynccontextmanager
async def following(client: KubeClient, namespace: str) -> AsyncIterator[KubernetesRuns]:
    runs = KubernetesRuns(client, [namespace])
    runs.start()
    try:
        await until(runs.ready, 20)
        yield runs
    finally:
        await runs.stop()


async def test_the_gateways_account_can_follow_what_it_must_and_write_its_own_status(
    rules: Fence, tmp_path: Path
) -> None:
    async with gateway_client(rules, tmp_path) as client, following(client, rules.runs) as runs:
        guild = yaml.safe_load(GUILD)
        assert rules.create(guild).returncode == 0
        await until(lambda: runs.guild(rules.runs, "defaults"), 10)
        found = runs.guild(rules.runs, "defaults")
        assert found is not None
        assert found.defaults is not None
        assert found.defaults.cost_micro_usd == 5
        stored = rules.run(budget={"steps": 7})
        uid, name = stored["metadata"]["uid"], stored["metadata"]["name"]
        frozen = json.dumps({"status": {"budget": {"steps": 7, "seconds": 60}}})  # as the operator writes it
        written = rules.attempt("patch", "run", name, "--subresource=status", "--type=merge", "-p", frozen)
        assert written.returncode == 0, written.stderr
        await until(lambda: (seen := runs.run(uid)) and seen.budget, 10)
        run = runs.run(uid)
        assert run is not None
        assert run.budget is not None
        assert (run.name, run.budget.steps, run.finished, run.cancelled) == (name, 7, False, False)
        totals = LedgerTotals(calls=2, tokens=10, output_tokens=3, cost_micro_usd=380_000)
        await runs.write_run(run, status_of(totals, Awaiting(questions=1)))
        status = rules.get("run", name)["status"]
        assert status["cost"] == "$0.38"
        assert status["usage"]["calls"] == 2
        assert status["awaiting"]["questions"] == 1
        rules.patch("run", name, {"spec": {"cancel": True}})
        await until(lambda: (seen := runs.run(uid)) and seen.cancelled, 10)
        rules.cluster.kubectl("delete", "run", name, "-n", rules.runs)
        await until(lambda: runs.run(uid) is None, 10)
        with pytest.raises(KubeError) as caught:
            await runs.write_run(run, status_of(totals, Awaiting()))
        assert caught.value.status in (404, 409), "nothing is written to a Run that is gone"


async def test_the_gateways_account_can_do_nothing_else(rules: Fence, tmp_path: Path) -> None:
    stored = rules.run()
    name = stored["metadata"]["name"]
    base = f"/apis/guildhall.dev/v1alpha1/namespaces/{rules.runs}/runs/{name}"
    async with gateway_client(rules, tmp_path) as client:
        assert (await client.request("GET", base))["metadata"]["name"] == name, "the control: reading works"
        forbidden = [
            ("GET", f"/api/v1/namespaces/{rules.runs}/secrets"),
            ("GET", f"/api/v1/namespaces/{rules.runs}/configmaps"),
            ("GET", f"/api/v1/namespaces/{rules.control}/secrets/guildhall-gateway-tls"),
            ("DELETE", base),
            ("GET", "/api/v1/pods"),
            ("GET", f"/api/v1/namespaces/{rules.control}/pods"),
        ]
        for method, path in forbidden:
            with pytest.raises(KubeError) as caught:
                await client.request(method, path)
            assert caught.value.status == 403, path


GUILD = """
apiVersion: guildhall.dev/v1alpha1
kind: Guild
metadata: {name: defaults}
spec:
  entryRole: solo
  models: {m: "scripted:one"}
  roles: [{name: solo, prompt: Do it., model: m, tools: [finish]}]
  defaults: {costMicroUSD: 5}
"""
