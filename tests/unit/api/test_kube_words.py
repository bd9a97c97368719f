"""What people read when the cluster refuses: fields and sentences, never the API server's own noise."""

import json
from typing import Any

import pytest
from guildhall_api.kube import KubeError, _refusal
from guildhall_api.kube_words import by_policy, warning, words
from guildhall_api.problems import from_cluster
from hypothesis import given
from hypothesis import strategies as st

UNCHECKED = {
    "reason": "FieldValueInvalid",
    "message": "Invalid value: null: some validation rules were not checked because the object was invalid; correct …",
    "field": "<nil>",
}


def status(*causes: Any, message: str = 'Run.guildhall.dev "x" is invalid: […]') -> dict[str, Any]:
    return {"message": message, "reason": "Invalid", "code": 422, "details": {"kind": "Run", "causes": list(causes)}}


def cause(field: str, message: str) -> dict[str, str]:
    return {"reason": "FieldValueInvalid", "field": field, "message": message}


def test_each_field_has_its_sentence_and_what_was_left_unchecked_has_none() -> None:
    steps = "Invalid value: -1: spec.budget.steps in body should be greater than or equal to 1"
    said = words(status(cause("spec.task", "Required value"), cause("spec.budget.steps", steps), UNCHECKED))
    assert said == "spec.task: it is required; spec.budget.steps: -1: should be greater than or equal to 1"
    rule = cause("spec", "Invalid value: a workspace has at most one source")
    assert words(status(rule)) == "spec: a workspace has at most one source"


def test_a_refusal_without_fields_keeps_its_message() -> None:
    for answer in (status(UNCHECKED, message="all"), status(message="all"), {"message": "all"}):
        assert words(answer) == "all"
    denied = "runs \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: you may not"
    assert words(status({"message": denied}, message=denied)) == denied
    assert by_policy(denied) == "you may not"
    assert by_policy("quota exceeded") == "quota exceeded"


def test_it_reaches_the_person_who_asked() -> None:
    body = json.dumps(status(cause("spec.task", "Required value"), UNCHECKED)).encode()
    refused = from_cluster(_refusal(422, body, "POST /x"), "this Run")
    assert (refused.status, refused.detail) == (422, "spec.task: it is required")
    denied = "admission: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: you may not"
    assert from_cluster(KubeError(403, "Forbidden", denied), "this Run").detail == "you may not"


def test_a_warning_is_its_sentence() -> None:
    policy = "Validation failed for ValidatingAdmissionPolicy 'a.b' with binding 'a.b': "
    assert warning(f'299 - "{policy}nobody looks at \\"x\\""') == 'nobody looks at "x"'
    assert warning('299 - "unknown field \\"spec.z\\""') == 'unknown field "spec.z"'
    assert warning("anything else") == "anything else"


@pytest.mark.parametrize("answer", [None, 3, [], {"details": 1}, {"details": {"causes": {}}}, status(None, 7)])
def test_any_answer_gives_text(answer: Any) -> None:
    assert isinstance(words(answer), str)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)))
def test_words_are_bounded_whatever_came(value: Any) -> None:
    assert len(words({"message": value, "details": {"causes": value}})) <= 2_000
    assert len(words(status(cause("f", "x" * 5_000)))) <= 2_000
