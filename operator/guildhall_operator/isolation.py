"""Does the union of NetworkPolicies leave a run pod with nothing but the gateway? Pure.

Guards against a second policy that opens what the static one closes, and against a static policy that was edited.
Whatever is not understood counts as open, and so does a selector by what Kubernetes itself may yet put on the pod.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from guildhall_operator.records import Json, items, mapping, text

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
_JOB_LABELS: Final = frozenset({"job-name", "controller-uid"})  # and the same under batch.kubernetes.io
_KUBERNETES_DOMAINS: Final = ("kubernetes.io", "k8s.io", "x-k8s.io")
_APPLICATION_DOMAIN: Final = "app.kubernetes.io"  # what people put on pods, and nobody else
GATEWAY_LABEL: Final = ("app.kubernetes.io/component", "gateway")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the static policy of a run namespace must be: its name, and the only port and pods it may allow."""

    policy: str
    control_namespace: str
    gateway_port: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """`closed` is the only one a pod may run under; `message` tells the platform team what to change."""

    kind: Literal["closed", "missing", "open"]
    message: str = ""


@dataclass(frozen=True, slots=True)
class PodLabels:
    """What is known of a pod's labels: all of them once it exists; before that, what its Job gives it."""

    labels: Mapping[str, str]
    exists: bool = False

    def may_get(self, key: Any) -> bool:
        """Whether the Job controller, a queue or the scheduler may put `key` on the pod, with a value nobody knows."""
        if self.exists or not isinstance(key, str) or key in self.labels:
            return False
        domain = key.rpartition("/")[0]
        ours = any(domain == name or domain.endswith(f".{name}") for name in _KUBERNETES_DOMAINS)
        return key in _JOB_LABELS or (ours and domain != _APPLICATION_DOMAIN)


def _expression_matches(expression: Json, labels: Mapping[str, str]) -> bool:
    key = expression.get("key")
    value = labels.get(key) if isinstance(key, str) else None
    listed = expression.get("values")
    values = listed if isinstance(listed, list) else []
    match expression.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return True


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches; an absent or empty one matches everything."""
    chosen = mapping(selector)
    wanted = mapping(chosen.get("matchLabels"))
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_expression_matches(item, labels) for item in items(chosen.get("matchExpressions")))


def may_select(selector: Any, pod: PodLabels) -> bool:
    """Whether a label selector matches the pod, or may once the pod exists."""
    chosen = mapping(selector)
    wanted = {key: value for key, value in mapping(chosen.get("matchLabels")).items() if not pod.may_get(key)}
    rest = [item for item in items(chosen.get("matchExpressions")) if not pod.may_get(item.get("key"))]
    return selects({"matchLabels": wanted, "matchExpressions": rest}, pod.labels)


def policy_types(spec: Json) -> frozenset[str]:
    """The directions a policy governs, with Kubernetes' defaults: Ingress always, Egress where it has rules."""
    given = spec.get("policyTypes")
    if isinstance(given, list) and given:
        return frozenset(item for item in given if isinstance(item, str))
    return frozenset({"Ingress", "Egress"} if spec.get("egress") else {"Ingress"})


def allowed_directions(spec: Json) -> list[str]:
    """The directions in which a policy allows anything at all: any rule does, an empty one everything."""
    types = policy_types(spec)
    return [name for name in ("Ingress", "Egress") if name in types and spec.get(name.lower())]


def _peer_problem(peer: Json, expected: Expected) -> str:
    if "ipBlock" in peer:
        return "allows an ipBlock"
    namespaces = mapping(peer.get("namespaceSelector"))
    if namespaces != {"matchLabels": {NAMESPACE_LABEL: expected.control_namespace}}:
        return f"must name the namespace {expected.control_namespace} alone"
    pods = mapping(mapping(peer.get("podSelector")).get("matchLabels"))
    if pods.get(GATEWAY_LABEL[0]) != GATEWAY_LABEL[1]:
        return f"must select pods with {GATEWAY_LABEL[0]}={GATEWAY_LABEL[1]}"
    return ""


def _port_problem(port: Json, expected: Expected) -> str:
    number = port.get("port")
    if port.get("protocol", "TCP") != "TCP" or number != expected.gateway_port:
        return f"must allow TCP {expected.gateway_port} alone"
    return "must not allow a range of ports" if port.get("endPort", number) != number else ""


def _rule_problem(rule: Json, expected: Expected) -> str:
    peers, ports = items(rule.get("to")), items(rule.get("ports"))
    if not peers or len(peers) != len(rule.get("to") or []):
        return "has a rule without 'to', which allows every address"
    if not ports or len(ports) != len(rule.get("ports") or []):
        return "has a rule without 'ports', which allows every port"
    found = [_peer_problem(peer, expected) for peer in peers] + [_port_problem(port, expected) for port in ports]
    return next((problem for problem in found if problem), "")


def static_problem(spec: Json, labels: Mapping[str, str], expected: Expected) -> str:
    """Why the static policy does not do what it is there for; empty when it does."""
    if not selects(spec.get("podSelector"), labels):
        return "does not select run pods"
    if policy_types(spec) != {"Ingress", "Egress"}:
        return "must govern Ingress and Egress"
    if spec.get("ingress"):
        return "must not allow ingress"
    rules = spec.get("egress") or []
    if not isinstance(rules, list) or len(items(rules)) != len(rules):
        return "has egress rules that cannot be read"
    return next((problem for problem in (_rule_problem(rule, expected) for rule in rules) if problem), "")


def _openers(policies: Iterable[Json], pod: PodLabels, but: str) -> list[str]:
    """What policies other than the static one allow a pod."""
    found = []
    for policy in policies:
        name, spec = text(mapping(policy.get("metadata")).get("name"), 253), mapping(policy.get("spec"))
        if name != but and may_select(spec.get("podSelector"), pod) and (open_ := allowed_directions(spec)):
            found.append(f"NetworkPolicy '{name}' allows {' and '.join(open_).lower()}")
    return sorted(found)


def evaluate_fetch(policies: Iterable[Json], pod: PodLabels, policy: str) -> Verdict:
    """The same for a fetch pod: its static policy (a chart value) says where it may go, and no other adds to that."""
    listed = list(policies)
    openers = [f"{each} for fetch pods; delete it" for each in _openers(listed, pod, policy)]
    if openers:
        return Verdict("open", "; ".join(openers))
    spec = next((mapping(p.get("spec")) for p in listed if mapping(p.get("metadata")).get("name") == policy), None)
    if spec is None:
        return Verdict("missing", f"NetworkPolicy '{policy}' is missing; reinstall the chart's run namespaces")
    sound = selects(spec.get("podSelector"), pod.labels) and policy_types(spec) == {"Ingress", "Egress"}
    if sound and not spec.get("ingress"):
        return Verdict("closed")
    return Verdict(
        "open", f"NetworkPolicy '{policy}' must select fetch pods and shut their ingress; reinstall the chart"
    )


def evaluate(policies: Iterable[Json], pod: PodLabels, expected: Expected) -> Verdict:
    """What the policies of one namespace, together, let a pod do; the static one must select it for certain."""
    listed = list(policies)
    openers = [f"{each} for run pods; delete it" for each in _openers(listed, pod, expected.policy)]
    static = next(
        (mapping(p.get("spec")) for p in listed if mapping(p.get("metadata")).get("name") == expected.policy), None
    )
    if openers:
        return Verdict("open", "; ".join(openers))
    if static is None:
        return Verdict("missing", f"NetworkPolicy '{expected.policy}' is missing; reinstall the chart's run namespaces")
    problem = static_problem(static, pod.labels, expected)
    return (
        Verdict("open", f"NetworkPolicy '{expected.policy}' {problem}; reinstall the chart")
        if problem
        else Verdict("closed")
    )
