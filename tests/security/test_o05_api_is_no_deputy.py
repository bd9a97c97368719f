"""Promise O5, the api's half: nobody gets, through the api's own account, what the cluster does not grant them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import interventions
from guildhall_contracts.awaiting import AwaitingView
from support.api_run import Api, api_over, pod_object, run_object, start_line, until
from support.kube_stub import KubeStub
from support.waiting import HASH, approval, question

Pair = tuple[KubeStub, Api]
NAMED: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"workspace": {"git": {"url": "https://evil.example/x", "secretRef": {"name": "someones"}}}}, ("secrets", "someones")),  # noqa: E501
    ({"deliver": "branch", "publish": {"secretRef": {"name": "someones"}}}, ("secrets", "someones")),
    ({"workspace": {"claim": {"name": "someones"}}}, ("persistentvolumeclaims", "someones")),
    ({"workspace": {"template": {"claim": "someones"}}}, ("persistentvolumeclaims", "someones")),
    ({"workspace": {"archive": {"configMap": "someones"}}}, ("configmaps", "someones")),
    ({"guildRef": {"name": "someones"}}, ("guilds", "someones")),
]  # fmt: skip


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line())
        await until(lambda: _there(api))
        api.services.auth._answers._entries.clear()
        yield stub, api


async def _there(api: Api) -> bool:
    return await api.events() == [1]


@pytest.mark.parametrize(("extra", "named"), NAMED, ids=lambda value: str(value)[:40])
async def test_creating_a_run_needs_get_on_what_it_names(
    pair: Pair, extra: dict[str, Any], named: tuple[str, str]
) -> None:
    stub, api = pair
    body = {"namespace": "team", "spec": {"task": "x"} | extra}
    stub.may = lambda _user, act: act["verb"] == "create" and act["resource"] == "runs"
    for url in ("/api/runs", "/api/runs?dryRun=true"):
        refused = await api.http.post(url, json=body)
        assert refused.status_code == 403
        assert f"{named[0]}/{named[1]}" in refused.json()["detail"]
    assert stub.created == []
    asked = [review["resourceAttributes"] for review in stub.reviews if review["resourceAttributes"]["verb"] == "get"]
    assert asked[-1] == {"verb": "get", "namespace": "team", "resource": named[0], "name": named[1],
                         "group": "guildhall.dev" if named[0] == "guilds" else ""}  # fmt: skip
    stub.may = lambda _user, _act: True
    api.services.auth._answers._entries.clear()
    assert (await api.http.post("/api/runs", json=body)).status_code == 201, "positive control"


ROUTES = [
    ("GET", "", {"get": "runs"}), ("GET", "/flow", {"get": "runs"}), ("GET", "/events", {"get": "runs"}),
    ("GET", "/stream", {"watch": "runs"}), ("GET", "/changes", {"get": "runs"}), ("GET", "/patch", {"get": "runs"}),
    ("GET", "/operations/o1", {"get": "runs"}), ("GET", "/report", {"get": "runs"}),
    ("POST", "/cancel", {"patch": "runs"}), ("POST", "/interrupt", {"create": "interventions"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "needs"), ROUTES, ids=lambda value: str(value))  # noqa: PLW0108
async def test_each_route_asks_the_cluster_about_its_own_act(
    pair: Pair, method: str, path: str, needs: dict[str, str]
) -> None:
    """Everything else allowed: refused. A stranger's rights are asked with his own name, groups and extras."""
    stub, api = pair
    stub.may = lambda _user, act: needs.get(act["verb"]) != act["resource"]
    body: dict[str, Any] = {"json": {"intent": "abort"} if path == "/interrupt" else {}} if method == "POST" else {}
    answer = await api.http.request(method, f"/api/runs/team.fix{path}", **body)
    assert answer.status_code == 403
    assert stub.created == []
    assert stub.patched == []
    assert stub.reviews[-1]["user"] == "ada"
    assert stub.reviews[-1]["groups"] == ["system:authenticated"]


async def test_an_answer_is_believed_for_ten_seconds_at_most(pair: Pair) -> None:
    stub, api = pair
    now = [1_000.0]
    auth = api.services.auth
    for kept in (auth._answers, auth._people):
        kept._clock = lambda: now[0]
        kept._entries.clear()
    assert (await api.http.get("/api/runs/team.fix")).status_code == 200
    stub.may = lambda _user, _act: False
    now[0] += 9
    assert (await api.http.get("/api/runs/team.fix")).status_code == 200
    now[0] += 2
    assert (await api.http.get("/api/runs/team.fix")).status_code == 403


async def test_a_cluster_that_cannot_answer_lets_nobody_in(pair: Pair) -> None:
    stub, api = pair

    def broken(_user: str, _act: dict[str, Any]) -> bool:
        raise ConnectionResetError

    stub.may = broken
    answer = await api.http.get("/api/runs/team.fix")
    assert answer.status_code == 503
    assert "Fix it" not in answer.text


PEOPLE = [
    ("GET", "/api/questions?run=team.fix", {"get": "runs"}), ("GET", "/api/approvals?run=team.fix", {"get": "runs"}),
    ("POST", "/api/answer", {"create": "interventions"}), ("POST", "/api/approvals", {"create": "interventions"}),
    ("POST", "/api/approvals", {"approve": "runs"}), ("POST", "/api/answer", {"get": "runs"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "needs"), PEOPLE, ids=lambda value: str(value))  # noqa: PLW0108
async def test_acting_for_a_run_asks_the_cluster_about_the_act_and_the_run(
    pair: Pair, method: str, path: str, needs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub, api = pair
    monkeypatch.setattr(interventions, "VERDICT_WAIT_SECONDS", 0)
    api.gateway.waits = AwaitingView(questions=[question()], approvals=[approval()])
    answer = {"questionId": "q1", "text": "yes"}
    decision = {"approvalId": "a1", "argumentsHash": HASH, "decision": "approve"}
    body = {"json": {"run": "team.fix"} | (answer if path == "/api/answer" else decision)} if method == "POST" else {}
    stub.may = lambda _user, act: needs.get(act["verb"]) != act["resource"]
    refused = await api.http.request(method, path, **body)  # type: ignore[arg-type]
    assert (refused.status_code, stub.created) == (403, [])
    stub.may = lambda _user, _act: True
    api.services.auth._answers._entries.clear()
    done = await api.http.request(method, path, **body)  # type: ignore[arg-type]
    assert done.status_code in {200, 202}, "positive control"
    assert [kind for kind, _, _ in stub.created] == (["interventions"] if method == "POST" else [])
