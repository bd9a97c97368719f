"""The main job: three roles repair a real package; the patch is proven with nothing of Guildhall's."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from guildhall_api.fold import fold_all
from guildhall_contracts.events import decode_event
from support.installation import ROOT, Installation, archive_map, condition, run_manifest
from support.journal import folded_by_javascript, open_journal

pytestmark = pytest.mark.cluster
DEMO = ROOT / "examples" / "demo"
TASK = "The test-suite of this package fails. Find the fault, repair it, and show that the whole suite passes."


def flipped(archive: bytes, path: str, old: bytes, new: bytes) -> bytes:
    """The archive with one byte of one file changed."""
    assert len(old) == len(new)
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(archive)) as source, tarfile.open(fileobj=out, mode="w:gz") as target:
        for entry in source.getmembers():
            file = source.extractfile(entry)
            assert file is not None
            data = file.read()
            if entry.name == path:
                assert data.count(old) == 1
                data = data.replace(old, new)
            target.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("demo") / "workspace.tar.gz"
    subprocess.run([sys.executable, DEMO / "workspace.py", "archive", out], check=True)
    return out.read_bytes()


@pytest.fixture(scope="module")
def played(installation: Installation, archive: bytes) -> tuple[dict[str, Any], bytes]:
    """The demo's Run, once, to its end; and its journal, from the executor's own volume."""
    installation.kubectl("-n", installation.namespace, "apply", "-f", str(DEMO / "guild.yaml"))
    installation.delete("run", "main-job")
    installation.apply(archive_map("cachetools-broken", archive))
    workspace = {"archive": {"configMap": "cachetools-broken"}}
    installation.apply(run_manifest("main-job", task=TASK, workspace=workspace, budget={"costMicroUSD": 2_000_000}))
    with open_journal(installation, "main-job") as journal:
        run = installation.wait_done("main-job", 180)
        installation.wait_run("main-job", lambda found: condition(found, "Sealed").get("status") == "True", 60)
        return run, journal.read()


@pytest.fixture(scope="module")
def finished(played: tuple[dict[str, Any], bytes]) -> dict[str, Any]:
    return played[0]


def test_it_succeeds_and_says_so(installation: Installation, finished: dict[str, Any]) -> None:
    assert condition(finished, "Succeeded")["status"] == "True", installation.story("main-job")
    verified = condition(finished, "IsolationVerified")
    assert verified["status"] == "True"
    denied, _, reported = verified["message"].partition("; reported: ")
    assert {"canary", "api-server"} <= set(denied.split())
    assert {"own-node", "public"} <= set(reported.split())
    row = installation.kubectl("-n", installation.namespace, "get", "run", "main-job")
    assert "Succeeded" in row
    assert "fix-tests" in row


def test_the_patch_is_proven_outside(installation: Installation, finished: dict[str, Any], tmp_path: Path) -> None:
    changes = installation.api(f"/api/runs/{installation.namespace}.main-job/changes").body
    assert [file["path"] for file in changes["files"]] == ["src/cachetools/__init__.py"]
    patch = tmp_path / "run.patch"
    patch.write_text(changes["patch"])
    proof = subprocess.run([sys.executable, DEMO / "workspace.py", "check", patch], check=False)
    assert proof.returncode == 0
    assert finished["status"]["changes"]["files"] == 1


def test_the_flow_lists_roles_tools_and_delegations_in_order(
    installation: Installation, finished: dict[str, Any]
) -> None:
    model = installation.api(f"/api/runs/{installation.namespace}.main-job/flow").body["model"]
    assert model["run"]["status"] == "succeeded"
    assert [role["name"] for role in model["run"]["roles"]] == ["planner", "coder", "reviewer"]
    kinds = [(op["kind"], op["destination"]) for op in model["operations"] if op["kind"] in {"delegation", "tool"}]
    assert kinds == [
        ("tool", "tool:list_files"),
        ("tool", "tool:run_shell"),
        ("delegation", "role:coder"),
        ("tool", "tool:search_files"),
        ("tool", "tool:read_file"),
        ("tool", "tool:edit_file"),
        ("tool", "tool:run_shell"),
        ("delegation", "role:reviewer"),
        ("tool", "tool:read_file"),
        ("tool", "tool:run_shell"),
    ]
    failed = [op for op in model["operations"] if op["outcome"] != "success"]
    assert [op["destination"] for op in failed] == ["tool:run_shell"], "the suite as it came fails, and is shown so"
    assert model["run"]["errors"] == 1
    ended = [event for event in installation.events_of("main-job") if event["type"] == "tool.finished"]
    codes = [event["exitCode"] for event in ended if "exitCode" in event]
    assert codes == [1, 0, 0], "of the suite as it came, of the coder's tests, of the whole suite"
    assert model["run"]["gaps"] == []


def test_the_ledger_agrees_with_the_events(installation: Installation, finished: dict[str, Any]) -> None:
    flow = installation.api(f"/api/runs/{installation.namespace}.main-job/flow").body
    totals, metrics = flow["ledger"]["totals"], flow["model"]["run"]["metrics"]
    for name in ("tokens", "cachedPromptTokens", "outputTokens", "costMicroUSD"):
        assert totals[name] == metrics[name], name
    assert totals["calls"] == sum(op["kind"] == "model" for op in flow["model"]["operations"]) == 13
    cost = totals["costMicroUSD"]
    assert cost > 0
    installation.wait_run("main-job", lambda run: run["status"]["usage"]["costMicroUSD"] == cost, 30)


def test_the_fold_of_the_journal_is_the_flow(installation: Installation, played: tuple[dict[str, Any], bytes]) -> None:
    """What the executor wrote on its own volume, folded twice, is what the api serves; and nothing else was stored."""
    _, journal = played
    lines = journal.splitlines()
    stored = installation.events_of("main-job")
    assert [json.loads(line) for line in lines] == stored
    assert [event["seq"] for event in stored] == list(range(1, len(lines) + 1))
    flow = installation.api(f"/api/runs/{installation.namespace}.main-job/flow").body
    assert fold_all(decode_event(line) for line in lines).to_wire() == flow["model"]
    assert folded_by_javascript(journal) == flow["model"]
    assert folded_by_javascript(b"\n".join(lines[:-1])) != flow["model"], "control: a line less is noticed"


def test_one_flipped_byte_ends_the_run_with_both_texts(
    installation: Installation, archive: bytes, finished: dict[str, Any]
) -> None:
    """The positive control is `finished`: the same Run without the flipped byte succeeds."""
    name = "one-byte-off"
    installation.delete("run", name)
    other = flipped(archive, "src/cachetools/__init__.py", b"Mark as recently used", b"Mark as recently usee")
    installation.apply(archive_map(name, other))
    installation.apply(run_manifest(name, task=TASK, workspace={"archive": {"configMap": name}}))
    run = installation.wait_done(name, 180)
    done = condition(run, "Succeeded")
    assert (done["status"], done["reason"]) == ("False", "ProviderFailed")
    error = installation.api(f"/api/runs/{installation.namespace}.{name}/flow").body["model"]["run"]["error"]
    assert "recently used" in error["detail"]["expected"]
    assert "recently usee" in error["detail"]["shown"]
