"""Values: closed, documented one by one, refused with words that name the value."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.chart import CHART, CONTROL, CRD_CHART, attempt, render

ROW = re.compile(r"^\| `([^`]+)` \| `([^`]*)` \| (.+) \|$", re.MULTILINE)


def _leaves(values: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        where = f"{path}.{key}" if path else key
        if isinstance(value, dict) and value and key != "resources":
            yield from _leaves(value, where)
        else:
            yield where, value


def _objects(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        if "object" in ([schema.get("type")] if isinstance(schema.get("type"), str) else schema.get("type") or []):
            yield path, schema
        for key, value in schema.items():
            yield from _objects(value, f"{path}/{key}")


def test_every_value_has_its_line_and_its_default_in_the_readme() -> None:
    documented = {path: default for path, default, _ in ROW.findall((CHART / "README.md").read_text())}
    real: dict[str, Any] = {}
    for chart in (CHART, CRD_CHART):
        real |= dict(_leaves(yaml.safe_load((chart / "values.yaml").read_text())))
    assert set(documented) == set(real)
    for path, value in real.items():
        assert json.loads(documented[path]) == value, path


@pytest.mark.parametrize("chart", [CHART, CRD_CHART], ids=lambda path: path.name)
def test_the_schema_is_closed_at_every_level(chart: Any) -> None:
    free = {"/properties/global"}  # helm's own
    peers = re.compile(
        r"/properties/(networkPolicies/properties/(\w+From|gatewayEgress/items/properties/to)"
        r"|fetcher/properties/egress/properties/(dns|more/items/properties/to))/items/properties/\w+$"
    )
    for path, schema in _objects(json.loads((chart / "values.schema.json").read_text())):
        closed = schema.get("additionalProperties")
        assert closed is False or isinstance(closed, dict) or path in free or peers.search(path), path


@pytest.mark.parametrize("chart", [CHART, CRD_CHART], ids=lambda path: path.name)
def test_the_schema_and_the_values_name_the_same_things(chart: Any) -> None:
    schema = json.loads((chart / "values.schema.json").read_text())
    values = yaml.safe_load((chart / "values.yaml").read_text())

    def compare(schema: dict[str, Any], values: dict[str, Any], path: str) -> None:
        assert set(schema["properties"]) - {"global"} == set(values), path
        for key, value in values.items():
            inner = schema["properties"][key]
            if (
                isinstance(value, dict)
                and "properties" in inner
                and "type" in inner
                and key not in {"requests", "limits"}
            ):
                compare(inner, value, f"{path}.{key}")

    compare(schema, values, "")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown at the top": ({"runNamespace": "x"}, "runNamespace"),
    "unknown below": ({"gateway": {"apiKey": "sk-x"}}, "apiKey"),
    "unknown far below": (
        {"isolation": {"targets": [{"name": "a", "host": "h", "port": 1, "openly": True}]}},
        "openly",
    ),
    "no run namespace": ({"runNamespaces": []}, "runNamespaces"),
    "a namespace that is none": ({"runNamespaces": ["Not_One"]}, "runNamespaces"),
    "the same twice": ({"runNamespaces": ["a", "a"]}, "runNamespaces"),
    "a string for a switch": ({"isolation": {"require": "false"}}, "require"),
    "a model without provider": ({"gateway": {"models": ["gpt"]}}, "models"),
    "a password in the url": ({"gateway": {"database": {"url": "postgresql+asyncpg://u:p@db/x"}}}, "url"),
    "sign-in switched off": ({"api": {"signIn": {"mode": "none"}}}, "mode"),
    "a scenario that is no file": ({"gateway": {"scenarios": {"../x": "a"}}}, "../x"),
    "a pull policy": ({"images": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    "negative concurrency": ({"runs": {"maxConcurrent": 0}}, "maxConcurrent"),
    "an empty image": ({"images": {"operator": ""}}, "operator"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_value_is_refused_by_name(what: str) -> None:
    values, name = BAD[what]
    done = attempt(values=values)
    assert done.returncode != 0
    assert name in done.stderr
    assert attempt(values={}).returncode == 0, "control"


def test_runs_never_live_in_the_control_namespace() -> None:
    done = attempt(values={"runNamespaces": ["runs", CONTROL]})
    assert done.returncode != 0
    assert "runs must live apart from the control plane" in done.stderr


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tls": {"mode": "secret"}}, "set tls.caBundle"),
        (
            {"tls": {"certManagerIssuer": {"name": "i", "kind": "Issuer", "group": "cert-manager.io"}}},
            "tls.mode: secret",
        ),
        ({"api": {"signIn": {"mode": "proxy"}}}, "set api.signIn.proxySecret"),
    ],
)
def test_values_that_need_each_other_say_so(values: dict[str, Any], words: str) -> None:
    done = attempt(values=values)
    assert done.returncode != 0
    assert words in done.stderr


def test_notes_name_the_next_step_and_warn() -> None:
    plain = render_notes({})
    assert "kubectl -n guildhall-runs apply -f guild.yaml -f run.yaml" in plain
    assert "port-forward service/guildhall-api" in plain
    assert "!!" not in plain
    assert "!! isolation.require is false" in render_notes({"isolation": {"require": False}})


def render_notes(values: dict[str, Any]) -> str:
    """NOTES.txt as the person who installs reads it. `helm template` leaves it out: rendered in a copy of the chart."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "guildhall"
        shutil.copytree(CHART, copy)
        source = (CHART / "templates" / "NOTES.txt").read_text()
        (copy / "templates" / "_notes.tpl").write_text('{{- define "notes" -}}\n' + source + "\n{{- end }}\n")
        (copy / "templates" / "notes.yaml").write_text(
            'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata:\n  text: {{ include "notes" . | quote }}\n'
        )
        objects = render(values, "--show-only", "templates/notes.yaml", chart=copy)
    text: str = objects[0]["data"]["text"]
    return text
