#!/usr/bin/env python3
"""Writes what a scripted model was shown into its scenario, so that from then on a single different byte ends the Run.

`record_scenario.py DRAFT.yaml EVENTS.json` prints DRAFT with `expect.toolResults` filled in from the events of a Run
that replayed it (`GET /api/runs/{id}/events`). A result the events hold only in part is expected by its beginning.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

Event = dict[str, Any]


class Block(str):
    """A text that is written as a YAML block, so that people can read it."""

    __slots__ = ()


def _represent(dumper: yaml.SafeDumper, text: Block) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


yaml.SafeDumper.add_representer(Block, _represent)


def results_by_call(events: list[Event]) -> dict[str, dict[str, Any]]:
    """Provider call id → what the model was shown as its result."""
    by_op = {event["op"]: event for event in events if event["type"] in {"tool.started", "role.started"}}
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        opened = by_op.get(event.get("op", ""))
        if opened is None or "call" not in opened:
            continue
        if event["type"] == "tool.finished":
            text = event["output"]
            found[opened["call"]] = (
                {"contains": Block(text[:500])} if event.get("omittedBytes") else {"equals": Block(text)}
            )
        elif event["type"] == "role.finished":
            found[opened["call"]] = {"equals": Block(event["summary"])}
    return found


def shown_at(events: list[Event]) -> dict[str, list[list[dict[str, Any]]]]:
    """Role → for each of its turns the results it was shown since the turn before."""
    results, plans = results_by_call(events), [event for event in events if event["type"] == "plan.updated"]
    turns: dict[str, list[list[dict[str, Any]]]] = {}
    for event in events:
        if event["type"] != "model.finished":
            continue
        mine = turns.setdefault(event["role"], [[]])
        shown = []
        for call in event["calls"]:
            if call["name"] == "update_plan":
                shown.append({"equals": f"plan updated: {len(plans.pop(0)['items'])} items"})
            elif call["call"] in results:
                shown.append(results[call["call"]])
        mine.append(shown)
    return turns


def _blocks(value: Any) -> Any:
    """`value` with its multi-line texts as blocks."""
    if isinstance(value, dict):
        return {key: _blocks(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_blocks(item) for item in value]
    return Block(value) if isinstance(value, str) and "\n" in value else value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("draft", type=Path)
    parser.add_argument("events", type=Path)
    chosen = parser.parse_args()
    scenario = yaml.safe_load(chosen.draft.read_text())
    recorded = shown_at(json.loads(chosen.events.read_text())["events"])
    for role, steps in scenario["roles"].items():
        for step, shown in zip(steps, recorded.get(role, []), strict=False):
            if shown:
                step["expect"] = {"toolResults": shown}
    ordered = {
        role: [{key: step[key] for key in ("expect", "usage", "reply") if key in step} for step in steps]
        for role, steps in scenario["roles"].items()
    }
    yaml.safe_dump(_blocks({**scenario, "roles": ordered}), sys.stdout, sort_keys=False, allow_unicode=True, width=120)
    return 0


if __name__ == "__main__":
    sys.exit(main())
