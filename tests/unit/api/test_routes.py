"""Every route by HTTP: what it answers, what it refuses, and what the cluster was asked on the way."""

import asyncio  # noqa: I001
import hashlib
import json
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
import yaml
from guildhall_api import VERSION, blobs
from guildhall_api.labels import REASON_TEXTS, TOOL_LABELS
from guildhall_api.openapi import document, operations, problems
from guildhall_api.routes import acts
from guildhall_contracts import api as wire
from guildhall_contracts.conditions import Reason
from guildhall_contracts.policy import BUILT_IN_TOOLS

from support.api_run import (
    UID,
    Api,
    api_over,
    finish_line,
    line,
    pod_object,
    run_object,
    start_line,
    until,
    warn_line,
)
from support.kube_stub import KubeStub

ROOT = Path(__file__).parents[3]
Pair = tuple[KubeStub, Api]
PATCH = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+caf\xe9\n"
PATCH_SHA = hashlib.sha256(PATCH).hexdigest()
GUILD: dict[str, Any] = {
    "metadata": {"name": "repair", "namespace": "team"},
    "spec": {
        "entryRole": "coder",
        "roles": [{"name": "coder", "prompt": "Fix.", "model": "m", "tools": ["read_file"]}],
        "models": {"m": "scripted:x"},
    },
    "status": {"conditions": [{"type": "Accepted", "status": "True", "message": "fine"}], "digest": "b" * 64},
}


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.put("guilds", json.loads(json.dumps(GUILD)))
        changed = line(
            3, "changes.updated", patchSHA256=PATCH_SHA, patchBytes=len(PATCH), filesTotal=1, added=1, removed=1,
            files=[{"path": "x", "status": "modified", "added": 1, "removed": 1}], omitted=["big.bin"],
        )  # fmt: skip
        await stub.write("fix-pod", start_line(), warn_line(2), changed, warn_line(4, op="o1"))
        await until(lambda: _seqs(api, 4))
        yield stub, api


async def _seqs(api: Api, last: int) -> bool:
    return (await api.events())[-1:] == [last]


async def test_flow_and_its_alias_are_the_model_the_ledger_and_the_row(pair: Pair) -> None:
    _, api = pair
    answer = await api.http.get("/api/runs/team.fix/flow")
    flow = wire.Flow.model_validate(answer.json())
    assert flow.model.run.uid == UID
    assert [each.id for each in flow.model.operations] == ["o1"]
    assert flow.ledger is not None
    assert flow.ledger.totals.cost_micro_usd == 5
    assert flow.summary.label == "Fix it"

    async def same() -> bool:  # what is archived meanwhile may come between the two
        there = (await api.http.get("/api/runs/team.fix/flow")).json()
        return bool((await api.http.get("/api/run/flow", params={"run": "team.fix"})).json() == there)

    await until(same)
    api.gateway.silent = True
    assert "ledger" not in (await api.http.get("/api/runs/team.fix/flow")).json()


async def test_events_by_page_tail_and_operation(pair: Pair) -> None:
    _, api = pair

    async def page(**params: Any) -> wire.EventsPage:
        answer = await api.http.get("/api/runs/team.fix/events", params=params)
        assert answer.status_code == 200, answer.text
        return wire.EventsPage.model_validate(answer.json())

    first = await page(limit=3)
    assert [event["seq"] for event in first.events] == [1, 2, 3]
    assert (first.last, first.end) == (3, False)
    assert [event["seq"] for event in (await page(after=first.last)).events] == [4]
    assert [event["seq"] for event in (await page(tail=2)).events] == [3, 4]
    operation = (await api.http.get("/api/runs/team.fix/operations/o1")).json()
    assert [event["seq"] for event in operation["events"]] == [1, 4]
    assert (await api.http.get("/api/runs/team.fix/operations/o99")).status_code == 404
    for query in ("after=x", "limit=0", "limit=1001", "tail=-1"):
        assert (await api.http.get(f"/api/runs/team.fix/events?{query}")).status_code == 400


async def test_a_longer_output_is_a_download_of_its_own_operation_and_stays(pair: Pair) -> None:
    stub, api = pair
    whole = b"caf\xe9\n" * 40_000
    sha256 = hashlib.sha256(whole).hexdigest()
    ended = line(5, "tool.finished", op="o4", outcome="success", output="short", omittedBytes=9, blob=sha256)
    await stub.write("fix-pod", ended)
    await until(lambda: _seqs(api, 5))
    address = "/api/runs/team.fix/operations/{}/output"
    assert (await api.http.get(address.format("o4"))).status_code == 404, "nobody has it yet"
    api.gateway.silent = True
    assert (await api.http.get(address.format("o4"))).status_code == 503
    api.gateway.silent = False
    api.gateway.blobs |= {sha256: whole, PATCH_SHA: PATCH}
    for other in ("o1", "o9", sha256):
        assert (await api.http.get(address.format(other))).status_code == 404, "no event of it names the blob"
    assert (await api.stranger.get(address.format("o4"))).status_code == 401
    await stub.write("fix-pod", finish_line(6))
    await stub.put("runs", run_object(phase="Succeeded"))

    async def sealed() -> bool:
        return bool((await api.http.get("/api/runs/team.fix")).json()["sealed"])

    await until(sealed)
    api.gateway.blobs.clear()
    api.gateway.silent = True
    download = await api.http.get(address.format("o4"))
    assert download.content == whole, "kept when the log was sealed, though nobody had looked"
    assert download.headers["content-disposition"] == 'attachment; filename="fix-o4.txt"'
    assert download.headers["content-type"] == "application/octet-stream"
    assert (await api.http.get("/api/runs/team.fix/patch")).content == PATCH


async def test_results_are_kept_while_there_is_room(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    stub, api = pair
    monkeypatch.setattr(blobs, "RESULTS_KEPT_PER_RUN_MAX_BYTES", 1_500)
    wholes = [bytes([65 + at]) * 1_000 for at in range(3)]
    names = [hashlib.sha256(whole).hexdigest() for whole in wholes]
    api.gateway.blobs |= dict(zip(names, wholes, strict=True)) | {PATCH_SHA: PATCH}
    lines = [
        line(5 + at, "tool.finished", op=f"o{5 + at}", outcome="success", output="", blob=name)
        for at, name in enumerate(names)
    ]
    await stub.write("fix-pod", *lines, finish_line(8))
    await stub.put("runs", run_object(phase="Succeeded"))

    async def sealed() -> bool:
        return bool((await api.http.get("/api/runs/team.fix")).json()["sealed"])

    await until(sealed)
    asked = [f"/api/runs/team.fix/operations/o{5 + at}/output" for at in range(3)]
    assert [(await api.http.get(address)).status_code for address in asked] == [200, 200, 200], "the gateway has them"
    api.gateway.blobs.clear()
    found = [(await api.http.get(f"/api/runs/team.fix/operations/o{5 + at}/output")).status_code for at in range(3)]
    assert found == [200, 404, 404], "what does not fit any more is not kept"


async def test_changes_come_from_the_gateway_by_hash_and_stay(pair: Pair) -> None:
    stub, api = pair
    missing = (await api.http.get("/api/runs/team.fix/changes")).json()
    assert "patch" not in missing
    assert "no longer has the patch" in missing["message"]
    api.gateway.silent = True
    assert (await api.http.get("/api/runs/team.fix/patch")).status_code == 503
    api.gateway.silent = False
    api.gateway.blobs[PATCH_SHA] = PATCH
    changes = wire.ChangesView.model_validate((await api.http.get("/api/runs/team.fix/changes")).json())
    assert changes.patch is not None
    assert "caf\ufffd" in changes.patch
    assert "download" in changes.message
    assert [file.path for file in changes.files] == ["x"]
    assert changes.omitted == ["big.bin"]
    api.gateway.blobs.clear()
    api.gateway.silent = True
    download = await api.http.get("/api/runs/team.fix/patch")
    assert download.content == PATCH
    assert download.headers["content-disposition"] == 'attachment; filename="fix.patch"'
    await stub.write("fix-pod", finish_line(5))


async def test_bytes_that_do_not_hash_to_their_name_are_not_kept(pair: Pair) -> None:
    _, api = pair
    key = api.services.keeper.runs[UID].key
    with pytest.raises(ValueError, match="do not hash"):
        await api.services.history.put_blob(key, PATCH_SHA, PATCH + b"!")
    await api.services.history.put_blob(key, PATCH_SHA, PATCH)
    assert await api.services.history.blob(key, PATCH_SHA) == PATCH


async def test_one_run(pair: Pair) -> None:
    stub, api = pair
    detail = wire.RunDetail.model_validate((await api.http.get("/api/runs/team.fix")).json())
    assert detail.last_seq == 4
    assert detail.may == ["cancel", "interrupt", "answer", "approve"]
    assert detail.spec is not None
    stub.may = lambda _user, act: act["verb"] not in {"patch", "create"}
    api.services.auth._answers._entries.clear()
    assert (await api.http.get("/api/runs/team.fix")).json()["may"] == []
    ended = run_object(phase="Failed")
    await stub.put("runs", ended)
    await until(lambda: _phase(api, "Failed"))
    assert (await api.http.post("/api/runs/team.fix/cancel", json={})).status_code == 403
    stub.may = lambda _user, _act: True
    api.services.auth._answers._entries.clear()
    assert (await api.http.post("/api/runs/team.fix/cancel", json={})).status_code == 409


async def _phase(api: Api, phase: str) -> bool:
    return bool((await api.http.get("/api/runs/team.fix")).json()["summary"]["phase"] == phase)


async def test_lists_filter_search_and_page(pair: Pair) -> None:
    stub, api = pair
    for number in range(5):
        other = run_object(f"n{number}", f"uid-n{number}", pod_uid=None, task=f"Task 100% number {number}")
        other["metadata"]["creationTimestamp"] = f"2026-01-06T09:00:0{number}Z"
        await stub.put("runs", other)
    secret = run_object("hidden", "uid-private", pod_uid=None, task="number nine", private=True, deliver="none")
    await stub.put("runs", secret)
    await until(lambda: _count(api, 7))

    async def names(**params: Any) -> list[str]:
        answer = await api.http.get("/api/runs", params=params)
        page = wire.RunPage.model_validate(answer.json())
        return [row.name for row in page.runs]

    assert await names(q="number 3") == ["n3"]
    assert await names(q="100%") == ["n4", "n3", "n2", "n1", "n0"]
    assert await names(q="1__%") == []
    assert await names(q="number nine") == []  # private Runs are found by nobody
    assert await names(phase="Failed") == []
    assert len(await names(guild="repair")) == 7
    assert await names(live=False) == []
    seen: list[str] = []
    cursor = None
    while True:
        page = (await api.http.get("/api/runs", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [row["name"] for row in page["runs"]]
        cursor = page.get("next")
        if cursor is None:
            break
    assert seen[:5] == ["n4", "n3", "n2", "n1", "n0"]
    assert len(seen) == len(set(seen)) == 7
    assert (await api.http.get("/api/runs?cursor=rubbish")).status_code == 400


async def _count(api: Api, count: int) -> bool:
    return len((await api.http.get("/api/runs")).json()["runs"]) == count


async def test_config_names_every_tool_and_reason_and_the_guilds(pair: Pair) -> None:
    _, api = pair
    config = wire.Config.model_validate((await api.http.get("/api/config")).json())
    assert config.namespaces == ["team"]
    assert [guild.name for guild in config.guilds] == ["repair"]
    assert config.guilds[0].accepted
    assert {tool.name for tool in config.tools} == set(BUILT_IN_TOOLS) == set(TOOL_LABELS)
    assert set(config.reasons) == set(get_args(Reason)) == set(REASON_TEXTS)
    assert config.user == "ada"
    project = tomllib.loads((ROOT / "api" / "pyproject.toml").read_text())["project"]
    assert config.version == project["version"] == VERSION


BODY = {"namespace": "team", "spec": {"task": "do it", "guildRef": {"name": "repair"}}}


async def test_creating_and_asking_whether_one_could(pair: Pair) -> None:
    stub, api = pair
    asked = await api.http.post("/api/runs?dryRun=true", json=BODY | {"name": "new"})
    assert asked.status_code == 200
    manifest = yaml.safe_load(asked.json()["manifest"])
    assert manifest["metadata"] == {"namespace": "team", "name": "new"}
    assert manifest["spec"] == BODY["spec"]
    assert asked.json()["warnings"]
    assert ("team", "new") not in stub.objects["runs"]
    assert [dry for _, _, dry in stub.created] == [True]
    made = await api.http.post("/api/runs", json=BODY)
    assert made.status_code == 201
    created = wire.CreatedRun.model_validate(made.json())
    assert created.id.startswith("team.run-")
    resource = stub.objects["runs"]["team", created.id.removeprefix("team.")]
    assert resource["metadata"]["annotations"] == {"guildhall.dev/author": "ada"}
    assert (await api.http.post("/api/runs", json=BODY | {"name": "fix"})).status_code == 409
    stub.refuse_create = (422, "spec.task: Too long")
    refused = await api.http.post("/api/runs", json=BODY)
    assert refused.status_code == 422
    assert "Too long" in refused.json()["detail"]


async def test_a_created_run_is_answered_once_it_can_be_asked_for(pair: Pair) -> None:
    stub, api = pair
    stub.hidden_changes.add(("runs", "ADDED"))
    asking = asyncio.create_task(api.http.post("/api/runs", json=BODY | {"name": "new"}))
    await until(lambda: _is_true(("team", "new") in stub.objects["runs"]))
    assert (await api.http.get("/api/runs/team.new/flow")).status_code == 404  # the cluster has it, the watch does not
    assert not asking.done()
    await stub.put("runs", stub.objects["runs"]["team", "new"])  # now the watch tells of it
    assert (await asking).status_code == 201
    assert (await api.http.get("/api/runs/team.new/flow")).status_code == 200


async def test_a_watch_that_brings_nothing_keeps_nobody_from_the_answer(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub, api = pair
    stub.hidden_changes.add(("runs", "ADDED"))
    monkeypatch.setattr(acts, "KNOWN_WAIT_MAX_SECONDS", 0.05)
    assert (await api.http.post("/api/runs", json=BODY | {"name": "new"})).status_code == 201
    assert (await api.http.get("/api/runs/team.new/flow")).status_code == 404


async def _is_true(value: bool) -> bool:
    return value


@pytest.mark.parametrize(
    "change",
    [
        {"serviceAccountName": "admin"},
        {"task": ""},
        {"task": {"innerHTML": "<b>"}},
        {"task": None},
        {"cancel": True},
        {"guildRef": {"name": "../x"}},
    ],
    ids=str,
)
async def test_c2_bodies_that_break_the_contract(pair: Pair, change: dict[str, Any]) -> None:
    stub, api = pair
    answer = await api.http.post("/api/runs", json={"namespace": "team", "spec": BODY["spec"] | change})  # type: ignore[operator]
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert stub.created == []


async def test_cancel_and_interrupt_reach_the_cluster_in_the_callers_name(pair: Pair) -> None:
    stub, api = pair
    assert (await api.http.post("/api/runs/team.fix/cancel", json={})).status_code == 202
    assert stub.patched == [("fix", {"metadata": {"uid": UID}, "spec": {"cancel": True}})]
    answer = await api.http.post("/api/runs/team.fix/interrupt", json={"intent": "abort"})
    assert answer.status_code == 202
    kind, made, _ = stub.created[-1]
    assert kind == "interventions"
    assert made["spec"] == {
        "runRef": {"name": "fix", "uid": UID}, "author": "ada", "interrupt": {"intent": "abort", "message": ""},
    }  # fmt: skip
    assert (await api.http.post("/api/runs/team.fix/interrupt", json={"intent": "redirect"})).status_code == 422
    assert (await api.http.post("/api/runs/team.none/cancel", json={})).status_code == 404


async def test_the_past_run_of_a_name_is_opened_by_uid(pair: Pair) -> None:
    stub, api = pair
    await stub.write("fix-pod", finish_line(5))
    await until(lambda: api.services.keeper.runs[UID].sealed)
    await stub.delete("runs", "team", "fix")
    newer = run_object(uid="uid-second", pod_uid=None, task="Second")
    newer["metadata"]["creationTimestamp"] = "2026-01-07T09:00:00Z"
    await stub.put("runs", newer)
    await until(lambda: "uid-second" in api.services.keeper.runs and UID not in api.services.keeper.runs)
    assert (await api.http.get("/api/runs/team.fix")).json()["summary"]["uid"] == "uid-second"
    past = (await api.http.get("/api/runs/team.fix/flow", params={"uid": UID})).json()
    assert past["model"]["run"]["status"] == "succeeded"
    assert (await api.http.get("/api/runs/team.other/flow", params={"uid": UID})).status_code == 404


async def test_signing_in_and_out(pair: Pair) -> None:
    stub, api = pair
    stub.people["good"] = {"username": "bea", "groups": []}
    visitor = api.stranger
    assert (await visitor.get("/api/session")).status_code == 401
    assert (await visitor.post("/api/session", json={"token": "bad"})).status_code == 401
    answer = await visitor.post("/api/session", json={"token": "good"})
    assert answer.json()["user"] == "bea"
    cookie = answer.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "secure", "path=/"))
    secret = answer.headers["set-cookie"].split("=", 1)[1].split(";")[0]
    assert "good" not in secret
    signed_in = httpx.AsyncClient(
        transport=api.stranger._transport,
        base_url="http://localhost",
        headers={"Cookie": f"guildhall_session={secret}"},
    )
    assert (await signed_in.get("/api/session")).json()["user"] == "bea"
    assert (await signed_in.get("/api/runs/team.fix")).status_code == 200
    away = await signed_in.request("DELETE", "/api/session", json={})
    assert away.status_code == 204
    assert (await signed_in.get("/api/session")).status_code == 401
    await signed_in.aclose()


async def test_failed_sign_ins_are_limited(pair: Pair) -> None:
    _, api = pair
    codes = [(await api.stranger.post("/api/session", json={"token": f"bad{n}"})).status_code for n in range(35)]
    assert codes[0] == 401
    assert codes[-1] == 429
    api.services.auth._people._entries.clear()
    assert (await api.http.get("/api/session")).status_code == 200  # whom the cluster accepted before is not locked out


async def test_metrics_and_probes_name_nobody(pair: Pair) -> None:
    _, api = pair
    text = (await api.stranger.get("/metrics", headers={"Host": "10.0.0.7:8080"})).text
    assert "guildhall_api_runs_followed 1.0" in text
    assert "fix" not in text
    assert (await api.stranger.get("/readyz", headers={"Host": "10.0.0.7:8080"})).status_code == 200


def test_the_openapi_document_is_sound_and_current() -> None:
    found = document()
    assert problems(found) == []
    assert json.loads((ROOT / "api" / "openapi.json").read_text()) == found


def test_the_linter_of_the_document_can_fail() -> None:
    found = document()
    found["paths"]["/api/runs"]["get"]["operationId"] = "get_run"
    found["paths"]["/api/runs"]["post"]["responses"]["201"] = {"description": "made"}
    del found["paths"]["/api/config"]["get"]["responses"]["401"]
    found["components"]["schemas"].pop("Problem")
    assert len(problems(found)) == 4


def test_every_route_is_documented() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    routes = {f"{method.upper()} {path}".replace("{run_id}", "{id}") for path, method, _ in operations(document())}
    documented = {
        f"`{route}`" for route in routes if f"`{route}`" in text or route.split(" ")[1] in {"/readyz", "/metrics"}
    }
    assert documented == {f"`{route}`" for route in routes}
