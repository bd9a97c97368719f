"""Promise MT-06: whatever the api knows of secrets appears in no answer, header, log line or stored byte."""

import logging
from pathlib import Path

import pytest
from guildhall_api.openapi import document, operations
from support.api_run import ADA, Api, api_over, pod_object, run_object, start_line, until
from support.kube_stub import KubeStub

PROXY_SECRET = "CANARY-PROXY-91"
SESSION_TOKEN = "CANARY-TOKEN-92"
POD_SECRET = "CANARY-POD-ENV-93"
CANARIES = (PROXY_SECRET, SESSION_TOKEN, POD_SECRET, ADA)


async def test_no_canary_in_any_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret_file = tmp_path / "secret"
    secret_file.write_text(PROXY_SECRET + "\n")
    sign_in = {"mode": "proxy", "secretFile": str(secret_file)}
    async with KubeStub().serving() as stub, api_over(stub, tmp_path, signIn=sign_in) as api:
        stub.people[SESSION_TOKEN] = {"username": "bea"}
        pod = pod_object()
        pod["spec"] = {"containers": [{"name": "executor", "env": [{"name": "KEY", "value": POD_SECRET}]}]}
        await stub.put("runs", run_object())
        await stub.put("pods", pod)
        await stub.write("fix-pod", start_line())
        proxy = {"X-Forwarded-User": "viewer", "X-Guildhall-Proxy-Secret": PROXY_SECRET, "Authorization": ""}
        await until(lambda: _there(api))
        session = await api.stranger.post("/api/session", json={"token": SESSION_TOKEN})
        assert session.status_code == 200
        seen = 0
        for path, method, _ in operations(document()):
            if method != "get" or path.endswith("/stream"):
                continue
            url = path.replace("{run_id}", "team.fix").replace("{op}", "o1")
            for headers in (proxy, {}, {"Authorization": "Bearer CANARY-WRONG"}):
                answer = await api.http.get(url, headers=headers, params={"run": "team.fix"})
                seen += answer.status_code == 200
                everything = answer.text + str(answer.headers)
                assert not [canary for canary in CANARIES if canary in everything], url
        assert seen >= 20, "positive control: the answers were real ones"
        assert not [canary for canary in CANARIES if canary in caplog.text]
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("api.db*"))  # noqa: ASYNC240
    assert b"Fix it" in stored, "positive control: this is the database"
    assert not [canary for canary in CANARIES if canary.encode() in stored]


async def _there(api: Api) -> bool:
    return await api.events() == [1]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Forwarded-User": "bea", "X-Guildhall-Proxy-Secret": PROXY_SECRET}, 200),
        ({"X-Forwarded-User": "bea"}, 401),
        ({"X-Forwarded-User": "bea", "X-Guildhall-Proxy-Secret": ""}, 401),
        ({"X-Forwarded-User": "bea", "X-Guildhall-Proxy-Secret": PROXY_SECRET[:-1]}, 401),
        ({"X-Forwarded-User": "", "X-Guildhall-Proxy-Secret": PROXY_SECRET}, 401),
        ({"X-Forwarded-User": "system:admin", "X-Guildhall-Proxy-Secret": PROXY_SECRET}, 401),
    ],
    ids=str,
)
async def test_proxy_headers_need_the_secret(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    secret_file = tmp_path / "secret"
    secret_file.write_text(PROXY_SECRET)
    sign_in = {"mode": "proxy", "secretFile": str(secret_file)}
    async with KubeStub().serving() as stub, api_over(stub, tmp_path, signIn=sign_in) as api:
        given = headers | {"X-Forwarded-Groups": "team, system:masters"}
        assert (await api.stranger.get("/api/session", headers=given)).status_code == status
        await api.stranger.get("/api/runs", headers=given)
        assert all("system:masters" not in review["groups"] for review in stub.reviews)
        assert bool(stub.reviews) is (status == 200)
