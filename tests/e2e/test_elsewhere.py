"""A Run in a namespace where no operator looks: whoever creates it is warned, and where one looks nobody is."""

import json
import subprocess

import pytest
from support.installation import Installation, one_role_guild, run_manifest

pytestmark = pytest.mark.cluster


def warned(here: Installation, namespace: str) -> str:
    """What kubectl says beside its result when a Run is created in `namespace`; nothing is kept."""
    run = run_manifest("elsewhere", guild=one_role_guild("finish-at-once"))
    done = subprocess.run(
        ["kubectl", "-n", namespace, "create", "--dry-run=server", "-f", "-"],
        input=json.dumps(run), env=here.environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "created (server dry run)" in done.stdout
    return done.stderr


def test_a_run_that_nobody_will_start_is_warned_of(installation: Installation) -> None:
    said = warned(installation, "default")
    assert "Warning:" in said
    assert f"namespace default is none of the runNamespaces ({installation.namespace})" in said
    assert "nothing here is ever started" in said
    assert f"({installation.namespace}) of the release in {installation.control}" not in warned(
        installation, installation.namespace
    )
