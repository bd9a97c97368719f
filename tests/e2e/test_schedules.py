"""A schedule starts a Run at its minute, and a real executor does the work with nobody there."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.cluster import eventually
from support.installation import ROOT, Installation, archive_map, condition

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
EXAMPLES = ROOT / "examples"


def example(path: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / path).read_text())
    return found


def runs_of(here: Installation, schedule: str) -> list[dict[str, Any]]:
    def owners(run: dict[str, Any]) -> list[str]:
        return [owner["name"] for owner in run["metadata"].get("ownerReferences", []) if owner["kind"] == "RunSchedule"]

    return [run for run in here.items("runs") if schedule in owners(run)]


def test_the_nightly_upgrade_is_done_with_nobody_there(installation: Installation, tmp_path: Path) -> None:
    """The example as it stands, but for its hour, its repository and its models."""
    here, archive = installation, tmp_path / "workspace.tar.gz"
    subprocess.run([sys.executable, EXAMPLES / "upgrade" / "workspace.py", "archive", archive], check=True)
    guild, schedule = example("guilds/upgrade-dependency.yaml"), example("schedules/nightly-upgrade.yaml")
    guild["metadata"]["name"] = "upgrade-by-night"
    guild["spec"]["roles"][0]["tools"].append("ask_human")  # what a Run by day would have
    guild["spec"]["models"] = dict.fromkeys(guild["spec"]["models"], "scripted:upgrade-cachetools")
    schedule["spec"]["schedule"] = "* * * * *"
    spec = schedule["spec"]["runTemplate"]["spec"]
    spec["guildRef"], spec["workspace"] = {"name": "upgrade-by-night"}, {"archive": {"configMap": "nightly-source"}}
    name = schedule["metadata"]["name"]
    here.delete("runschedule", name)
    here.apply(archive_map("nightly-source", archive.read_bytes()), guild, schedule)
    eventually(lambda: bool(runs_of(here, name)), 90)
    here.kubectl("-n", here.namespace, "patch", "runschedule", name, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    made = runs_of(here, name)[0]["metadata"]["name"]
    run = here.wait_done(made)
    assert condition(run, "Succeeded")["status"] == "True", here.story(made)
    assert run["spec"]["mode"] == "scheduled"
    [started] = [event for event in here.events_of(made) if event["type"] == "run.started"]
    assert started["mode"] == "scheduled"
    assert not [role for role in started["roles"] if "ask_human" in role["tools"]], "nobody is there to be asked"
    patch = tmp_path / "run.patch"
    patch.write_text(here.api(f"/api/runs/{here.namespace}.{made}/changes").body["patch"])
    proof = subprocess.run([sys.executable, EXAMPLES / "upgrade" / "workspace.py", "check", patch], check=False)
    assert proof.returncode == 0
    here.delete("runschedule", name)
    eventually(lambda: not runs_of(here, name), 60)  # its Runs go with it
