"""What a person does: create, cancel, interrupt. Each only after the cluster allows the caller the act and its objects.

Guards against the api being anyone's deputy: its own account may do more than the caller.
"""

from typing import Annotated, Any, Final

import yaml
from fastapi import APIRouter, Query, Request, Response
from guildhall_contracts.api import Accepted, CreatedRun, CreateRun, InterruptBody
from guildhall_contracts.base import Record
from guildhall_contracts.intervention import Interrupt
from guildhall_contracts.run import RunSpec

from guildhall_api import interventions
from guildhall_api.kube import KubeError
from guildhall_api.problems import Refused, from_cluster
from guildhall_api.resources import API_VERSION, AUTHOR_ANNOTATION, Resource, run_id_of
from guildhall_api.routes.answers import refusals
from guildhall_api.services import find_running, named, services_of
from guildhall_api.source import Act

router = APIRouter(tags=["acts"])

KNOWN_WAIT_MAX_SECONDS: Final = 2.0


class Nothing(Record):
    """An empty body."""


def named_objects(namespace: str, spec: RunSpec) -> list[Act]:
    """`get` on every object a Run names: whoever creates the Run must be able to read them."""
    acts: list[Act] = []
    if spec.guild_ref is not None:
        acts.append(Act("get", namespace, "guilds", spec.guild_ref.name))
    if spec.publish is not None and spec.publish.secret_ref is not None:
        acts.append(Act("get", namespace, "secrets", spec.publish.secret_ref.name, ""))
    workspace = spec.workspace
    if workspace is None:
        return acts
    if workspace.git is not None and workspace.git.secret_ref is not None:
        acts.append(Act("get", namespace, "secrets", workspace.git.secret_ref.name, ""))
    if workspace.claim is not None:
        acts.append(Act("get", namespace, "persistentvolumeclaims", workspace.claim.name, ""))
    if workspace.template is not None:
        acts.append(Act("get", namespace, "persistentvolumeclaims", workspace.template.claim, ""))
    if workspace.archive is not None:
        acts.append(Act("get", namespace, "configmaps", workspace.archive.config_map, ""))
    return acts


def manifest_of(body: CreateRun) -> Resource:
    """The Run as a person could have written it."""
    metadata: dict[str, Any] = {"namespace": body.namespace}
    metadata |= {"name": body.name} if body.name is not None else {"generateName": "run-"}
    spec = body.spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    return {"apiVersion": API_VERSION, "kind": "Run", "metadata": metadata, "spec": spec}


@router.post(
    "/api/runs", status_code=201, responses=refusals(404, 409, 422, 502, 503), response_model_exclude_none=True
)
async def create_run(
    request: Request, response: Response, body: CreateRun,
    dry_run: Annotated[bool, Query(alias="dryRun")] = False,
) -> CreatedRun:  # fmt: skip
    """Create a Run, or ask the cluster whether it would be accepted."""
    services = services_of(request)
    if body.spec.cancel:
        raise Refused(422, "A Run is not created cancelled", "Leave spec.cancel out.")
    create = Act("create", body.namespace, "runs")
    person = await services.auth.allow(request, create, *named_objects(body.namespace, body.spec))
    if body.namespace not in services.config.run_namespaces:
        raise Refused(404, "No such run namespace", f"Runs live in: {', '.join(services.config.run_namespaces)}.")
    manifest = manifest_of(body)
    annotated = manifest | {"metadata": manifest["metadata"] | {"annotations": {AUTHOR_ANNOTATION: person.user}}}
    try:
        made, warnings = await services.source.create(body.namespace, "runs", annotated, dry_run=dry_run)
    except KubeError as error:
        raise from_cluster(error, f"the new Run in {body.namespace}") from error
    if dry_run:
        response.status_code = 200
    else:  # so that whoever asks for the Run next is not told that there is none
        await services.keeper.known(made["metadata"]["uid"], KNOWN_WAIT_MAX_SECONDS)
    return CreatedRun(
        id=run_id_of(body.namespace, made["metadata"]["name"]), uid=None if dry_run else made["metadata"]["uid"],
        manifest=yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=120), warnings=warnings[:20],
    )  # fmt: skip


@router.post(
    "/api/runs/{run_id}/cancel",
    status_code=202,
    responses=refusals(404, 409, 422, 502, 503),
    response_model_exclude_none=True,
)
async def cancel_run(request: Request, run_id: str, _body: Nothing) -> Accepted:
    """Ask for the Run's end: its calls are refused at once, its patch is kept."""
    services = services_of(request)
    namespace, name = named(run_id)
    await services.auth.allow(request, Act("patch", namespace, "runs", name))
    found = await find_running(request, run_id)
    try:
        await services.source.cancel_run(namespace, name, found.stored.uid)
    except KubeError as error:
        raise from_cluster(error, f"cancelling {run_id}") from error
    return Accepted(id=found.stored.uid)


@router.post(
    "/api/runs/{run_id}/interrupt",
    status_code=202,
    responses=refusals(404, 409, 422, 502, 503),
    response_model_exclude_none=True,
)
async def interrupt_run(request: Request, run_id: str, body: InterruptBody) -> Accepted:
    """Speak to a running Run; shown as fact only when it returns as an event."""
    services = services_of(request)
    namespace, _ = named(run_id)
    if body.intent != "abort" and not body.message.strip():
        raise Refused(422, "The message is empty", "An inquiry and a redirection need a message.")
    person = await services.auth.allow(request, Act("create", namespace, "interventions"))
    found = await find_running(request, run_id)
    act = Interrupt(intent=body.intent, message=body.message)
    resource = interventions.manifest(found, person, act, body.key)
    return await interventions.create(services.source, resource, f"interrupting {run_id}")
