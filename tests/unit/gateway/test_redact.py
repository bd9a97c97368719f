"""Taking a token out of what a server says, in whatever spelling a program gives it."""

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
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


@pytest.mark.parametrize("hostile", ["\\", "%", "%25", "\\u00", "&#", "x" * 7, "&#48;", "A"], ids=repr)
def test_hostile_texts_cost_time_in_proportion(hostile: str) -> None:
    text = hostile * (1_000_000 // len(hostile))
    began = time.process_time()
    Redactor("x" * 8_000 + "y").redact(text)
    assert time.process_time() - began < 3
