"""Which NetworkPolicies leave a run pod shut in: a truth table, and a static policy that must be exactly itself."""

from copy import deepcopy
from typing import Any

import pytest
from guildhall_operator.isolation import Expected, PodLabels, allowed_directions, evaluate, policy_types, selects
from hypothesis import given
from hypothesis import strategies as st
from unit.operator import kit

LABELS = {"guildhall.dev/run": kit.UID, "guildhall.dev/attempt": "1", "app.kubernetes.io/name": "guildhall"}
POD = PodLabels(LABELS, exists=True)
EXPECTED = Expected("guildhall-run", kit.CONTROL, 8443)
ALL: dict[str, Any] = {"podSelector": {}}
PEER = {"podSelector": {"matchLabels": {"a": "b"}}}


def other(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "other"}, "spec": {**ALL, **spec}}


OTHERS = [
    ("denies all", {"policyTypes": ["Ingress", "Egress"]}, "closed"),
    ("denies all, empty lists", {"policyTypes": ["Ingress", "Egress"], "egress": [], "ingress": []}, "closed"),
    ("no types, no rules", {}, "closed"),
    ("empty egress rule", {"policyTypes": ["Egress"], "egress": [{}]}, "open"),
    ("empty egress rule, no types", {"egress": [{}]}, "open"),
    ("empty ingress rule", {"ingress": [{}]}, "open"),
    ("egress rules that do not count", {"policyTypes": ["Ingress"], "egress": [{}]}, "closed"),
    ("ingress rules that do not count", {"policyTypes": ["Egress"], "ingress": [{}]}, "closed"),
    ("an ipBlock", {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}, "open"),
    ("one address", {"egress": [{"to": [{"ipBlock": {"cidr": "10.96.0.10/32"}}]}]}, "open"),
    ("an empty peer", {"egress": [{"to": [{}]}]}, "open"),
    ("every namespace", {"egress": [{"to": [{"namespaceSelector": {}}]}]}, "open"),
    ("its own namespace", {"egress": [{"to": [{"podSelector": {}}]}]}, "open"),
    ("DNS only", {"egress": [{"ports": [{"protocol": "UDP", "port": 53}]}]}, "open"),
    ("a range of ports", {"egress": [{"ports": [{"port": 1, "endPort": 65_535}]}]}, "open"),
    ("one pod", {"egress": [{"to": [PEER]}]}, "open"),
    ("selects others by label", {"podSelector": {"matchLabels": {"app": "web"}}, "egress": [{}]}, "closed"),
    ("selects this run", {"podSelector": {"matchLabels": {"guildhall.dev/run": kit.UID}}, "egress": [{}]}, "open"),
    ("no selector at all", {"podSelector": None, "egress": [{}]}, "open"),
    (
        "In",
        {
            "podSelector": {"matchExpressions": [{"key": "guildhall.dev/attempt", "operator": "In", "values": ["1"]}]},
            "egress": [{}],
        },
        "open",
    ),
    (
        "In, another",
        {
            "podSelector": {"matchExpressions": [{"key": "guildhall.dev/attempt", "operator": "In", "values": ["2"]}]},
            "egress": [{}],
        },
        "closed",
    ),
    (
        "NotIn",
        {"podSelector": {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["y"]}]}, "egress": [{}]},
        "open",
    ),
    (
        "DoesNotExist",
        {
            "podSelector": {"matchExpressions": [{"key": "guildhall.dev/run", "operator": "DoesNotExist"}]},
            "egress": [{}],
        },
        "closed",
    ),
    (
        "an operator nobody knows",
        {"podSelector": {"matchExpressions": [{"key": "x", "operator": "Gt"}]}, "egress": [{}]},
        "open",
    ),
]


@pytest.mark.parametrize(("case", "spec", "kind"), OTHERS, ids=[row[0] for row in OTHERS])
def test_what_another_policy_does_to_a_run_pod(case: str, spec: dict[str, Any], kind: str) -> None:
    found = evaluate([kit.policy(), other(**spec)], POD, EXPECTED)
    assert found.kind == kind
    assert ("'other'" in found.message) is (kind == "open")


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    """The static policy with one thing changed."""
    policy = deepcopy(kit.policy())
    where = policy["spec"]
    for step in path[:-1]:
        where = where[step]
    where[path[-1]] = value
    return policy


RULE = ["egress", 0]
TO = [*RULE, "to", 0]
STATIC: list[tuple[str, list[Any], Any]] = [
    ("no peers", [*RULE, "to"], []),
    ("no ports", [*RULE, "ports"], []),
    ("ipBlock", TO, {"ipBlock": {"cidr": "10.0.0.0/8"}}),
    ("ipBlock beside selectors", [*TO, "ipBlock"], {"cidr": "0.0.0.0/0"}),
    ("no namespace", [*TO, "namespaceSelector"], None),
    ("every namespace", [*TO, "namespaceSelector"], {}),
    ("another namespace", [*TO, "namespaceSelector"], {"matchLabels": {"kubernetes.io/metadata.name": "other"}}),
    ("every pod", [*TO, "podSelector"], {}),
    ("other pods", [*TO, "podSelector"], {"matchLabels": {"app.kubernetes.io/component": "api"}}),
    ("another port", [*RULE, "ports", 0, "port"], 8444),
    ("a named port", [*RULE, "ports", 0, "port"], "https"),
    ("UDP", [*RULE, "ports", 0, "protocol"], "UDP"),
    ("a range", [*RULE, "ports", 0, "endPort"], 8444),
    ("no port number", [*RULE, "ports", 0], {"protocol": "TCP"}),
    ("ingress", ["ingress"], [{}]),
    ("egress not governed", ["policyTypes"], ["Ingress"]),
    ("ingress not governed", ["policyTypes"], ["Egress"]),
    ("selects nothing here", ["podSelector"], {"matchLabels": {"app": "web"}}),
    ("a second, open rule", ["egress"], [kit.policy()["spec"]["egress"][0], {}]),
    ("rules of another shape", ["egress"], "all"),
    ("a rule of another shape", ["egress"], ["all"]),
    ("a peer of another shape", [*RULE, "to"], ["all"]),
]


def test_the_static_policy_alone_is_closed_and_its_absence_is_said() -> None:
    assert evaluate([kit.policy()], POD, EXPECTED).kind == "closed"
    assert evaluate([], POD, EXPECTED).kind == "missing"
    assert evaluate([other(policyTypes=["Egress"])], POD, EXPECTED).kind == "missing"


@pytest.mark.parametrize(("case", "path", "value"), STATIC, ids=[row[0] for row in STATIC])
def test_a_static_policy_that_was_edited_is_open(case: str, path: list[Any], value: Any) -> None:
    found = evaluate([changed(path, value)], POD, EXPECTED)
    assert found.kind == "open"
    assert "guildhall-run" in found.message


def test_a_static_policy_that_allows_nothing_is_closed() -> None:
    assert evaluate([changed(["egress"], [])], POD, EXPECTED).kind == "closed"


def test_types_default_as_kubernetes_defaults_them() -> None:
    assert policy_types({}) == {"Ingress"}
    assert policy_types({"egress": [{}]}) == {"Ingress", "Egress"}
    assert policy_types({"policyTypes": []}) == {"Ingress"}
    assert allowed_directions({"ingress": [{}], "egress": [{}], "policyTypes": ["Egress"]}) == ["Egress"]


def selector(key: str, operator: str = "", value: str = "v") -> dict[str, Any]:
    if not operator:
        return {"matchLabels": {key: value}}
    values = {"values": [value]} if operator in {"In", "NotIn"} else {}
    return {"matchExpressions": [{"key": key, "operator": operator, **values}]}


PLATFORM_KEYS = [
    "job-name",
    "controller-uid",
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/controller-uid",
    "topology.kubernetes.io/zone",
    "kubernetes.io/anything",
    "kueue.x-k8s.io/podset",
]


@pytest.mark.parametrize("key", PLATFORM_KEYS)
@pytest.mark.parametrize("operator", ["", "In", "NotIn", "Exists", "DoesNotExist"])
def test_what_kubernetes_may_put_on_a_pod_counts_until_the_pod_shows_its_labels(key: str, operator: str) -> None:
    opener = other(podSelector=selector(key, operator), egress=[{}])
    assert evaluate([kit.policy(), opener], PodLabels(LABELS), EXPECTED).kind == "open"
    absent = evaluate([kit.policy(), opener], POD, EXPECTED).kind
    assert absent == ("open" if operator in {"NotIn", "DoesNotExist"} else "closed")
    there = PodLabels({**LABELS, key: "v"}, exists=True)
    assert evaluate([kit.policy(), opener], there, EXPECTED).kind == (
        "closed" if operator in {"NotIn", "DoesNotExist"} else "open"
    )


@pytest.mark.parametrize(
    "key", ["app", "app.kubernetes.io/instance", "team.example.com/web", "mykubernetes.io/x", "k8s"]
)
def test_a_policy_for_somebody_elses_pods_keeps_no_run_from_starting(key: str) -> None:
    opener = other(podSelector=selector(key), egress=[{}])
    assert evaluate([kit.policy(), opener], PodLabels(LABELS), EXPECTED).kind == "closed"
    assert evaluate([kit.policy(), opener], PodLabels({**LABELS, key: "v"}, exists=True), EXPECTED).kind == "open"


def test_what_is_known_before_the_pod_exists_is_not_guessed() -> None:
    known = PodLabels({**LABELS, "job-name": "mine"})
    for name, kind in (("mine", "open"), ("another", "closed")):
        opener = other(podSelector=selector("job-name", value=name), egress=[{}])
        assert evaluate([kit.policy(), opener], known, EXPECTED).kind == kind
    both = selector("job-name", "Exists")["matchExpressions"] + selector("app", "Exists")["matchExpressions"]
    opener = other(podSelector={"matchExpressions": both}, egress=[{}])
    assert evaluate([kit.policy(), opener], PodLabels(LABELS), EXPECTED).kind == "closed", "all of it must match"


def test_a_static_policy_that_only_may_select_the_pod_is_open() -> None:
    static = changed(["podSelector"], selector("topology.kubernetes.io/zone"))
    assert evaluate([static], PodLabels(LABELS), EXPECTED).kind == "open"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
SPEC = st.fixed_dictionaries({}, optional=dict.fromkeys(("podSelector", "policyTypes", "egress", "ingress"), JSON))


@given(spec=SPEC, static=st.booleans())
def test_a_policy_of_any_shape_gets_a_verdict(spec: dict[str, Any], static: bool) -> None:
    policy = {"metadata": {"name": "guildhall-run" if static else "other"}, "spec": spec}
    found = evaluate([policy] if static else [kit.policy(), policy], POD, EXPECTED)
    assert found.kind in {"closed", "open", "missing"}
    if found.kind == "closed" and not static and selects(spec.get("podSelector"), LABELS):
        assert allowed_directions(spec) == []
