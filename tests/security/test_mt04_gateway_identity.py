"""Promise: the gateway serves only the pod recorded for a Run's attempt, from its own address, while the Run lives.

Each refusal has its positive control: the same request is served once the one wrong thing is right.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from guildhall_gateway.identity import LAG_MAX_SECONDS, TokenFacts
from guildhall_gateway.runs import PodView
from guildhall_gateway.token_review import facts_of
from unit.gateway import kit
from unit.gateway.kit import Cluster, Served

ROUTES = [
    ("POST", "/v1/model"),
    ("GET", "/v1/mailbox"),
    ("PUT", "/v1/blobs/" + "0" * 64),
    ("PUT", "/v1/questions/q"),
    ("DELETE", "/v1/questions/q"),
    ("PUT", "/v1/approvals/a"),
    ("POST", "/v1/approvals/a/consume"),
    ("GET", "/internal/v1/runs/run-1/ledger"),
    ("GET", "/internal/v1/runs/run-1/blobs/" + "0" * 64),
]


async def call(served: Served, token: str | None = kit.TOKEN, call_id: str = "c1", source: str = "127.0.0.1") -> int:
    async with served.client(token, source) as client:
        return (await client.post("/v1/model", json=kit.request(call_id))).status_code


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_no_route_serves_anyone_without_a_token(tmp_path: Path, method: str, path: str) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        for token in (None, "unknown", "Bearer x", "x" * 20_000):
            async with served.client(token) as client:
                answer = await client.request(method, path, content=b"{}")
            assert answer.status_code == 401
            assert answer.json()["error"]["kind"] == "internal"
            assert "retryable" in answer.json()["error"]


async def test_executor_and_api_cannot_take_each_others_routes(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        assert await call(served, kit.API_TOKEN) == 401
        assert await call(served, kit.TOKEN) == 200
        for token, status in ((kit.TOKEN, 401), (kit.API_TOKEN, 200)):
            async with served.client(token) as client:
                assert (await client.get("/internal/v1/runs/run-1/ledger")).status_code == status


Change = Callable[[Cluster], Any]


def run(**fields: Any) -> Change:
    return lambda cluster: cluster.change_run(**fields)


def pod(**fields: Any) -> Change:
    return lambda cluster: cluster.change_pod("pod-run-1", **fields)


FACTS: dict[str, tuple[int, Change, Change]] = {
    "finished": (401, run(finished=True), run(finished=False)),
    "cancelled": (403, run(cancelled=True), run(cancelled=False)),
    "other-pod": (401, run(pod_uid="another"), run(pod_uid="pod-run-1")),
    "not-recorded": (503, run(pod_uid=None), run(pod_uid="pod-run-1")),
    "address": (401, pod(ips=("10.9.9.9",)), pod(ips=("127.0.0.1",))),
    "ended": (401, pod(phase="Succeeded"), pod(phase="Running")),
    "pending": (503, pod(phase="Pending"), pod(phase="Running")),
    "no-label": (401, pod(run=None), pod(run="run-1")),
    "pod-name": (401, pod(name="other"), pod(name="podname-run-1")),
    "namespace": (401, run(namespace="elsewhere"), run(namespace="team")),
}


@pytest.mark.parametrize(("status", "spoil", "mend"), FACTS.values(), ids=FACTS.keys())
async def test_each_fact_is_needed(tmp_path: Path, status: int, spoil: Change, mend: Change) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        assert await call(served, call_id="before") == 200
        spoil(served.cluster)
        assert await call(served, call_id="spoilt") == status
        mend(served.cluster)
        assert await call(served, call_id="after") == 200
        ledger = await served.gateway.ledger.calls("run-1")
        assert [row.call_id for row in ledger] == ["before", "after"]


async def test_a_forged_run_label_gives_no_other_runs_rights(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.add_run("victim", token="token-of-the-victim")
        served.cluster.change_pod("pod-run-1", run="victim")
        assert await call(served) == 401
        assert await call(served, "token-of-the-victim") == 200
        assert await served.gateway.ledger.calls("run-1") == []


async def test_the_source_address_is_the_sockets(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client(source="127.0.0.2") as client:
            forwarded = {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
            assert (await client.post("/v1/model", json=kit.request(), headers=forwarded)).status_code == 401
        assert await call(served) == 200


async def test_a_replaced_attempts_old_pod_is_refused_and_the_new_one_served(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        new = PodView("pod-2", "team", "podname-2", run="run-1", attempt=2, phase="Running", ips=("127.0.0.1",))
        served.cluster.tell("set", new)
        served.cluster.tokens["new"] = TokenFacts(
            "system:serviceaccount:team:guildhall-run", "team", "podname-2", "pod-2"
        )
        assert await call(served, "new") == 503, "the operator has not recorded it yet: try again"
        served.cluster.change_run(pod_uid="pod-2", attempt=2)
        assert await call(served, "new", "c2") == 200
        assert await call(served, kit.TOKEN, "c3") == 401


async def test_lag_is_forgiven_for_a_short_time_only(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.change_run(pod_uid=None)
        clock = [100.0]
        served.gateway.authenticator._clock = lambda: clock[0]
        assert await call(served) == 503
        clock[0] += LAG_MAX_SECONDS + 1
        assert await call(served) == 401
        served.cluster.change_run(pod_uid="pod-run-1")
        kit.scenario(tmp_path, "hi", [kit.SAY_HI])
        assert await call(served) == 200, "late is not never"
        served.cluster.change_run(pod_uid=None)
        assert await call(served) == 503, "and each lag is forgiven anew"


async def test_a_cancelled_run_gets_its_mail_and_keeps_its_patch_but_calls_no_model(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.change_run(cancelled=True)
        async with served.client() as client:
            refused = await client.post("/v1/model", json=kit.request())
            assert (refused.status_code, refused.json()["error"]["kind"]) == (403, "interrupted")
            page = (await client.get("/v1/mailbox")).json()
            while not page["items"]:
                query = {"waitSeconds": "5", "cursor": page["cursor"]}
                page = (await client.get("/v1/mailbox", params=query)).json()
            assert [item["cancel"] for item in page["items"]] == [True]
            blob = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            assert (await client.put(f"/v1/blobs/{blob}", content=b"")).status_code == 201
            served.cluster.change_run(finished=True)
            assert (await client.get("/v1/mailbox")).status_code == 401


async def test_no_positive_answer_outlives_a_cancellation(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        assert await call(served, call_id="c1") == 200
        assert await call(served, call_id="c2") == 200
        assert served.cluster.reviews == 1, "the review itself is cached"
        served.cluster.change_run(finished=True)
        assert await call(served, call_id="c3") == 401


async def test_an_expired_token_dies_with_its_cached_review(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        clock = [0.0]
        served.gateway.authenticator._clock = lambda: clock[0]
        assert await call(served, call_id="c1") == 200
        del served.cluster.tokens[kit.TOKEN]
        clock[0] += 11.0
        assert await call(served, call_id="c2") == 401


async def test_an_unauthenticated_body_is_never_read(tmp_path: Path) -> None:
    """The sender declares a gigabyte and sends none of it: the answer comes all the same, and the connection ends."""
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        url = httpx.URL(served.url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(b"POST /v1/model HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        assert answer.startswith(b"HTTP/1.1 401")
        assert b"connection: close" in answer.lower()


async def test_an_authenticated_body_is_bounded_too(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client() as client:
            declared = {"Content-Length": str(9 * 1024 * 1024), "Content-Type": "application/json"}
            too_long = client.build_request("POST", "/v1/model", content=b"x" * (9 * 1024 * 1024), headers=declared)
            assert (await client.send(too_long)).status_code == 413
        url = httpx.URL(served.url)
        _, writer = await asyncio.open_connection(url.host, url.port)
        head = f"POST /v1/model HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {kit.TOKEN}\r\n"
        writer.write(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 64 * 1024 * 1024:
                writer.write(b"10000\r\n" + b" " * 65_536 + b"\r\n")
                await writer.drain()
                sent += 65_536
        writer.close()
        assert sent < 32 * 1024 * 1024, "an endless body was read on and on"


async def test_strangers_are_capped_per_source_and_do_not_hinder_others(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.add_run("other", token="other-token", ip="127.0.0.2")
        assert await call(served, call_id="warm") == 200
        async with served.client("junk") as client:
            statuses = [(await client.get("/v1/mailbox")).status_code for _ in range(70)]
        assert statuses == [401] * 60 + [429] * 10
        reviews = served.cluster.reviews
        async with served.client("junk-2") as client:
            assert (await client.get("/v1/mailbox")).status_code == 429
        assert served.cluster.reviews == reviews, "no review is spent on a source that used up its minute"
        assert await call(served, call_id="known") == 200, "a token reviewed before is still served"
        assert await call(served, "other-token", source="127.0.0.2") == 200


async def test_repository_code_cannot_lock_its_executor_out(tmp_path: Path) -> None:
    """Both share one address: junk from the workshop must not stop the executor, also once its review is stale."""
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        clock = [0.0]
        served.gateway.authenticator._clock = lambda: clock[0]
        assert await call(served, call_id="first") == 200
        for second in range(0, 60, 15):
            clock[0] = float(second)
            async with served.client("junk") as client:
                statuses = [(await client.get("/v1/mailbox")).status_code for _ in range(80)]
            assert 429 in statuses
            assert await call(served, call_id=f"at-{second}") == 200
        del served.cluster.tokens[kit.TOKEN]
        clock[0] += 11.0
        assert await call(served, call_id="revoked") == 401
        assert await call(served, call_id="revoked") == 429, "a token that is no longer good is a stranger's"


async def test_401_is_quick_even_when_the_reviewer_is_down(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()

        async def down(_token: str) -> TokenFacts | None:
            raise OSError("no API server")

        served.cluster.review = down  # type: ignore[assignment,method-assign]
        started = time.monotonic()
        assert await call(served) == 503
        assert await call(served, None) == 401
        assert time.monotonic() - started < 5


def review(**status: Any) -> dict[str, Any]:
    user = {
        "username": "system:serviceaccount:team:guildhall-run",
        "extra": {
            "authentication.kubernetes.io/pod-name": ["p"],
            "authentication.kubernetes.io/pod-uid": ["u"],
        },
    }
    return {"status": {"authenticated": True, "audiences": ["guildhall-gateway"], "user": user} | status}


def test_a_token_review_is_believed_only_when_it_says_everything() -> None:
    good = facts_of(review(), "guildhall-gateway")
    assert good == TokenFacts("system:serviceaccount:team:guildhall-run", "team", "p", "u")
    for bad in (
        {},
        {"status": None},
        {"status": {"authenticated": True}},
        review(authenticated=False),
        review(authenticated="true"),
        review(audiences=["https://kubernetes.default.svc"]),
        review(audiences=[]),
        review(audiences=None),
        review(user={"username": "system:admin"}),
        review(user=None),
    ):
        assert facts_of(bad, "guildhall-gateway") is None
    unbound = review(user={"username": "system:serviceaccount:team:guildhall-run"})
    found = facts_of(unbound, "guildhall-gateway")
    assert found is not None
    assert found.pod_uid == "", "a token bound to no pod has no pod, and decide() refuses it"


async def test_a_token_without_a_pod_is_refused(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.tokens["unbound"] = TokenFacts("system:serviceaccount:team:guildhall-run", "team")
        assert await call(served, "unbound") == 401


async def test_answers_to_strangers_are_all_alike(tmp_path: Path) -> None:
    """Whether a Run or blob exists cannot be learnt from a 401."""
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        bodies = set()
        for path in ("/v1/mailbox", "/internal/v1/runs/run-1/ledger", "/internal/v1/runs/none/ledger"):
            async with served.client("junk") as client:
                bodies.add(json.dumps((await client.get(path)).json(), sort_keys=True))
        assert len(bodies) == 1
