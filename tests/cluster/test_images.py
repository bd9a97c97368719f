"""The project's images as a restricted pod sees them: who they run as, what they hold, how big they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.cluster import RESTRICTED, Cluster, eventually, pod

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

BUILD = Path(__file__).resolve().parents[2] / "images" / "build.py"
COMPONENTS = {"operator": 10003, "executor": 10001, "gateway": 10004, "api": 10005, "fetcher": 10002}
LIMIT_BYTES = 150_000_000
LOOK = """
import importlib, importlib.util, os, shutil, sys
module = importlib.import_module('guildhall_{name}')
tools = [t for t in ('gcc', 'cc', 'make', 'pip', 'pip3', 'uv') if shutil.which(t)]
cached = importlib.util.cache_from_source(module.__file__)
print(os.getuid(), module.__file__, tools, os.path.exists(cached), importlib.util.find_spec('pip') is None)
"""


@pytest.fixture(scope="module")
def built(cluster: Cluster) -> dict[str, dict[str, Any]]:
    done = subprocess.run([sys.executable, BUILD, "--load", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return table


def _output(cluster: Cluster, namespace: str, image: str, argv: list[str]) -> str:
    """What a program prints in a pod that leaves the user to the image and has a read-only root."""
    looked = pod("look", argv)
    main = looked["spec"]["containers"][0]
    main["image"] = image
    main["securityContext"] = {k: v for k, v in RESTRICTED.items() if k != "runAsUser"}
    main["securityContext"]["readOnlyRootFilesystem"] = True
    cluster.apply(looked, namespace=namespace)
    ended = ("Succeeded", "Failed")
    eventually(lambda: cluster.get("pod", "look", "-n", namespace)["status"]["phase"] in ended, seconds=60)
    return cluster.kubectl("logs", "-n", namespace, "look")


@pytest.mark.parametrize("name", COMPONENTS)
def test_component_is_there_compiled_and_without_tools(
    cluster: Cluster, namespace: str, built: dict[str, dict[str, Any]], name: str
) -> None:
    said = _output(cluster, namespace, built[name]["ref"], ["python3", "-c", LOOK.format(name=name)])
    assert said == f"{COMPONENTS[name]} /opt/guildhall/guildhall_{name}/__init__.py [] True True\n"


@pytest.mark.parametrize("name", COMPONENTS)
def test_component_stays_within_its_size(built: dict[str, dict[str, Any]], name: str) -> None:
    assert 1_000_000 < built[name]["beyondBase"] <= LIMIT_BYTES


def test_example_of_a_user_s_image_has_python_git_and_pytest(
    cluster: Cluster, namespace: str, built: dict[str, dict[str, Any]]
) -> None:
    script = "id -u; git --version; python -m pytest --version"
    said = _output(cluster, namespace, built["sandbox-python"]["ref"], ["sh", "-c", script]).splitlines()
    assert said[0] == "10002"
    assert said[1].startswith("git version 2.")
    assert said[2].startswith("pytest ")


def test_workshop_s_binary_runs_in_an_image_of_busybox_alone(
    cluster: Cluster, namespace: str, built: dict[str, dict[str, Any]]
) -> None:
    said = _output(cluster, namespace, built["workshop"]["ref"], ["/guildhall-workshop", "version"])
    assert said.startswith("guildhall-workshop ")
    assert cluster.kubectl("delete", "pod", "look", "-n", namespace, "--now")
    look = ["sh", "-c", "id -u; ls /bin | wc -l; test -e /lib; echo $?"]
    user, programs, lib_missing = _output(cluster, namespace, built["busybox"]["ref"], look).split()
    assert user == "10002"
    assert int(programs) > 100
    assert lib_missing == "1", "nothing but busybox is there"


def test_second_build_changes_nothing_and_is_quick(built: dict[str, dict[str, Any]]) -> None:
    again = subprocess.run(
        [sys.executable, BUILD, "busybox", "sandbox-python", "--json"], capture_output=True, text=True, check=True
    )
    table = json.loads(again.stdout)
    assert {name: table[name] for name in table} == {name: built[name] for name in table}
    assert "building" not in again.stderr
