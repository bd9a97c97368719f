"""Where things are and how long they may take. A test or local mode gives its own; nothing else differs."""

from dataclasses import dataclass
from pathlib import Path

from guildhall_contracts import limits
from guildhall_contracts import snapshot as fixed


@dataclass(frozen=True, slots=True)
class Places:
    """Paths as this process sees them, and the uid whose socket is the workshop's."""

    snapshot: Path = Path(fixed.SNAPSHOT_PATH) / fixed.SNAPSHOT_FILE
    journal: Path = Path(fixed.JOURNAL_PATH)
    socket: Path = Path(fixed.SOCKET_PATH)
    token: Path = Path(fixed.TOKEN_PATH)
    ca: Path = Path(fixed.CA_PATH)
    hosts: Path = Path("/etc/hosts")
    termination_message: Path = Path("/dev/termination-log")
    workshop_uid: int = fixed.WORKSHOP_UID


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the executor waits for others, in seconds."""

    connect_seconds: float = 10.0
    stream_idle_seconds: float = limits.MODEL_STREAM_IDLE_MAX_SECONDS
    model_call_seconds: float = limits.MODEL_CALL_MAX_SECONDS
    retry_base_seconds: float = 1.0
    retry_after_max_seconds: float = 300.0
    gateway_away_seconds: float = 300.0
    workshop_connect_seconds: float = 20.0
    mailbox_wait_seconds: int = limits.MAILBOX_WAIT_MAX_SECONDS
    mailbox_retry_max_seconds: float = 10.0
    changes_every_seconds: float = 5.0
    changes_last_seconds: float = 30.0
    changes_cancelled_seconds: float = 1.5
    linger_seconds: float = limits.LINGER_MAX_SECONDS
