"""The custom resources as CustomResourceDefinitions, with the rules only the API server can hold.

Guards what a Run may ask for after admission: immutability, field by field, and fields that exclude each other.
"""

from typing import Any, Final, NamedTuple

from guildhall_contracts import connection, guild, intervention, limits, run, schedule
from guildhall_contracts.base import Record
from guildhall_contracts.generate.descriptions import record_doc
from guildhall_contracts.generate.structural import Schema, structural

GROUP: Final = "guildhall.dev"
VERSION: Final = "v1alpha1"


class Column(NamedTuple):
    name: str
    path: str
    type: str = "string"
    wide: bool = False
    description: str = ""


class Kind(NamedTuple):
    """One custom resource: names, records, rules over `spec`, list-maps by path, printer columns."""

    kind: str
    plural: str
    short: str
    doc: str
    spec: type[Record]
    status: type[Record]
    rules: tuple[tuple[str, str], ...]
    list_maps: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    root_rules: tuple[tuple[str, str], ...] = ()  # over the whole object


_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")


def _accepted(field: str) -> str:
    return f'.status.conditions[?(@.type=="Accepted")].{field}'


def unchanged(fields: list[str]) -> str:
    """A CEL rule: each of `fields` is neither changed, added nor removed."""
    return " && ".join(
        f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        for name in fields
    )


def _wire_names(model: type[Record]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]


def frozen_run_fields() -> list[str]:
    """Wire names of the Run's fields nobody may touch after creation."""
    return [name for name in _wire_names(run.RunSpec) if name not in run.MUTABLE_FIELDS]


def _given(path: str, fields: tuple[str, ...]) -> str:
    """CEL: how many of `fields` are present below `path`."""
    return f"[{', '.join(f'has({path}.{name})' for name in fields)}].filter(given, given).size()"


_BODIES: Final = ("answer", "approval", "interrupt")
_SOURCES: Final = ("git", "claim", "archive", "template")
_RUN_RULES: Final = (
    (
        unchanged(frozen_run_fields()),
        "a Run cannot be changed once it exists, but for cancel, suspend and ttlSecondsAfterFinished; create a new Run",
    ),
    (
        "has(self.guildRef) != has(self.guild)",
        "name a Guild in guildRef or write one in guild, not both and not neither",
    ),
    (
        f"!has(self.workspace) || {_given('self.workspace', _SOURCES)} <= 1",
        "a workspace has at most one source: git, claim, archive or template",
    ),
    ("!self.private || self.deliver == 'none'", "a private Run keeps and delivers nothing: set deliver to none"),
    ("self.private || !has(self.retainSeconds)", "retainSeconds goes with private: true only"),
    (
        "self.deliver != 'branch' || (has(self.workspace) && has(self.workspace.git))",
        "deliver: branch pushes to the repository the workspace comes from: name one in workspace.git, or use patch",
    ),
    ("self.deliver == 'branch' || !has(self.publish)", "publish goes with deliver: branch only"),
    ("!oldSelf.cancel || self.cancel", "a cancelled Run stays cancelled; create a new Run"),
)
_INTERVENTION_RULES: Final = (
    (unchanged(_wire_names(intervention.InterventionSpec)), "an Intervention cannot be changed once it exists"),
    (
        f"{_given('self', _BODIES)} == 1",
        "an Intervention has exactly one of answer, approval and interrupt",
    ),
)

_TEMPLATE: Final = "self.runTemplate.spec"
_SCHEDULE_RULES: Final = (
    (
        f"self.schedule.matches('{schedule.CRON_PATTERN}')",
        "schedule is five cron fields with one space between, such as '0 2 * * *', or one of "
        + ", ".join(schedule.CRON_NICKNAMES),
    ),
    (
        f"has({_TEMPLATE}.guildRef) != has({_TEMPLATE}.guild)",
        "name a Guild in guildRef or write one in guild, not both and not neither",
    ),
    (
        f"!has({_TEMPLATE}.workspace) || {_given(_TEMPLATE + '.workspace', _SOURCES)} <= 1",
        "a workspace has at most one source: git, claim, archive or template",
    ),
    (
        f"!{_TEMPLATE}.private || {_TEMPLATE}.deliver == 'none'",
        "a private Run keeps and delivers nothing: set deliver to none",
    ),
    (f"{_TEMPLATE}.private || !has({_TEMPLATE}.retainSeconds)", "retainSeconds goes with private: true only"),
    (
        f"{_TEMPLATE}.deliver != 'branch' || (has({_TEMPLATE}.workspace) && has({_TEMPLATE}.workspace.git))",
        "deliver: branch pushes to the repository the workspace comes from: name one in workspace.git, or use patch",
    ),
    (f"{_TEMPLATE}.deliver == 'branch' || !has({_TEMPLATE}.publish)", "publish goes with deliver: branch only"),
    (f"!{_TEMPLATE}.cancel && !{_TEMPLATE}.suspend", "a template makes Runs that start: leave cancel and suspend out"),
    (
        "!has(self.runTemplate.labels) || self.runTemplate.labels.all(key, !key.contains('guildhall.dev/'))",
        "labels of guildhall.dev are the operator's; leave them out",
    ),
)

_CONNECTION_RULES: Final = (
    (
        unchanged(["kind", "url", "auth"]),
        "kind, url and auth of a Connection cannot be changed: another server or account is another Connection",
    ),
)
_CONNECTION_NAMES: Final = (
    (
        f"self.metadata.name.matches('^[a-z][a-z0-9]{{0,{limits.CONNECTION_NAME_MAX_CHARS - 1}}}$')",
        f"a Connection is named by at most {limits.CONNECTION_NAME_MAX_CHARS} lower-case letters and digits",
    ),
)


KINDS: Final = (
    Kind(
        "Guild", "guilds", "ghg", "A set of roles that work on Runs together.", guild.GuildSpec, guild.GuildStatus,
        rules=(),
        list_maps=(("spec.roles", "name"), ("status.conditions", "type"), ("status.roles", "name")),
        columns=(
            Column("Accepted", _accepted("status")),
            Column("Reason", _accepted("reason")),
            Column("Entry", ".spec.entryRole"),
            Column("Message", _accepted("message"), wide=True),
            _AGE,
        ),
    ),
    Kind(
        "Run", "runs", "ghr", "One task given to a Guild on one workspace.", run.RunSpec, run.RunStatus,
        rules=_RUN_RULES,
        list_maps=(("spec.guild.roles", "name"), ("status.conditions", "type")),
        columns=(
            Column("Phase", ".status.phase"),
            Column("Reason", ".status.reason"),
            Column("Guild", ".status.guild"),
            Column("Cost", ".status.cost"),
            Column("Duration", ".status.duration"),
            Column("Branch", ".status.delivery.branch", wide=True),
            Column("Summary", ".status.summary", wide=True),
            _AGE,
        ),
    ),
    Kind(
        "Intervention", "interventions", "ghi", "One act of a person on a Run.", intervention.InterventionSpec,
        intervention.InterventionStatus,
        rules=_INTERVENTION_RULES,
        list_maps=(),
        columns=(
            Column("Run", ".spec.runRef.name"),
            Column("Author", ".spec.author"),
            Column("State", ".status.state"),
            Column("Message", ".status.message", wide=True),
            _AGE,
        ),
    ),
    Kind(
        "Connection", "connections", "ghc", "An MCP server the gateway may call for Runs of this namespace.",
        connection.ConnectionSpec, connection.ConnectionStatus,
        rules=_CONNECTION_RULES,
        list_maps=(("status.conditions", "type"), ("status.tools", "name")),
        columns=(
            Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            Column("Reason", '.status.conditions[?(@.type=="Ready")].reason'),
            Column("Face", ".status.face"),
            Column("Message", '.status.conditions[?(@.type=="Ready")].message', wide=True),
            _AGE,
        ),
        root_rules=_CONNECTION_NAMES,
    ),
    Kind(
        "RunSchedule", "runschedules", "ghs", "Makes Runs at the times of a cron expression.",
        schedule.RunScheduleSpec, schedule.RunScheduleStatus,
        rules=_SCHEDULE_RULES,
        list_maps=(("spec.runTemplate.spec.guild.roles", "name"), ("status.conditions", "type")),
        columns=(
            Column("Schedule", ".spec.schedule"),
            Column("Zone", ".spec.timeZone"),
            Column("Suspend", ".spec.suspend", "boolean"),
            Column("Active", ".status.activeCount", "integer"),
            Column("Last", ".status.lastScheduleTime", "date"),
            Column("Next", ".status.nextScheduleTime"),
            Column("Reason", _accepted("reason")),
            Column("Message", _accepted("message"), wide=True),
            _AGE,
        ),
    ),
)  # fmt: skip


def crd(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of `kind`."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short],
                "categories": ["guildhall"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(column) for column in kind.columns],
                    "schema": {"openAPIV3Schema": _schema(kind)},
                }
            ],
        },
    }


def _column(column: Column) -> dict[str, Any]:
    wide = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **wide}


def _schema(kind: Kind) -> Schema:
    spec = structural(kind.spec)
    if kind.rules:
        spec["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in kind.rules]
    status = structural(kind.status, defaults=False)
    root: Schema = {
        "type": "object",
        "description": f"{kind.doc} {record_doc(kind.spec)}",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }
    if kind.root_rules:
        root["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in kind.root_rules]
    for path, key in kind.list_maps:
        _at(root, path).update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})
    return root


def _at(schema: Schema, path: str) -> Schema:
    for part in path.split("."):
        schema = schema["properties"][part]
    return schema
