"""A RunSchedule's plan: a Run for the time that is due and none twice, whatever happened in between."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from guildhall_contracts.run import RunSpec
from guildhall_contracts.schedule import RunScheduleStatus
from guildhall_operator.run_view import RunView, run_view, slimmed
from guildhall_operator.schedule import SchedulePlan, ScheduleView, refused, schedule_plan, schedule_view
from guildhall_operator.status import stamp
from guildhall_operator.template import doubt
from unit.operator import kit

UID = "5c4ed11e-2222-4333-8444-555555555555"
TEMPLATE = {"guildRef": {"name": "nightly"}, "task": "Upgrade what is old."}
MADE = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def at(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute, second, tzinfo=UTC)


def nightly(status: dict[str, Any] | None = None, generation: int = 1, **spec: Any) -> ScheduleView:
    """A schedule for 02:00 each night, made on 1 March at noon."""
    template = {"spec": {**TEMPLATE, **spec.pop("template", {})}, **spec.pop("meta", {})}
    meta = {"name": "nightly", "namespace": kit.NAMESPACE, "uid": UID, "generation": generation}
    return schedule_view(
        {
            "metadata": {**meta, "creationTimestamp": stamp(MADE)},
            "spec": {"schedule": "0 2 * * *", "runTemplate": template, **spec},
            "status": status or {},
        }
    )


def after(view: ScheduleView, done: SchedulePlan) -> ScheduleView:
    if done.status is None:
        return view
    RunScheduleStatus.model_validate(done.status)
    return replace(view, status=done.status)


def child(manifest: dict[str, Any], verdict: str = "", *, sealed: bool = True, created: datetime = MADE) -> RunView:
    """The Run of a manifest as the API server shows it; `verdict` True or False when it is over."""
    status: dict[str, Any] = {}
    if verdict:
        conditions = [{"type": "Succeeded", "status": verdict, "reason": "Completed"}]
        conditions += [{"type": "Sealed", "status": "True"}] if sealed else []
        status = {"conditions": conditions, "completionTime": stamp(created), "attempts": [{"number": 1}]}
    meta = {**manifest["metadata"], "uid": f"uid-{manifest['metadata']['name']}", "creationTimestamp": stamp(created)}
    return slimmed(run_view({"metadata": meta, "spec": manifest["spec"], "status": status}))


def made(done: SchedulePlan) -> dict[str, Any]:
    assert done.create is not None
    return done.create


def said(done: SchedulePlan) -> tuple[str, str]:
    assert done.status is not None
    (condition,) = done.status["conditions"]
    return condition["status"], condition["reason"]


def test_a_run_is_made_at_its_time_and_once() -> None:
    view = nightly()
    early = schedule_plan(view, (), at(1, 12))
    assert early.create is None
    assert (early.status or {})["nextScheduleTime"] == stamp(at(2, 2))
    assert early.requeue_seconds <= 300, "it looks again, so that a changed clock is noticed"
    view = after(view, early)
    soon = schedule_plan(view, (), at(2, 1, 59, 58))
    assert soon.create is None
    assert soon.status is None, "nothing changed, nothing is written"
    assert 2 <= soon.requeue_seconds < 3

    due = schedule_plan(view, (), at(2, 2, 0, 1))
    run = made(due)
    assert run["spec"] == {**TEMPLATE, "mode": "scheduled"}
    RunSpec.model_validate(run["spec"])
    assert run["metadata"]["ownerReferences"][0]["uid"] == UID
    assert due.note == ("Scheduled", f"Run '{run['metadata']['name']}' for {stamp(at(2, 2))}")
    assert (due.status or {})["lastScheduleTime"] == stamp(at(2, 2))

    again = schedule_plan(view, (), at(2, 2, 0, 9))
    assert made(again)["metadata"]["name"] == run["metadata"]["name"], "killed before the status was written: same name"
    view = after(view, due)
    rest = schedule_plan(view, (child(run),), at(2, 2, 0, 9))
    assert rest.create is None
    assert (rest.status or {})["active"] == [run["metadata"]["name"]]


def test_the_name_is_legal_and_the_schedules_own() -> None:
    long = replace(nightly(), name="x" * 200 + ".y")
    name = made(schedule_plan(long, (), at(2, 3)))["metadata"]["name"]
    assert len(name) <= 40
    other = replace(long, uid="0" * 8 + UID[8:])
    assert made(schedule_plan(other, (), at(2, 3)))["metadata"]["name"] != name, "the name came back, the uid did not"


def test_after_a_downtime_only_the_last_time_is_made_up_for() -> None:
    view = after(nightly(), schedule_plan(nightly(), (), at(1, 12)))
    late = schedule_plan(view, (), at(9, 12))
    assert made(late)["metadata"]["annotations"]["guildhall.dev/scheduled-at"] == stamp(at(9, 2))
    view = after(view, late)
    assert schedule_plan(view, (), at(9, 12, 1)).create is None


def test_a_time_found_too_late_is_missed_and_said() -> None:
    view = nightly(startingDeadlineSeconds=600)
    done = schedule_plan(view, (), at(2, 12))
    assert done.create is None
    assert said(done) == ("True", "Missed")
    assert done.note is not None
    assert "36000 s late" in done.note[1]
    view = after(view, done)
    assert schedule_plan(view, (), at(2, 13)).status is None, "said once"
    assert schedule_plan(nightly(startingDeadlineSeconds=600), (), at(2, 2, 5)).create, "control: within"
    later = schedule_plan(view, (), at(3, 2, 0, 1))
    assert made(later)
    assert said(later) == ("True", "Accepted")


@pytest.mark.parametrize("policy", ["Forbid", "Allow", "Replace"])
def test_a_run_that_is_not_over(policy: str) -> None:
    view = nightly(concurrencyPolicy=policy)
    first = schedule_plan(view, (), at(2, 2, 1))
    running = child(made(first))
    done = schedule_plan(after(view, first), (running,), at(3, 2, 1))
    assert (done.create is not None) == (policy != "Forbid")
    assert done.cancel == ((running.name,) if policy == "Replace" else ())
    if policy == "Forbid":
        assert said(done) == ("True", "Skipped")
        over = child(made(first), "True")
        skipped = after(view, done)
        assert schedule_plan(skipped, (over,), at(3, 2, 30)).create is None, "a skipped time is not made up for"
        assert schedule_plan(skipped, (over,), at(4, 2, 1)).create


def test_cancelled_once() -> None:
    view = nightly(concurrencyPolicy="Replace")
    first = schedule_plan(view, (), at(2, 2, 1))
    going = replace(child(made(first)), spec={"cancel": True})
    assert schedule_plan(after(view, first), (going,), at(3, 2, 1)).cancel == ()


def test_suspend_and_change_make_up_for_nothing() -> None:
    view = after(nightly(suspend=True), schedule_plan(nightly(suspend=True), (), at(1, 13)))
    held = schedule_plan(view, (), at(5, 12))
    assert (held.create, held.status) == (None, None)
    freed = nightly(view.status, generation=2)
    resumed = schedule_plan(freed, (), at(5, 12))
    assert resumed.create is None, "four nights were suspended on purpose"
    assert schedule_plan(after(freed, resumed), (), at(6, 2, 1)).create
    changed = nightly({**view.status}, generation=3, schedule="*/5 * * * *")
    assert schedule_plan(changed, (), at(5, 12, 2)).create is None
    untouched = nightly({}, generation=4)
    assert schedule_plan(untouched, (), at(2, 3)).create, "control: nobody had looked at it before"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"schedule": "0 0 31 2 *"}, "31 2"),
        ({"timeZone": "Nowhere/Else"}, "Nowhere/Else"),
        ({"schedule": "every day"}, "schedule"),
        ({"template": {"task": 7}}, "task"),
        ({"template": {"mode": "interactive"}}, "mode"),
        ({"runTemplate": None}, "runTemplate"),
    ],
)
def test_what_cannot_be_used_is_said_and_makes_nothing(spec: dict[str, Any], field: str) -> None:
    view = nightly(**spec)
    done = schedule_plan(view, (), at(5, 12))
    assert said(done) == ("False", "SpecInvalid")
    assert field in (done.status or {})["conditions"][0]["message"]
    assert done.create is None
    assert schedule_plan(after(view, done), (), at(5, 13)).status is None


def test_a_refused_run_is_said_and_the_next_time_tried_again() -> None:
    view = after(nightly(), schedule_plan(nightly(), (), at(1, 12)))
    due = schedule_plan(view, (), at(2, 2, 0, 1))
    status = refused(view, (), due, "you may not use image x", at(2, 2, 0, 1))
    RunScheduleStatus.model_validate(status)
    assert status["countedFrom"] == stamp(at(2, 2))
    assert status["nextScheduleTime"] == stamp(at(3, 2)), "not the time that was just refused"
    assert status["conditions"][0]["reason"] == "RunRefused"
    assert "lastRun" not in status
    told = replace(view, status=status)
    quiet = schedule_plan(told, (), at(2, 2, 0, 5))
    assert quiet.create is None
    assert schedule_plan(told, (), at(3, 2, 1)).create


def test_history_keeps_so_many_of_each_kind() -> None:
    view = nightly(successfulRunsHistoryLimit=2, failedRunsHistoryLimit=0)
    runs = []
    for day in range(2, 8):
        manifest = made(schedule_plan(view, (), at(day, 2, 1)))
        runs.append(child(manifest, "True" if day % 2 else "False", created=at(day, 2)))
    running = child(made(schedule_plan(view, (), at(8, 2, 1))), created=at(8, 2))
    open_ended = child(made(schedule_plan(view, (), at(9, 2, 1))), "False", sealed=False, created=at(9, 2))
    gone = schedule_plan(view, (*runs, running, open_ended), at(9, 3)).deletions
    assert {act.name for act in gone} == {runs[0].name, runs[2].name, runs[4].name, runs[1].name}
    assert all(act.kind == "Run" and act.uid for act in gone)
    last = max(run.status["completionTime"] for run in runs if run.succeeded)
    assert (schedule_plan(view, runs, at(9, 3)).status or {})["lastSuccessfulTime"] == last


def test_a_schedule_that_goes_makes_nothing() -> None:
    assert schedule_plan(replace(nightly(), deleting=True), (), at(5, 12)) == SchedulePlan()


def test_labels_of_the_template_reach_the_run_and_cannot_claim_it() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "team", "guildhall.dev/schedule": "another"}
    run = made(schedule_plan(nightly(meta={"labels": labels}), (), at(2, 3)))
    assert run["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team", "guildhall.dev/schedule": UID}


BAD_GUILD = {**kit.GUILD, "entryRole": "nobody"}
DOUBTS = [
    ("GuildNotFound", None, {}, "there is no Guild 'nightly' in namespace 'team-a'; create it"),
    ("GuildInvalid", BAD_GUILD, {}, "Guild 'nightly': "),
    ("GuildInvalid", {"roles": 3}, {}, "Guild 'nightly': spec."),
    ("GuildInvalid", None, {"guildRef": None, "guild": BAD_GUILD}, "runTemplate.spec.guild: "),
    ("SpecInvalid", kit.GUILD, {"runtimeClassName": "kata"}, "runTemplate.spec.runtimeClassName 'kata' is not allowed"),
    ("SpecInvalid", kit.GUILD, {"workspace": {"git": {"url": "https://a.test/b.git"}}}, "has no fetcher"),
]


@pytest.mark.parametrize(("reason", "guild", "template", "words"), DOUBTS)
def test_what_its_runs_would_be_refused_for_is_said_before_the_time(
    reason: str, guild: Any, template: dict[str, Any], words: str
) -> None:
    view = nightly(template=template)
    spec = {"spec": {key: value for key, value in view.spec["runTemplate"]["spec"].items() if value is not None}}
    view = replace(view, spec={**view.spec, "runTemplate": spec})
    unsure = doubt(view, guild, kit.config())
    early = schedule_plan(view, (), at(1, 12), unsure)
    assert said(early) == ("False", reason)
    assert words in (early.status or {})["conditions"][0]["message"]
    view = after(view, early)
    assert schedule_plan(view, (), at(1, 13), unsure).status is None, "said once"
    due = schedule_plan(view, (), at(2, 2, 0, 1), unsure)
    assert due.create is not None, "the Run says so too, at its time"
    assert said(due) == ("False", reason)
    healed = schedule_plan(view, (), at(1, 13), doubt(nightly(), kit.GUILD, kit.config()))
    assert said(healed) == ("True", "Accepted")


def test_a_template_in_order_raises_no_doubt() -> None:
    assert doubt(nightly(), kit.GUILD, kit.config()) is None
    assert doubt(nightly(template={"task": 7}), None, kit.config()) is None, "its own plan says what is wrong"
