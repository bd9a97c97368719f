"""`docs/capabilities.md` against what is true: the rendered chart, the operator's pod, and the API server's word."""

import json
import re
from typing import Any

import pytest
from guildhall_contracts.gate import Target
from guildhall_contracts.run import Delivery, RunSpec
from guildhall_operator.config import Config
from guildhall_operator.manifests import job as builder
from guildhall_operator.manifests.fetch import fetch_job
from guildhall_operator.manifests.publish import publish_job, publish_request
from guildhall_operator.manifests.reprint import reprint_job
from guildhall_operator.run_view import run_view
from support.chart import CONTROL, ROOT, RUNS, config_of, find, render
from support.cluster import Cluster
from support.fence import fence

DOC = ROOT / "docs" / "capabilities.md"
COMPONENTS = ("operator", "gateway", "api")
Row = tuple[str, ...]


def table(heading: str) -> list[Row]:
    """The rows of the first table below a heading."""
    text = f"\n{DOC.read_text()}".split(f"\n{heading}\n", 1)[1]
    rows = re.split(r"\n#", text, maxsplit=1)[0].splitlines()
    cells = [
        tuple(cell.strip().strip("`") for cell in row.strip("|").split("|")) for row in rows if row.startswith("|")
    ]
    return cells[2:]


@pytest.fixture(scope="module", name="objects")
def _objects() -> list[dict[str, Any]]:
    return render({"runNamespaces": [RUNS, "second"]})


def _granted(objects: list[dict[str, Any]], component: str) -> list[Row]:
    """Every rule bound to the component's account, in the words of the page."""
    subject = {"kind": "ServiceAccount", "name": f"guildhall-{component}", "namespace": CONTROL}
    rows: dict[Row, set[str]] = {}
    for binding in (item for item in objects if item["kind"].endswith("RoleBinding") and subject in item["subjects"]):
        where = binding["metadata"].get("namespace", "whole cluster")
        role = find(
            objects, binding["roleRef"]["kind"], binding["roleRef"]["name"], binding["metadata"].get("namespace")
        )
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                row = (group or "core", ", ".join(rule["resources"]), ", ".join(rule.get("resourceNames", [])) or "–",
                       ", ".join(rule["verbs"]))  # fmt: skip
                rows.setdefault(row, set()).add(where)
    places = {frozenset({"whole cluster"}): "whole cluster", frozenset({RUNS}): "first run namespace",
              frozenset({RUNS, "second"}): "each run namespace"}  # fmt: skip
    return sorted((places[frozenset(where)], *row) for row, where in rows.items())


@pytest.mark.parametrize("component", COMPONENTS)
def test_rights(objects: list[dict[str, Any]], component: str) -> None:
    assert _granted(objects, component) == sorted(table(f"### {component}: rights"))


def _source(volume: dict[str, Any]) -> str:
    kind = next(key for key in volume if key != "name")
    body = volume[kind]
    if kind == "projected":
        return f"token for {body['sources'][0]['serviceAccountToken']['audience']}"
    named = {"configMap": ("ConfigMap ", "name"), "secret": ("Secret ", "secretName"), "emptyDir": ("emptyDir", ""),
             "persistentVolumeClaim": ("claim ", "claimName")}  # fmt: skip
    word, field = named[kind]
    return word + str(body.get(field, ""))


def _mounts(pod: dict[str, Any], container: dict[str, Any]) -> list[Row]:
    sources = {volume["name"]: _source(volume) for volume in pod["volumes"]}
    return [
        (mount["mountPath"], sources[mount["name"]], "read" if mount.get("readOnly") else "write")
        for mount in container["volumeMounts"]
    ]


@pytest.mark.parametrize("component", COMPONENTS)
def test_mounts_and_environment(objects: list[dict[str, Any]], component: str) -> None:
    pod = find(objects, "Deployment", f"guildhall-{component}")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert sorted(_mounts(pod, container)) == sorted(table(f"### {component}: mounts"))
    assert {volume["name"] for volume in pod["volumes"]} == {mount["name"] for mount in container["volumeMounts"]}
    assert "env" not in container
    assert "envFrom" not in container


def _peers(rule: dict[str, Any]) -> str:
    if "from" not in rule:
        return "anyone"
    names = []
    for peer in rule["from"]:
        labels = peer.get("podSelector", {}).get("matchLabels", {})
        runs = peer.get("podSelector", {}).get("matchExpressions", [{}])[0].get("key") == "guildhall.dev/run"
        names.append("pods of Runs" if runs and "namespaceSelector" in peer else labels["app.kubernetes.io/component"])
    return ", ".join(dict.fromkeys(names))


@pytest.mark.parametrize("component", COMPONENTS)
def test_network(objects: list[dict[str, Any]], component: str) -> None:
    policy = find(objects, "NetworkPolicy", f"guildhall-{component}")["spec"]
    assert policy["policyTypes"] == ["Ingress"]
    rows = [("in", _peers(rule), ", ".join(str(port["port"]) for port in rule["ports"])) for rule in policy["ingress"]]
    assert sorted(rows) == sorted(table(f"### {component}: network"))


def _run_pod(objects: list[dict[str, Any]]) -> dict[str, Any]:
    raw = {
        "metadata": {"name": "r", "namespace": RUNS, "uid": "uid-1"},
        "spec": {"task": "t", "guildRef": {"name": "g"}, "workspace": {"archive": {"configMap": "a"}, "storage": {}}},
    }
    config = Config.model_validate(config_of(objects, "operator"))
    canary = Target(name="canary", host="192.0.2.10", port=8444)
    attempt = builder.Try(number=1, seconds=600, gateway_ip="192.0.2.10", targets=[canary])
    job = builder.job(run_view(raw), RunSpec.model_validate(raw["spec"]), config, attempt)
    pod: dict[str, Any] = job["spec"]["template"]["spec"]
    return pod


def test_the_reprint_pod(objects: list[dict[str, Any]]) -> None:
    config = Config.model_validate(config_of(objects, "operator"))
    run = run_view({"metadata": {"name": "r", "namespace": RUNS, "uid": "uid-1"}})
    pod = reprint_job(run, config, attempt=1, round_number=1, from_seq=1)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    names = {"claim r-uid-1-journal": "the Run's journal"}
    mounts = [
        (container["name"], path, names.get(source, source), access) for path, source, access in _mounts(pod, container)
    ]
    assert mounts == table("### reprint pod: mounts")
    assert (len(pod["volumes"]), "env" in container, "initContainers" in pod) == (1, False, False)


def _fetch_pod(objects: list[dict[str, Any]]) -> dict[str, Any]:
    git = {"url": "https://git.example.test/x.git", "secretRef": {"name": "key"}}
    raw = {"task": "t", "guildRef": {"name": "g"}, "workspace": {"git": git}}
    run = run_view({"metadata": {"name": "r", "namespace": RUNS, "uid": "uid-1"}, "spec": raw})
    config = Config.model_validate(config_of(objects, "operator"))
    job = fetch_job(run, RunSpec.model_validate(raw), config, 1)
    pod: dict[str, Any] = job["spec"]["template"]["spec"]
    return pod


def test_the_fetch_pod() -> None:
    objects = render({"runNamespaces": [RUNS], "fetcher": {"caBundle": "PEM", "proxy": {"httpsProxy": "http://p:1"}}})
    pod = _fetch_pod(objects)
    (container,) = pod["containers"]
    names = {"claim r-uid-1-workspace": "the Run's own workspace, whole", "Secret key": "the Secret the Run names"}
    mounts = [(path, names.get(source, source), access) for path, source, access in _mounts(pod, container)]
    assert mounts == table("### fetch pod: mounts")
    assert [entry["name"] for entry in container["env"]] == ["GUILDHALL_FETCH", "HTTPS_PROXY"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("guildhall-fetch", False)
    policy = find(objects, "NetworkPolicy", "guildhall-fetch", RUNS)["spec"]
    assert (policy["ingress"], policy["policyTypes"]) == ([], ["Ingress", "Egress"])
    rows = []
    for rule in policy["egress"]:
        peer = "public addresses" if "ipBlock" in rule["to"][0] else "DNS of the cluster"
        rows.append(("out", peer, ", ".join(dict.fromkeys(str(port["port"]) for port in rule["ports"]))))
    assert rows == table("### fetch pod: network")


def test_the_publish_pod() -> None:
    objects = render({"runNamespaces": [RUNS], "fetcher": {"caBundle": "PEM", "proxy": {"httpsProxy": "http://p:1"}}})
    git = {"url": "https://git.example.test/x.git", "secretRef": {"name": "reads"}}
    raw = {
        "task": "t", "guildRef": {"name": "g"}, "workspace": {"git": git}, "deliver": "branch",
        "publish": {"secretRef": {"name": "key"}},
    }  # fmt: skip
    meta = {"name": "r", "namespace": RUNS, "uid": "uid-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    run = run_view({"metadata": meta, "spec": raw, "status": {"source": {"commit": "a" * 40}}})
    config = Config.model_validate(config_of(objects, "operator"))
    assert config.fetcher is not None
    spec = RunSpec.model_validate(raw)
    delivery = Delivery(branch="guildhall/r-1", patch_sha256="b" * 64)
    request = publish_request(run, spec, config.fetcher, delivery)
    pod = publish_job(run, spec, config, request, 1)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    patch = "folder `<uid>/delivery` of the Run's journal volume: the patch"
    names = {"claim r-uid-1-journal": patch, "Secret key": "the Secret the Run names for it"}
    mounts = [(path, names.get(source, source), access) for path, source, access in _mounts(pod, container)]
    assert mounts == table("### publish pod: mounts")
    assert [mount["subPath"] for mount in container["volumeMounts"] if "subPath" in mount] == ["uid-1/delivery"]
    assert [entry["name"] for entry in container["env"]] == ["GUILDHALL_PUBLISH", "HTTPS_PROXY"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("guildhall-fetch", False)


def test_the_run_pod(objects: list[dict[str, Any]]) -> None:
    pod = _run_pod(objects)
    names = {
        "ConfigMap a": "the Run's archive", "ConfigMap r-uid-1-snapshot": "the Run's snapshot",
        "claim r-uid-1-journal": "the Run's journal", "claim r-uid-1-workspace": "workspace",
        "claim r-uid-1-baseline": "the Run's baseline",
    }  # fmt: skip
    containers = pod["initContainers"] + pod["containers"]
    mounts = [
        (container["name"], path, names.get(source, source), access)
        for container in containers
        for path, source, access in _mounts(pod, container)
    ]
    assert sorted(mounts) == sorted(table("### run pod: mounts"))
    environment = [(item["name"], ", ".join(entry["name"] for entry in item["env"])) for item in containers]
    assert sorted(environment) == sorted(table("### run pod: environment"))
    assert pod["serviceAccountName"] == "guildhall-run"
    assert pod["automountServiceAccountToken"] is False
    policy = find(objects, "NetworkPolicy", "guildhall-run", RUNS)["spec"]
    (rule,) = policy["egress"]
    (peer,) = rule["to"]
    row = ("out", peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"], str(rule["ports"][0]["port"]))
    assert [row] == table("### run pod: network")


def test_every_policy_of_the_chart_is_on_the_page(objects: list[dict[str, Any]]) -> None:
    made = {
        item["metadata"]["name"].removeprefix("guildhall-").removesuffix(f".{CONTROL}")
        for item in objects
        if item["kind"] in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
    }
    listed = {name.strip().strip("`") for row in table("# What each component may do") for name in row[0].split(",")}
    assert {name.strip("` ") for name in listed} == made


def _rules_of(cluster: Cluster, account: str, namespace: str) -> set[tuple[str, str, str, str]]:
    """(group, resource, name, verb) for everything the API server says the account may do there."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{account.split(':')[2]}", "system:authenticated"]
    words = [
        "create",
        "--validate=false",
        f"--as={account}",
        *(f"--as-group={group}" for group in groups),
        "-f",
        "-",
        "-o",
        "json",
    ]
    found = json.loads(cluster.kubectl(*words, stdin=json.dumps(review)))["status"]
    assert not found.get("incomplete")
    return {
        (group, resource, name, verb)
        for rule in found["resourceRules"]
        for group in rule.get("apiGroups", [""])
        for resource in rule.get("resources", [])
        for name in rule.get("resourceNames", ["–"])
        for verb in rule["verbs"]
    }


@pytest.mark.cluster
def test_the_api_server_says_the_same(cluster: Cluster) -> None:
    """O6: for every account, in a run namespace, in the control namespace and elsewhere."""
    with fence(cluster) as made:
        nobody = f"system:serviceaccount:{made.control}:nobody-in-particular"
        places = {made.runs: {"whole cluster", "each run namespace", "first run namespace"},
                  made.control: {"whole cluster"}, "kube-system": {"whole cluster"}}  # fmt: skip
        powerless = ("run", "fetch")
        for component in (*COMPONENTS, *powerless):
            account = made.account(component)
            if component in powerless:
                account = f"system:serviceaccount:{made.runs}:guildhall-{component}"
            for namespace, applies in places.items():
                everybody = _rules_of(cluster, nobody, namespace)
                expected = {
                    ("" if group == "core" else group, resource, name, verb)
                    for where, group, resources, names, verbs in (
                        table(f"### {component}: rights") if component not in powerless else []
                    )
                    if where in applies
                    for resource in resources.split(", ")
                    for name in names.split(", ")
                    for verb in verbs.split(", ")
                }
                assert _rules_of(cluster, account, namespace) - everybody == expected - everybody, (
                    component,
                    namespace,
                )
                if component not in powerless and namespace == made.runs:
                    assert expected, "control: there is something to compare"
