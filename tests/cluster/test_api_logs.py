"""The api on the real API server and kubelet: a pod's log through rotation, and real accounts' rights."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from guildhall_api.app import make_app, make_services, running
from guildhall_api.history import History
from guildhall_api.identity import KubernetesIdentity
from guildhall_api.kube import Kube, from_kubeconfig
from guildhall_api.services import Services
from guildhall_api.watch import KubernetesRuns
from support.api_run import FakeGateway, config_for, finish_line, start_line, until, warn_line
from support.cluster import Cluster, pod
from support.crds import install_crds

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

LINES = 1_000
PAD = 20_000  # over 16 KiB: the runtime stores such lines in pieces (LS-02)
RUN: dict[str, Any] = {
    "apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "metadata": {"name": "loud"},
    "spec": {"task": "Be loud", "guildRef": {"name": "g"}},
}  # fmt: skip


@asynccontextmanager
async def _api(cluster: Cluster, namespace: str, folder: Path) -> AsyncIterator[tuple[Services, httpx.AsyncClient]]:
    """The api with the administrator's kubeconfig for an account of its own."""
    folder.mkdir()  # noqa: ASYNC240
    config = config_for(folder, runNamespaces=[namespace])
    kube = Kube(from_kubeconfig(cluster.kubeconfig))
    source = KubernetesRuns(kube, [namespace])
    services = make_services(config, source, KubernetesIdentity(kube, []), FakeGateway(), History(config.database_url))
    transport = httpx.ASGITransport(app=make_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:  # noqa: SIM117
        async with running(services):
            await until(lambda: services.keeper.ready, 30)
            yield services, http
    await kube.aclose()


def _script(uid: str, first: int, last: int, pause: str) -> str:
    """A shell that prints events `first..last` as an executor would, padded so that the log rotates."""
    frame = json.dumps(json.loads(warn_line(7_777_777, run=uid)) | {"type": "note.taken", "pad": "PAD"})
    frame = frame.replace("7777777", "'$i'").replace('"PAD"', "\"'$pad'\"")
    begin = f"printf '%s\\n' '{start_line(uid).decode()}'; " if first == 1 else ""
    return (
        f"pad=$(head -c {PAD} /dev/zero | tr '\\0' x); {begin} i={max(first, 2)}; "
        f"while [ $i -le {last} ]; do echo '{frame}'; i=$((i+1)); {pause} done"
    )


def _start(cluster: Cluster, namespace: str) -> tuple[str, str]:
    """The Run, and the pod that is its executor; the Run's uid and the pod's."""
    cluster.apply(RUN, namespace=namespace)
    uid = cluster.get("-n", namespace, "run", "loud")["metadata"]["uid"]
    script = _script(uid, 1, LINES, "[ $((i % 10)) = 0 ] && sleep 0.2;")
    script += f"; printf '%s\\n' '{finish_line(LINES + 1, uid).decode()}'"
    made = pod("loud-pod", ["sh", "-c", script], {"guildhall.dev/run": uid})
    made["spec"]["containers"][0]["name"] = "executor"
    cluster.apply(made, namespace=namespace)
    pod_uid = cluster.get("-n", namespace, "pod", "loud-pod")["metadata"]["uid"]
    attempts = [{"number": 1, "job": "loud-a1", "pod": "loud-pod", "podUid": pod_uid}]
    _status(cluster, namespace, {"phase": "Running", "attempts": attempts})
    return uid, pod_uid


def _status(cluster: Cluster, namespace: str, status: dict[str, Any]) -> None:
    patch = json.dumps({"status": status})
    cluster.kubectl("-n", namespace, "patch", "run", "loud", "--subresource=status", "--type=merge", "-p", patch)


async def _seqs(services: Services, uid: str) -> list[int]:
    stored = await services.history.find(uid=uid)
    assert stored is not None
    return [seq async for page in services.history.all_lines(stored.key) for seq, _ in page]


async def _missing(services: Services, uid: str) -> list[tuple[int, int]]:
    run = services.keeper.runs.get(uid)
    return run.intake.holes if run is not None else []


async def test_m7_a_rotating_log_is_stored_whole(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """One api follows live, another comes when most of the log is gone and repairs it from the journal printed again."""  # noqa: E501
    install_crds(cluster)
    uid, _ = await asyncio.to_thread(_start, cluster, namespace)
    async with _api(cluster, namespace, tmp_path / "live") as (services, _):
        await until(lambda: uid in services.keeper.runs and services.keeper.runs[uid].model.ended, 180)
        holes = services.keeper.runs[uid].intake.holes
        seqs = await _seqs(services, uid)
        assert len(seqs) == len(set(seqs))
        assert seqs == sorted(seqs)
        if not holes:
            assert seqs == list(range(1, LINES + 2))
            await until(lambda: services.keeper.runs[uid].sealed, 30)
    archive = cluster.get("-n", namespace, "run", "loud")["status"]["archive"]
    assert holes or archive == {"storedSeq": LINES + 1}
    await _rotated(cluster, namespace)
    async with _api(cluster, namespace, tmp_path / "late") as (services, _):
        await until(lambda: uid in services.keeper.runs and bool(services.keeper.runs[uid].intake.holes), 60)
        first, last = services.keeper.runs[uid].intake.holes[0]
        assert first == 1, "positive control: rotation took the beginning"
        await until(lambda: _asked(cluster, namespace, first), 30)
        again = pod(
            "loud-resend",
            ["sh", "-c", _script(uid, 1, last, "")],
            {"guildhall.dev/run": uid, "guildhall.dev/resend": "true"},
        )
        again["spec"]["containers"][0]["name"] = "executor"
        await asyncio.to_thread(cluster.apply, again, namespace=namespace)
        await until(lambda: services.keeper.runs[uid].sealed, 120)
        assert await _seqs(services, uid) == list(range(1, LINES + 2))
        assert services.keeper.runs[uid].run_wire["gaps"] == []
    status = cluster.get("-n", namespace, "run", "loud")["status"]
    assert status["archive"] == {"storedSeq": LINES + 1}
    assert status["result"]["outcome"] == "succeeded"
    assert status["phase"] == "Running", "the api wrote only its own fields"
    managers = {
        each["manager"]
        for each in cluster.get("-n", namespace, "run", "loud", "--show-managed-fields")["metadata"]["managedFields"]
    }
    assert "guildhall-api" in managers


async def _rotated(cluster: Cluster, namespace: str) -> None:
    """Wait until the kubelet has thrown the beginning away."""

    async def gone() -> bool:
        words = ("logs", "-n", namespace, "loud-pod", "--limit-bytes=2000")
        return '"run.started"' not in (await asyncio.to_thread(cluster.attempt, *words)).stdout

    await until(gone, 60)


async def _asked(cluster: Cluster, namespace: str, first: int) -> bool:
    run = await asyncio.to_thread(cluster.get, "-n", namespace, "run", "loud")
    return bool(run["status"].get("archive", {}).get("resendFrom") == first)


def _account(cluster: Cluster, namespace: str, name: str, rules: list[dict[str, Any]]) -> str:
    """An account with these rules; a token of it."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }  # fmt: skip
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    cluster.apply(account, role, binding, namespace=namespace)
    return cluster.kubectl("-n", namespace, "create", "token", name).strip()


async def test_real_accounts_may_what_the_cluster_lets_them(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    install_crds(cluster)
    cluster.apply(RUN, namespace=namespace)
    group = {"apiGroups": ["guildhall.dev"]}
    viewer = _account(
        cluster, namespace, "viewer", [group | {"resources": ["runs"], "verbs": ["get", "list", "watch"]}]
    )
    creator = _account(cluster, namespace, "creator", [
        group | {"resources": ["runs"], "verbs": ["create", "get"]}, group | {"resources": ["guilds"], "verbs": ["get"]},  # noqa: E501
    ])  # fmt: skip
    nobody = _account(cluster, namespace, "nobody", [])
    wrong = cluster.kubectl("-n", namespace, "create", "token", "viewer", "--audience=guildhall-gateway").strip()
    body = {"namespace": namespace, "name": "made", "spec": RUN["spec"]}
    theirs = body | {"spec": RUN["spec"] | {"workspace": {"claim": {"name": "someones"}}}}

    async with _api(cluster, namespace, tmp_path / "api") as (_, http):

        async def status(token: str, method: str, path: str, **more: Any) -> int:
            answer = await http.request(method, path, headers={"Authorization": f"Bearer {token}"}, **more)
            return answer.status_code

        run = f"/api/runs/{namespace}.loud"
        assert await status(viewer, "GET", run) == 200
        assert await status(nobody, "GET", run) == 403
        assert await status(wrong, "GET", run) == 401, "a token for another audience"
        assert await status(viewer + "x", "GET", run) == 401
        assert await status(viewer, "POST", f"{run}/cancel", json={}) == 403
        assert await status(viewer, "POST", "/api/runs", json=body) == 403
        assert await status(creator, "POST", "/api/runs", json=theirs) == 403
        assert await status(creator, "POST", "/api/runs?dryRun=true", json=body) == 200
        assert cluster.attempt("-n", namespace, "get", "run", "made").returncode != 0
        assert await status(creator, "POST", "/api/runs", json=body) == 201
        assert await status(creator, "POST", "/api/runs", json=body) == 409
        made = cluster.get("-n", namespace, "run", "made")
        assert made["metadata"]["annotations"]["guildhall.dev/author"] == f"system:serviceaccount:{namespace}:creator"
        signed_in = await http.post("/api/session", json={"token": viewer})
        assert signed_in.json()["user"] == f"system:serviceaccount:{namespace}:viewer"
        assert "expiresAt" in signed_in.json()
