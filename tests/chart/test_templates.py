"""The rendered objects: restricted pods, one egress rule, records the components accept, and nothing that leaks."""

import json
import re
from typing import Any

import pytest
from guildhall_api.config import Config as ApiConfig
from guildhall_contracts import snapshot
from guildhall_contracts.base import Record
from guildhall_contracts.run import RunStatus
from guildhall_gateway.config import Config as GatewayConfig
from guildhall_operator.config import Config as OperatorConfig
from support.chart import CONTROL, RUNS, config_of, find, render

COMPONENTS = ("operator", "gateway", "api")
MANY: dict[str, Any] = {
    "runNamespaces": ["team-a", "team-b"],
    "createRunNamespaces": False,
    "images": {"pullSecrets": ["pull"]},
    "allowed": {"runtimeClasses": ["sandboxed"], "priorities": ["low"], "imagePrefixes": ["images.example/"]},
    "isolation": {"require": False, "targets": [{"name": "node", "host": "192.0.2.7", "port": 22, "required": False}]},
    "runs": {"ttlSecondsAfterFinished": 600, "hostUsers": False, "maxConcurrent": 3},
    "storage": {"class": "fast"},
    "gateway": {
        "models": ["scripted:*", "openai:gpt-*"],
        "budgets": {"dayMicroUSD": 2_000_000_000},
        "baseUrls": {"local": "https://models.example/v1"},
        "wholeReplies": ["local"],
        "scenarios": {"one.yaml": "steps: []\n"},
        "database": {
            "url": "postgresql+asyncpg://guildhall@db.example/ledger",
            "passwordSecret": {"name": "db", "key": "pw"},
        },
        "persistence": {"enabled": False},
    },
    "api": {
        "hosts": ["guildhall.example", "console.example:8443"],
        "cookieSecure": True,
        "signIn": {"mode": "proxy", "proxySecret": "proxy"},
        "images": ["guildhall.dev/sandbox:0.1.0"],
        "persistence": {"enabled": False},
    },
    "networkPolicies": {"apiFrom": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]},
}
VARIANTS: dict[str, dict[str, Any]] = {"defaults": {}, "many": MANY}


@pytest.fixture(scope="module", params=VARIANTS, name="values")
def _values(request: pytest.FixtureRequest) -> dict[str, Any]:
    return VARIANTS[request.param]


@pytest.fixture(scope="module", name="objects")
def _objects(values: dict[str, Any]) -> list[dict[str, Any]]:
    return render(values)


def pod_of(objects: list[dict[str, Any]], component: str) -> dict[str, Any]:
    found: dict[str, Any] = find(objects, "Deployment", f"guildhall-{component}")["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("component", COMPONENTS)
def test_each_component_accepts_the_configuration_it_is_given(objects: list[dict[str, Any]], component: str) -> None:
    models: dict[str, type[Record]] = {"operator": OperatorConfig, "gateway": GatewayConfig, "api": ApiConfig}
    config = models[component].model_validate(config_of(objects, component))
    assert config.to_wire()["namespace"] == CONTROL


def test_the_configuration_says_what_the_values_say() -> None:
    objects = render(MANY)
    operator = OperatorConfig.model_validate(config_of(objects, "operator"))
    assert operator.run_namespaces == ["team-a", "team-b"]
    assert (operator.isolation.require, operator.isolation.targets[0].required) == (False, False)
    assert (operator.storage.class_, operator.host_users, operator.max_concurrent_runs) == ("fast", False, 3)
    assert (operator.runtime_classes, operator.priorities) == (["sandboxed"], ["low"])
    gateway = GatewayConfig.model_validate(config_of(objects, "gateway"))
    assert gateway.budgets.day_micro_usd == 2_000_000_000
    assert gateway.api_account == f"system:serviceaccount:{CONTROL}:guildhall-api"
    assert gateway.database_url == "postgresql+asyncpg://guildhall@db.example/ledger"
    api = ApiConfig.model_validate(config_of(objects, "api"))
    assert (api.isolation_required, api.cookie_secure, api.sign_in.mode) == (False, True, "proxy")
    assert api.sign_in.secret_file == "/run/secrets/guildhall-proxy/secret"


@pytest.mark.parametrize("component", COMPONENTS)
def test_control_pods_are_restricted_and_read_only(objects: list[dict[str, Any]], component: str) -> None:
    pod = pod_of(objects, component)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] >= 10_000
    assert pod["enableServiceLinks"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & set(pod)
    (container,) = pod["containers"]
    context = container["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert {"requests", "limits"} <= set(container["resources"])
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_changed_configuration_restarts_its_pod_and_nothing_else_does(component: str) -> None:
    def mark(values: dict[str, Any]) -> str:
        template = find(render(values), "Deployment", f"guildhall-{component}")["spec"]["template"]
        found: str = template["metadata"]["annotations"]["guildhall.dev/config"]
        return found

    assert mark({}) == mark({}), "the certificate, made anew each time, restarts nothing"
    assert mark({}) != mark({"runNamespaces": ["another"]})


def test_the_run_policy_allows_the_gateway_and_nothing_else(
    values: dict[str, Any], objects: list[dict[str, Any]]
) -> None:
    for namespace in values.get("runNamespaces", [RUNS]):
        policy = find(objects, "NetworkPolicy", "guildhall-run", namespace)
        assert policy["spec"] == {
            "podSelector": {"matchExpressions": [{"key": snapshot.RUN_LABEL, "operator": "Exists"}]},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": [
                {
                    "to": [
                        {
                            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": CONTROL}},
                            "podSelector": {
                                "matchLabels": {
                                    "app.kubernetes.io/name": "guildhall",
                                    "app.kubernetes.io/component": "gateway",
                                }
                            },
                        }
                    ],
                    "ports": [{"protocol": "TCP", "port": 8443}],
                }
            ],
        }


def test_the_gateways_pods_are_what_the_run_policy_selects_and_run_pods_are_not(objects: list[dict[str, Any]]) -> None:
    labels = find(objects, "Deployment", "guildhall-gateway")["spec"]["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/component"] == "gateway"
    for component in ("operator", "api"):
        labels = find(objects, "Deployment", f"guildhall-{component}")["spec"]["template"]["metadata"]["labels"]
        assert labels["app.kubernetes.io/component"] == component
        assert snapshot.RUN_LABEL not in labels


def test_the_run_account_has_no_rights_and_no_token(values: dict[str, Any], objects: list[dict[str, Any]]) -> None:
    for namespace in values.get("runNamespaces", [RUNS]):
        assert find(objects, "ServiceAccount", "guildhall-run", namespace)["automountServiceAccountToken"] is False
    bound = [
        subject["name"] for item in objects if item["kind"].endswith("RoleBinding") for subject in item["subjects"]
    ]
    assert bound
    assert "guildhall-run" not in bound


def test_namespaces_are_restricted_and_kept(objects: list[dict[str, Any]], values: dict[str, Any]) -> None:
    made = [item for item in objects if item["kind"] == "Namespace"]
    assert [item["metadata"]["name"] for item in made] == ([] if values else [RUNS])
    for item in made:
        assert item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
        assert item["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_no_rule_is_wide(objects: list[dict[str, Any]]) -> None:
    rules = [
        (item["kind"], rule) for item in objects if item["kind"] in {"Role", "ClusterRole"} for rule in item["rules"]
    ]
    assert len(rules) > 10
    for kind, rule in rules:
        assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
        assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
        assert "secrets" not in rule["resources"]
        assert not {"pods/exec", "pods/attach", "pods/portforward", "serviceaccounts/token"} & set(rule["resources"])
        if kind == "ClusterRole":
            assert rule["verbs"] == ["create"]
            assert set(rule["resources"]) <= {"tokenreviews", "subjectaccessreviews"}


def test_cluster_scoped_names_differ_between_releases() -> None:
    def names(namespace: str) -> set[str]:
        return {
            item["metadata"]["name"]
            for item in render({"createRunNamespaces": False}, namespace=namespace)
            if "namespace" not in item["metadata"]
        }

    one, other = names("control-one"), names("control-two")
    assert one
    assert not one & other


def test_everything_names_its_namespace_and_carries_the_labels(objects: list[dict[str, Any]]) -> None:
    without = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
    for item in objects:
        assert item["metadata"]["labels"]["app.kubernetes.io/name"] == "guildhall"
        if item["kind"] not in without and "AdmissionPolicy" not in item["kind"]:
            assert item["metadata"]["namespace"], item["metadata"]["name"]


def test_no_key_can_be_given_by_value() -> None:
    """Provider keys and passwords reach pods through Secrets somebody else made: the chart writes TLS Secrets only."""
    secrets = {item["metadata"]["name"] for item in render(MANY) if item["kind"] == "Secret"}
    assert secrets == {"guildhall-ca", "guildhall-gateway-tls"}
    gateway = pod_of(render(MANY), "gateway")
    assert gateway["containers"][0]["env"] == [
        {"name": "PGPASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "pw"}}}
    ]


def test_every_policy_is_bound_to_run_namespaces_and_denies(
    objects: list[dict[str, Any]], values: dict[str, Any]
) -> None:
    policies = {item["metadata"]["name"]: item for item in objects if item["kind"] == "ValidatingAdmissionPolicy"}
    bindings = {
        item["spec"]["policyName"]: item for item in objects if item["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    assert len(policies) >= 12
    assert set(policies) == set(bindings)
    for policy in policies.values():
        assert policy["spec"]["failurePolicy"] == "Fail"
        for validation in policy["spec"]["validations"]:
            assert "message" in validation or "messageExpression" in validation
    for name, binding in bindings.items():
        if name.startswith("guildhall-run-elsewhere."):
            continue
        assert binding["spec"]["validationActions"] == ["Deny"]
        (expression,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert expression == {
            "key": "kubernetes.io/metadata.name", "operator": "In", "values": values.get("runNamespaces", [RUNS]),
        }  # fmt: skip


@pytest.mark.parametrize(("elsewhere", "action"), [("warn", "Warn"), ("deny", "Deny"), ("ignore", None)])
def test_a_run_where_nobody_looks_is_told_so(elsewhere: str, action: str | None) -> None:
    objects = render({"runNamespaces": ["team-a", "team-b"], "admission": {"elsewhere": elsewhere}})
    name = f"guildhall-run-elsewhere.{CONTROL}"
    if action is None:
        assert not any(item["metadata"]["name"] == name for item in objects)
        return
    (rule,) = find(objects, "ValidatingAdmissionPolicy", name)["spec"]["validations"]
    assert rule["expression"] == "false"
    assert "team-a, team-b" in rule["messageExpression"]
    binding = find(objects, "ValidatingAdmissionPolicyBinding", name)["spec"]
    assert binding["validationActions"] == [action]
    assert binding["matchResources"]["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["team-a", "team-b"]}
    ]


@pytest.mark.parametrize("queues", [[], ["system:serviceaccount:kueue-system:kueue-controller-manager"]])
def test_a_job_is_known_by_its_own_label_and_held_up_by_no_one_but_a_queue(queues: list[str]) -> None:
    """What the rule does is in tests/security, on an API server."""
    name = f"guildhall-run-jobs.{CONTROL}"
    spec = find(render({"admission": {"queueControllers": queues}}), "ValidatingAdmissionPolicy", name)["spec"]
    (condition,) = spec["matchConditions"]
    for where in ("job.metadata", "job.spec.template.?metadata"):
        assert f'{where}.?labels["guildhall.dev/run"].hasValue()' in condition["expression"]
    (suspend,) = (rule["expression"] for rule in spec["validations"] if "oldObject.spec.?suspend" in rule["expression"])
    assert suspend.endswith(f"request.userInfo.username in {json.dumps(queues)}")


def test_the_author_is_filled_in_only_where_that_is_served_and_wanted() -> None:
    def served(values: dict[str, Any], *arguments: str) -> bool:
        return any(item["kind"] == "MutatingAdmissionPolicy" for item in render(values, *arguments))

    assert served({})
    assert not served({"admission": {"fillAuthor": "never"}})


def test_whose_an_intervention_is_hangs_on_nothing_the_cluster_serves() -> None:
    """What the two rules do is in tests/security, on an API server."""
    objects = render({"admission": {"fillAuthor": "never"}})
    rule = find(objects, "ValidatingAdmissionPolicy", f"guildhall-intervention-owner.{CONTROL}")["spec"]
    assert "matchConditions" not in rule, "it is for everybody"
    assert rule["matchConstraints"]["resourceRules"][0]["operations"] == ["CREATE", "UPDATE"]
    own = find(objects, "ValidatingAdmissionPolicy", f"guildhall-gateway-owns-only.{CONTROL}")["spec"]
    (condition,) = own["matchConditions"]
    assert (
        condition["expression"] == f'request.userInfo.username == "system:serviceaccount:{CONTROL}:guildhall-gateway"'
    )
    mutating = [item["metadata"]["name"] for item in render() if item["kind"] == "MutatingAdmissionPolicy"]
    assert mutating == [f"guildhall-intervention-author.{CONTROL}"]
    (role,) = (item for item in objects if item["kind"] == "Role" and item["metadata"]["name"] == "guildhall-gateway")
    verbs = {verb for rule in role["rules"] if "interventions" in rule["resources"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch", "patch"}


def test_the_status_policy_knows_every_field_and_the_uids_are_the_contracts() -> None:
    objects = render()
    policy = json.dumps(find(objects, "ValidatingAdmissionPolicy", f"guildhall-run-status.{CONTROL}"))
    named = set(re.findall(r"object\.\?status\.\?(\w+) ==", policy))
    assert named == {info.alias or name for name, info in RunStatus.model_fields.items()}
    jobs = json.dumps(find(objects, "ValidatingAdmissionPolicy", f"guildhall-operator-jobs.{CONTROL}"))
    for number in (snapshot.EXECUTOR_UID, snapshot.WORKSHOP_UID):
        assert str(number) in jobs
