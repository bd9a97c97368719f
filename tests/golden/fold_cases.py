# ruff: noqa: E501  a table of cases reads best with one event per line
"""The golden cases of the fold, written by hand; `--regenerate` folds them again and shows what changed, for review.

    .venv/bin/python tests/golden/fold_cases.py --regenerate     # rewrites tests/golden/fold/*.json, prints the diff
    .venv/bin/python tests/golden/fold_cases.py --check          # exits 1 if a file differs from what the fold says now

A file is `{name, why, lines, close?, model}`: `lines` are event objects, or strings that stand for raw lines; `model` is
the InteractionModel on the wire. The Python and the JavaScript fold must both arrive at it.
"""

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guildhall_api.fold import close, fold
from guildhall_api.model import Model
from guildhall_contracts.events import decode_event

FOLDER = Path(__file__).parent / "fold"
RUN = "0b9ff0d6-6f0c-4c59-8d0a-6d5f9f3f7a11"
SHA = "a" * 64
Wire = dict[str, Any]

ROLES: list[Wire] = [
    {
        "name": "planner", "label": "Planner", "kind": "role",
        "tools": ["read_file", "delegate", "ask_human", "update_plan", "finish"], "delegates": ["coder", "reviewer"],
    },
    {"name": "coder", "label": "Coder", "kind": "role", "tools": ["read_file", "edit_file", "run_shell", "finish"], "delegates": []},
    {"name": "reviewer", "label": "Reviewer", "kind": "role", "tools": ["run_shell", "finish"], "delegates": []},
    {"name": "warden", "label": "Warden", "kind": "handler", "tools": ["recent_role_tool_calls", "trigger_interrupt"], "delegates": []},
]  # fmt: skip


def ts(ms: int) -> str:
    """The stamp `ms` milliseconds after the Run began."""
    return f"2026-01-05T{9 + ms // 3_600_000:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}.{ms % 1000:03}Z"


def at(seq: int, type_: str, ms: int | None = None, *, attempt: int = 1, **fields: Any) -> Wire:
    """One event; without `ms` it happens `seq` * 100 milliseconds after the start."""
    stamp = ts(seq * 100 if ms is None else ms)
    head = {"v": 1, "run": RUN, "attempt": attempt, "seq": seq, "ts": stamp, "type": type_}
    return head | {name: value for name, value in fields.items() if value is not None}


def acts(seq: int, type_: str, source: str, destination: str, parent: str | None = "o1", **fields: Any) -> Wire:
    """An opening event."""
    role = source.removeprefix("role:") if source.startswith("role:") else None
    return at(
        seq, type_, op=fields.pop("op", f"o{seq}"), parent=parent, role=fields.pop("role", role), source=source,
        destination=destination, **fields,
    )  # fmt: skip


def started(seq: int = 1, **fields: Any) -> Wire:
    head: Wire = {
        "op": "o1", "role": None, "title": "Fix the parser", "guild": "repair", "guildDigest": SHA, "entryRole": "planner", "roles": ROLES,
        "task": "Fix the parser.\n\nThe suite must be **green**.", "mode": "interactive",
        "budget": {"costMicroUSD": 2_000_000, "steps": 200, "seconds": 3600}, "isolation": "verified",
    }  # fmt: skip
    return acts(seq, "run.started", "human", "role:planner", None, **(head | fields))


def entered(seq: int = 2) -> Wire:
    return acts(seq, "role.started", "human", "role:planner", None, op="o1", role="planner")


def called(seq: int, role: str, parent: str, **fields: Any) -> Wire:
    return acts(
        seq,
        "model.started",
        f"role:{role}",
        f"role:{role}",
        parent,
        callId=f"c{seq}",
        model="scripted:repair",
        **fields,
    )


def replied(  # noqa: PLR0917
    seq: int, op: str, role: str, tokens: int, output: int, cost: int | None, outcome: str = "success", **fields: Any
) -> Wire:
    usage = {"tokens": tokens, "cachedPromptTokens": tokens // 2, "outputTokens": output}
    return at(seq, "model.finished", op=op, role=role, outcome=outcome, usage=usage, costMicroUSD=cost, **fields)


def tool(seq: int, role: str, parent: str, name: str, arguments: str = "{}", **fields: Any) -> Wire:
    return acts(
        seq, "tool.started", f"role:{role}", f"tool:{name}", parent, call=f"t{seq}", tool=name, title=name,
        arguments=arguments, **fields,
    )  # fmt: skip


def done(seq: int, op: str, role: str, outcome: str = "success", **fields: Any) -> Wire:
    return at(seq, "tool.finished", op=op, role=role, outcome=outcome, **fields)


def finished(seq: int, outcome: str = "succeeded", **fields: Any) -> Wire:
    return acts(seq, "run.finished", "role:planner", "human", outcome=outcome, **fields)


def _whole() -> list[Wire | str]:
    return [
        started(), entered(),
        called(3, "planner", "o1"),
        at(4, "model.text", op="o3", role="planner", text="I will "),
        at(5, "model.text", op="o3", role="planner", text="look first."),
        replied(6, "o3", "planner", 120, 30, 450, stopReason="tool_calls", text="I will look first.", scripted=True,
                calls=[{"call": "t7", "name": "read_file"}]),
        tool(7, "planner", "o1", "read_file", '{"path":"src/parse.py"}', effect="read", argumentsSHA256=SHA),
        done(8, "o7", "planner", output="def parse(): ...", omittedBytes=0),
        acts(9, "plan.updated", "role:planner", "role:planner", title="Plan", items=[
            {"text": "find the fault", "status": "active"}, {"text": "run the suite", "status": "pending"}]),
        acts(10, "role.started", "role:planner", "role:coder", title="Coder", brief="Repair `parse`.", call="t10"),
        called(11, "coder", "o10"),
        replied(12, "o11", "coder", 80, 12, 200),
        tool(13, "coder", "o10", "edit_file", effect="write"),
        done(14, "o13", "coder", output="ok"),
        at(15, "changes.updated", op="o10", role="coder", patchSHA256="b" * 64, patchBytes=312, filesTotal=1, added=2, removed=1,
           files=[{"path": "src/parse.py", "status": "modified", "added": 2, "removed": 1}]),
        tool(16, "coder", "o10", "run_shell", effect="write"),
        at(17, "tool.progress", op="o16", role="coder", text="1 passed"),
        done(18, "o16", "coder", "error", output="1 failed", exitCode=1, errorCode="exit"),
        at(19, "role.finished", op="o10", role="coder", outcome="success", summary="Repaired; **one** test is left."),
        acts(20, "question.asked", "role:planner", "human", title="Scope", questionId="q1", text="May I change the API?",
             context="`parse` returns a tuple.", options=["yes", "no"], expiresAt=ts(600_000)),
        at(21, "question.answered", op="o20", questionId="q1", outcome="success", text="no", author="ada", intervention="i1"),
        acts(22, "approval.requested", "role:planner", "human", title="deploy", approvalId="a1", tool="deploy",
             argumentsHash=SHA, expiresAt=ts(700_000)),
        at(23, "approval.decided", op="o22", approvalId="a1", outcome="success", decision="deny", author="ada"),
        acts(24, "interrupt.received", "human", "role:planner", intervention="i2", intent="inquire", message="How far are you?",
             author="ada"),
        at(25, "interrupt.answered", op="o24", outcome="success", text="Two steps left."),
        acts(26, "interrupt.received", "human", "role:planner", intervention="i3", intent="redirect", message="Leave docs alone."),
        at(27, "interrupt.answered", op="o26", outcome="success"),
        acts(28, "interrupt.triggered", "role:warden", "role:planner", intent="redirect", message="You repeat yourself."),
        at(29, "budget.warned", kind="steps", used=160, limit=200),
        at(30, "error.raised", error={"kind": "workshop_lost", "message": "the workshop restarted", "retryable": True,
                                      "actor": "platform_team", "detail": {"restarts": "1"}}),
        acts(31, "plan.updated", "role:planner", "role:planner", items=[{"text": "run the suite", "status": "done"}]),
        at(32, "role.finished", op="o1", role="planner", outcome="success", summary="Done."),
        at(33, "run.summarized", summary="Repaired parse"),
        finished(34, result="The suite is **green**.", artifacts=["report.txt"]),
    ]  # fmt: skip


def _gaps() -> list[Wire | str]:
    return [
        started(),
        entered(),
        called(3, "planner", "o1"),
        called(3, "coder", "o9"),  # same seq again: not a second operation
        entered(2),
        started(),
        replied(6, "o3", "planner", 10, 1, 5),
        replied(6, "o3", "planner", 10, 1, 5),
        tool(9, "planner", "o1", "read_file"),
        done(8, "o9", "planner", "error"),  # older than the last seq: ignored
        done(10, "o9", "planner"),
    ]


def _odd_lines() -> list[Wire | str]:
    return [
        "Traceback (most recent call last):",
        started(),
        "",
        "[1,2]",
        '{"v":1,"run":"' + RUN + '","attempt":1,"seq":2',
        at(2, "tool.teleported", op="o1", destination="moon", anything=[1, {"a": None}]),
        json.dumps(at(4, "mood.changed", mood="sunny") | {"v": 2}),
        at(4, "mood.changed", mood="again"),
        "ünicode \U0001f9ea noise",
        entered(5),
    ]


def _unsound() -> list[Wire | str]:
    return [
        started(),
        tool(2, "planner", "o1", "read_file") | {"op": 7},
        tool(2, "planner", "o1", "read_file") | {"extra": "field"},
        tool(2, "planner", "o1", "read_file") | {"destination": "tool:<b>"},
        {name: value for name, value in tool(2, "planner", "o1", "read_file").items() if name != "arguments"},
        tool(2, "planner", "o1", "read_file") | {"seq": 0},
        tool(2, "planner", "o1", "read_file") | {"ts": "yesterday"},
        tool(2, "planner", "o1", "read_file") | {"title": "x" * 201},
        tool(2, "planner", "o1", "read_file") | {"title": {"innerHTML": "<b>"}},
        tool(2, "planner", "o1", "read_file"),
    ]


def _resume() -> list[Wire | str]:
    ask = {"questionId": "q1", "text": "Which branch?"}
    return [
        started(),
        entered(),
        called(3, "planner", "o1"),
        started(4, attempt=2, op="o1", resumedFrom=3, isolation="unknown", task="another text", roles=ROLES[:1]),
        replied(5, "o3", "planner", 10, 1, 7, attempt=2),
        acts(6, "question.asked", "role:planner", "human", attempt=2, **ask),
        started(7, attempt=3, op="o1", resumedFrom=6),
        at(8, "question.answered", attempt=3, op="o6", questionId="q1", outcome="success", text="main"),
    ]


def _stacks() -> list[Wire | str]:
    return [
        started(),
        entered(),
        acts(3, "role.started", "role:planner", "role:coder", "o1", brief="outer"),
        acts(4, "role.started", "role:coder", "role:reviewer", "o3", brief="inner"),
        called(5, "reviewer", "o4"),
        replied(6, "o5", "reviewer", 100, 10, 1000),
        tool(7, "reviewer", "o4", "run_shell"),
        done(8, "o7", "reviewer"),
        at(9, "role.finished", op="o4", role="reviewer", outcome="error", summary="red"),
        called(10, "coder", "o3"),
        replied(11, "o10", "coder", 40, 4, 400),
        at(12, "role.finished", op="o3", role="coder", outcome="success", summary="green"),
        acts(13, "role.started", "role:planner", "role:coder", "o99", brief="parent unknown"),
    ]


def _deep() -> list[Wire | str]:
    chain = [
        acts(seq, "role.started", "role:coder", "role:coder", "o1" if seq == 3 else f"o{seq - 1}")
        for seq in range(3, 12)
    ]
    return [started(), entered(), *chain]


def _parallel() -> list[Wire | str]:
    return [
        started(), entered(),
        acts(3, "role.started", "role:planner", "role:coder", "o1", brief="left"),
        acts(4, "role.started", "role:planner", "role:coder", "o1", brief="right"),
        called(5, "coder", "o3"), called(6, "coder", "o4"),
        tool(7, "coder", "o3", "read_file"), tool(8, "coder", "o4", "read_file"),
        replied(9, "o6", "coder", 60, 6, 60), replied(10, "o5", "coder", 50, 5, 50),
        done(11, "o8", "coder"),
        at(12, "role.finished", op="o4", role="coder", outcome="success", summary="right done"),
        tool(13, "coder", "o3", "run_shell"),
    ]  # fmt: skip


def _unknown_price() -> list[Wire | str]:
    failed = {
        "error": {"kind": "llm_unavailable", "message": "503", "retryable": True, "actor": "provider", "detail": {}}
    }
    return [
        started(),
        entered(),
        called(3, "planner", "o1"),
        replied(4, "o3", "planner", 10, 1, 100),
        called(5, "planner", "o1"),
        replied(6, "o5", "planner", 7, 0, None, "error", **failed),
        acts(7, "role.started", "role:planner", "role:coder"),
        called(8, "coder", "o7"),
        replied(9, "o8", "coder", 20, 2, None),
        called(10, "coder", "o7"),
        replied(11, "o10", "coder", 30, 3, 300),
        acts(12, "role.started", "role:planner", "role:reviewer"),
        called(13, "reviewer", "o12"),
        replied(14, "o13", "reviewer", 40, 4, 400),
    ]


def _late_ends() -> list[Wire | str]:
    return [
        started(), entered(),
        done(3, "o77", "planner", "error"),
        tool(4, "planner", "o1", "read_file"),
        done(5, "o4", "planner"), done(6, "o4", "planner", "error"),
        tool(7, "planner", "o1", "read_file", op="o4"),  # its op exists: nothing opens
        called(8, "planner", "o1"),
        done(9, "o8", "planner"),  # of another kind: ends nothing
        at(10, "role.finished", op="o8", role="planner", outcome="success"),
        replied(11, "o8", "planner", 5, 1, 10),
        at(12, "model.text", op="o8", text="after the end"), replied(13, "o8", "planner", 5, 1, 10, scripted=True),
        replied(14, "o78", "planner", 5, 1, 10),
        tool(15, "planner", "o1", "read_file"), done(16, "o15", "planner", ms=900),  # the clock went back
        tool(17, "planner", "o1", "read_file") | {"ts": "2026-13-45T99:99:99.999Z"}, done(18, "o17", "planner"),
        at(19, "interrupt.answered", op="o8", outcome="success", text="no"),
        at(20, "question.answered", op="o4", questionId="q1", outcome="success", text="no"),
        at(21, "approval.decided", op="o79", approvalId="a1", outcome="success", decision="approve"),
    ]  # fmt: skip


def _failed() -> list[Wire | str]:
    error = {
        "kind": "budget_exhausted",
        "message": "the Run used 200 of 200 steps",
        "retryable": False,
        "actor": "user",
        "detail": {},
    }
    return [
        started(),
        entered(),
        acts(3, "question.asked", "role:planner", "human", questionId="q1", text="Go on?"),
        tool(4, "planner", "o1", "run_shell"),
        finished(5, "failed", error=error),
        at(6, "error.raised", error=error),
        done(7, "o4", "planner", "error"),
        started(8, op="o1", attempt=2, resumedFrom=5),
        finished(9, "succeeded", result="too late"),
        acts(10, "question.asked", "role:planner", "human", questionId="q2", text="Anyone there?"),
    ]


def _cutting() -> list[Wire | str]:
    astral = "\U0001f9ea" * 1_999
    return [
        started(task=astral + "ab"), entered(),
        acts(3, "role.started", "role:planner", "role:coder", brief=astral + "a"),
        called(4, "coder", "o3"), at(5, "model.text", op="o4", text=astral), at(6, "model.text", op="o4", text="e\u0301\u200d\U0001f469"),
        at(7, "role.finished", op="o3", role="coder", outcome="success", summary="x" + astral + "\U0001f9ea"),
        acts(8, "question.asked", "role:planner", "human", questionId="q1", text="y" * 1_998, context="\U0001f9ea\U0001f9ea\U0001f9ea"),
        acts(9, "interrupt.received", "human", "role:planner", intervention="i1", intent="abort", message="z" * 2_001),
        finished(10, "cancelled", result="\U0001f9ea" * 2_500),
    ]  # fmt: skip


def _no_start() -> list[Wire | str]:
    return [
        called(4, "coder", "o2"),
        tool(5, "coder", "o2", "read_file"),
        replied(6, "o4", "coder", 10, 1, 5),
        acts(7, "question.asked", "role:warden", "human", None, questionId="q1", text="?"),
        started(8, op="o8", attempt=2, resumedFrom=7),
        done(9, "o5", "coder", "cancelled"),
        at(10, "question.answered", op="o7", questionId="q1", outcome="error"),
    ]


def _many_gaps() -> list[Wire | str]:
    return [started(), *(at(3 + 2 * n, "budget.warned", kind="tokens", used=n, limit=200) for n in range(104))]


def _code() -> list[Wire | str]:
    return [
        started(), entered(),
        tool(3, "planner", "o1", "run_code", '{"code":"..."}'),
        tool(4, "planner", "o3", "read_file", '{"path":"a"}'),
        done(5, "o4", "planner", output="one"),
        at(6, "tool.progress", op="o3", role="planner", text="seen 1"),
        tool(7, "planner", "o3", "run_shell", '{"command":"sleep 60"}'),
        done(8, "o7", "planner", "cancelled", errorCode="cancelled"),
        done(9, "o3", "planner", "error", output="code_killed: stopped after 10 seconds", errorCode="code_killed"),
        finished(10),
    ]  # fmt: skip


def _odd_tools() -> list[Wire | str]:
    roles = [
        {
            "name": "planner",
            "label": "P",
            "kind": "role",
            "tools": ["finish", "Delete All", "tool", "a" * 65],
            "delegates": [],
        }
    ]
    return [started(roles=roles), entered(), tool(3, "planner", "o1", "mystery"), done(4, "o3", "planner", "error")]


CASES: dict[str, tuple[str, list[Wire | str], Wire | None]] = {
    "whole-run": ("every event type once or more, to a good end", _whole(), None),
    "empty": ("nothing has arrived", [], None),
    "gaps-and-duplicates": ("repeated and older lines change nothing; holes are recorded", _gaps(), None),
    "odd-lines": ("lines that are no events, and events of a later version", _odd_lines(), None),
    "unsound": ("known types with fields that break the contract are unreadable", _unsound(), None),
    "resume": ("a second and a third attempt go on in one model", _resume(), None),
    "stacks": ("nested delegations, money up the chain, an unknown parent", _stacks(), None),
    "deep-stack": ("a stack longer than the limit keeps its first entries", _deep(), None),
    "parallel": ("two delegations to one role at once, grouped by parent", _parallel(), None),
    "unknown-price": ("an unknown price makes sums null along its chain only", _unknown_price(), None),
    "late-ends": ("ends of unknown, ended and other operations; clocks that lie", _late_ends(), None),
    "failed": ("failure ends what is open; nothing later changes the status", _failed(), None),
    "cutting": ("prose is cut by code points, also outside the basic plane", _cutting(), None),
    "no-start": ("the first events are lost", _no_start(), None),
    "many-gaps": ("only the newest hundred holes are kept", _many_gaps(), None),
    "code": ("tools that code calls are below the code's operation; they end with it", _code(), None),
    "odd-tools": ("declared tools that cannot be participants; a tool nobody declared", _odd_tools(), None),
    "closed": (
        "the log ends after a tool start", [started(), entered(), called(3, "planner", "o1"), tool(4, "planner", "o1", "run_shell")],
        {"ts": ts(5_000), "status": "failed"},
    ),
    "closed-cut-line": (
        "the log ends inside a line, with a question open",
        [started(), entered(), acts(3, "question.asked", "role:planner", "human", questionId="q1", text="?"), '{"v":1,"run":"0b9f'],
        {"ts": ts(100), "status": "cancelled"},
    ),
    "closed-twice": ("closing a Run that has ended changes nothing", [started(), finished(2)], {"ts": ts(9_000), "status": "failed"}),
    "closed-empty": ("a Run that wrote nothing", [], {"ts": ts(0), "status": "failed"}),
}  # fmt: skip


def folded(lines: list[Wire | str], closing: Wire | None) -> Wire:
    """The model on the wire after `lines`."""
    model = Model()
    for line in lines:
        raw = line if isinstance(line, str) else json.dumps(line)
        fold(model, decode_event(raw.encode(), model.last_seq))
    if closing is not None:
        close(model, closing["ts"], closing["status"])
    return model.to_wire()


def texts() -> Iterator[tuple[Path, str]]:
    """Each golden file and what it should hold."""
    for name, (why, lines, closing) in CASES.items():
        case: Wire = {"name": name, "why": why, "lines": lines}
        if closing is not None:
            case["close"] = closing
        body = json.dumps(case | {"model": folded(lines, closing)}, indent=1, ensure_ascii=True)
        yield FOLDER / f"{name}.json", body + "\n"


def main(arguments: list[str]) -> int:
    differing = 0
    for path, text in texts():
        before = path.read_text() if path.exists() else ""
        if before == text:
            continue
        differing += 1
        diff = difflib.unified_diff(before.splitlines(), text.splitlines(), str(path), "now", lineterm="", n=1)
        sys.stdout.write("\n".join(list(diff)[:200]) + "\n")
        if arguments == ["--regenerate"]:
            path.write_text(text)
    sys.stdout.write(f"{differing} of {len(CASES)} golden files differ\n")
    return 1 if differing and arguments != ["--regenerate"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
