"""A role in circles, in a real pod: its handler is woken, looks, says one thing, and the Run ends well."""

from typing import Any

import pytest
from support.installation import Installation, condition, run_manifest

pytestmark = pytest.mark.cluster

GUILD: dict[str, Any] = {
    "entryRole": "solo",
    "models": {"m": "scripted:circles"},
    "roles": [
        {"name": "solo", "prompt": "Do the task.", "model": "m", "tools": ["read_file", "write_file", "finish"]},
        {
            "name": "watch",
            "prompt": "Help a role out of its circles.",
            "model": "m",
            "tools": ["recent_role_tool_calls", "trigger_interrupt"],
            "handler": {"on": "loop"},
        },
    ],
}


def test_a_handler_leads_a_role_out_of_its_circles(installation: Installation) -> None:
    name = "circles"
    installation.delete("run", name)
    installation.apply(run_manifest(name, guild=GUILD))
    run = installation.wait_done(name)
    assert condition(run, "Succeeded")["status"] == "True", installation.story(name)
    assert run["status"]["changes"]["files"] == 1
    model = installation.api(f"/api/runs/{installation.namespace}.{name}/flow").body["model"]
    kinds = {one["id"]: one["kind"] for one in model["participants"]}
    assert kinds["role:watch"] == "handler"
    interrupts = [op for op in model["operations"] if op["kind"] == "interrupt"]
    assert [(op["source"], op["destination"], op["outcome"]) for op in interrupts] == [
        ("role:watch", "role:solo", "success")
    ]
