"""The status: transition times move with the status alone, and what people read is short and true."""

import pytest
from guildhall_contracts.run import RunStatus
from guildhall_operator.quantity import amount, larger, share_mib, smaller
from guildhall_operator.status import Draft, duration_text, seconds_since
from unit.operator import kit


def test_a_transition_time_moves_with_the_status_only() -> None:
    first = Draft(kit.run(), kit.START)
    first.set("Running", "False", "NotStarted")
    view = kit.run(status=first.to_status())
    second = Draft(view, kit.at(60))
    second.set("Running", "False", "ImagePullFailed", "no such image")
    assert second.get("Running")["lastTransitionTime"] == kit.stamp(kit.START)
    second.set("Running", "True", "Started")
    assert second.get("Running")["lastTransitionTime"] == kit.stamp(kit.at(60))


def test_messages_are_one_bounded_line() -> None:
    draft = Draft(kit.run(), kit.START)
    draft.set("Accepted", "False", "SpecInvalid", "a\nb\x1b[31m" + "x" * 5_000)
    message = draft.get("Accepted")["message"]
    assert len(message) <= 1_024
    assert "\n" not in message
    assert "\x1b" not in message
    RunStatus.model_validate(draft.to_status())


def test_conditions_of_another_shape_are_dropped() -> None:
    odd = [{"type": "Accepted", "status": "maybe"}, "x", {"type": "Mine", "status": "True"}]
    draft = Draft(kit.run(status={"conditions": odd, "attempts": "none"}), kit.START)
    assert draft.to_status()["phase"] == "Pending"
    assert "conditions" not in draft.to_status()


def test_fields_of_others_are_never_written() -> None:
    status = {"usage": {"calls": 1}, "archive": {"storedSeq": 2}, "summary": "s", "awaiting": {"questions": 1}}
    draft = Draft(kit.run(status=status), kit.START)
    draft.end("False", "Cancelled", "x")
    assert not set(draft.to_status()) & set(status)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.9, "59s"), (60, "1m"), (192, "3m12s"), (3_600, "1h"), (7_500, "2h5m"), (100_800, "1d4h")],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_times_that_are_none_are_none() -> None:
    assert seconds_since(kit.stamp(kit.START), kit.at(5)) == 5
    assert seconds_since(kit.stamp(kit.at(5)), kit.START) == 0
    for odd in (None, "", "yesterday", 7, "2026-01-01T00:00:00"):
        assert seconds_since(odd, kit.START) is None


def test_quantities() -> None:
    assert amount("1Gi") == 2**30
    assert amount("500m") * 2 == 1
    assert smaller("100m", "0.05") == "0.05"
    assert larger("1Gi", "1500M") == "1500M"
    assert larger("1Gi", "1024Mi") == "1Gi"
    assert larger("1Gi", "2Pi") == "2Pi"
    assert larger("1Gi", "") == larger("1Gi", "1e9") == "1Gi", "what is not known here is left to the driver"
    assert share_mib("1Gi", 4, 256) == "256Mi"
    assert share_mib("96Mi", 4, 256) == "24Mi"
    assert share_mib("1Ki", 4, 256) == "1Mi"
    for odd in ("", "Gi", "1X", "1 Gi"):
        with pytest.raises(ValueError, match=r"quantity|literal"):
            amount(odd)
