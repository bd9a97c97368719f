"""The Job that prints a Run's journal again once its executor is gone.

Guards the record against the pod that reads it: it sees the journal alone, read-only, and has no token and no gateway.
"""

from typing import Any, Final

from guildhall_contracts.limits import REPRINT_MAX_SECONDS
from guildhall_contracts.snapshot import JOURNAL_PATH, RESEND_LABEL

from guildhall_operator import names
from guildhall_operator.config import Config
from guildhall_operator.manifests import containers
from guildhall_operator.manifests.job import once, pod_labels, pod_security_context, shut_in
from guildhall_operator.run_view import RunView

COMMAND: Final = ("python3", "-m", "guildhall_executor.reprint")


def reprint_job(run: RunView, config: Config, attempt: int, round_number: int, from_seq: int) -> dict[str, Any]:
    """One round: prints from event `from_seq` on. The api reads its container as it reads the executor's."""
    claim = {"claimName": names.journal_name(run.name, run.uid), "readOnly": True}
    pod = {
        **shut_in(config, REPRINT_MAX_SECONDS),
        "securityContext": pod_security_context(own_group=False),  # the journal's owners stay as they are
        "containers": [_container(run, config, from_seq)],
        "volumes": [{"name": "journal", "persistentVolumeClaim": claim}],
    }
    labels = {**pod_labels(run, attempt), RESEND_LABEL: str(round_number)}
    return once(run, names.reprint_name(run.name, run.uid, round_number), labels, pod)


def _container(run: RunView, config: Config, from_seq: int) -> dict[str, Any]:
    made = containers.executor(config, 1)
    made["command"] = [*COMMAND, "--run", run.uid, "--from", str(from_seq)]
    made["volumeMounts"] = [{"name": "journal", "mountPath": JOURNAL_PATH, "readOnly": True}]
    del made["env"]
    return made
