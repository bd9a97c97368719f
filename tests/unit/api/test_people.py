"""Questions and approvals by HTTP: what is shown to whom, what an act becomes, and every way it is refused in words."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import interventions
from guildhall_api.source import Act, Person
from guildhall_contracts.api import ApprovalPage, QuestionPage, RunDetail
from guildhall_contracts.awaiting import AwaitingView
from support.api_run import ADA, UID, Api, api_over, pod_object, run_object, start_line, until
from support.kube_stub import KubeStub
from support.waiting import HASH, approval, question

Pair = tuple[KubeStub, Api]
OTHER = "d" * 64
ANSWER = {"run": "team.fix", "questionId": "q1", "text": "Yes, **do**."}
APPROVE = {"run": "team.fix", "approvalId": "a1", "argumentsHash": HASH, "decision": "approve"}


@pytest.fixture
async def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    monkeypatch.setattr(interventions, "VERDICT_WAIT_SECONDS", 0.3)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line())
        await until(lambda: UID in api.services.keeper.runs)
        api.gateway.waits = AwaitingView(
            questions=[question(), question("old", state="answered"), question("q2", run="elsewhere")],
            approvals=[approval(), approval("late", state="expired")],
        )
        yield stub, api


def made(stub: KubeStub) -> list[dict[str, Any]]:
    return [resource["spec"] for kind, resource, _ in stub.created if kind == "interventions"]


async def test_what_waits_is_listed_with_its_run_and_whether_one_may_act(pair: Pair) -> None:
    stub, api = pair
    stub.may = lambda _user, wanted: wanted["verb"] != "approve"
    for params in ({}, {"run": "team.fix"}):
        page = QuestionPage.model_validate((await api.http.get("/api/questions", params=params)).json())
        assert [(each.run, each.label, each.question.id, each.may) for each in page.questions] == [
            ("team.fix", "Fix it", "q1", True)
        ], "open, and of a Run the api knows"
        approvals = ApprovalPage.model_validate((await api.http.get("/api/approvals", params=params)).json()).approvals
        assert [(each.approval.approval_id, each.approval.arguments, each.may) for each in approvals] == [
            ("a1", '{"to":"prod"}', False)
        ]
    one = (await api.http.get("/api/questions", params={"run": "team.fix", "id": "old"})).json()
    assert one["questions"][0]["question"]["state"] == "answered"
    assert (await api.http.get("/api/questions", params={"id": "q1"})).status_code == 400
    detail = RunDetail.model_validate((await api.http.get("/api/runs/team.fix")).json())
    assert detail.may == ["cancel", "interrupt", "answer"]


async def test_who_may_see_no_runs_sees_nothing_that_waits(pair: Pair) -> None:
    stub, api = pair
    stub.may = lambda _user, wanted: wanted["verb"] not in ("list", "get")
    assert (await api.http.get("/api/questions")).json() == {"questions": []}
    assert (await api.http.get("/api/approvals")).json() == {"approvals": []}
    assert (await api.http.get("/api/questions", params={"run": "team.fix"})).status_code == 403
    assert (await api.stranger.get("/api/approvals")).status_code == 401


async def test_the_gateway_is_asked_only_of_the_namespaces_one_may_see(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path, runNamespaces=["team", "other", "third"]) as api:
        stub.may = lambda _user, wanted: wanted["verb"] != "list" or wanted["namespace"] != "other"
        assert (await api.http.get("/api/questions")).status_code == 200
        assert api.gateway.asked_for == ("team", "third")


async def test_rights_are_asked_for_side_by_side_a_few_at_a_time_and_once_each(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, api = pair
    api.gateway.waits = AwaitingView(
        questions=[question(f"q{n}") for n in range(100)], approvals=[approval(f"a{n}") for n in range(100)]
    )
    asked: list[Act] = []
    now = most = 0

    async def may(_person: Person, act: Act) -> bool:
        nonlocal now, most
        asked.append(act)
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0.02)
        now -= 1
        return act.namespace != "n7"

    monkeypatch.setattr(api.services.auth._identity, "may", may)
    person = Person("eve")
    acts = [Act("list", f"n{n}", "runs") for n in range(40)]
    judged = await api.services.auth.judged(person, [*acts, *acts])
    assert judged == {act: act.namespace != "n7" for act in acts}
    assert 1 < most <= 8
    assert sorted(asked, key=repr) == sorted(acts, key=repr)
    asked.clear()
    assert len((await api.http.get("/api/questions")).json()["questions"]) == 100
    assert len((await api.http.get("/api/approvals")).json()["approvals"]) == 100
    assert len(asked) == len(set(asked)) == 3, "list runs, create interventions, approve the run"


async def test_a_cluster_that_does_not_answer_for_rights_is_said(pair: Pair) -> None:
    stub, api = pair

    def away(_user: str, _wanted: dict[str, Any]) -> bool:
        raise ConnectionError

    stub.may = away
    assert (await api.http.get("/api/questions")).status_code == 503
    stub.may = lambda _user, _wanted: True
    assert (await api.http.get("/api/questions")).status_code == 200, "control: and nothing of it is remembered"


async def test_an_answer_and_a_decision_are_interventions_in_the_callers_name(pair: Pair) -> None:
    stub, api = pair
    for path, body in (("/api/answer", ANSWER), ("/api/approvals", APPROVE)):
        answer = await api.http.post(path, json=body)
        assert answer.status_code == 202, answer.text
        assert answer.json()["uid"].startswith("uid-")
        assert "state" not in answer.json(), "the gateway has not said"
    ref = {"name": "fix", "uid": UID}
    assert made(stub) == [
        {"runRef": ref, "author": "ada", "answer": {"questionId": "q1", "text": "Yes, **do**."}},
        {
            "runRef": ref,
            "author": "ada",
            "approval": {"approvalId": "a1", "argumentsHash": HASH, "decision": "approve"},
        },
    ]
    owners = [resource["metadata"]["ownerReferences"][0]["uid"] for kind, resource, _ in stub.created]
    assert owners == [UID, UID]
    forged = await api.http.post("/api/answer", json=ANSWER | {"author": "eve"})
    assert forged.status_code == 422


REFUSED: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "answered": ("/api/answer", ANSWER | {"questionId": "old"}, 409, "answered already"),
    "no question": ("/api/answer", ANSWER | {"questionId": "zz"}, 404, "no such question"),
    "another run's": ("/api/answer", ANSWER | {"questionId": "q2"}, 404, "no such question"),
    "empty": ("/api/answer", ANSWER | {"text": " \n"}, 422, "option"),
    "expired": ("/api/approvals", APPROVE | {"approvalId": "late"}, 409, "expired"),
    "wrong hash": ("/api/approvals", APPROVE | {"argumentsHash": OTHER}, 409, "arguments again"),
    "no approval": ("/api/approvals", APPROVE | {"approvalId": "zz"}, 404, "no such approval"),
    "no such run": ("/api/answer", ANSWER | {"run": "team.other"}, 404, "team.other"),
    "no run id": ("/api/answer", ANSWER | {"run": "x"}, 422, "run"),
    "decision": ("/api/approvals", APPROVE | {"decision": "always"}, 422, "decision"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
async def test_what_cannot_be_done_is_said_in_words_and_creates_nothing(
    pair: Pair, case: tuple[str, dict[str, Any], int, str]
) -> None:
    stub, api = pair
    path, body, status, words = case
    answer = await api.http.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]
    assert made(stub) == []


async def test_approving_needs_its_own_verb_on_that_run(pair: Pair) -> None:
    stub, api = pair
    stub.may = lambda _user, wanted: wanted["verb"] != "approve"
    answer = await api.http.post("/api/approvals", json=APPROVE)
    assert (answer.status_code, made(stub)) == (403, [])
    assert "approve runs/fix in namespace team" in answer.json()["detail"]
    asked = [review["resourceAttributes"] for review in stub.reviews if "resourceAttributes" in review]
    assert [attributes for attributes in asked if attributes["verb"] == "approve"][-1] == {
        "verb": "approve", "namespace": "team", "resource": "runs", "group": "guildhall.dev", "name": "fix",
    }  # fmt: skip
    assert (await api.http.post("/api/answer", json=ANSWER)).status_code == 202, "control: he may answer"


async def test_what_the_gateway_says_of_an_act_is_the_answer(pair: Pair) -> None:
    stub, api = pair
    for state, message, status, words in (
        ("Refused", "the question was answered already", 409, "The question was answered already."),
        ("Expired", "the Run is over", 409, "The Run is over."),
        ("Delivered", "", 202, "Delivered"),
    ):
        said: dict[str, Any] = {"state": state, "message": message}
        stub.on_create = {"interventions": said}.get
        answer = await api.http.post("/api/answer", json=ANSWER)
        assert answer.status_code == status, answer.text
        assert words in (answer.json().get("detail") or answer.json()["state"])


async def test_nothing_is_acted_on_that_the_gateway_does_not_tell(pair: Pair) -> None:
    stub, api = pair
    api.gateway.silent = True
    for path, body in (("/api/answer", ANSWER), ("/api/approvals", APPROVE)):
        assert (await api.http.post(path, json=body)).status_code == 503
    assert (await api.http.get("/api/questions")).status_code == 503
    assert made(stub) == []
    interrupt = await api.http.post("/api/runs/team.fix/interrupt", json={"intent": "abort"})
    assert interrupt.status_code == 202, "ending a Run needs no gateway"


async def test_an_ended_run_takes_nothing(pair: Pair) -> None:
    stub, api = pair
    await stub.put("runs", run_object(phase="Succeeded"))
    await until(lambda: api.services.keeper.runs[UID].over)
    for path, body in (("/api/answer", ANSWER), ("/api/approvals", APPROVE)):
        answer = await api.http.post(path, json=body)
        assert (answer.status_code, answer.json()["title"]) == (409, "The Run has ended")
        assert "Succeeded" in answer.json()["detail"]
    assert made(stub) == []


async def test_an_interrupt_with_a_key_is_one_however_often_it_is_sent(pair: Pair) -> None:
    stub, api = pair
    path, body = "/api/runs/team.fix/interrupt", {"intent": "redirect", "message": "Use tabs.", "key": "k1"}
    answers = [(await api.http.post(path, json=body)) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert len(made(stub)) == 1
    other = await api.http.post(path, json=body | {"key": "k2"})
    assert other.json()["id"] != answers[0].json()["id"]
    stub.people["token-of-bob"] = {"username": "bob"}
    bobs = await api.http.post(path, json=body, headers={"Authorization": "Bearer token-of-bob"})
    assert bobs.json()["id"] != answers[0].json()["id"], "nobody's key stands for another's act"
    assert len(made(stub)) == 3
    assert ADA != "token-of-bob"
