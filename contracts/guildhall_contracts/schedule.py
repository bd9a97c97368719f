"""A RunSchedule: Runs in scheduled mode at the times of a cron expression. Guards what a schedule may make."""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import Name, Record
from guildhall_contracts.run import RunSpec

CRON_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
CRON_PATTERN: Final = rf"^({'|'.join(CRON_NICKNAMES)}|[-A-Za-z0-9*/,#]+( [-A-Za-z0-9*/,#]+){{4}})$"
CronText = Annotated[str, StringConstraints(min_length=6, max_length=limits.SCHEDULE_MAX_CHARS, pattern=CRON_PATTERN)]
TimeZoneName = Annotated[
    str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$")
]
LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=317, pattern=r"^[A-Za-z0-9][-A-Za-z0-9_./]*$")]
LabelValue = Annotated[str, StringConstraints(max_length=limits.LABEL_MAX_CHARS, pattern=r"^[-A-Za-z0-9_.]*$")]


class ScheduledRunSpec(RunSpec):
    """A Run as a schedule makes it: nobody is there to be asked, so it has no interactive tools."""

    mode: Literal["scheduled"] = "scheduled"


class RunTemplate(Record):
    """What each Run is made of. Labels reach the Run (a queue's name, say)."""

    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict, max_length=limits.TEMPLATE_LABELS_MAX_COUNT)
    spec: ScheduledRunSpec


class RunScheduleSpec(Record):
    """Cron in a time zone. Times before the schedule was made or last changed are never made up for."""

    schedule: CronText
    time_zone: TimeZoneName = "Etc/UTC"
    suspend: bool = False
    concurrency_policy: Literal["Forbid", "Allow", "Replace"] = "Forbid"
    starting_deadline_seconds: int | None = Field(None, ge=10, le=limits.TTL_MAX_SECONDS)
    successful_runs_history_limit: int = Field(3, ge=0, le=limits.SCHEDULE_HISTORY_MAX_COUNT)
    failed_runs_history_limit: int = Field(3, ge=0, le=limits.SCHEDULE_HISTORY_MAX_COUNT)
    run_template: RunTemplate


ScheduleReason = Literal[
    "Accepted",
    "Suspended",
    "SpecInvalid",  # the expression, the time zone or the template cannot be used; the message names the field
    "GuildNotFound",  # there is no Guild of the name the template gives; heals when it is there
    "GuildInvalid",  # the Guild that the template names or holds cannot be used; the message says why
    "RunRefused",  # the cluster refused the Run; the message is its own
    "Missed",  # the last time was found too late (startingDeadlineSeconds); it is not made up for
    "Skipped",  # the Run before was not over (concurrencyPolicy Forbid)
]


class ScheduleCondition(Record):
    """A Kubernetes condition; the list is a map keyed by `type`."""

    type: Literal["Accepted"]
    status: Literal["True", "False"]
    reason: ScheduleReason
    message: str = Field("", max_length=limits.STATUS_MESSAGE_MAX_CHARS)
    observed_generation: int = Field(0, ge=0)
    last_transition_time: str = Field(max_length=32)


class RunScheduleStatus(Record):
    """Written by the operator only."""

    observed_generation: int = Field(0, ge=0)
    conditions: list[ScheduleCondition] = Field(default_factory=list, max_length=4)
    counted_from: str | None = Field(None, max_length=32)
    last_schedule_time: str | None = Field(None, max_length=32)
    last_successful_time: str | None = Field(None, max_length=32)
    next_schedule_time: str | None = Field(None, max_length=32)
    last_run: Name | None = None
    active_count: int = Field(0, ge=0)
    active: list[Name] = Field(default_factory=list, max_length=limits.SCHEDULE_ACTIVE_SHOWN_MAX_COUNT)
