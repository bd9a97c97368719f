"""The Guild that `docs/guilds.md` builds is accepted by the operator, a broken one is not, and its scenario runs."""

import copy
import io
import tarfile
from typing import Any

import pytest
from support import guild_page
from support.installation import Installation, archive_map, condition

pytestmark = pytest.mark.cluster
CHANGELOG = b"# Changes\n\n- The first.\n"


def archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        member = tarfile.TarInfo("CHANGELOG.md")
        member.size = len(CHANGELOG)
        tar.addfile(member, io.BytesIO(CHANGELOG))
    return out.getvalue()


def tried() -> dict[str, Any]:
    """The page's Guild with its models replaced as step 5 says."""
    made = copy.deepcopy(guild_page.steps()[-1])
    made["spec"]["models"] = dict.fromkeys(made["spec"]["models"], "scripted:changelog")
    return made


def accepted(here: Installation, name: str) -> dict[str, Any]:
    here.kubectl("-n", here.namespace, "wait", "guild", name, "--for=jsonpath={.status.conditions}", "--timeout=60s")
    return condition(here.get("guild", name), "Accepted")


def test_the_page_s_guild_is_accepted_and_its_scenario_runs(installation: Installation) -> None:
    here = installation
    here.delete("run", "page")
    broken = copy.deepcopy(tried())
    broken["metadata"] = {"name": "changelog-broken"}
    broken["spec"]["roles"][0]["tools"] = ["shell"]
    asked = guild_page.run()
    asked["metadata"]["name"] = "page"
    here.apply(archive_map(asked["spec"]["workspace"]["archive"]["configMap"], archive()), tried(), broken, asked)

    assert accepted(here, "changelog")["status"] == "True"
    refused = accepted(here, "changelog-broken")
    assert (refused["status"], refused["reason"]) == ("False", "GuildInvalid")
    assert "unknown tool 'shell'" in refused["message"]

    run = here.wait_done("page")
    assert condition(run, "Succeeded")["status"] == "True", here.story("page")
    patch = here.api(f"/api/runs/{here.namespace}.page/changes").body["patch"]
    assert "+- slug() cuts at the limit." in patch
