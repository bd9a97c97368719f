"""Real git servers on loopback, once for the module, and a pod's folders for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fetching import Pod, Servers, servers


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def pod(tmp_path: Path, served: Servers) -> Pod:
    return Pod(tmp_path / "pod", ca=served.ca)
