"""Faults that users of other systems reported, tried on the api: one test for each, named by the report's id."""

import json
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import watch
from guildhall_api.fold import fold_all
from guildhall_contracts.errors import error_info
from guildhall_contracts.events import decode_event
from support.api_run import (
    UID,
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

TOOL_OUTPUT_CHARS = 30_000


async def test_ls08_a_log_that_is_silent_for_long_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several idle limits pass without a byte; what comes then is stored, once, and nothing was called a fault."""
    monkeypatch.setattr(watch, "LOG_IDLE_SECONDS", 0.2)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line())
        await until(lambda: stub.logs["fix-pod"].opened >= 3)
        await stub.write("fix-pod", warn_line(2))

        async def there() -> bool:
            return await api.events() == [1, 2]

        await until(there)
        assert (await api.model())["run"]["unreadable"] == 0


async def test_tu11_large_results_are_no_part_of_the_first_answer(tmp_path: Path) -> None:
    """500 tool results of 30 KB: the picture is under 2 MB, one result comes when it is asked for."""
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        lines = [start_line()]
        for number in range(500):
            seq = 2 + 2 * number
            head: dict[str, Any] = {"op": f"o{seq}", "parent": "o1", "role": "coder"}
            tool: dict[str, Any] = {
                "source": "role:coder",
                "destination": "tool:read_file",
                "call": f"c{seq}",
                "tool": "read_file",
            }
            lines.append(line(seq, "tool.started", arguments="{}", **head, **tool))
            output = f"{number} " + "x" * TOOL_OUTPUT_CHARS
            lines.append(line(seq + 1, "tool.finished", op=f"o{seq}", outcome="success", output=output))
        await stub.write("fix-pod", *lines)
        runs = api.services.keeper.runs
        await until(lambda: UID in runs and runs[UID].intake.last_seq == 1_001, 30)
        answer = await api.http.get("/api/runs/team.fix/flow", headers={"Accept-Encoding": "identity"})
        assert len(answer.content) < 2_000_000
        assert len(answer.json()["model"]["operations"]) == 501
        one = (await api.http.get("/api/runs/team.fix/operations/o2")).json()
        assert len(one["events"][-1]["output"]) > TOOL_OUTPUT_CHARS, "control: it is there on demand"


@pytest.mark.parametrize("last", ["error", "half a line", "a newer kind"])
async def test_tu04_a_log_that_breaks_off_is_a_run_that_ended(tmp_path: Path, last: str) -> None:
    error = error_info("internal", "boom").to_wire()
    ends = {
        "error": line(3, "error.raised", error=error), "half a line": finish_line(3)[:60],
        "a newer kind": line(3, "robot.danced", steps=5),
    }  # fmt: skip
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("pods", pod_object(state="terminated"))
        await stub.put("runs", run_object(phase="Failed"))
        open_call: dict[str, Any] = {"op": "o2", "parent": "o1", "source": "role:coder", "destination": "role:coder"}
        await stub.write(
            "fix-pod", start_line(), line(2, "model.started", callId="c1", model="m", **open_call), ends[last]
        )
        await stub.end_log("fix-pod")
        run = api.services.keeper.runs
        await until(lambda: UID in run and run[UID].end_is_missing())
        run[UID].tail = "lost"  # the journal is gone with its pod
        run[UID].changed.set()
        await until(lambda: run[UID].sealed, 30)
        model = await api.model()
        assert model["run"]["status"] == "failed"
        assert {each["outcome"] for each in model["operations"]} == {"cancelled"}, "nothing spins for ever"
        assert model["run"]["errors"] == (last == "error")
        assert model["run"]["unreadable"] == (last == "half a line")
        assert model["run"]["unknown"] == (last == "a newer kind")


def test_tu08_finished_children_of_a_running_delegate_are_there() -> None:
    lines = [start_line()]
    opened: dict[str, Any] = {
        "op": "o2",
        "parent": "o1",
        "source": "role:coder",
        "destination": "role:helper",
        "brief": "look",
    }
    lines.append(line(2, "role.started", **opened))
    for number in range(20):
        seq = 3 + 2 * number
        head: dict[str, Any] = {
            "op": f"o{seq}",
            "parent": "o2",
            "source": "role:helper",
            "destination": "tool:read_file",
        }
        lines.append(line(seq, "tool.started", call="c", tool="read_file", arguments="{}", **head))
        lines.append(line(seq + 1, "tool.finished", op=f"o{seq}", outcome="success"))
    model = fold_all(decode_event(each) for each in lines)
    wire = json.loads(json.dumps(model.to_wire()))
    children = [each for each in wire["operations"] if each.get("parent") == "o2"]
    assert [each["outcome"] for each in children] == ["success"] * 20
    assert next(each for each in wire["operations"] if each["id"] == "o2")["outcome"] == "active"
