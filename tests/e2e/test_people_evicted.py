"""What people are asked, and what they said, outlives the pod that asked: once, in the pod that follows."""

from typing import Any

import pytest
from support.eviction import evict
from support.installation import Installation, condition, run_manifest
from support.ledger import calls_of
from support.people import GUILD, effect_of, intervention, states, told, waits

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
ASKING, APPROVING = "evicted-asking", "evicted-approving"
SAME_CALL = ("approvalId", "argumentsHash", "arguments")


class Person:
    """Whoever acts on one Run by `kubectl`."""

    def __init__(self, here: Installation, run: str) -> None:
        self.here, self.run = here, run
        self.name = here.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
        for word in ("redirect", "yes", "go"):
            here.delete("intervention", f"{run}-{word}")

    def act(self, word: str, **act: Any) -> None:
        self.here.apply(intervention(self.here, f"{self.run}-{word}", self.run, self.name, **act))

    def answer(self) -> None:
        question = waits(self.here, "questions", self.run)["question"]
        self.act("yes", answer={"questionId": question["id"], "text": "Yes, tabs"})

    def approve(self) -> None:
        wanted = waits(self.here, "approvals", self.run)["approval"]
        bound = {key: wanted[key] for key in ("approvalId", "argumentsHash")}
        self.act("go", approval={**bound, "decision": "approve"})


def moved(here: Installation, name: str) -> None:
    """Takes the pod away, and waits until the next attempt's executor is at work."""

    def at_work(run: dict[str, Any]) -> bool:
        attempts = run["status"].get("attempts", [])
        return len(attempts) == 2 and condition(run, "Running").get("status") == "True" and "podUid" in attempts[-1]

    evict(here, here.get("run", name))
    here.wait_run(name, at_work, 120)


def ended_once(here: Installation, name: str, interrupts: list[str]) -> None:
    run = here.wait_done(name)
    assert condition(run, "Succeeded")["status"] == "True", here.story(name)
    assert effect_of(here, name) == ["done"], "the approved call ran once"
    assert [event["text"] for event in told(here, name, "question.answered")] == ["Yes, tabs"]
    assert [event["decision"] for event in told(here, name, "approval.decided")] == ["approve"]
    assert [event["intent"] for event in told(here, name, "interrupt.received")] == interrupts
    assert len({call["callId"] for call in calls_of(here, name) if call["state"] == "settled"}) == 3
    here.wait_run(name, lambda _: states(here, name) == {"Consumed": 2 + len(interrupts)}, 30)


def test_what_people_say_takes_effect_once_whichever_pod_hears_it(installation: Installation) -> None:
    here = installation
    for name in (ASKING, APPROVING):
        here.delete("run", name)
    kept = {"storage": {"size": "32Mi"}}
    here.apply(*(run_manifest(name, guild=GUILD, workspace=kept) for name in (ASKING, APPROVING)))
    asked, approver = Person(here, ASKING), Person(here, APPROVING)
    question = waits(here, "questions", ASKING)["question"]
    asked.act("redirect", interrupt={"intent": "redirect", "message": "Keep the license header."})
    approver.answer()
    call = waits(here, "approvals", APPROVING)["approval"]
    assert effect_of(here, APPROVING) == [], "nothing ran before a person said yes"

    moved(here, ASKING)
    moved(here, APPROVING)
    again = waits(here, "questions", ASKING)["question"]
    assert (again["id"], again["text"]) == (question["id"], question["text"]), "it is the same question"
    wanted = waits(here, "approvals", APPROVING)["approval"]
    assert {key: wanted[key] for key in SAME_CALL} == {key: call[key] for key in SAME_CALL}, "it is the same call"

    approver.approve()
    asked.answer()
    asked.approve()
    ended_once(here, APPROVING, [])
    ended_once(here, ASKING, ["redirect"])
