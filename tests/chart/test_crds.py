"""The custom resources: one source, every value bounded, and what an upgrade of the CRD chart does to a cluster."""

import json
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from guildhall_contracts.generate.crds import GROUP, KINDS, crd
from guildhall_contracts.run import MUTABLE_FIELDS
from support.chart import CRD_CHART, ROOT, render
from support.cluster import Cluster

KEYWORDS = {
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "patternProperties",
    "propertyNames",
    "const",
    "title",
    "nullable",
}


def _nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from _nodes(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _nodes(schema[key], f"{path}[]")


def _schema(kind: str) -> dict[str, Any]:
    found = next(item for item in KINDS if item.kind == kind)
    schema: dict[str, Any] = crd(found)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


@pytest.mark.parametrize("kind", [item.kind for item in KINDS])
def test_every_value_is_typed_described_and_bounded(kind: str) -> None:
    for path, node in _nodes(_schema(kind)):
        assert "type" in node, path
        assert not KEYWORDS & set(node), path
        if path.startswith((".apiVersion", ".kind", ".metadata")):
            continue
        if path and not path.endswith("[]"):
            assert node.get("description"), f"{path} is not described"
        if node["type"] == "string":
            assert "maxLength" in node or "enum" in node, path
        if node["type"] in {"integer", "number"}:
            assert "maximum" in node, path
        if node["type"] == "array":
            assert "maxItems" in node, path
        if node["type"] == "object":
            assert "properties" in node or "maxProperties" in node, path


@pytest.mark.parametrize("kind", [item.kind for item in KINDS])
def test_spec_is_required_and_status_has_no_defaults(kind: str) -> None:
    schema = _schema(kind)
    assert schema["required"] == ["spec"]
    assert [path for path, node in _nodes(schema["properties"]["status"]) if "default" in node] == []


def test_columns_names_and_list_maps() -> None:
    by_kind = {item.kind: crd(item)["spec"] for item in KINDS}
    columns = by_kind["Run"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if not column.get("priority")] == [
        "Phase", "Reason", "Guild", "Cost", "Duration", "Age",
    ]  # fmt: skip
    for spec in by_kind.values():
        assert spec["names"]["categories"] == ["guildhall"]
        assert spec["names"]["shortNames"]
        assert spec["versions"][0]["subresources"] == {"status": {}}
    run = _schema("Run")["properties"]
    assert run["status"]["properties"]["conditions"]["x-kubernetes-list-map-keys"] == ["type"]
    assert _schema("Guild")["properties"]["spec"]["properties"]["roles"]["x-kubernetes-list-map-keys"] == ["name"]


def test_one_spec_level_rule_names_every_frozen_field_and_no_other() -> None:
    spec = _schema("Run")["properties"]["spec"]
    frozen = next(
        rule["rule"] for rule in spec["x-kubernetes-validations"] if "guildRef) == has(oldSelf" in rule["rule"]
    )
    for name in spec["properties"]:
        part = f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        assert (part in frozen) == (name not in MUTABLE_FIELDS), name


def test_the_chart_carries_the_committed_resources() -> None:
    rendered = {item["metadata"]["name"]: item for item in render({}, chart=CRD_CHART) if "Custom" in item["kind"]}
    committed = {item["metadata"]["name"]: item for item in map(_load, sorted((ROOT / "crds").glob("*.yaml")))}
    assert set(rendered) == set(committed) == {f"{item.plural}.guildhall.dev" for item in KINDS}
    for name, item in rendered.items():
        assert item["metadata"].pop("annotations")["helm.sh/resource-policy"] == "keep"
        assert item == committed[name]


def test_keep_can_be_switched_off_before_removing_everything() -> None:
    for item in render({"keep": False}, chart=CRD_CHART):
        assert "helm.sh/resource-policy" not in item["metadata"].get("annotations", {})


def test_approving_is_in_no_general_role() -> None:
    roles = {item["metadata"]["name"]: item for item in render({}, chart=CRD_CHART) if item["kind"] == "ClusterRole"}
    for name, role in roles.items():
        verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
        assert ("approve" in verbs) == (name == "guildhall-approver")
        assert "*" not in verbs
        assert not [rule for rule in role["rules"] if "runs/status" in rule["resources"]]
    assert "labels" not in roles["guildhall-approver"]["metadata"]


def _load(path: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


@pytest.mark.cluster
def test_the_api_server_accepts_them_within_its_cost_limits(cluster: Cluster) -> None:
    done = cluster.attempt("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", str(ROOT / "crds"))
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    dear = json.loads(json.dumps(crd(next(item for item in KINDS if item.kind == "Run"))).replace(GROUP, "dear.test"))
    spec = dear["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    each = "self.guild.roles.all(a, self.guild.roles.all(b, self.task.contains(a.prompt + b.prompt)))"
    spec["x-kubernetes-validations"].append({"rule": f"!has(self.guild) || {each}", "message": "dear"})
    done = cluster.attempt(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", stdin=json.dumps(dear)
    )
    assert done.returncode != 0, "control: the cost is judged"
    assert "exceeds budget" in done.stderr


@pytest.mark.cluster
def test_an_upgrade_brings_new_fields_and_uninstall_keeps_the_data(cluster: Cluster, tmp_path: Any) -> None:
    """HI-01 and HI-05, with a resource of another group, since the real ones are in use by other tests."""
    group = f"g{uuid.uuid4().hex[:8]}.test"
    chart = tmp_path / "guildhall-crds"
    shutil.copytree(CRD_CHART, chart)
    for path in (chart / "templates").glob("*.yaml"):
        path.unlink()
    source = (CRD_CHART / "templates" / "interventions.yaml").read_text()
    other = source.replace("guildhall.dev", group).replace(f"{group}/schema", "guildhall.dev/schema")
    other = other.replace("- ghi", f"- x{group[:6]}").replace("  - guildhall\n", "  - guildhall-test\n")
    target = chart / "templates" / "interventions.yaml"

    def helm(*words: str) -> None:
        argv = [str(cluster.bin / "helm"), "--kubeconfig", str(cluster.kubeconfig), *words, "-n", "default"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr

    release = f"crds-{group[:9]}"
    name = f"interventions.{group}"
    try:
        target.write_text(other)
        helm("install", release, str(chart))
        fields = re.sub(r"\n( +)state:\n", r"\n\1brandNew:\n\1  type: string\n\1state:\n", other, count=1)
        assert fields != other
        target.write_text(fields)
        helm("upgrade", release, str(chart))
        schema = cluster.get("crd", name)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert "brandNew" in schema["properties"]["status"]["properties"]
        helm("uninstall", release)
        assert cluster.get("crd", name)["metadata"]["name"] == name
    finally:
        cluster.attempt("delete", "crd", name, "--ignore-not-found")
