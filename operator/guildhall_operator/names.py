"""Names of everything made for a Run: valid and unique whatever the Run is called."""

import re
from collections.abc import Callable, Container

from guildhall_contracts.limits import ATTEMPTS_MAX_COUNT, NAME_SLUG_MAX_CHARS


def slug(run_name: str) -> str:
    """The start of a Run's name, fit for a DNS label."""
    flat = re.sub(r"[^a-z0-9]+", "-", run_name.lower()).strip("-")
    return flat[:NAME_SLUG_MAX_CHARS].strip("-") or "run"


def base_name(run_name: str, uid: str) -> str:
    """`<slug>-<uid>`: unique by the uid, readable by the slug."""
    return f"{slug(run_name)}-{uid}"


def job_name(run_name: str, uid: str, attempt: int) -> str:
    return f"{base_name(run_name, uid)}-a{attempt}"


def fetch_name(run_name: str, uid: str, number: int) -> str:
    return f"{base_name(run_name, uid)}-f{number}"


def publish_name(run_name: str, uid: str, number: int) -> str:
    return f"{base_name(run_name, uid)}-p{number}"


def last_number(name_of: Callable[[str, str, int], str], run_name: str, uid: str, jobs: Container[str]) -> int:
    """The number of the last Job of a kind that is there; 0 where there is none."""
    there = (number for number in range(1, ATTEMPTS_MAX_COUNT + 1) if name_of(run_name, uid, number) in jobs)
    return max(there, default=0)


def reprint_name(run_name: str, uid: str, round_number: int) -> str:
    return f"{base_name(run_name, uid)}-r{round_number}"


def snapshot_name(run_name: str, uid: str) -> str:
    return f"{base_name(run_name, uid)}-snapshot"


def journal_name(run_name: str, uid: str) -> str:
    return f"{base_name(run_name, uid)}-journal"


def workspace_name(run_name: str, uid: str) -> str:
    return f"{base_name(run_name, uid)}-workspace"


def baseline_name(run_name: str, uid: str) -> str:
    return f"{base_name(run_name, uid)}-baseline"


def claim_names(run_name: str, uid: str) -> tuple[str, ...]:
    """Every claim that may be made for a Run."""
    return tuple(name(run_name, uid) for name in (journal_name, workspace_name, baseline_name))
