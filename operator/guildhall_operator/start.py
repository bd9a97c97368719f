"""Starting an attempt: the objects it needs and what the status says from then on. Pure."""

from guildhall_contracts import limits
from guildhall_contracts.guild import GuildSpec, resolved_budget
from guildhall_contracts.run import RunSpec

from guildhall_operator import names
from guildhall_operator.decision import Decision
from guildhall_operator.manifests.fetch import fetch_job
from guildhall_operator.manifests.job import Try, job
from guildhall_operator.manifests.snapshot import run_snapshot, snapshot_config_map
from guildhall_operator.manifests.volumes import baseline_claim, journal_claim, workspace_claim
from guildhall_operator.records import mapping, number


def _try(decision: Decision, spec: RunSpec, number: int, seconds: int) -> Try:
    observed = decision.observed
    claim = spec.workspace.claim if spec.workspace else None
    known = observed.claims.get(claim.name) if claim else None
    own_group = claim is None or (known is not None and known.group_consent)
    return Try(number, seconds, observed.gateway_ip or "", list(observed.targets), own_group=own_group)


def budget_seconds(spec: RunSpec, guild: GuildSpec | None) -> int:
    budget = resolved_budget(spec.budget, guild.defaults if guild else None)
    return budget.seconds or limits.BUDGET_DEFAULT_SECONDS


def is_made(decision: Decision) -> bool:
    """Whether the next Job is there already: made by an operator that ended before its status could say so.

    It is at work, so it is written down and followed, and stopped as one that works; nothing is judged or made again.
    """
    run, jobs, fields = decision.run, decision.observed.jobs, decision.draft.fields
    if names.job_name(run.name, run.uid, len(fields["attempts"]) + 1) in jobs:
        return True
    nothing_yet = not fields["attempts"] and not fields.get("source") and not run.fetching
    return nothing_yet and names.fetch_name(run.name, run.uid, 1) in jobs


def record_attempt(decision: Decision) -> None:
    """The next attempt's entry in the status, with nothing known of it yet."""
    run, draft = decision.run, decision.draft
    count = len(draft.fields["attempts"]) + 1
    draft.fields["attempts"].append({"number": count, "job": names.job_name(run.name, run.uid, count)})
    if draft.get("Queued"):
        draft.set("Queued", "False", "Preparing", "")
    draft.set("WorkspaceReady", "Unknown", "Preparing", "")
    draft.set("IsolationVerified", "Unknown", "Preparing", "")
    draft.set("Running", "False", "NotStarted", "")
    draft.set("Succeeded", "Unknown", "Preparing", "")


def begin_attempt(decision: Decision, spec: RunSpec, seconds: int) -> None:
    """A new Job and its entry in the status."""
    count = len(decision.draft.fields["attempts"]) + 1
    attempt = _try(decision, spec, count, seconds)
    decision.create.append(job(decision.run, spec, decision.observed.config, attempt))
    record_attempt(decision)


def record_fetch(decision: Decision, spec: RunSpec | None) -> None:
    """What the status says of a fetch under way."""
    draft, git = decision.draft, spec.workspace.git if spec and spec.workspace else None
    what = f"{git.url} at {git.ref}" if git else ""
    if draft.get("Queued"):
        draft.set("Queued", "False", "Fetching", "")
    draft.set("WorkspaceReady", "Unknown", "Fetching", what)
    draft.set("Running", "False", "Fetching", what)
    draft.set("Succeeded", "Unknown", "Preparing", "")


def begin_fetch(decision: Decision, spec: RunSpec, number: int) -> None:
    """A fetch Job; the run pod's follows when it has made the workspace."""
    decision.create.append(fetch_job(decision.run, spec, decision.observed.config, number))
    record_fetch(decision, spec)


def next_attempt(decision: Decision, spec: RunSpec) -> None:
    """The same Run in another pod: snapshot, journal, workspace and baseline are there, and the budget stands."""
    frozen = number(mapping(decision.draft.fields.get("budget")).get("seconds"))
    begin_attempt(decision, spec, frozen or budget_seconds(spec, None))


def first_attempt(decision: Decision, spec: RunSpec, guild: GuildSpec) -> None:
    """Everything a Run needs, in the order it is made; a snapshot once frozen stays. Raises SnapshotTooLarge."""
    run, config = decision.run, decision.observed.config
    frozen = decision.observed.frozen
    if frozen is None:
        snapshot = run_snapshot(run, spec, guild, config, list(decision.observed.targets))
        decision.create.append(snapshot_config_map(run, snapshot))
    decision.create.append(journal_claim(run, config))
    template = spec.workspace.template.claim if spec.workspace and spec.workspace.template else ""
    workspace = workspace_claim(run, spec, config, decision.observed.claims.get(template))
    claims = (workspace, baseline_claim(run, spec, config))
    decision.create.extend(claim for claim in claims if claim is not None)
    if spec.workspace is not None and spec.workspace.git is not None and not decision.draft.fields.get("source"):
        begin_fetch(decision, spec, 1)
        return
    begin_attempt(decision, spec, (frozen and frozen.budget.seconds) or budget_seconds(spec, guild))
