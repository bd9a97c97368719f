"""Promise C7: paths that climb, other namespaces, other sites' pages and other Hosts get nowhere in the api."""

import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from guildhall_api import interventions
from guildhall_api.guard import host_allowed
from guildhall_contracts.awaiting import AwaitingView
from support.api_run import ADA, Api, api_over, pod_object, run_object, start_line, until
from support.api_socket import served
from support.kube_stub import KubeStub
from support.waiting import approval, question

Pair = tuple[KubeStub, Api]
CANARY = "CANARY-OUTSIDE-5127"


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    console = tmp_path / "console"
    (console / "src").mkdir(parents=True)
    (console / "index.html").write_text("<!doctype html><title>Guildhall</title>")
    (console / "src" / "main.js").write_text("export {}")
    (tmp_path / "outside.txt").write_text(CANARY)
    (console / "link.txt").symlink_to(tmp_path / "outside.txt")
    (console / ".hidden.txt").write_text(CANARY)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path, hosts=["guild.example.org"]) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line())
        await until(lambda: _there(api))
        yield stub, api


async def _there(api: Api) -> bool:
    return await api.events() == [1]


CLIMBING = [
    "/../outside.txt", "/src/../../outside.txt", "/%2e%2e/outside.txt", "/src/%2e%2e/%2e%2e/outside.txt",
    "/..%2foutside.txt", "/%2e%2e%2foutside.txt", "/%252e%252e/outside.txt", "/src/..%5c..%5coutside.txt",
    "/link.txt", "/.hidden.txt", "//etc/passwd", "/etc/passwd", "/src/main.js/", "/src/main.js%00.html", "/src",
    "/api/../outside.txt", "/api/runs/../../outside.txt", "/src//main.js",
]  # fmt: skip


async def test_paths_that_climb_find_nothing(pair: Pair) -> None:
    _, api = pair
    async with served(api) as port:
        good = await _raw(port, "GET /src/main.js HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert good.startswith(b"HTTP/1.1 200"), "positive control: a file that is there"
        assert b"text/javascript" in good
        for path in CLIMBING:
            answer = await _raw(port, f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")), (path, answer[:80])
            assert CANARY.encode() not in answer
            assert b"root:" not in answer


async def _raw(port: int, request: str) -> bytes:
    """A request no client library has tidied."""
    import asyncio

    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize(
    "run_id",
    [
        "team.%2e%2e",
        "..%2fteam.fix",
        "team.fix%2f..%2fx",
        "Team.fix",
        "team",
        "team.",
        ".fix",
        "team.fix%00",
        "team.f%20x",
        "%2e%2e",
    ],
)
async def test_ids_that_are_none(pair: Pair, run_id: str) -> None:
    stub, api = pair
    before = len(stub.reviews)
    assert (await api.http.get(f"/api/runs/{run_id}")).status_code == 404
    assert len(stub.reviews) == before  # nothing of it reached the cluster
    assert (await api.http.get("/api/runs/team.fix")).status_code == 200, "positive control"


async def test_another_namespace_is_refused_whether_the_run_exists_or_not(pair: Pair) -> None:
    stub, api = pair
    stub.may = lambda _user, act: act["namespace"] == "team"
    answers = [await api.http.get(f"/api/runs/kube-system.{name}") for name in ("fix", "nothing")]
    assert [answer.status_code for answer in answers] == [403, 403]
    stub.may = lambda _user, _act: True
    api.services.auth._answers._entries.clear()
    assert (await api.http.get("/api/runs/kube-system.fix")).status_code == 404
    assert (await api.http.get("/api/runs", params={"namespace": "kube-system"})).status_code == 403
    answer = await api.http.post("/api/runs", json={"namespace": "kube-system", "spec": {"task": "x"}})
    assert answer.status_code == 404
    assert stub.created == []


ACTS = [("/api/runs/team.fix/cancel", "{}"), ("/api/runs/team.fix/interrupt", '{"intent":"abort"}'),
        ("/api/runs", '{"namespace":"team","spec":{"task":"x"}}'),
        ("/api/answer", '{"run":"team.fix","questionId":"q1","text":"yes"}'),
        ("/api/approvals", json.dumps({"run": "team.fix", "approvalId": "a1", "argumentsHash": "c" * 64,
                                       "decision": "approve"}))]  # fmt: skip


@pytest.mark.parametrize(("path", "body"), ACTS)
async def test_mt03_other_sites_pages_start_stop_answer_and_approve_nothing(
    pair: Pair, path: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub, api = pair
    monkeypatch.setattr(interventions, "VERDICT_WAIT_SECONDS", 0)
    api.gateway.waits = AwaitingView(questions=[question()], approvals=[approval()])
    forged: list[dict[str, str]] = [
        {"Content-Type": "text/plain", "Origin": "http://evil.example"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json", "Origin": "http://evil.example"},
        {"Content-Type": "application/json", "Origin": "null"},
        {"Content-Type": "application/json", "Origin": "http://localhost.evil.example"},
        {"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
        {"Content-Type": "application/json", "Host": "guild.example.org.evil.example"},
        {},
    ]
    for headers in forged:
        answer = await api.http.post(path, content=body, headers=headers)
        assert 400 <= answer.status_code < 500, headers
        assert "access-control-allow-origin" not in answer.headers
    assert stub.created == []
    assert stub.patched == []
    good = {"Content-Type": "application/json", "Origin": "http://localhost"}
    assert (await api.http.post(path, content=body, headers=good)).status_code in {201, 202}, "positive control"
    assert len(stub.created) + len(stub.patched) == 1


async def test_mt03_names_that_rebind_reach_no_data(pair: Pair) -> None:
    _, api = pair
    for host in (
        "127.x.example",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "",
        "team:8080",
    ):
        answer = await api.http.get("/api/runs/team.fix", headers={"Host": host})
        assert answer.status_code == 421, host
        assert "Fix it" not in answer.text
    for host in ("localhost:8080", "127.0.0.1:1", "guild.example.org", "GUILD.example.org"):
        assert (await api.http.get("/api/runs/team.fix", headers={"Host": host})).status_code == 200, host


async def test_mt03_a_stream_for_another_origin_is_refused(pair: Pair) -> None:
    _, api = pair
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}):
        answer = await api.http.get("/api/runs/team.fix/stream", headers=headers)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    preflight = await api.http.options(
        "/api/runs", headers={"Origin": "http://evil.example", "Content-Type": "application/json"}
    )
    assert preflight.status_code in {403, 405}


async def test_nothing_is_shown_to_strangers(pair: Pair) -> None:
    _, api = pair
    paths = ["", "/flow", "/events", "/stream", "/changes", "/patch", "/operations/o1", "/report"]
    for path in [f"/api/runs/team.fix{each}" for each in paths] + [
        "/api/runs",
        "/api/config",
        "/api/run/flow?run=team.fix",
    ]:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Cookie": "guildhall_session=guess"},
            {"Authorization": f"Basic {ADA}"},
        ):
            answer = await api.stranger.get(path, headers=headers)
            assert answer.status_code == 401, (path, headers)
            assert "Fix it" not in answer.text
    assert (await api.stranger.get(f"/api/runs?token={ADA}")).status_code == 401  # never in a URL


async def test_bodies_without_end_are_cut(pair: Pair) -> None:
    stub, api = pair
    headers = {"Content-Type": "application/json"}
    big = b'{"namespace":"team","spec":{"task":"' + b"x" * (2 * 1024 * 1024) + b'"}}'
    assert (await api.http.post("/api/runs", content=big, headers=headers)).status_code == 413

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(big), 65_536):
            yield big[start : start + 65_536]

    answer = await api.http.post("/api/runs", content=pieces(), headers=headers)
    assert answer.status_code >= 400
    deep = b'{"namespace":"team","spec":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert (await api.http.post("/api/runs", content=deep, headers=headers)).status_code in {400, 422}
    assert stub.created == []


@pytest.mark.parametrize(
    ("host", "allowed"),
    [("localhost", True), ("localhost:80", True), ("LOCALHOST:80", True), ("localhost:x", False), ("localhost:", False),
     ("xlocalhost", False), ("[::1]:80", True), ("[::1]", True), ("::1", False), ("a.b", True), ("a.b:1", False)],
)  # fmt: skip
def test_hosts(host: str, allowed: bool) -> None:
    assert host_allowed(host, ("localhost:*", "[::1]:*", "a.b")) is allowed


def test_this_machine_resolves_localhost_to_itself() -> None:
    """The allowance for localhost rests on it."""
    assert {each[4][0] for each in socket.getaddrinfo("localhost", 80)} <= {"127.0.0.1", "::1"}
