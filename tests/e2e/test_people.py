"""People in the cluster: a question answered and a call approved through the api, the same by `kubectl`, and each act
taking effect once though gateway and api are killed around it."""

import json
import os
import signal

import pytest
from support.cluster import eventually
from support.installation import Installation, condition
from support.people import answer, decision, effect_of, intervention, may_approve, start, states, told, waits
from support.processes import process_of, wait_ready

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def test_a_person_answers_and_approves_through_the_api(installation: Installation) -> None:
    here, name = installation, "people-api"
    start(here, name)
    question = waits(here, "questions", name)
    assert question["question"]["text"] == "May I use **tabs**?"
    assert (question["question"]["context"], question["question"]["options"]) == ("The file has both.", ["Yes", "No"])
    waiting = here.wait_run(name, lambda run: run["status"].get("awaiting", {}).get("questions") == 1)
    assert condition(here.wait_run(name, lambda run: run["status"]["phase"] == "AwaitingHuman"), "AwaitingHuman")
    assert waiting["status"]["awaiting"]["approvals"] == 0
    done = answer(here, name)
    assert (done.status, done.body["state"] in {"Delivered", "Consumed"}) == (202, True), done.body
    body_of_answer = {"run": f"{here.namespace}.{name}", "questionId": question["question"]["id"], "text": "No"}
    again = here.api("/api/answer", method="POST", body=body_of_answer)
    assert (again.status, "answered already" in again.body["detail"]) == (409, True), again.body
    approval = waits(here, "approvals", name)["approval"]
    assert json.loads(approval["arguments"])["command"] == "echo done >> once.txt; cat once.txt"
    assert (approval["tool"], approval["effect"]) == ("run_shell", "write")
    body = decision(here, name)
    refused = here.api("/api/approvals", method="POST", body=body)
    assert (refused.status, "may not approve" in refused.body["detail"]) == (403, True), "to watch is not to approve"
    assert effect_of(here, name) == [], "nothing ran before a person said yes"
    with may_approve(here):
        wrong = body | {"argumentsHash": "0" * 64}
        eventually(lambda: here.api("/api/approvals", method="POST", body=wrong).status == 409, 30)
        assert "arguments again" in here.api("/api/approvals", method="POST", body=wrong).body["detail"]
        assert here.api("/api/approvals", method="POST", body=body).status == 202
    run = here.wait_done(name)
    assert condition(run, "Succeeded")["status"] == "True", here.story(name)
    assert effect_of(here, name) == ["done"]
    [said], [decided] = told(here, name, "question.answered"), told(here, name, "approval.decided")
    person = here.api("/api/session").body["user"]
    assert (said["author"], said["text"], decided["author"], decided["decision"]) == (
        person,
        "Yes, tabs",
        person,
        "approve",
    )
    eventually(lambda: states(here, name) == {"Consumed": 2}, 30)
    late = here.api("/api/answer", method="POST", body={**body_of_answer, "text": "later"})
    assert (late.status, late.body["title"]) == (409, "The Run has ended")


def test_the_same_by_kubectl_and_a_redirect_beside_it(installation: Installation) -> None:
    here, name = installation, "people-kubectl"
    start(here, name)
    who = here.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    identity = waits(here, "questions", name)["question"]["id"]
    for suffix in ("ask", "yes", "late", "go"):
        here.kubectl("-n", here.namespace, "delete", "intervention", f"{name}-{suffix}", "--ignore-not-found")
    redirect = {"intent": "redirect", "message": "Keep the license header."}
    here.apply(
        intervention(here, f"{name}-ask", name, who, interrupt=redirect),
        intervention(here, f"{name}-yes", name, who, answer={"questionId": identity, "text": "Yes, tabs"}),
    )
    asked = decision(here, name)
    late = intervention(here, f"{name}-late", name, who, answer={"questionId": identity, "text": "No"})
    forged = intervention(here, f"{name}-forged", name, "someone-else", interrupt=redirect)
    said = here.kubectl("-n", here.namespace, "create", "-f", "-", stdin=json.dumps(forged), check=False)
    assert "author must be you" in said
    here.apply(late)
    eventually(lambda: here.get("intervention", f"{name}-late").get("status", {}).get("state") == "Refused", 30)
    assert "answered already" in here.get("intervention", f"{name}-late")["status"]["message"]
    bound = {key: asked[key] for key in ("approvalId", "argumentsHash", "decision")}
    here.apply(intervention(here, f"{name}-go", name, who, approval=bound))
    run = here.wait_done(name)
    assert condition(run, "Succeeded")["status"] == "True", here.story(name)
    assert effect_of(here, name) == ["done"]
    assert [event["intent"] for event in told(here, name, "interrupt.received")] == ["redirect"]
    eventually(lambda: states(here, name) == {"Consumed": 3, "Refused": 1}, 30)


@pytest.mark.slow
def test_each_act_takes_effect_once_whoever_is_killed(own_installation: Installation) -> None:
    """`kill -9` of the gateway and of the api right after an act was written, in two Runs side by side."""
    here = own_installation
    runs = {"gateway": "kill-gateway", "api": "kill-api"}
    start(here, *runs.values())
    victims = {part: process_of(here, part) for part in runs}
    for part, name in runs.items():
        identity = waits(here, "questions", name)["question"]["id"]
        who = here.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
        act = intervention(here, f"{name}-yes", name, who, answer={"questionId": identity, "text": "Yes, tabs"})
        here.apply(act)
        os.kill(victims[part], signal.SIGKILL)
    wait_ready(here)
    bodies = {name: decision(here, name) for name in runs.values()}
    for part, name in runs.items():
        victim = process_of(here, part)
        act = {key: bodies[name][key] for key in ("approvalId", "argumentsHash", "decision")}
        here.apply(intervention(here, f"{name}-go", name, who, approval=act))
        os.kill(victim, signal.SIGKILL)
    wait_ready(here)
    for name in runs.values():
        run = here.wait_done(name, 180)
        assert condition(run, "Succeeded")["status"] == "True", here.story(name)
        here.wait_run(name, lambda found: condition(found, "Sealed").get("status") == "True", 90)
        assert effect_of(here, name) == ["done"], "the approved call ran once"
        assert [event["text"] for event in told(here, name, "question.answered")] == ["Yes, tabs"]
        assert [event["decision"] for event in told(here, name, "approval.decided")] == ["approve"]
        eventually(lambda name=name: states(here, name) == {"Consumed": 2}, 60)  # type: ignore[misc]
