"""A private Run expires with everything of its: objects, events, ledger, blobs, words of people. Another one stays."""

import json
from typing import Any

import pytest
from support.cluster import eventually
from support.installation import Installation, condition, one_role_guild, run_manifest

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

KINDS = ("pods", "jobs", "configmaps", "persistentvolumeclaims")
RETAIN_SECONDS = 60  # the shortest there is
SWEEP_SECONDS = 75  # the api looks once a minute
DUMP = """
import pathlib, sqlite3, sys
folder, uid = pathlib.Path("/var/lib/guildhall"), sys.argv[1]
for path in sorted(folder.glob("*.db")):
    there = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for (table,) in there.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = there.execute(f'SELECT * FROM "{table}"').fetchall()
        if any(uid in repr(row) for row in rows):
            print(table)
for path in folder.rglob("*"):
    if uid in path.name:
        print(path)
"""


def run(name: str, **spec: Any) -> dict[str, Any]:
    guild = one_role_guild("brisk", "write_file", "run_shell")
    return run_manifest(name, guild=guild, workspace={"storage": {"size": "16Mi"}}, ttlSecondsAfterFinished=3, **spec)


@pytest.fixture(scope="module", name="uids")
def _uids(installation: Installation) -> dict[str, str]:
    """Both Runs done, sealed and gone, each after somebody had asked it something; their uids."""
    runs = {"secret": run("secret", private=True, deliver="none", retainSeconds=RETAIN_SECONDS), "open": run("open")}
    uids = {}
    for name, manifest in runs.items():
        installation.delete("run", name)
        installation.apply(manifest)
        uids[name] = installation.get("run", name)["metadata"]["uid"]
        ask(installation, name, uids[name])
    for name in uids:
        wait_gone(installation, name)
    return uids


def ask(here: Installation, name: str, uid: str) -> None:
    act = {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Intervention",
        "metadata": {"name": f"ask-{name}", "namespace": here.namespace},
        "spec": {"runRef": {"name": name, "uid": uid}, "interrupt": {"intent": "redirect", "message": f"about {name}"}},
    }
    here.kubectl("-n", here.namespace, "delete", "intervention", f"ask-{name}", "--ignore-not-found")
    here.kubectl("create", "-f", "-", stdin=json.dumps(act))


def wait_gone(here: Installation, name: str) -> None:
    """Waits until the Run is done, then until it is gone; a Run that failed is a failure here."""

    def over(found: dict[str, Any]) -> bool:
        return condition(found, "Succeeded").get("status") in {"True", "False"}

    try:
        ended = here.wait_run(name, over, 120)
        assert condition(ended, "Succeeded")["status"] == "True", here.story(name)
        here.kubectl("-n", here.namespace, "wait", "--for=delete", f"run/{name}", "--timeout=90s")
    except AssertionError as error:
        if "NotFound" not in str(error) and "not found" not in str(error):
            raise


def kept(here: Installation, component: str, uid: str) -> list[str]:
    """Tables and files of a component that know of a Run."""
    words = ("exec", f"deployment/guildhall-{component}", "--", "python3", "-c", DUMP, uid)
    return here.kubectl("-n", here.control, *words).split()


def test_its_objects_are_gone(installation: Installation, uids: dict[str, str]) -> None:
    for kind in KINDS:
        installation.kubectl(
            "-n", installation.namespace, "wait", "--for=delete", kind, "-l", f"guildhall.dev/run={uids['secret']}",
            "--timeout=60s", check=False,
        )  # fmt: skip
        assert installation.items(kind, selector=f"guildhall.dev/run={uids['secret']}") == [], kind
    left = {item["spec"]["runRef"]["uid"] for item in installation.items("interventions")}
    assert uids["secret"] not in left


def test_history_knows_the_other_alone(installation: Installation, uids: dict[str, str]) -> None:
    listed = installation.api("/api/runs?limit=200").body
    found = {item["name"] for item in listed["runs"]}
    assert "open" in found, "control"
    assert "secret" not in found
    assert uids["secret"] not in json.dumps(listed)
    for path in ("", "/events"):
        place = f"/api/runs/{installation.namespace}.secret{path}"
        eventually(lambda place=place: installation.api(place).status == 404, seconds=RETAIN_SECONDS + SWEEP_SECONDS)
        assert installation.api(place.replace(".secret", ".open")).status == 200, "control"


@pytest.mark.parametrize("component", ["gateway", "api"])
def test_no_table_and_no_file_knows_it(installation: Installation, uids: dict[str, str], component: str) -> None:
    assert kept(installation, component, uids["open"]), "control: the other is kept, so the look works"
    eventually(lambda: kept(installation, component, uids["secret"]) == [], seconds=RETAIN_SECONDS + SWEEP_SECONDS)
