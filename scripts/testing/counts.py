"""Reads what a test runner wrote: how many passed, what failed, what was skipped and why. Pure."""

import json
import re
import xml.etree.ElementTree as ET  # reads only reports of our own stages
from dataclasses import dataclass, field

TAP_ROW = re.compile(r"^\s*(not ok|ok) \d+(?: - (.*?))?(?: # (SKIP|TODO)\b ?(.*))?$")
TAP_TOTAL = re.compile(r"^# (pass|fail|cancelled) (\d+)$", re.MULTILINE)


@dataclass
class Counts:
    """`failed` and `skipped` name tests; a skip carries its reason after a colon."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def junit(report: bytes) -> Counts:
    """pytest's report."""
    counts = Counts()
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314
        name, skip = f"{case.get('classname')}::{case.get('name')}", case.find("skipped")
        if skip is not None:
            counts.skipped.append(f"{name}: {skip.get('message')}")
        elif case.find("failure") is not None or case.find("error") is not None:
            counts.failed.append(name)
        else:
            counts.passed += 1
    return counts


def tap(log: str) -> Counts:
    """Node's output, of one runner or of several after each other. A todo counts as a skip."""
    counts = Counts()
    for line in log.splitlines():
        if not (found := TAP_ROW.match(line)):
            continue
        verdict, name, mark, why = found.groups()
        if mark:
            counts.skipped.append(f"{name}: {why or mark.lower()}")
        elif verdict == "not ok":
            counts.failed.append(name or "?")
    totals = [(kind, int(number)) for kind, number in TAP_TOTAL.findall(log)]
    counts.passed = sum(number for kind, number in totals if kind == "pass")
    broken = sum(number for kind, number in totals if kind != "pass")
    counts.failed += ["?"] * (broken - len(counts.failed))
    return counts


def go(log: str) -> tuple[Counts, str]:
    """The output of `go test -json`, and the same for people to read. What is not JSON is kept as it is."""
    counts, plain, said = Counts(), [], dict[tuple[str, str], list[str]]()
    for line in log.splitlines():
        event = _event(line)
        if event is None:
            plain.append(line + "\n")
            continue
        package, test, text = event.get("Package", ""), event.get("Test", ""), event.get("Output", "")
        plain.append(text)
        if not test:
            continue
        if text and not text.lstrip().startswith(("=== ", "--- ")):
            said.setdefault((package, test), []).append(text.strip())
        match event.get("Action"):
            case "pass":
                counts.passed += 1
            case "fail":
                counts.failed.append(f"{package}.{test}")
            case "skip":
                why = " ".join(said.get((package, test), [])) or "no reason given"
                counts.skipped.append(f"{package}.{test}: {why}")
    return counts, "".join(plain)


def _event(line: str) -> dict[str, str] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
