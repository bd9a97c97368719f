"""Puts a person's act into the cluster as an Intervention, and hears what the gateway made of it.

Guards against acts in another's name: the author is who was signed in, never what a body says.
"""

import asyncio
import hashlib
from typing import Any, Final

from guildhall_contracts.api import Accepted
from guildhall_contracts.intervention import Answer, Approval, Interrupt, InterventionSpec, RunRef

from guildhall_api.kube import KubeError
from guildhall_api.problems import Refused, from_cluster
from guildhall_api.resources import API_VERSION, Resource
from guildhall_api.services import FoundRun
from guildhall_api.source import Person, RunSource
from guildhall_api.summaries import part, text

VERDICT_WAIT_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.1
_TURNED: Final = {"Refused": "The gateway refused this", "Expired": "It is too late for this"}

Act = Answer | Approval | Interrupt


def manifest(found: FoundRun, person: Person, act: Act, key: str = "") -> Resource:
    """The Intervention. With `key` its name is fixed for this person, Run and act, so that a repetition is none."""
    stored = found.stored
    field, word = _face(act)
    ref = RunRef(name=stored.name, uid=stored.uid)
    spec = InterventionSpec.model_validate({"run_ref": ref, "author": person.user[:256], field: act})
    owner = {"apiVersion": API_VERSION, "kind": "Run", "name": stored.name, "uid": stored.uid}
    metadata: dict[str, Any] = {"namespace": stored.namespace, "ownerReferences": [owner]}
    if key:
        mark = hashlib.sha256("\0".join((stored.uid, person.user, word, key)).encode("utf-8", "replace")).hexdigest()
        metadata["name"] = f"{word}-{mark[:20]}"
    else:
        metadata["generateName"] = f"{word}-"
    return {"apiVersion": API_VERSION, "kind": "Intervention", "metadata": metadata, "spec": spec.to_wire()}


def _face(act: Act) -> tuple[str, str]:
    """The field of the spec, and the word names begin with."""
    match act:
        case Answer():
            return "answer", "answer"
        case Approval():
            return "approval", act.decision
        case Interrupt():
            return "interrupt", act.intent


async def create(source: RunSource, resource: Resource, doing: str) -> Accepted:
    """Create it; one that is there already under its fixed name is the same act. Raises Refused."""
    metadata = resource["metadata"]
    try:
        made, _ = await source.create(metadata["namespace"], "interventions", resource)
    except KubeError as error:
        if error.status != 409 or "name" not in metadata:
            raise from_cluster(error, doing) from error
        return Accepted(id=metadata["name"])
    return Accepted(id=made["metadata"]["name"], uid=made["metadata"]["uid"])


async def verdict(source: RunSource, namespace: str, made: Accepted) -> Accepted:
    """What the gateway says of it within two seconds. Raises Refused 409 when it was not taken."""
    loop = asyncio.get_running_loop()
    end = loop.time() + VERDICT_WAIT_SECONDS
    while loop.time() < end:
        status = await _status(source, namespace, made.id)
        state = part(status, "state")
        if state in _TURNED:
            raise Refused(409, _TURNED[state], _sentence(text(part(status, "message"), 1_024)))
        if state in {"Delivered", "Consumed"}:
            return made.model_copy(update={"state": state})
        await asyncio.sleep(_LOOK_SECONDS)
    return made


async def _status(source: RunSource, namespace: str, name: str) -> Any:
    try:
        return part(await source.get(namespace, "interventions", name), "status")
    except KubeError:
        return None  # the act is recorded; not knowing what came of it is no failure


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""
