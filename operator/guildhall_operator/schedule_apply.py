"""Does what a schedule's plan says: the Run first, then the status that says so; a crash in between finds it there."""

from datetime import datetime
from typing import Any, Final

from guildhall_operator.apply import FIELD_MANAGER, Said, collection, post
from guildhall_operator.client import MERGE, Kube, KubeError
from guildhall_operator.records import Json, items, mapping
from guildhall_operator.schedule import SchedulePlan, ScheduleView

_REFUSALS: Final = frozenset({400, 403, 422})
_GOOD_NEWS: Final = frozenset({"Scheduled"})


class RunRefused(Exception):  # noqa: N818  reads as what it says
    """The cluster takes no Run of this template."""


def _is_its_own(found: Json, view: ScheduleView) -> bool:
    owners = items(mapping(found.get("metadata")).get("ownerReferences"))
    return any(owner.get("kind") == "RunSchedule" and owner.get("uid") == view.uid for owner in owners)


async def create_run(kube: Kube, view: ScheduleView, manifest: dict[str, Any]) -> dict[str, Any]:
    """Makes the Run once; one of that name and owner is the one that was meant. Raises RunRefused and KubeError."""
    path = collection("Run", view.namespace)
    try:
        return await kube.call("POST", path, manifest, params={"fieldManager": FIELD_MANAGER})
    except KubeError as error:
        if error.code in _REFUSALS:
            raise RunRefused(error.message) from error
        if error.code != 409 or error.reason != "AlreadyExists":
            raise
    found = await kube.call("GET", f"{path}/{manifest['metadata']['name']}")
    if not _is_its_own(found, view):
        raise RunRefused(f"Run '{manifest['metadata']['name']}' is there already and is not this schedule's; delete it")
    return found


async def tidy(kube: Kube, view: ScheduleView, plan: SchedulePlan) -> None:
    """Cancels what is replaced and deletes what is too old; gone is what was wanted. Raises KubeError."""
    path = collection("Run", view.namespace)
    for name in plan.cancel:
        await _unless_gone(kube, "PATCH", f"{path}/{name}", {"spec": {"cancel": True}}, MERGE)
    for act in plan.deletions:
        body = {"propagationPolicy": "Background", "preconditions": {"uid": act.uid}}
        await _unless_gone(kube, "DELETE", f"{path}/{act.name}", body, "application/json")


async def _unless_gone(kube: Kube, method: str, path: str, body: dict[str, Any], content_type: str) -> None:
    try:
        await kube.call(method, path, body, content_type=content_type)
    except KubeError as error:
        if error.code not in {404, 409}:
            raise


async def post_note(kube: Kube, view: ScheduleView, note: tuple[str, str], now: datetime) -> None:
    """Posts an Event about a schedule; one that cannot be posted is logged and the schedule goes on."""
    reason, message = note
    about, is_warning = f"{reason}/{message}", reason not in _GOOD_NEWS
    await post(kube, Said("RunSchedule", view.namespace, view.name, view.uid, about, reason, message, is_warning), now)
