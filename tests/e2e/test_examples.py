"""The example Guilds do what they say they do, on real packages; their models replay recorded scenarios."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.installation import ROOT, Installation, archive_map, condition

pytestmark = pytest.mark.cluster
EXAMPLES = ROOT / "examples"


def scripted(guild: str, scenario: str) -> dict[str, Any]:
    """The Guild as it stands in the examples, with every model alias replaying one scenario."""
    made: dict[str, Any] = yaml.safe_load((EXAMPLES / "guilds" / f"{guild.removesuffix('-live')}.yaml").read_text())
    assert made["metadata"]["name"] == guild
    made["spec"]["models"] = dict.fromkeys(made["spec"]["models"], f"scripted:{scenario}")
    return made


def start(here: Installation, example: str, guild: str, scenario: str, folder: Path, **own: str) -> str:
    """Applies the example's Guild, workspace and Run; the Run's name. `own` is another `name`, for another Guild."""
    archive = folder / "workspace.tar.gz"
    subprocess.run([sys.executable, EXAMPLES / example / "workspace.py", "archive", archive], check=True)
    run: dict[str, Any] = yaml.safe_load((EXAMPLES / example / "run.yaml").read_text())
    if own:
        run["metadata"]["name"], run["spec"]["guildRef"]["name"] = own["name"], guild
    assert run["spec"]["guildRef"]["name"] == guild
    here.delete("run", run["metadata"]["name"])
    here.apply(archive_map(run["spec"]["workspace"]["archive"]["configMap"], archive.read_bytes()))
    here.apply(scripted(guild, scenario), run)
    return str(run["metadata"]["name"])


@pytest.fixture(scope="module")
def names(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All Runs, started side by side."""
    return {
        "repair": start(
            installation, "demo", "fix-tests-live", "fix-tests-live", tmp_path_factory.mktemp("repair"), name="fix-live"
        ),
        "review": start(
            installation, "review", "review-change", "review-cachetools", tmp_path_factory.mktemp("review")
        ),
        "upgrade": start(
            installation, "upgrade", "upgrade-dependency", "upgrade-cachetools", tmp_path_factory.mktemp("upgrade")
        ),
    }


def test_a_review_finds_both_faults_and_changes_nothing(installation: Installation, names: dict[str, str]) -> None:
    name = names["review"]
    run = installation.wait_done(name)
    assert condition(run, "Succeeded")["status"] == "True", installation.story(name)
    assert run["status"].get("changes", {}).get("files", 0) == 0
    result = run["status"]["result"]["summary"]
    assert "tox.ini" in result
    assert "TTLCache.__contains__" in result
    events = installation.events_of(name)
    begun = [event for event in events if event["type"] == "role.started" and event["role"] in {"correctness", "risk"}]
    ended = [event for event in events if event["type"] == "role.finished" and event["role"] in {"correctness", "risk"}]
    assert len(begun) == len(ended) == 2
    assert max(event["seq"] for event in begun) < min(event["seq"] for event in ended), "the two worked side by side"


def test_an_upgrade_is_proven_outside(installation: Installation, names: dict[str, str], tmp_path: Path) -> None:
    name = names["upgrade"]
    run = installation.wait_done(name)
    assert condition(run, "Succeeded")["status"] == "True", installation.story(name)
    changes = installation.api(f"/api/runs/{installation.namespace}.{name}/changes").body
    assert [file["path"] for file in changes["files"]] == ["requirements.txt", "shop/prices.py"]
    patch = tmp_path / "run.patch"
    patch.write_text(changes["patch"])
    proof = subprocess.run([sys.executable, EXAMPLES / "upgrade" / "workspace.py", "check", patch], check=False)
    assert proof.returncode == 0


def test_a_repair_is_reproduced_made_and_doubted(
    installation: Installation, names: dict[str, str], tmp_path: Path
) -> None:
    """The Guild the README tells people to apply, with its own roles, tools, prompts and limits."""
    name = names["repair"]
    run = installation.wait_done(name)
    assert condition(run, "Succeeded")["status"] == "True", installation.story(name)
    events = installation.events_of(name)
    [started] = [event for event in events if event["type"] == "run.started"]
    assert [role["name"] for role in started["roles"]] == ["planner", "coder", "reviewer"]
    exits = [event.get("exitCode") for event in events if event["type"] == "tool.finished" and "exitCode" in event]
    assert exits == [1, 0, 0], "it failed before the change, and passed after it, twice"
    patch = tmp_path / "run.patch"
    patch.write_text(installation.api(f"/api/runs/{installation.namespace}.{name}/changes").body["patch"])
    proof = subprocess.run([sys.executable, EXAMPLES / "demo" / "workspace.py", "check", patch], check=False)
    assert proof.returncode == 0
