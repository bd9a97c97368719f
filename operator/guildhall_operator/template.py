"""Would the Runs of a RunSchedule be accepted as things stand? Pure.

Guards against a schedule that says it is well and whose Runs are refused night after night.
"""

from guildhall_contracts.guild import guild_problems
from guildhall_contracts.run import RunSpec
from guildhall_contracts.schedule import ScheduleReason
from pydantic import ValidationError

from guildhall_operator.admit import Refusal, parse_guild, spec_problem
from guildhall_operator.config import Config
from guildhall_operator.records import Json, mapping
from guildhall_operator.schedule import ScheduleView

Doubt = tuple[ScheduleReason, str]


def doubt(view: ScheduleView, guild: Json | None, config: Config) -> Doubt | None:
    """Why the next Run would be refused; None where it would not. `guild` is the spec of the Guild it would have."""
    try:
        spec = RunSpec.model_validate(mapping(view.spec.get("runTemplate")).get("spec"))
    except ValidationError:
        return None  # the schedule's own plan says so
    problem = spec_problem(spec, config)
    if problem:
        return "SpecInvalid", f"runTemplate.{problem}" if problem.startswith("spec.") else f"runTemplate: {problem}"
    if spec.guild is not None:
        problems = guild_problems(spec.guild)
        return ("GuildInvalid", f"runTemplate.spec.guild: {'; '.join(problems)}") if problems else None
    if guild is None:
        return "GuildNotFound", f"there is no Guild '{view.guild}' in namespace '{view.namespace}'; create it"
    found = parse_guild(guild)
    return ("GuildInvalid", f"Guild '{view.guild}': {found.message}") if isinstance(found, Refusal) else None
