"""`workspace.template` on a real cluster: a clone of a claim, made by a driver that clones (`support/cloning.py`).

Runs start side by side. Two of one template wait, once they have changed their clones, until both have.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.snapshot import WORKSHOP_UID
from guildhall_operator.names import workspace_name
from support.cloning import Driver, cloning
from support.cluster import eventually
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.repositories import ENV

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
ORIGIN, FOREIGN = "tpl-origin", "tpl-foreign"
SIZE = "2Gi"  # more than a workspace asks for by itself
GUILD = one_role_guild("from-a-template", "read_file", "edit_file", "run_shell")
BOTH = ("tpl-left", "tpl-right")


def _runs(driver: Driver) -> dict[str, dict[str, Any]]:
    """What the template is, and what else is asked of the storage."""
    return {
        "tpl-left": {"template": {"claim": ORIGIN}, "storage": {"ephemeral": False}},
        "tpl-right": {"template": {"claim": ORIGIN}},
        "tpl-cannot": {"template": {"claim": ORIGIN}, "storage": {"class": "local-path"}},
        "tpl-refused": {"template": {"claim": FOREIGN}, "storage": {"class": driver.name}},
        "tpl-none": {"template": {"claim": "tpl-nowhere"}},
    }


def _git(folder: Path, *words: str, given: str = "") -> None:
    argv = ["git", "-c", "safe.directory=*", "-C", str(folder), *words]
    subprocess.run(argv, env=ENV, input=given, check=True, capture_output=True, text=True)


def _fill(folder: Path) -> None:
    """A small repository with a history, a program and a link, as docs/sources.md asks: whose the workshop is."""
    (folder / "bin").mkdir()
    (folder / "README.md").write_text("draft\n")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for message, text in (("first", "draft\n"), ("second", "# hello from the template\n")):
        (folder / "README.md").write_text(text)
        (folder / "bin" / "greet").write_text(f"#!/bin/sh\necho greetings from the {message}\n")
        (folder / "bin" / "greet").chmod(0o755)
        (folder / "current").unlink(missing_ok=True)
        (folder / "current").symlink_to("README.md")
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "-m", message)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, WORKSHOP_UID, WORKSHOP_UID, follow_symlinks=False)


Tree = dict[str, tuple[int, int, int, int, bytes]]


def _tree(folder: Path) -> Tree:
    """Everything a volume holds, but for times that a look changes."""
    found: Tree = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        about = path.lstat()
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        name = str(path.relative_to(folder))
        found[name] = (about.st_mode, about.st_uid, about.st_gid, about.st_mtime_ns, content)
    return found


@pytest.fixture(scope="module")
def driver(installation: Installation) -> Iterator[Driver]:
    with cloning(installation.cluster) as found:
        yield found


@pytest.fixture(scope="module")
def origin(installation: Installation, driver: Driver) -> Iterator[tuple[Path, Tree]]:
    """The template's folder on the node's disk, and what is in it before any Run; afterwards no Run is left."""
    for claim in (ORIGIN, FOREIGN):
        installation.delete("pvc", claim)
    folder = driver.filled(installation.namespace, ORIGIN, SIZE)
    _fill(folder)
    meta = {"name": FOREIGN}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}
    installation.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
    yield folder, _tree(folder)
    for name in _runs(driver):
        installation.delete("run", name)
    installation.delete("pvc", FOREIGN)


def _clone(here: Installation, driver: Driver, name: str) -> Path | None:
    uid = here.get("run", name)["metadata"]["uid"]
    return driver.folder(here.namespace, workspace_name(name, uid))


Runs = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def runs(installation: Installation, driver: Driver, origin: tuple[Path, Tree]) -> Runs:
    """Every Run applied; those of one template at their end, after both had changed their clones."""
    asked = _runs(driver)
    for name in asked:
        installation.delete("run", name)
    installation.apply(*(run_manifest(name, guild=GUILD, workspace=asked[name], env={"WHO": name}) for name in asked))

    def changed() -> list[Path]:
        clones = [_clone(installation, driver, name) for name in BOTH]
        return [clone for clone in clones if clone is not None and (clone / "who.txt").exists()]

    eventually(lambda: len(changed()) == len(BOTH), 90)
    for clone in changed():
        (clone / "go").touch()
    return {name: installation.wait_done(name, 60) for name in BOTH}


def _outputs(here: Installation, name: str) -> list[str]:
    return [event["output"] for event in here.events_of(name) if event["type"] == "tool.finished"]


@pytest.mark.parametrize("name", BOTH)
def test_a_run_works_on_what_the_template_holds(installation: Installation, runs: Runs, name: str) -> None:
    assert condition(runs[name], "Succeeded")["status"] == "True", installation.story(name)
    read, _, looked, _ = _outputs(installation, name)
    assert "hello from the template" in read
    assert "README.md\n10002 drwx" in looked
    assert "\n10002 -rwx" in looked
    assert "\nsecond\nfirst\n M README.md\n?? greeting.txt" in looked, "history is there; only its own changes are new"


@pytest.mark.parametrize("name", BOTH)
def test_two_runs_of_one_template_see_nothing_of_each_other(installation: Installation, runs: Runs, name: str) -> None:
    """Both had changed their clones before either went on: they ran at once, which one claim does not allow."""
    again = _outputs(installation, name)[-1]
    (other,) = set(BOTH) - {name}
    assert name in again.split(), "control: it is told what is in the file"
    assert other not in again


@pytest.mark.parametrize("name", BOTH)
def test_the_patch_is_right_and_applies_to_the_template(
    installation: Installation, origin: tuple[Path, Tree], runs: Runs, name: str, tmp_path: Path
) -> None:
    changes = installation.api(f"/api/runs/{installation.namespace}.{name}/changes").body
    patch: str = changes["patch"]
    told = installation.wait_run(name, lambda run: "changes" in run["status"], 30)["status"]["changes"]
    assert hashlib.sha256(patch.encode()).hexdigest() == changes["patchSHA256"] == told["patchSHA256"]
    changed = {file["path"] for file in changes["files"] if not file["path"].startswith(".git/")}
    assert changed == {"README.md", "greeting.txt", "who.txt"}
    other = tmp_path / "tree"
    shutil.copytree(origin[0], other, symlinks=True)
    _git(other, "apply", "-", given=patch)
    assert (other / "README.md").read_text() == "# goodbye from the template\n"
    assert (other / "greeting.txt").read_text() == "greetings from the second\n"
    assert (other / "who.txt").read_text() == f"{name}\n"


def test_the_template_is_as_it_was(
    installation: Installation, driver: Driver, origin: tuple[Path, Tree], runs: Runs
) -> None:
    assert _tree(origin[0]) == origin[1]
    kept = _clone(installation, driver, "tpl-left")
    assert kept is not None
    assert _tree(kept)["README.md"] != origin[1]["README.md"], "control: the look sees a change"


def test_the_clone_is_of_the_templates_class_and_size(installation: Installation, driver: Driver, runs: Runs) -> None:
    name = workspace_name("tpl-left", runs["tpl-left"]["metadata"]["uid"])
    claim = installation.get("pvc", name)
    assert (claim["spec"]["storageClassName"], claim["status"]["capacity"]["storage"]) == (driver.name, SIZE)


def test_a_class_that_does_not_clone_ends_the_run_before_anything_runs(installation: Installation, runs: Runs) -> None:
    run = installation.wait_done("tpl-cannot", 60)
    ended = condition(run, "Succeeded")
    assert (ended["status"], ended["reason"]) == ("False", "WorkspaceFailed"), ended
    assert "does not clone volumes" in ended["message"]
    assert "workspace.storage.class" in ended["message"]
    assert "startTime" not in run["status"]


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("tpl-refused", "Running", f"source claim {FOREIGN} has no volume of driver"),
        ("tpl-none", "Queued", "there is no PersistentVolumeClaim 'tpl-nowhere'"),
    ],
)
def test_what_cannot_be_cloned_is_said_while_it_is_waited_for(
    installation: Installation, runs: Runs, name: str, kind: str, words: str
) -> None:
    def told(run: dict[str, Any]) -> bool:
        return any(words in found.get("message", "") for found in (condition(run, kind), condition(run, "Succeeded")))

    run = installation.wait_run(name, told, 30)
    assert run["status"]["reason"] == "MountFailed"
    assert "startTime" not in run["status"]


def _volumes(driver: Driver) -> set[str]:
    listed = driver.cluster.get("pv")["items"]
    return {item["metadata"]["name"] for item in listed if item["spec"]["storageClassName"] == driver.name}


def test_a_clone_goes_with_its_run_and_the_template_stays(
    installation: Installation, driver: Driver, origin: tuple[Path, Tree], runs: Runs
) -> None:
    """One is ephemeral, and goes as soon as all is stored; the other is kept until its Run is deleted."""
    eventually(lambda: _clone(installation, driver, "tpl-right") is None, 60)
    kept = _clone(installation, driver, "tpl-left")
    assert kept is not None
    assert (kept / "who.txt").read_text() == "tpl-left\n"
    patch = json.dumps({"spec": {"cancel": True}})
    for name in ("tpl-refused", "tpl-none"):
        installation.kubectl("-n", installation.namespace, "patch", "run", name, "--type=merge", "-p", patch)
    installation.delete("run", "tpl-left")
    eventually(lambda: not kept.exists(), 30)
    eventually(lambda: len(_volumes(driver)) == 1, 30)
    assert _tree(origin[0]) == origin[1]
