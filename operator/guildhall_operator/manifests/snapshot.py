"""The frozen Run and Guild an executor works from."""

from typing import Any

from guildhall_contracts import limits
from guildhall_contracts.canonical import digest
from guildhall_contracts.gate import Target
from guildhall_contracts.guild import GuildSpec, effective_policies, resolved_budget, resolved_tools
from guildhall_contracts.run import RunSpec
from guildhall_contracts.snapshot import SNAPSHOT_FILE, GatewayAddress, RoleTools, RunSnapshot

from guildhall_operator import names
from guildhall_operator.config import Config
from guildhall_operator.manifests.owner import metadata
from guildhall_operator.run_view import RunView


class SnapshotTooLarge(ValueError):  # noqa: N818  reads as what it says
    """Task and Guild together are larger than a ConfigMap may be; the Run's author must shorten them."""


def run_snapshot(run: RunView, spec: RunSpec, guild: GuildSpec, config: Config, targets: list[Target]) -> RunSnapshot:
    """Run and Guild with everything resolved; `targets` are what must never answer."""
    interactive = spec.mode == "interactive"
    return RunSnapshot(
        run=run.uid,
        namespace=run.namespace,
        name=run.name,
        guild_name=spec.guild_ref.name if spec.guild_ref else "",
        guild=guild,
        guild_digest=digest(guild),
        role_tools=[
            RoleTools(
                role=role.name,
                tools=list(resolved_tools(guild, role, private=spec.private, interactive=interactive)),
            )
            for role in guild.roles
        ],
        policies=effective_policies(guild),
        task=spec.task,
        origin="schedule" if run.schedule[1] else "person",
        budget=resolved_budget(spec.budget, guild.defaults),
        mode=spec.mode,
        private=spec.private,
        deliver=spec.deliver,
        isolation_required=config.isolation.require,
        gateway=GatewayAddress(
            url=f"https://{config.gateway.service}:{config.gateway.port}",
            canary=targets,
            recheck_seconds=config.isolation.recheck_seconds,
        ),
    )


def snapshot_config_map(run: RunView, snapshot: RunSnapshot) -> dict[str, Any]:
    """The immutable ConfigMap. Raises SnapshotTooLarge."""
    content = snapshot.model_dump_json(by_alias=True, exclude_none=True)
    size = len(content.encode())
    if size > limits.SNAPSHOT_MAX_BYTES:
        raise SnapshotTooLarge(
            f"task and Guild are {size} bytes together; at most {limits.SNAPSHOT_MAX_BYTES} are allowed: shorten them"
        )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(run, names.snapshot_name(run.name, run.uid)),
        "immutable": True,
        "data": {SNAPSHOT_FILE: content},
    }
