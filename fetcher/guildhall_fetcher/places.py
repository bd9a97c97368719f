"""Where everything is in the fetch pod; tests name other folders."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from guildhall_contracts.snapshot import WORKSPACE_PATH

TREE: Final = "tree"  # what the run pod mounts; nothing else of the volume is ever seen there


@dataclass(frozen=True, slots=True)
class Places:
    """`scratch` is in memory and holds whatever must not lie on the workspace's volume."""

    workspace: Path = Path(WORKSPACE_PATH)
    secret: Path = Path("/guildhall/secret")
    ca: Path = Path("/guildhall/ca/ca.crt")
    system_ca: Path = Path("/etc/ssl/certs/ca-certificates.crt")
    scratch: Path = Path("/tmp")  # noqa: S108  a mount of the container's own
    message: Path = Path("/dev/termination-log")
    attempt: int = 1

    @property
    def tree(self) -> Path:
        return self.workspace / TREE

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
