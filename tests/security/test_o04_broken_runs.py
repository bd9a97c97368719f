"""O4: one broken, huge or wrongly typed Run among many: only that Run fails, and the operator does not restart."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.cluster import Cluster
from support.cluster_fixture import cluster
from support.operator_process import GUILD, OperatorProcess, installed

__all__ = ["cluster"]
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with installed(cluster, tmp_path_factory.mktemp("o04")) as found, cluster.enforced():
        found.start()
        yield found


def attempt(operator: OperatorProcess, name: str, spec: dict[str, Any]) -> str:
    """Creates a Run; what the API server said where it refused, else nothing."""
    run = {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": name, "namespace": operator.runs},
        "spec": spec,
    }
    done = operator.cluster.attempt("create", "--validate=false", "-f", "-", stdin=json.dumps(run))
    return done.stderr if done.returncode else ""


BIG_ROLE = {"prompt": "p" * 16_000, "model": "m", "tools": ["finish"]}
BROKEN: dict[str, dict[str, Any]] = {
    "wrong-task": {"guild": GUILD, "task": 7},
    "wrong-list": {"guild": {**GUILD, "roles": "all"}, "task": "x"},
    "huge-task": {"guild": GUILD, "task": "x" * 300_000},
    "huge-guild": {
        "guild": {**GUILD, "entryRole": "r0", "roles": [{**BIG_ROLE, "name": f"r{n}"} for n in range(16)]},
        "task": "x",
    },
    "no-guild": {"task": "x"},
    "wrong-guild": {"guild": {**GUILD, "entryRole": "nobody"}, "task": "x"},
    "no-such-tool": {
        "guild": {**GUILD, "roles": [{"name": "solo", "prompt": "p", "model": "m", "tools": ["rm_rf"]}]},
        "task": "x",
    },
    "two-sources": {
        "guild": GUILD,
        "task": "x",
        "workspace": {"claim": {"name": "a"}, "archive": {"configMap": "b"}},
    },
    "bidi": {"guild": GUILD, "task": "\u202e\u2066 \u0000x"},
}


def test_only_the_broken_run_fails(operator: OperatorProcess) -> None:
    process = operator.process
    assert process is not None
    accepted: dict[str, bool] = {}
    for number, (name, spec) in enumerate(BROKEN.items()):
        accepted[name] = not attempt(operator, name, spec)
        operator.create(f"good-{number}", "sleep=1")
    assert not all(accepted.values()), "the schema refuses nothing"
    for name, there in accepted.items():
        if there:
            run = operator.done(name)
            assert run["status"]["phase"] == "Failed" or name == "bidi", (name, run["status"])
            assert run["status"]["reason"] in {"SpecInvalid", "GuildInvalid", "GuildNotFound", "Completed"}
    for number in range(len(BROKEN)):
        assert operator.done(f"good-{number}", seconds=120)["status"]["phase"] == "Succeeded"
    assert process.poll() is None
    assert operator.process is process
    assert "Traceback" not in operator.log()


def test_a_status_that_somebody_broke_is_mended(operator: OperatorProcess) -> None:
    """An administrator may write anything into a status; the operator neither crashes nor believes it."""
    operator.create("vandalised", "sleep=8")
    operator.wait("vandalised", {"Running"})
    body = {"status": {"phase": "Succeeded", "reason": "Completed", "startTime": "yesterday", "guild": "x" * 200}}
    words = ["patch", "run", "vandalised", "-n", operator.runs, "--subresource=status", "--type=merge"]
    operator.cluster.kubectl(*words, "-p", json.dumps(body))
    run = operator.wait("vandalised", {"Running"})
    assert run["status"]["reason"] == "Started"
    assert operator.done("vandalised")["status"]["phase"] == "Succeeded"
