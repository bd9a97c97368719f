"""Starting an attempt: the objects it needs and what the status says from then on. Pure."""

from guildhall_contracts import limits
from guildhall_contracts.guild import GuildSpec, resolved_budget
from guildhall_contracts.run import RunSpec

from guildhall_operator import names
from guildhall_operator.decision import Decision
from guildhall_operator.manifests.job import Try, job
from guildhall_operator.manifests.snapshot import run_snapshot, snapshot_config_map
from guildhall_operator.manifests.volumes import journal_claim, workspace_claim


def _try(decision: Decision, spec: RunSpec, number: int, seconds: int) -> Try:
    observed = decision.observed
    claim = spec.workspace.claim if spec.workspace else None
    known = observed.claims.get(claim.name) if claim else None
    own_group = claim is None or (known is not None and known.group_consent)
    return Try(number, seconds, observed.gateway_ip or "", list(observed.targets), own_group=own_group)


def budget_seconds(spec: RunSpec, guild: GuildSpec | None) -> int:
    budget = resolved_budget(spec.budget, guild.defaults if guild else None)
    return budget.seconds or limits.BUDGET_DEFAULT_SECONDS


def begin_attempt(decision: Decision, spec: RunSpec, seconds: int, note: str = "") -> None:
    """A new Job and its entry in the status."""
    run, draft = decision.run, decision.draft
    number = len(draft.fields["attempts"]) + 1
    decision.create.append(job(run, spec, decision.observed.config, _try(decision, spec, number, seconds)))
    draft.fields["attempts"].append({"number": number, "job": names.job_name(run.name, run.uid, number)})
    if draft.get("Queued"):
        draft.set("Queued", "False", "Preparing", "")
    draft.set("WorkspaceReady", "Unknown", "Preparing", "")
    draft.set("IsolationVerified", "Unknown", "Preparing", "")
    draft.set("Running", "False", "NotStarted", note)
    draft.set("Succeeded", "Unknown", "Preparing", "")


def first_attempt(decision: Decision, spec: RunSpec, guild: GuildSpec) -> None:
    """Everything a Run needs, in the order it is made; a snapshot once frozen stays. Raises SnapshotTooLarge."""
    run, config = decision.run, decision.observed.config
    frozen = decision.observed.frozen
    if frozen is None:
        snapshot = run_snapshot(run, spec, guild, config, list(decision.observed.targets))
        decision.create.append(snapshot_config_map(run, snapshot))
    decision.create.append(journal_claim(run, config))
    workspace = workspace_claim(run, spec, config)
    if workspace is not None:
        decision.create.append(workspace)
    begin_attempt(decision, spec, (frozen and frozen.budget.seconds) or budget_seconds(spec, guild))
