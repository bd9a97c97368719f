"""Manifests compared whole with the committed ones, and what must hold for every one of them."""

import json
import re
from typing import Any

import pytest
from guildhall_contracts.gate import GateConfig
from guildhall_contracts.guild import GuildSpec
from guildhall_contracts.run import RunSpec
from guildhall_contracts.snapshot import RunSnapshot
from guildhall_operator import names
from guildhall_operator.manifests.snapshot import run_snapshot
from guildhall_operator.plan import plan
from guildhall_operator.run_view import RunView
from hypothesis import given
from hypothesis import strategies as st
from unit.operator import kit
from unit.operator.manifest_cases import ALONE, CASES, FOLDER, manifests, reprint_manifest, resume_manifest

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@pytest.mark.parametrize("case", CASES)
def test_manifests_are_what_was_agreed(case: str) -> None:
    """`cd tests && python -m unit.operator.manifest_cases` writes them again after a change that was meant."""
    assert manifests(case) == json.loads((FOLDER / f"{case}.json").read_text())


def test_there_is_no_golden_without_a_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {*CASES, *ALONE}


@pytest.mark.parametrize("case", ALONE)
def test_a_job_that_comes_later_is_what_was_agreed(case: str) -> None:
    assert ALONE[case]() == json.loads((FOLDER / f"{case}.json").read_text())


def test_a_later_attempt_differs_by_its_number_and_goes_on_in_the_workspace() -> None:
    first, later = pod("template"), resume_manifest()["spec"]["template"]["spec"]
    command = containers(first)["prepare"]["command"]
    at = command.index("--baseline") + 2
    assert containers(later)["prepare"]["command"] == [*command[:at], "--resume", *command[at:]]
    assert containers(later)["executor"]["env"] == [{"name": "GUILDHALL_ATTEMPT", "value": "2"}]
    assert later["volumes"] == first["volumes"], "the same claims"


def test_the_reprint_pod_sees_the_journal_alone_and_only_reads_it() -> None:
    template = reprint_manifest()["spec"]["template"]
    spec = template["spec"]
    (volume,), (container,) = spec["volumes"], spec["containers"]
    assert volume["persistentVolumeClaim"] == {"claimName": f"fix-{kit.UID}-journal", "readOnly": True}
    assert container["volumeMounts"] == [{"name": "journal", "mountPath": "/guildhall/journal", "readOnly": True}]
    assert "initContainers" not in spec
    assert "env" not in container
    assert "hostAliases" not in spec, "it has nobody to talk to"
    assert "fsGroup" not in spec["securityContext"], "whose the journal is stays as it is"
    assert template["metadata"]["labels"]["guildhall.dev/run"] == kit.UID, "the static NetworkPolicy selects it"
    assert 0 < spec["activeDeadlineSeconds"] <= 600
    run = containers(pod("everything"))["executor"]
    for same in ("image", "securityContext", "resources", "imagePullPolicy"):
        assert container[same] == run[same]
    for same in ("restartPolicy", "automountServiceAccountToken", "serviceAccountName", "dnsPolicy", "hostUsers"):
        assert spec[same] == pod("everything")[same]


def pod(case: str) -> dict[str, Any]:
    found: dict[str, Any] = manifests(case)[-1]["spec"]["template"]["spec"]
    return found


def containers(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in [*spec["initContainers"], *spec["containers"]]}


@pytest.mark.parametrize("case", CASES)
def test_what_a_container_does_not_mount_it_cannot_touch(case: str) -> None:
    mounts = {name: {m["name"]: m for m in c["volumeMounts"]} for name, c in containers(pod(case)).items()}
    assert set(mounts) == {"prepare", "workshop", "executor"}
    assert "workspace" not in mounts["executor"]
    for guarded in ("token", "journal", "snapshot", "ca"):
        assert guarded not in mounts["prepare"]
        assert guarded not in mounts["workshop"]
    assert "source" not in mounts["workshop"]
    assert mounts["workshop"]["bin"]["readOnly"]
    workshop = containers(pod(case))["workshop"]["volumeMounts"]
    assert next(item for item in workshop if item["mountPath"] == "/guildhall/baseline")["readOnly"]
    assert "socket" not in mounts["prepare"]
    declared = {volume["name"] for volume in pod(case)["volumes"]}
    assert {name for mounted in mounts.values() for name in mounted} == declared


@pytest.mark.parametrize("case", CASES)
def test_every_container_is_bounded_and_without_privileges(case: str) -> None:
    spec = pod(case)
    for name, container in containers(spec).items():
        context = container["securityContext"]
        uid = 10001 if name == "executor" else 10002
        assert (context["runAsUser"], context["runAsGroup"], context["runAsNonRoot"]) == (uid, uid, True)
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert set(container["resources"]["limits"]) == {"cpu", "memory", "ephemeral-storage"}
        assert set(container["resources"]["requests"]) == {"cpu", "memory", "ephemeral-storage"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["dnsPolicy"] == "None"
    assert not any(spec[name] for name in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"))


def test_the_order_of_containers_is_prepare_workshop_executor() -> None:
    spec = pod("plain")
    assert [item["name"] for item in spec["initContainers"]] == ["prepare", "workshop"]
    assert spec["initContainers"][1]["restartPolicy"] == "Always"
    assert [item["name"] for item in spec["containers"]] == ["executor"]


def test_the_job_is_tried_once_and_never_cleaned_up_by_the_cluster() -> None:
    spec = manifests("plain")[-1]["spec"]
    assert spec["backoffLimit"] == 0
    assert {rule["action"] for rule in spec["podFailurePolicy"]["rules"]} == {"FailJob"}
    assert "activeDeadlineSeconds" not in spec
    assert "ttlSecondsAfterFinished" not in spec


def test_a_users_claim_is_rewritten_only_with_its_owners_consent() -> None:
    assert "fsGroup" not in pod("claim")["securityContext"]
    assert pod("claim-with-consent")["securityContext"]["fsGroup"] == 10003
    assert pod("plain")["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    assert "0666" in containers(pod("claim"))["workshop"]["command"], "nobody shares a group there"
    assert "0666" not in containers(pod("plain"))["workshop"]["command"]


def test_the_environment_of_a_run_reaches_the_workshop_byte_for_byte() -> None:
    """Kubernetes expands `$(NAME)` and makes `$$` a dollar."""
    env = {item["name"]: item["value"] for item in containers(pod("everything"))["workshop"]["env"]}
    assert "$(" not in env["GUILDHALL_RUN_ENV"].replace("$$", "")
    assert json.loads(env["GUILDHALL_RUN_ENV"].replace("$$", "$")) == CASES["everything"]["env"]


def test_the_gate_gets_the_canary_the_api_server_and_what_the_chart_lists() -> None:
    env = {item["name"]: item["value"] for item in containers(pod("plain"))["prepare"]["env"]}
    gate = GateConfig.model_validate_json(env["GUILDHALL_GATE"])
    assert {(target.name, target.required) for target in gate.targets} == {("canary", True), ("api-server", True)}
    assert gate.gateway_host == kit.GATEWAY_IP


def test_the_snapshot_is_whole_and_frozen() -> None:
    made = manifests("everything")[0]
    assert made["immutable"] is True
    snapshot = RunSnapshot.model_validate_json(made["data"]["snapshot.json"])
    tools = {item.role: set(item.tools) for item in snapshot.role_tools}
    assert "ask_human" not in tools["planner"]
    assert tools["coder"] == {"read_file", "run_shell", "finish"}
    assert snapshot.budget.steps == 5
    assert (snapshot.private, snapshot.mode) == (True, "scheduled")
    assert [target.name for target in snapshot.gateway.canary] == ["canary", "api-server"]


def test_a_schedules_run_is_not_passed_off_as_a_persons() -> None:
    def origin(view: RunView) -> str:
        spec, guild = RunSpec.model_validate(kit.SPEC), GuildSpec.model_validate(kit.GUILD)
        return run_snapshot(view, spec, guild, kit.config(), list(kit.TARGETS)).origin

    owner = {"apiVersion": "guildhall.dev/v1alpha1", "kind": "RunSchedule", "name": "nightly", "uid": "s-1"}
    assert origin(kit.run(ownerReferences=[owner])) == "schedule"
    assert origin(kit.run({"mode": "scheduled"})) == "person", "somebody started it in this mode"


@pytest.mark.parametrize("case", CASES)
def test_everything_belongs_to_the_run(case: str) -> None:
    for made in manifests(case):
        owner = made["metadata"]["ownerReferences"]
        assert [(item["kind"], item["uid"], item["blockOwnerDeletion"]) for item in owner] == [("Run", kit.UID, False)]
        assert made["metadata"]["labels"]["guildhall.dev/run"] == kit.UID


NAMES = st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z")


@given(name=NAMES)
def test_names_are_valid_for_every_legal_run(name: str) -> None:
    for made in (
        names.job_name(name, kit.UID, 10),
        names.snapshot_name(name, kit.UID),
        names.reprint_name(name, kit.UID, 9),
        names.journal_name(name, kit.UID),
        names.workspace_name(name, kit.UID),
    ):
        assert DNS_LABEL.fullmatch(made)
        assert len(made) <= 63
        assert kit.UID in made


def test_names_that_agree_for_sixty_characters_do_not_clash() -> None:
    long = "a" * 60
    one, other = (names.job_name(f"{long}-{end}", uid, 1) for end, uid in (("x", kit.UID), ("y", kit.POD_UID)))
    assert one != other


@pytest.mark.parametrize("name", ["x" * 253, "feature.fix.the-thing", "a.-.b", "0", "release-1.2.3-rc.1"])
def test_a_run_of_any_legal_name_starts(name: str) -> None:
    made = plan(kit.run(name=name), kit.world(), kit.START).create
    assert [item["kind"] for item in made] == ["ConfigMap", "PersistentVolumeClaim", "Job"]
    assert made[-1]["spec"]["template"]["metadata"]["annotations"]["guildhall.dev/run-name"] == name
    for value in made[-1]["metadata"]["labels"].values():
        assert len(value) <= 63
