"""`make demo` and `make demo-down` as a person types them: the address it names answers, and nothing of it stays."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from cluster.embedded.layout import user_cache
from support.cluster import Cluster
from support.installation import ROOT, cluster_environment

pytestmark = [pytest.mark.cluster, pytest.mark.alone, pytest.mark.slow]

DEMO = ROOT / "scripts" / "demo"


def own_record(folder: Path) -> Path:
    """A cache with a record of its own, for a person's demo is not this test's; what was built is the person's."""
    (folder / "guildhall").mkdir()
    for name in ("cluster", "images", "inputs"):
        (folder / "guildhall" / name).symlink_to(user_cache() / name)
    return folder


def act(cluster: Cluster, cache: Path, word: str) -> subprocess.CompletedProcess[str]:
    """One of the two commands."""
    environment = {**cluster_environment(cluster), "XDG_CACHE_HOME": str(cache), "YES": "1"}
    for name in ("CONTEXT", "REGISTRY"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, DEMO, word], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip


def objects(cluster: Cluster) -> set[str]:
    """What there is outside namespaces, and the namespaces; the chart puts its own namespace into each name."""
    kinds = "namespaces,crds,clusterroles,clusterrolebindings,validatingadmissionpolicies,mutatingadmissionpolicies"
    return set(cluster.kubectl("get", kinds, "-o", "name").split())


def get(url: str, token: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  the demo's port-forward
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, None


@pytest.mark.skipif(os.geteuid() != 0, reason="the embedded cluster needs root")
def test_the_demo_works_as_typed_and_is_removed_whole(cluster: Cluster, tmp_path: Path) -> None:
    own_record(tmp_path)
    before = objects(cluster)
    assert "namespace/guildhall-demo" not in before, "take down the demo that is up: make demo-down"
    try:
        up = act(cluster, tmp_path, "up")
        assert up.returncode == 0, up.stdout + up.stderr
        assert "the patched tree equals the pristine source byte for byte: yes" in up.stdout
        found = re.search(r"(http://127\.0\.0\.1:\d+)/#/runs/(\S+)\n.*\n\s+(\S+)\n", up.stdout)
        assert found is not None, up.stdout
        address, run, token = found.groups()
        status, told = get(f"{address}/api/runs/{run}/flow", token)
        assert (status, told and told["model"]["run"]["status"]) == (200, "succeeded")
        assert get(f"{address}/api/runs/{run}/flow", "")[0] == 401, "the token is what lets one in"
        made = {name for name in objects(cluster) - before if "guildhall-system" in name or "guildhall-demo" in name}
        assert "namespace/guildhall-demo" in made
        assert {name.partition("/")[0].partition(".")[0] for name in made} >= {
            "clusterrole",
            "clusterrolebinding",
            "validatingadmissionpolicy",
        }
    finally:
        down = act(cluster, tmp_path, "down")
    assert down.returncode == 0, down.stdout + down.stderr
    after = objects(cluster)
    assert not made & after, "left behind"
    assert {name for name in before if "guildhall.dev" in name} <= after, "CRDs that were there are somebody else's"
    with pytest.raises(OSError, match="refused"):
        get(f"{address}/", "")
    assert "no demo is recorded" in act(cluster, tmp_path, "down").stdout
