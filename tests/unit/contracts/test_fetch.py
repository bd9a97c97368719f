"""A git address means one thing to everybody, and a Secret's `host` names one place."""

import pytest
from guildhall_contracts.fetch import FetchMessage, FetchRequest, GitUrl, parse_git_url, place_of
from guildhall_contracts.gate import decode_message
from hypothesis import given
from hypothesis import strategies as st

GOOD = {
    "https://Git.Example.test/team/app.git": GitUrl("https", "", "git.example.test", 443, "/team/app.git"),
    "https://git.example.test:8443/a": GitUrl("https", "", "git.example.test", 8443, "/a"),
    "ssh://git@git.example.test/a": GitUrl("ssh", "git", "git.example.test", 22, "/a"),
    "ssh://host:2222/a/b": GitUrl("ssh", "", "host", 2222, "/a/b"),
    "git://10.0.0.1/a": GitUrl("git", "", "10.0.0.1", 9418, "/a"),
    "https://[2001:DB8::1]:444/a": GitUrl("https", "", "2001:db8::1", 444, "/a"),
}
BAD = [
    "", "https://", "https://host", "https://host/", "http://host/a", "file:///a", "ext::sh -c x", "-u./x", "host:path",
    "https://user@host/a", "https://user:pass@host/a", "https://@host/a", "ssh://-oProxyCommand=x@host/a",
    "ssh://a:b@host/a", "ssh://-host/a", "https://host\\@evil/a", "https://good@evil/a", "https://host/a b",
    "https://host/a\n", "https://host/a\x00", "https://host/a?b", "https://host/a#b", "https://host/-a",
    "https://host:0/a", "https://host:65536/a", "https://host:x/a", "https://host%2eevil/a", "https://h\u00f6st/a",
    "https://host./a", "https://[::1/a", " https://host/a", "https://host//../\u2066a",
]  # fmt: skip


@pytest.mark.parametrize("url", GOOD)
def test_an_address_is_taken_apart(url: str) -> None:
    assert parse_git_url(url) == GOOD[url]
    assert parse_git_url(str(GOOD[url])) == GOOD[url], "what git gets means the same"


@pytest.mark.parametrize("url", BAD)
def test_what_could_mean_something_else_is_a_sentence(url: str) -> None:
    found = parse_git_url(url)
    assert isinstance(found, str)
    assert found[0].islower()


@given(st.text(max_size=60) | st.from_regex(r"(https|ssh|git)://\S{0,40}", fullmatch=True))
def test_any_text_is_an_address_or_a_sentence(text: str) -> None:
    found = parse_git_url(text)
    if isinstance(found, GitUrl):
        assert parse_git_url(str(found)) == found
        assert not found.host.startswith("-")
        assert not found.user.startswith("-")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("git.example.test", ("git.example.test", 443)),
        ("GIT.example.test\n", ("git.example.test", 443)),
        ("git.example.test:443", ("git.example.test", 443)),
        ("git.example.test:8443", ("git.example.test", 8443)),
        ("[::1]:8443", ("::1", 8443)),
        ("*", None),
        ("", None),
        ("https://git.example.test", None),
        ("git.example.test/path", None),
        ("a b", None),
    ],
)
def test_a_secret_names_one_host_and_port(text: str, place: tuple[str, int] | None) -> None:
    assert place_of(text, "https") == place


def test_a_message_is_strict() -> None:
    good = '{"v":1,"outcome":"fetched","source":{"commit":"%s","files":1}}' % ("a" * 40)
    assert decode_message(FetchMessage, good) is not None
    short, text, other = good.replace("a" * 40, "a" * 39), good.replace(":1}", ':"1"}'), good.replace("fetched", "done")
    for bad in (short, text, other, good[:-1] + ',"more":1}', good + " " * 3000, "[]", ""):
        assert decode_message(FetchMessage, bad) is None, bad


def test_a_request_is_bounded() -> None:
    sound = {"url": "https://h/x", "schemes": ["https"], "maxBytes": 1, "memoryBytes": 1 << 20}
    assert FetchRequest.model_validate(sound).depth == 1
    for bad in (
        {"schemes": []},
        {"schemes": ["ext"]},
        {"depth": 0},
        {"ref": "-x"},
        {"ref": ""},
        {"timeoutSeconds": 10**9},
    ):
        with pytest.raises(ValueError, match="validation error"):
            FetchRequest.model_validate({**sound, **bad})
