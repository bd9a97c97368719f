"""`python -m guildhall_api.openapi [--check]`: writes `api/openapi.json` from the routes and lints it, or checks it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from guildhall_contracts.api import Problem

from guildhall_api.app import make_routes

TARGET: Final = Path(__file__).parents[1] / "openapi.json"
_UNSIGNED: Final = frozenset({"/healthz", "/readyz", "/metrics"})
Wire = dict[str, Any]


def document() -> Wire:
    """The OpenAPI document of the routes."""
    app = make_routes()
    wire: Wire = get_openapi(
        title="Guildhall api", version="1", routes=app.routes,
        description="Runs, what happens in them, and the few things a person may do. docs/api.md explains it.",
    )  # fmt: skip
    schemas = wire["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    wire["components"]["securitySchemes"] = {
        "session": {"type": "apiKey", "in": "cookie", "name": "guildhall_session"},
        "bearer": {"type": "http", "scheme": "bearer"},
    }
    for path, method, operation in operations(wire):
        operation["operationId"] = operation["operationId"].split("_api_")[0].removesuffix(f"_{path[1:]}_{method}")
        if "requestBody" in operation:
            operation["responses"]["422"] = _refusal("The body breaks the contract, or admission refused it")
        else:
            operation["responses"].pop("422", None)
        if path not in _UNSIGNED:
            operation["security"] = [{"session": []}, {"bearer": []}]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return wire


def _refusal(description: str) -> Wire:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


def operations(wire: Wire) -> Iterator[tuple[str, str, Wire]]:
    """Every operation with its path and method."""
    for path, methods in wire["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def problems(wire: Wire) -> list[str]:
    """What a reader of the document would stumble over; empty when it is sound."""
    found: list[str] = []
    seen: set[str] = set()
    for path, method, operation in operations(wire):
        where, name = f"{method.upper()} {path}", operation.get("operationId", "")
        if not name or name in seen or not name.replace("_", "").isalnum():
            found.append(f"{where}: operationId '{name}' is missing, not unique or not a word")
        seen.add(name)
        found += [
            f"{where}: has no {field}" for field in ("summary", "description", "tags") if not operation.get(field)
        ]
        found += _response_problems(where, path, operation["responses"])
    found += [f"reference to {name}, which is not defined" for name in sorted(_referenced(wire) - _defined(wire))]
    return found


def _response_problems(where: str, path: str, responses: Wire) -> list[str]:
    found = [] if any(code.startswith("2") for code in responses) else [f"{where}: never succeeds"]
    if path not in _UNSIGNED and path != "/api/session" and "401" not in responses:
        found.append(f"{where}: does not say that it refuses strangers")
    for code, response in responses.items():
        kinds = set(response.get("content", {}))
        if code.startswith(("4", "5")) and kinds != {"application/problem+json"}:
            found.append(f"{where}: {code} is no problem document")
        if code.startswith("2") and code != "204" and not kinds:
            found.append(f"{where}: {code} does not say what it answers")
    return found


def _referenced(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(_referenced(each) for each in value.values()))
    return set().union(*(_referenced(each) for each in value)) if isinstance(value, list) else set()


def _defined(wire: Wire) -> set[str]:
    return {f"#/components/schemas/{name}" for name in wire["components"]["schemas"]}


def main(arguments: list[str]) -> int:
    wire = document()
    for line in problems(wire):
        sys.stderr.write(line + "\n")
    text = json.dumps(wire, indent=1, sort_keys=True) + "\n"
    current = TARGET.exists() and TARGET.read_text() == text
    if arguments == ["--check"]:
        if not current:
            sys.stderr.write(f"{TARGET.name} is not what the routes say: run python -m guildhall_api.openapi\n")
        return 0 if current and not problems(wire) else 1
    TARGET.write_text(text)
    return 1 if problems(wire) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
