"""Taking a token out of what a server says, in whatever spelling a program gives it."""

import base64
import html
import json
import sys
import time
import tracemalloc
from textwrap import wrap
from urllib.parse import quote, quote_plus

import pytest
from guildhall_contracts import limits
from guildhall_gateway.adapters.redact import MARK, Redactor

TOKEN = 'tok/en+4f"1d\\0b7e&<é'.replace("é", "~")
PACKED = base64.b64encode
SPELLINGS = {
    "as it is": TOKEN,
    "json": json.dumps(TOKEN)[1:-1],
    "json, slashes escaped": json.dumps(TOKEN)[1:-1].replace("/", r"\/"),
    "json in json": json.dumps(json.dumps(TOKEN))[1:-1],
    "json in json in json": json.dumps(json.dumps(json.dumps(TOKEN))),
    "json, every letter": "".join(f"\\u{ord(each):04X}" for each in TOKEN),
    "url": quote(TOKEN, safe=""),
    "form": quote_plus(TOKEN),
    "url, twice": quote(quote(TOKEN, safe=""), safe=""),
    "url, every letter": "".join(f"%{ord(each):02x}" for each in TOKEN),
    "html": html.escape(TOKEN),
    "html, every letter": "".join(f"&#{ord(each)};" for each in TOKEN),
    "base64": PACKED(TOKEN.encode()).decode(),
    "base64 after one letter": PACKED(f"x{TOKEN}".encode()).decode(),
    "base64 between others": PACKED(f"user:{TOKEN}\n more".encode()).decode(),
    "base64 as in Basic": PACKED(f"ro:{TOKEN}".encode()).decode(),
    "base64url": base64.urlsafe_b64encode(f"??>{TOKEN}".encode()).decode(),
    "base64, json": PACKED(TOKEN.encode()).decode().replace("/", r"\/"),
    "base64, url": quote(PACKED(TOKEN.encode()).decode(), safe=""),
    "hex": TOKEN.encode().hex(),
    "HEX": TOKEN.encode().hex().upper(),
    "json, every letter as \\\\x": "".join(f"\\x{ord(each):02x}" for each in TOKEN),
    "every letter as \\\\u{}": "".join(f"\\u{{{ord(each):04x}}}" for each in TOKEN),
    "html, padded": "".join(f"&#{ord(each):04d};" for each in TOKEN),
    "html, padded and hexadecimal": "".join(f"&#x{ord(each):04X};" for each in TOKEN),
    "html, twice": html.escape(html.escape(TOKEN)),
    "html, every letter, twice": "".join(f"&amp;#{ord(each)};" for each in TOKEN),
    "base64, lines": base64.encodebytes(f"{'h' * 40}{TOKEN}".encode()).decode().strip(),
    "base64, lines in json": json.dumps(base64.encodebytes(f"{'h' * 41}{TOKEN}".encode()).decode().strip())[1:-1],
    "base64, 64 columns": "\r\n".join(wrap(PACKED(f"{'h' * 35}{TOKEN}".encode()).decode(), 64)),
    "hex, apart": TOKEN.encode().hex(" ", 2),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_the_token_is_left(spelling: str) -> None:
    told = SPELLINGS[spelling]
    found = Redactor(TOKEN).redact({f"key {told}": [f"before {told} after", 7, None, {"deep": told}]})
    text = json.dumps(found)
    assert text.count(MARK) == 3
    assert told.strip("=") not in text
    if not spelling.startswith("base64"):  # letters of its edges belong to what stands beside it
        assert next(iter(found.values()))[0].translate({34: None, 92: None}) == f"before {MARK} after"


def test_what_is_not_the_token_stays_letter_for_letter() -> None:
    said = [r"a \\ \" %41 &amp; &#65; \u0041", TOKEN[:-1], TOKEN[1:], "", 0, True, {"k": [[]]}, "ünï\x00", "\ud800"]
    assert Redactor(TOKEN).redact(said) == said
    assert Redactor("").redact(said) == said


def test_what_stands_around_the_token_stays_too() -> None:
    redact = Redactor("secret-token").redact
    assert redact("%41secret-token%42") == f"%41{MARK}%42"
    assert redact(r"\"secret-token\"\n") == rf"\"{MARK}\"\n"
    assert redact("secret-tokensecret-token") == MARK * 2
    assert redact("secret-secret-token-token") == f"secret-{MARK}-token"
    assert redact("secret\\-token") == MARK


@pytest.mark.parametrize("token", ["a", "\\", "\\\\", "%41", "(token left out)", "tok", "x" * 8_192])
def test_odd_tokens_are_left_out_too(token: str) -> None:
    assert Redactor(token).redact(f"[{token}]") == f"[{MARK}]"


def test_short_tokens_are_not_found_in_innocent_words() -> None:
    assert Redactor("abc").redact("YWJj 616263 is no token") == "YWJj 616263 is no token"


@pytest.mark.parametrize("before", range(57))
@pytest.mark.parametrize("columns", [64, 76])
def test_no_base64_in_lines_holds_the_token_wherever_it_begins(before: int, columns: int) -> None:
    told = PACKED(f"{'h' * before}{TOKEN * 4}".encode()).decode()
    for end in ("\n", "\r\n", r"\n", r"\\r\\n", "%0A", "&#10;"):
        found = Redactor(TOKEN * 4).redact(end.join(wrap(told, columns)))
        assert MARK in found
        assert len(found) < before * 4 // 3 + len(MARK) + 16, "no more than the letters at its edges is left"


@pytest.mark.parametrize("token", ["n-secret", "r-secret", "t-secret", "x41-secret", "u0041-secret"])
def test_a_token_behind_a_backslash_is_no_escape(token: str) -> None:
    """What reads as an escape there takes its first letters away."""
    assert token not in Redactor(token).redact(f"C:\\{token}")
    assert MARK in Redactor(token).redact(f"C:\\{token}")


def test_other_letters_do_not_hide_hexadecimal() -> None:
    """A letter whose small one is two letters moved all that stands behind it."""
    assert Redactor(TOKEN).redact(f"\u0130 {TOKEN.encode().hex()}") == f"\u0130 {MARK}"


@pytest.mark.parametrize(
    "around", ["x", "\\", "\\x", "%41", "%25", "\\n", "&amp;", "&#65;", "\\x41", "a ", "TOKEN ", "\U0001f600"], ids=repr
)
def test_long_texts_and_many_places_cost_memory_and_time_in_proportion(around: str) -> None:
    """An answer may have 2 MiB, four may come at once, and the gateway has 1 GiB."""
    token = "ghp_Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7Ii8Jj9Kk0Ll1Mm2Nn3Oo4Pp5"
    around = around.replace("TOKEN", token)
    times = limits.EXTERNAL_REPLY_MAX_BYTES // len(around.encode()) - len(token)
    began = time.process_time()
    assert token not in Redactor(token).redact(around * times + token)
    assert time.process_time() - began < 1.5
    text = around * (times // 8) + token  # being traced takes time
    tracemalloc.start()
    try:
        assert MARK in Redactor(token).redact(text)
        assert tracemalloc.get_traced_memory()[1] < 8 * sys.getsizeof(text)
    finally:
        tracemalloc.stop()


def test_a_text_that_holds_the_token_too_often_is_left_out_whole() -> None:
    token, most = "secret-token", limits.TOKEN_PLACES_MAX_COUNT
    assert Redactor(token).redact(f"[{token}]" * most) == f"[{MARK}]" * most, "control"
    assert Redactor(token).redact([f"[{token}]" * (most + 1), "other"]) == [MARK, "other"]


def test_spellings_at_the_edges_of_parts_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long text is read in parts; with parts of seven letters every spelling lies across some."""
    monkeypatch.setattr("guildhall_gateway.adapters.redact.PART_CHARS", 7)
    for spelling in SPELLINGS:
        test_no_spelling_of_the_token_is_left(spelling)
    test_what_is_not_the_token_stays_letter_for_letter()
    test_what_stands_around_the_token_stays_too()


@pytest.mark.parametrize(
    "hostile", ["\\", "%", "%25", "\\u00", "&#", "x" * 7, "&#48;", "A", "amp;", "\\u{0", "&#0", "\\n"], ids=repr
)
def test_hostile_texts_cost_time_in_proportion(hostile: str) -> None:
    text = hostile * (1_000_000 // len(hostile))
    began = time.process_time()
    Redactor("x" * 8_000 + "y").redact(text)
    assert time.process_time() - began < 3
