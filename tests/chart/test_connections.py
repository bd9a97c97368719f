"""What the chart says about Connections: nowhere to go and no Secret to read until it is told so by name."""

from typing import Any

import pytest
from support.chart import CONTROL, RUNS, attempt, config_of, find, render

NAMED = {"gateway": {"connections": {"allow": ["https://mcp.example.test"], "secrets": {RUNS: ["notes-token"]}}}}


def rules(objects: list[dict[str, Any]], namespace: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = find(objects, "Role", "guildhall-gateway", namespace)["rules"]
    return [rule for rule in found if "secrets" in rule["resources"]]


def test_nothing_at_first() -> None:
    objects = render({"runNamespaces": [RUNS]})
    assert config_of(objects, "gateway")["connections"] == {"allow": []}
    assert rules(objects, RUNS) == []
    assert find(objects, "NetworkPolicy", "guildhall-gateway")["spec"]["policyTypes"] == ["Ingress"]


def test_named_secrets_may_be_read_by_name_where_they_are_named() -> None:
    objects = render({"runNamespaces": [RUNS, "second"], **NAMED})
    assert config_of(objects, "gateway")["connections"] == {"allow": ["https://mcp.example.test"]}
    assert rules(objects, RUNS) == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["notes-token"], "verbs": ["get"]}
    ]
    assert rules(objects, "second") == []
    for role in (item for item in objects if item["kind"] in ("Role", "ClusterRole")):
        if role["metadata"]["name"] != "guildhall-gateway":
            assert not any("secrets" in rule["resources"] for rule in role["rules"]), role["metadata"]["name"]


@pytest.mark.parametrize(
    "allow", ["mcp.example.test", "https://*.example.test", "https://x.test/path", "https://u@x.test", "ftp://x.test"]
)
def test_an_origin_is_scheme_and_host(allow: str) -> None:
    done = attempt(values={"gateway": {"connections": {"allow": [allow]}}})
    assert done.returncode != 0
    assert "gateway" in done.stderr


def test_egress_is_what_is_given() -> None:
    rule = {"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}], "ports": [{"protocol": "TCP", "port": 443}]}
    objects = render({"networkPolicies": {"gatewayEgress": [rule]}})
    spec = find(objects, "NetworkPolicy", "guildhall-gateway", CONTROL)["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["egress"] == [rule]
