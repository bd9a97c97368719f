"""Promise: of fifty Runs whose first act is to connect none reaches anything, nor acts before isolation is proven."""

import pytest
from support.installation import Installation, condition, one_role_guild, run_manifest

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.alone]
RUNS = 50


def test_fifty_runs_that_connect_first(own_installation: Installation) -> None:
    installation = own_installation
    gateway = installation.get("service", "guildhall-gateway", installation.control)["spec"]["clusterIP"]
    control = installation.tool("python3", "-c", f"import socket; socket.create_connection(({gateway!r}, 8444), 5)")
    assert control == "", "positive control: the port answers whom no policy stops"
    names = [f"first-act-{number}" for number in range(RUNS)]
    small = {"cpu": "50m", "memory": "64Mi", "ephemeralStorage": "64Mi"}
    guild = one_role_guild("connect-first", "run_shell")
    installation.apply(*(run_manifest(name, guild=guild, resources=small) for name in names))
    for name in names:
        run = installation.wait_done(name, 300)
        assert condition(run, "Succeeded")["status"] == "True", installation.story(name)
        assert condition(run, "IsolationVerified")["status"] == "True"
        first = installation.events_of(name)[0]
        assert (first["type"], first["isolation"]) == ("run.started", "verified")
