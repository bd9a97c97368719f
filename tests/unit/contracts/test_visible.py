"""What hides is spelt out, in every text that enters a context; what is an emoji's own stays."""

import json
import unicodedata
from pathlib import Path

import pytest
from guildhall_contracts.visible import HIDDEN, PICTURES, visible
from hypothesis import given
from hypothesis import strategies as st

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/visible/cases.json").read_text(encoding="utf-8"))
SELECTORS = [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]


def code_points(ranges: str) -> list[int]:
    ends = [one.partition("-") for one in ranges.split()]
    return [code for first, _, last in ends for code in range(int(first, 16), int(last or first, 16) + 1)]


@pytest.mark.parametrize("case", GOLDEN, ids=[case["why"] for case in GOLDEN])
def test_the_golden(case: dict[str, str]) -> None:
    """The console reads the same file."""
    shown, count = visible(case["text"])
    assert shown == case["shown"]
    assert (count == 0) is (shown == case["text"])
    assert visible(shown) == (shown, 0)


def test_every_character_of_the_list_is_escaped_and_counted() -> None:
    hidden = code_points(HIDDEN)
    assert len(hidden) > 4_000
    for code in hidden:
        shown, count = visible(f"a{chr(code)}b")
        assert count == 1
        assert shown.isascii()
        assert f"{code:x}" in shown


def test_nothing_of_the_kinds_that_hide_is_left_out() -> None:
    """By Python's own tables: controls, separators and format characters, but for signs of scripts that are drawn."""
    drawn = {0x0600, 0x0601, 0x0602, 0x0603, 0x0604, 0x0605, 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    of_kind = {code for code in range(0x110000) if unicodedata.category(chr(code)) in kinds}
    left = {code for code in of_kind if not visible(f"a{chr(code)}b")[1]}
    assert left == drawn | {0x09, 0x0A}


@given(st.text(), st.sampled_from(SELECTORS), st.sampled_from(SELECTORS))
def test_no_two_selectors_stay_side_by_side(before: str, one: int, two: int) -> None:
    """At most one is a picture's own, so a run of them carries nothing past a reader."""
    shown, count = visible(before + chr(one) + chr(two))
    assert count >= 1
    assert chr(one) + chr(two) not in shown


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",)), max_size=60))
def test_what_is_shown_is_shown_the_same_again(text: str) -> None:
    shown, count = visible(text)
    assert (shown == text) is (count == 0)
    assert visible(shown) == (shown, 0)


def test_half_a_character_is_spelt_out() -> None:
    assert visible("a\ud800b\udfff") == ("a\\u{d800}b\\u{dfff}", 2)


def test_pictures_and_what_hides_are_apart() -> None:
    assert not set(code_points(HIDDEN)) & set(code_points(PICTURES))
