"""What there is in a namespace that was made for one Run."""

from support.cluster import eventually
from support.installation import Installation, condition

KINDS = "jobs,pods,persistentvolumeclaims,configmaps,secrets,networkpolicies,services"


def made_for(here: Installation, uid: str) -> list[str]:
    """Objects that carry a Run's uid in their label or their name, as `kind/name`."""
    return sorted(
        f"{item['kind'].lower()}/{item['metadata']['name']}"
        for item in here.items(KINDS)
        if item["metadata"].get("labels", {}).get("guildhall.dev/run") == uid or uid in item["metadata"]["name"]
    )


def remains_of(here: Installation, name: str, expected: list[str], seconds: float = 60) -> list[str]:
    """What is left of a sealed Run once it is as `expected`, or after `seconds`."""
    sealed = here.wait_run(name, lambda run: bool(condition(run, "Sealed").get("status")), seconds)
    uid = sealed["metadata"]["uid"]
    left: list[str] = []

    def settled() -> bool:
        left[:] = made_for(here, uid)
        return left == expected

    try:
        eventually(settled, seconds)
    except AssertionError:
        return left
    return left
