"""The small pure parts: configuration, rows of lists, status, which pod to read, cached rights, times, ids, labels."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from guildhall_api.auth import Kept, token_expiry
from guildhall_api.config import Config, load
from guildhall_api.console import read_console
from guildhall_api.kube import KubeError
from guildhall_api.live import resend_targets, target_of
from guildhall_api.problems import from_cluster
from guildhall_api.report_status import resend_step
from guildhall_api.resources import custom, split_run_id
from guildhall_api.summaries import facts_of, label_of, status_of, summary_of, within_bytes
from guildhall_api.times import stamp_of
from guildhall_contracts import limits
from guildhall_contracts.run import RunStatus
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from support.api_run import POD_UID, config_for, pod_object, run_object

BASE: dict[str, Any] = {"namespace": "g", "runNamespaces": ["team"], "gateway": {"url": "https://gateway"}}


def test_without_sign_in_only_on_loopback(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="lets everyone in who reaches"):
        Config.model_validate(BASE | {"signIn": {"mode": "none"}})
    assert Config.model_validate(BASE | {"signIn": {"mode": "none"}, "listen": "127.0.0.1"}).sign_in.mode == "none"
    assert config_for(tmp_path).sign_in.mode == "token"


@pytest.mark.parametrize(
    "change",
    [
        {"signIn": {"mode": "proxy"}}, {"runNamespaces": []}, {"runNamespaces": ["../x"]}, {"hosts": ["a b"]},
        {"hosts": ["*"]}, {"unknown": 1}, {"gateway": {"url": "file:///x"}},
    ],
    ids=str,
)  # fmt: skip
def test_configurations_that_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate(BASE | change)


def test_the_configuration_is_read_from_the_file_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(BASE | {"port": 9}))
    monkeypatch.setenv("GUILDHALL_CONFIG", str(path))
    assert load().port == 9


@pytest.mark.parametrize(
    ("name", "task", "label"),
    [
        ("n", "\n  \n# Fix the parser\nmore", "Fix the parser"),
        ("n", "\x1b[2J\u202etask\r\n", "[2J\u202etask"),
        ("n", "   ", "n"),
        ("n", "Make **all** of `snake_case` pass", "Make all of snake_case pass"),
        ("n", "x" * 500, "x" * 119 + "…"),
    ],
)
def test_labels(name: str, task: str, label: str) -> None:
    assert label_of(name, task) == label


@pytest.mark.parametrize(
    ("phase", "said", "summary"),
    [
        ("Running", "", "fix"),
        ("Running", "Reading the parser", "Reading the parser"),
        ("Succeeded", "Fix it", "fix"),
        ("Succeeded", "Nothing had to be done", "Nothing had to be done"),
        ("Failed", "All is well", "Isolation is not enforced: 1.2.3.4 answered"),
        ("Cancelled", "Half of it is done", "Half of it is done"),
    ],
)
def test_a_row_never_says_the_same_twice(phase: str, said: str, summary: str) -> None:
    """The label is the task's, the line beside it the summary; why a Run failed wins over its last words."""
    run = run_object(phase=phase)
    run["status"] |= {"reason": "IsolationNotEnforced", "conditions": [
        _condition("Succeeded", "Isolation is not enforced:\n1.2.3.4 answered"), _condition("IsolationVerified", "No")
    ]}  # fmt: skip
    row = summary_of(run, {"summary": said})
    assert (row.label, row.summary) == ("Fix it", summary)
    assert row.message == "Isolation is not enforced:\n1.2.3.4 answered"
    assert said.lower() in facts_of(run, {"summary": said}).search


def _condition(type_: str, message: str) -> dict[str, str]:
    return {
        "type": type_, "status": "False", "reason": "IsolationNotEnforced", "message": message,
        "lastTransitionTime": "2026-01-05T09:00:00Z",
    }  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(  # noqa: E501
        st.sampled_from(["phase", "reason", "message", "conditions", "attempts", "usage", "changes", "type", "status", "x"]), inner, max_size=4), max_leaves=8  # noqa: E501
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(JSON, JSON)
def test_a_row_is_made_of_any_resource(spec: Any, status: Any) -> None:
    """C2: whatever stands where a string belongs, there is a row, and it keeps the contract."""
    resource = run_object() | {"spec": spec, "status": status}
    row = summary_of(resource)
    assert row.id == "team.fix"
    facts_of(resource)
    target_of(resource, [pod_object()])


def test_a_resource_without_identity_has_no_row() -> None:
    with pytest.raises(ValidationError):
        summary_of({"metadata": {"namespace": "team", "name": "../../x"}})


def test_the_status_written_keeps_the_contract_and_its_bounds() -> None:
    run = {
        "status": "failed", "result": "\U0001f9ea" * 524_288, "summary": "s", "changedFilesTotal": 2, "patchSHA256": "a" * 64,  # noqa: E501
        "changedFiles": [{"added": 3, "removed": 1}, {"added": 1, "removed": 0}],
        "error": {"kind": "deadline", "message": "m" * 4_000},
    }  # fmt: skip
    status = RunStatus.model_validate(status_of(run, 7, 3))
    assert status.result is not None
    assert len(status.result.summary.encode()) <= limits.STATUS_RESULT_MAX_BYTES
    assert status.changes is not None
    assert (status.changes.added, status.changes.removed) == (4, 1)
    assert status.archive is not None
    assert (status.archive.stored_seq, status.archive.resend_from) == (7, 3)
    assert status_of({"status": "running"}, 0, None) == {"archive": {"storedSeq": 0}}


@given(st.text(max_size=50), st.integers(0, 60))
def test_cutting_by_bytes_keeps_whole_characters(text: str, limit: int) -> None:
    cut = within_bytes(text, limit)
    assert len(cut.encode("utf-8", "replace")) <= max(limit, 0) or cut == text
    assert text.startswith(cut) or not text.isprintable()


def test_the_pod_that_is_read() -> None:
    run, pod = run_object(), pod_object()
    target = target_of(run, [pod_object("other", uid="other"), pod])
    assert target is not None
    assert (target.pod, target.uid, target.started, target.ended) == ("fix-pod", POD_UID, True, False)
    ended = target_of(run, [pod_object(state="terminated")])
    assert ended is not None
    assert ended.ended
    waiting = target_of(run, [pod_object(state="waiting")])
    assert waiting is not None
    assert not waiting.started
    assert target_of(run_object(pod_uid=None), [pod]) is None
    assert target_of(run, []) is None
    assert resend_targets([pod]) == []
    rounds = [pod_object(f"again-{label}", **{"guildhall.dev/resend": label}) for label in ("2", "1")]
    assert [target.pod for target in resend_targets([*rounds, pod])] == ["again-1", "again-2"]


def test_a_hole_is_asked_for_in_rounds_and_given_up_in_time() -> None:
    steps = [resend_step(second) for second in range(limits.SEAL_WAIT_SECONDS + 1)]
    assert steps[0] == "ask"
    assert steps[-1] == "give_up"
    rounds = "".join(step[0] for step in steps).split("p")
    assert len([each for each in rounds if "a" in each]) == 3  # three askings, each a change of the field
    assert "give_up" not in steps[:-1]


def test_kept_answers_end_and_are_bounded() -> None:
    now = [0.0]
    kept: Kept[str] = Kept(10, 3, lambda: now[0])
    for number in range(5):
        kept.put(number, str(number))
    assert [kept.get(number) for number in range(5)] == [None, None, "2", "3", "4"]
    now[0] = 10.0
    assert kept.get(4) is None


def test_the_end_of_a_token() -> None:
    body = base64.urlsafe_b64encode(json.dumps({"exp": 1_800_000_000}).encode()).decode().rstrip("=")
    assert token_expiry(f"h.{body}.s") == 1_800_000_000
    for text in ("", "opaque", "a.b.c", "a.bnVsbA.c", "..", "a.\u00e9.c"):
        assert token_expiry(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("team.fix", ("team", "fix")), ("team.a.b-c", ("team", "a.b-c")), ("team", None), ("", None), (".x", None),
        ("Team.x", None), ("team.x/..", None), ("team.-x", None), ("a" * 64 + ".x", None), ("t.x\n", None),
    ],
)  # fmt: skip
def test_ids_of_runs(text: str, expected: tuple[str, str] | None) -> None:
    assert split_run_id(text) == expected


def test_names_are_quoted_into_paths() -> None:
    assert custom("a/b", "runs", "../x?y") == "/apis/guildhall.dev/v1alpha1/namespaces/a%2Fb/runs/..%2Fx%3Fy"


def test_times() -> None:
    assert stamp_of("2026-01-05T09:00:00Z") == "2026-01-05T09:00:00.000Z"
    assert stamp_of("2026-01-05T11:00:00.5+02:00") == "2026-01-05T09:00:00.500Z"
    for value in (None, 7, "", "yesterday", "2026-01-05T09:00:00"):
        assert stamp_of(value) is None


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KubeError(422, "Invalid", "spec.task: too long"), 422),
        (KubeError(403, "Forbidden", "ValidatingAdmissionPolicy 'x' denied request: no"), 422),
        (KubeError(403, "Forbidden", "cannot create resource"), 502),
        (KubeError(404, "NotFound", ""), 404),
        (KubeError(409, "AlreadyExists", ""), 409),
        (KubeError(0, "Unreachable", "10.0.0.1 refused"), 503),
        (KubeError(500, "", "boom"), 503),
    ],
)
def test_what_callers_hear_of_the_cluster(error: KubeError, status: int) -> None:
    refused = from_cluster(error, "this")
    assert refused.status == status
    assert "10.0.0.1" not in refused.detail


def test_the_console_folder_is_read_by_kind(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    for name in ("index.html", "a.js", "b.exe", "node_modules/c.js", ".d.js"):
        (tmp_path / name).write_text("x")
    assert set(read_console(tmp_path)) == {"/", "/index.html", "/a.js"}
    assert read_console(tmp_path / "missing") == {}


def test_a_branch_is_told_once_it_is_pushed() -> None:
    told = {
        "type": "Delivered",
        "status": "Unknown",
        "reason": "Delivering",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    delivery = {"branch": "guildhall/fix-0f0e0d0c", "patchSHA256": "a" * 64}
    run: dict[str, Any]
    run = {"metadata": {"namespace": "team", "name": "fix", "uid": "u"}, "spec": {"task": "x"},
           "status": {"phase": "Succeeded", "conditions": [told], "delivery": delivery}}  # fmt: skip
    asked = summary_of(run)
    assert (asked.delivered, asked.branch) == ("Delivering", None)
    done = {**run["status"], "conditions": [{**told, "status": "True", "reason": "Pushed"}],
            "delivery": {**delivery, "commit": "b" * 40}}  # fmt: skip
    pushed = summary_of({**run, "status": done})
    assert (pushed.delivered, pushed.branch) == ("Pushed", "guildhall/fix-0f0e0d0c")
    hostile = summary_of({**run, "status": {**done, "delivery": {**delivery, "branch": "../x", "commit": 7}}})
    assert hostile.branch is None
    assert (summary_of({**run, "status": {}}).delivered, summary_of({**run, "status": {}}).branch) == (None, None)
