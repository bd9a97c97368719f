"""`web/src/contract.js`: the words and limits the console shares with the other components."""

import json
from typing import Any, Final, get_args

from guildhall_contracts import conditions, errors, events, interaction, limits, policy, run, visible

_LIMITS: Final = (
    "BUDGET_COST_MAX_MICRO_USD", "BUDGET_DEFAULT_SECONDS", "BUDGET_DEFAULT_STEPS_COUNT",
    "BUDGET_SECONDS_MAX", "BUDGET_STEPS_MAX_COUNT", "BUDGET_TOKENS_MAX_COUNT", "DELEGATION_MAX_DEPTH",
    "EVENT_CHANGED_FILES_MAX_COUNT", "EVENT_MAX_BYTES", "EVENT_PLAN_ITEMS_MAX_COUNT", "MODEL_GAPS_MAX_COUNT",
    "MODEL_TEXT_MAX_CHARS", "NAME_MAX_CHARS", "PAGE_DEFAULT_COUNT", "PAGE_MAX_COUNT", "PATCH_MAX_BYTES",
    "STREAM_HEARTBEAT_SECONDS", "SUMMARY_MAX_CHARS", "TASK_MAX_BYTES",
)  # fmt: skip


def _words(literal: Any) -> list[str]:
    return list(get_args(literal))


def contract_js() -> str:
    """The module's text: frozen arrays and objects, nothing else."""
    constants: dict[str, Any] = {
        "EVENT_VERSION": events.VERSION,
        "EVENT_TYPES": _words_of_events(),
        "OPERATION_KINDS": _words(interaction.OperationKind),
        "OPERATION_OUTCOMES": _field_words(interaction.Operation, "outcome"),
        "PARTICIPANT_KINDS": _field_words(interaction.ParticipantState, "kind"),
        "RUN_STATUSES": _field_words(interaction.ModelRun, "status"),
        "PHASES": _words(conditions.Phase),
        "CONDITION_TYPES": _words(conditions.ConditionType),
        "REASONS": _words(conditions.Reason),
        "MODES": _field_words(run.RunSpec, "mode"),
        "DELIVERIES": _field_words(run.RunSpec, "deliver"),
        "ERROR_RULES": {
            kind: {"retryable": rule.retryable, "actor": rule.actor} for kind, rule in errors.ERROR_RULES.items()
        },
        "TOOL_EFFECTS": {name: rule.effect for name, rule in policy.BUILT_IN_TOOLS.items()},
        "HANDLER_TOOLS": sorted(policy.HANDLER_TOOLS),
        "HIDDEN": visible.HIDDEN,
        "PICTURES": visible.PICTURES,
        "LIMITS": {name: getattr(limits, name) for name in _LIMITS},
    }
    head = "// Generated from contracts/; do not edit. What the console shares with the other components.\n"
    return head + "".join(_constant(name, value) for name, value in constants.items())


def _words_of_events() -> list[str]:
    union = get_args(events.KnownEvent)[0]
    return [str(model.model_fields["type"].default) for model in get_args(union)]


def _field_words(model: Any, name: str) -> list[str]:
    return _words(model.model_fields[name].annotation)


def _constant(name: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, indent=2)
    frozen = text if isinstance(value, int | str) else f"Object.freeze({_deep(value, text)})"
    return f"\nexport const {name} = {frozen};\n"


def _deep(value: Any, text: str) -> str:
    """`text`, with nested objects frozen as well."""
    if not isinstance(value, dict) or not any(isinstance(item, dict) for item in value.values()):
        return text
    rows = (f"  {json.dumps(key)}: Object.freeze({json.dumps(item)})" for key, item in value.items())
    return "{\n" + ",\n".join(rows) + ",\n}"
