"""May this Run start, and if not now, what does it wait for? Pure.

Guards against a pod for a Run whose Guild, workspace, isolation or turn is not in order.
"""

import re
from dataclasses import dataclass
from typing import Final

from guildhall_contracts.base import first_problem
from guildhall_contracts.canonical import digest
from guildhall_contracts.conditions import Reason
from guildhall_contracts.guild import GuildSpec, guild_problems, resolved_budget
from guildhall_contracts.run import RunSpec
from pydantic import ValidationError

from guildhall_operator import names
from guildhall_operator.actions import CREATE_AGAIN_SECONDS, Peer
from guildhall_operator.config import Config
from guildhall_operator.decision import Decision
from guildhall_operator.isolation import Expected, PodLabels, Verdict, evaluate
from guildhall_operator.manifests.job import planned_labels
from guildhall_operator.manifests.snapshot import SnapshotTooLarge
from guildhall_operator.records import PodRecord
from guildhall_operator.run_view import rank_of
from guildhall_operator.sources import fetch_verdict, workspace_problem
from guildhall_operator.start import first_attempt, is_made, record_attempt, record_fetch

CANARY_FRESH_SECONDS: Final = 30.0
_POSITION: Final = re.compile(r"position (\d+)")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a Run can never start as it is written."""

    reason: Reason
    message: str


def parse_spec(raw: object) -> RunSpec | Refusal:
    """The Run's spec, or the first thing wrong with it."""
    try:
        return RunSpec.model_validate(raw)
    except ValidationError as error:
        where, words = first_problem(error)
        reason: Reason = "GuildInvalid" if where.startswith("guild.") else "SpecInvalid"
        return Refusal(reason, f"spec.{where}: {words}")


def spec_problem(spec: RunSpec, config: Config) -> str:
    """What a schema cannot say about a Run; empty where all is well."""
    if spec.guild_ref is None and spec.guild is None:
        return "spec names no Guild; set guildRef or guild"
    if spec.guild_ref is not None and spec.guild is not None:
        return "spec names two Guilds; keep guildRef or guild"
    if spec.runtime_class_name is not None and spec.runtime_class_name not in config.runtime_classes:
        allowed = ", ".join(config.runtime_classes) or "none"
        return f"spec.runtimeClassName '{spec.runtime_class_name}' is not allowed here (allowed: {allowed})"
    if spec.priority is not None and spec.priority not in config.priorities:
        allowed = ", ".join(config.priorities) or "none"
        return f"spec.priority '{spec.priority}' is not allowed here (allowed: {allowed})"
    return _delivery_problem(spec) or workspace_problem(spec, config)


def _delivery_problem(spec: RunSpec) -> str:
    if spec.private and spec.deliver != "none":
        return "a private Run keeps nothing; set spec.deliver to none"
    if spec.deliver == "branch" and (spec.workspace is None or spec.workspace.git is None):
        return "spec.deliver 'branch' pushes to the repository of spec.workspace.git; name one, or use patch"
    git = spec.workspace.git if spec.workspace else None
    if git is not None and git.url.startswith("git://") and spec.publish and spec.publish.secret_ref:
        return (
            "spec.publish.secretRef: git:// sends everything in the clear, so no Secret is used with it; write https://"
        )
    return ""


def parse_guild(raw: object) -> GuildSpec | Refusal:
    """A valid Guild, or the sentences its author needs."""
    try:
        guild = GuildSpec.model_validate(raw)
    except ValidationError as error:
        return Refusal("GuildInvalid", "spec.{}: {}".format(*first_problem(error)))
    problems = guild_problems(guild)
    return Refusal("GuildInvalid", "; ".join(problems)) if problems else guild


def _guild(decision: Decision, spec: RunSpec) -> GuildSpec | Refusal | None:
    """The Run's Guild; None while one that may still appear is waited for. What was frozen stays."""
    if decision.observed.frozen is not None:
        return decision.observed.frozen.guild
    if spec.guild is not None:
        problems = guild_problems(spec.guild)
        return Refusal("GuildInvalid", "; ".join(problems)) if problems else spec.guild
    name = spec.guild_ref.name if spec.guild_ref else ""
    if decision.observed.guild is not None:
        found = parse_guild(decision.observed.guild)
        return Refusal(found.reason, f"Guild '{name}': {found.message}") if isinstance(found, Refusal) else found
    if not decision.waited("guild", decision.observed.config.waits.guild_seconds):
        return None
    what = f"there is no Guild '{name}' in namespace '{decision.run.namespace}'"
    return Refusal("GuildNotFound", f"{what}; create it, or name another, and start a new Run: this one is over")


def isolation_verdict(decision: Decision, pod: PodRecord | None = None) -> Verdict:
    """What the namespace's policies let this Run's pod do: the one that exists, else the one that would be made."""
    config = decision.observed.config
    expected = Expected(config.network_policy, config.namespace, config.gateway.pod_port)
    if pod is not None:
        return evaluate(decision.observed.policies, PodLabels(pod.labels, exists=True), expected)
    planned = planned_labels(decision.run, max(1, len(decision.run.attempts)))
    return evaluate(decision.observed.policies, PodLabels(planned), expected)


def _shut(decision: Decision, verdict: Verdict) -> bool:
    """Whether the policies shut a pod in; a missing one is waited for, an open one ends the Run."""
    config = decision.observed.config
    if verdict.kind == "open":
        decision.draft.end("False", "IsolationNotEnforced", verdict.message)
    elif verdict.kind == "missing" and decision.waited("policy", config.waits.policy_seconds):
        decision.draft.end("False", "PolicyMissing", verdict.message)
    elif verdict.kind == "missing":
        decision.hold("PolicyMissing", verdict.message)
    return verdict.kind == "closed"


def _isolation_holds(decision: Decision, spec: RunSpec) -> bool:
    """Whether the pods would be shut in; says what is missing where not."""
    config = decision.observed.config
    if not config.isolation.require:
        return True
    if not _shut(decision, isolation_verdict(decision)):
        return False
    git = spec.workspace.git if spec.workspace else None
    if git is not None and not decision.draft.fields.get("source") and not _shut(decision, fetch_verdict(decision, 1)):
        return False
    age = decision.observed.canary_age_seconds
    if age is None or age > CANARY_FRESH_SECONDS:
        what = (
            f"the gateway's canary does not answer the operator ({decision.observed.canary_problem or 'not tried yet'})"
        )
        if decision.waited("canary", config.waits.canary_seconds):
            decision.draft.end("False", "NotVerified", what)
        elif decision.observed.canary_problem:
            decision.hold("NotVerified", what, look_again_seconds=2)
        else:
            decision.requeue(0.5)
        return False
    return True


def _claims_exist(decision: Decision, spec: RunSpec) -> bool:
    workspace = spec.workspace
    wanted = [workspace.claim.name] if workspace and workspace.claim else []
    wanted += [workspace.template.claim] if workspace and workspace.template else []
    for name in wanted:
        if name in decision.observed.claims:
            continue
        what = f"there is no PersistentVolumeClaim '{name}' in namespace '{decision.run.namespace}'"
        what = f"{what}; create it, or name another in a new Run"
        if decision.waited("claim", decision.observed.config.waits.claim_seconds):
            decision.draft.end("False", "MountFailed", what)
        else:
            decision.hold("MountFailed", what, look_again_seconds=5)
        return False
    return True


def _before(peer: Peer, decision: Decision) -> bool:
    """Whether `peer` comes first: by priority, then by age."""
    run = decision.run
    rank = rank_of(run.priority, decision.observed.config.priorities)
    return (peer.rank, peer.created, peer.name) < (rank, run.created, run.name)


def _shown_position(decision: Decision, position: int) -> int:
    """The position people see: rewritten only when it has halved, so that a long queue costs few writes."""
    old = decision.draft.get("Queued")
    shown = _POSITION.search(str(old.get("message", ""))) if old.get("reason") == "ConcurrencyLimit" else None
    return int(shown[1]) if shown and int(shown[1]) < position * 2 else position


def _has_turn(decision: Decision) -> bool:
    """Whether workspace, group and namespace are free for this Run, and nobody who comes first waits for the place."""
    observed, run = decision.observed, decision.run
    holders = [peer for peer in observed.peers if peer.holds]
    claim = observed.claims.get(run.claim)
    if run.claim and not (claim and claim.read_only):
        holder = next((peer.name for peer in holders if peer.claim == run.claim), "")
        if holder or run.claim in observed.claims_in_use:
            by = f"Run '{holder}'" if holder else "another pod"
            decision.hold("WorkspaceBusy", f"claim '{run.claim}' is in use by {by}", look_again_seconds=10)
            return False
    busy = next((peer.name for peer in holders if run.group and peer.group == run.group), "")
    if busy:
        decision.hold("WorkspaceBusy", f"Run '{busy}' of concurrencyGroup '{run.group}' is not finished")
        return False
    limit = observed.config.max_concurrent_runs
    ahead = sum(1 for peer in observed.peers if peer.in_line and not peer.holds and _before(peer, decision))
    if run.holds or len(holders) + ahead < limit:
        return True
    position = _shown_position(decision, ahead + 1)
    what = f"{limit} Runs at a time in this namespace (maxConcurrentRuns); position {position} in the queue"
    decision.hold("ConcurrencyLimit", what)
    return False


def _shown_guild(spec: RunSpec) -> str:
    return spec.guild_ref.name if spec.guild_ref else "(inline)"


def _accepted(decision: Decision) -> tuple[RunSpec, GuildSpec] | None:
    spec = parse_spec(decision.run.spec)
    if isinstance(spec, Refusal):
        decision.refuse(spec.reason, spec.message)
        return None
    problem = spec_problem(spec, decision.observed.config)
    if problem:
        decision.refuse("SpecInvalid", problem)
        return None
    decision.draft.fields["guild"] = _shown_guild(spec)
    guild = _guild(decision, spec)
    if guild is None:
        return None
    if isinstance(guild, Refusal):
        decision.refuse(guild.reason, guild.message)
        return None
    decision.draft.set("Accepted", "True", "Accepted", "")
    _note(decision, spec, guild)
    return spec, guild


def _note(decision: Decision, spec: RunSpec, guild: GuildSpec) -> None:
    """What the status says of the Guild and the budget of an accepted Run."""
    frozen = decision.observed.frozen
    decision.draft.fields["guildDigest"] = frozen.guild_digest if frozen else digest(guild)
    decision.draft.fields["entryRole"] = guild.entry_role
    budget = frozen.budget if frozen else resolved_budget(spec.budget, guild.defaults)
    decision.draft.fields["budget"] = budget.to_wire()


def _was_refused(decision: Decision) -> bool:
    """Whether the API server just refused what the Run needs; a quota is waited for, all else not for long."""
    problem = decision.observed.create_problem
    if not problem:
        return False
    if "exceeded quota" in problem:
        decision.hold("QuotaExceeded", problem, look_again_seconds=CREATE_AGAIN_SECONDS)
    elif decision.waited("refused", decision.observed.config.waits.refused_seconds):
        decision.draft.end("False", "PolicyDenied", f"the cluster refuses an object of this Run: {problem}")
    else:
        decision.hold("PolicyDenied", problem, look_again_seconds=CREATE_AGAIN_SECONDS)
    return True


def may_begin(decision: Decision, spec: RunSpec) -> bool:
    """Whether an attempt may begin now; says what it waits for where not."""
    if not (_isolation_holds(decision, spec) and _claims_exist(decision, spec) and _has_turn(decision)):
        return False
    return _can_be_made(decision)


def may_go_on(decision: Decision, spec: RunSpec) -> bool:
    """The same for a Run that has its turn already: its repository is fetched."""
    return _isolation_holds(decision, spec) and _can_be_made(decision)


def _can_be_made(decision: Decision) -> bool:
    if decision.observed.gateway_ip is None:
        decision.hold("Preparing", "the gateway's address is not known yet", look_again_seconds=2)
        return False
    return not _was_refused(decision)


def _adopt(decision: Decision) -> None:
    """Writes down the Job that `is_made`, and of its Run what is still known."""
    run, spec = decision.run, parse_spec(decision.run.spec)
    if not isinstance(spec, Refusal):
        decision.draft.fields["guild"] = _shown_guild(spec)
        guild = _guild(decision, spec)
        if isinstance(guild, GuildSpec):
            _note(decision, spec, guild)
    decision.draft.set("Accepted", "True", "Accepted", "")
    if names.job_name(run.name, run.uid, 1) in decision.observed.jobs:
        record_attempt(decision)
    else:
        record_fetch(decision, None if isinstance(spec, Refusal) else spec)


def admit(decision: Decision) -> None:
    """The stage before there is a Job."""
    if is_made(decision):
        _adopt(decision)
        return
    if decision.run.cancelled:
        decision.draft.end("False", "Cancelled", "cancelled before it started; no pod was made")
        return
    accepted = _accepted(decision)
    if accepted is None:
        return
    if decision.run.suspended:
        decision.hold("Suspended", "spec.suspend is true; set it to false to start", look_again_seconds=600)
        return
    if not may_begin(decision, accepted[0]):
        return
    try:
        first_attempt(decision, *accepted)
    except SnapshotTooLarge as error:
        decision.refuse("SpecInvalid", str(error))
