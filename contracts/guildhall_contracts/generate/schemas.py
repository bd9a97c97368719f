"""JSON Schemas of everything that crosses a process border, for readers in other languages and for tests."""

import json
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from guildhall_contracts import api, events, external, fetch, frames, gate, interaction, model_api, publish, snapshot
from guildhall_contracts.generate.catalogue import records

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_files() -> dict[str, str]:
    """File name → text. A union file validates one line or frame; a group file holds records under `$defs`."""
    unions: dict[str, Any] = {
        "event": events.KnownEvent,
        "frame-request": frames.AnyRequest,
        "frame-reply": frames.AnyReply,
        "model-line": model_api.AnyLine,
        "model-request": model_api.ModelRequest,
        "mailbox-page": model_api.MailboxPage,
        "external-tools": external.ExternalTools,
        "external-call": external.ExternalCall,
        "external-result": external.ExternalResult,
        "snapshot": snapshot.RunSnapshot,
        "gate-config": gate.GateConfig,
        "prepare-message": gate.PrepareMessage,
        "executor-message": gate.ExecutorMessage,
        "fetch-message": fetch.FetchMessage,
        "publish-message": publish.PublishMessage,
        "interaction-model": interaction.InteractionModel,
    }
    files = {
        f"{name}.schema.json": _text(TypeAdapter(shape).json_schema(by_alias=True)) for name, shape in unions.items()
    }
    files["api.schema.json"] = _text(_group())
    return files


def _group() -> dict[str, Any]:
    models = [(model, "validation") for model in records(api)]
    return models_json_schema(models, by_alias=True)[1]  # type: ignore[arg-type]


def _text(schema: dict[str, Any]) -> str:
    return json.dumps({"$schema": DIALECT, **_untitled(schema)}, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def _untitled(value: Any, *, names: bool = False) -> Any:
    """`value` without the titles pydantic makes of field names; inside `properties` a key is a name, not a keyword."""
    if isinstance(value, list):
        return [_untitled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _untitled(item, names=key in {"properties", "$defs", "patternProperties"} and not names)
        for key, item in value.items()
        if names or key != "title"
    }
