"""Where everything is in the fetch pod; tests name other folders."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from guildhall_contracts.snapshot import (
    DELIVERY_FILE,
    DELIVERY_PATH,
    FETCH_CA_PATH,
    FETCH_SECRET_PATH,
    SOURCE_BASELINE,
    SOURCE_TREE,
    WORKSPACE_PATH,
)


@dataclass(frozen=True, slots=True)
class Places:
    """`scratch` is in memory and holds whatever must not lie on the workspace's volume."""

    workspace: Path = Path(WORKSPACE_PATH)
    secret: Path = Path(FETCH_SECRET_PATH)
    ca: Path = Path(FETCH_CA_PATH)
    system_ca: Path = Path("/etc/ssl/certs/ca-certificates.crt")
    scratch: Path = Path("/tmp")  # noqa: S108  a mount of the container's own
    delivery: Path = Path(DELIVERY_PATH) / DELIVERY_FILE
    message: Path = Path("/dev/termination-log")
    attempt: int = 1

    @property
    def tree(self) -> Path:
        """What the run pod mounts; nothing else of the volume is ever seen there."""
        return self.workspace / SOURCE_TREE

    @property
    def baseline(self) -> Path:
        """An empty folder for `prepare`: made here, since one the kubelet makes belongs to root."""
        return self.workspace / SOURCE_BASELINE

    @property
    def staging(self) -> Path:
        return self.workspace / f".fetch-{self.attempt}"

    @property
    def askpass(self) -> Path:
        return self.scratch / "askpass"

    @property
    def ca_bundle(self) -> Path:
        return self.scratch / "ca.pem"

    @property
    def key_copy(self) -> Path:
        return self.scratch / "key"

    @property
    def known_hosts_copy(self) -> Path:
        return self.scratch / "known_hosts"


def places_from(program: str, about: str) -> Places:
    """The pod's own places, but for those the command line names."""
    defaults = Places()
    parser = argparse.ArgumentParser(prog=program, description=about)
    for name in ("workspace", "secret", "ca", "system-ca", "scratch", "delivery", "message"):
        parser.add_argument(f"--{name}", type=Path, default=getattr(defaults, name.replace("-", "_")))
    return Places(**vars(parser.parse_args()))
