"""Promise C9, the server's half: every answer carries the headers, whatever it is; cookies and types are as promised."""  # noqa: E501

import json
from pathlib import Path

import pytest
from guildhall_api.console import TYPES
from guildhall_api.guard import SECURITY_HEADERS
from support.api_run import Api, api_over, pod_object, run_object, start_line, until
from support.kube_stub import KubeStub

ROOT = Path(__file__).parents[2]
PROMISED = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types "
)


def test_the_console_is_tested_under_the_headers_it_is_served_with() -> None:
    assert json.loads((ROOT / "web" / "headers.json").read_text()) == SECURITY_HEADERS


async def test_every_answer_has_them(tmp_path: Path) -> None:
    console = tmp_path / "console"
    console.mkdir()
    (console / "index.html").write_text("<!doctype html>")
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line())
        await until(lambda: _there(api))
        answers = [
            await api.http.get("/"), await api.http.get("/missing.js"), await api.http.get("/api/runs"),
            await api.http.get("/api/runs/team.fix/flow"), await api.http.get("/api/runs/team.fix/report"),
            await api.http.get("/api/nothing"), await api.stranger.get("/api/runs"), await api.stranger.get("/healthz"),
            await api.http.get("/api/runs", headers={"Host": "evil.example"}),
            await api.http.post("/api/runs", content=b"x", headers={"Content-Type": "text/plain"}),
            await api.http.post("/api/runs", json={}), await api.http.get("/api/runs/team.fix/events?after=x"),
        ]  # fmt: skip
        stub.people["boom"] = {"username": "x", "groups": 7}  # the api itself fails on this one
        broken = await api.stranger.get("/api/runs", headers={"Authorization": "Bearer boom"})
        assert broken.status_code == 500
        assert {answer.status_code for answer in answers} >= {200, 400, 401, 404, 415, 421, 422}
        for answer in (*answers, broken):
            report = answer.request.url.path.endswith("/report") and answer.status_code == 200
            policy = answer.headers.get_list("content-security-policy")
            assert len(policy) == 1
            assert policy[0].startswith("default-src 'none'" if report else PROMISED), answer.request.url
            assert "unsafe" not in policy[0] or report
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cross-origin-opener-policy"] == "same-origin"
            assert "server" not in answer.headers
            if answer.request.url.path.startswith("/api"):
                assert answer.headers["cache-control"] == "no-store"
        assert "Traceback" not in broken.text


async def _there(api: Api) -> bool:
    return await api.events() == [1]


@pytest.mark.parametrize(
    "suffix", sorted({path.suffix for path in (ROOT / "web").rglob("*") if path.is_file()} - {".md", ""})
)
def test_every_kind_of_console_file_has_a_type_or_is_known_not_to_be_served(suffix: str) -> None:
    assert suffix in TYPES or suffix in {".mjs", ".LICENSE"}
