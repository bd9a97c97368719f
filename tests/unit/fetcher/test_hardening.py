"""Every way known to make git or ssh run something is shut by name, and nothing secret stands where others read."""

import subprocess
from pathlib import Path

import pytest
from guildhall_contracts.fetch import GitUrl, parse_git_url
from guildhall_fetcher.askpass import answer
from guildhall_fetcher.credentials import Credentials, usable
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.hardening import environment, options, ssh_command
from guildhall_fetcher.places import Places
from guildhall_fetcher.words import explain, redacted

PASSWORD = b"sesame-open-sesame"
PLACES = Places()
RUNS_SOMETHING = {
    "core.hooksPath", "core.fsmonitor", "core.sshCommand", "core.askPass", "core.editor", "core.pager",
    "core.alternateRefsCommand", "credential.helper", "diff.external", "gpg.program", "init.templateDir",
}  # fmt: skip


def _url(text: str) -> GitUrl:
    found = parse_git_url(text)
    assert isinstance(found, GitUrl)
    return found


HTTPS, SSH = _url("https://git.example.test/x.git"), _url("ssh://git@git.example.test/x.git")


def _chosen(url: GitUrl) -> dict[str, str]:
    words = options(url, PLACES)
    assert set(words[::2]) == {"-c"}
    return dict(word.split("=", 1) for word in words[1::2])


def test_every_option_that_starts_a_program_is_set() -> None:
    chosen = _chosen(HTTPS)
    assert set(chosen) >= RUNS_SOMETHING
    ours = {chosen[name] for name in RUNS_SOMETHING} - {"/dev/null", "false", "cat", ""}
    assert ours == {str(PLACES.askpass), ssh_command(PLACES)}
    assert (chosen["http.followRedirects"], chosen["http.sslVerify"]) == ("false", "true")
    assert chosen["transfer.fsckObjects"] == "true"


@pytest.mark.parametrize(("url", "scheme"), [(HTTPS, "https"), (SSH, "ssh")])
def test_only_the_addresss_own_protocol_is_allowed(url: GitUrl, scheme: str) -> None:
    chosen = _chosen(url)
    allowed = {name: value for name, value in chosen.items() if name.startswith("protocol.")}
    assert allowed == {"protocol.allow": "never", f"protocol.{scheme}.allow": "always"}
    assert environment(url, PLACES, None, {})["GIT_ALLOW_PROTOCOL"] == scheme


def test_git_takes_every_option(tmp_path: Path) -> None:
    """A word git does not understand would be a door left open: its own config reader says what it took."""
    done = subprocess.run(
        ["git", *options(HTTPS, PLACES), "config", "--list"], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"},
    )  # fmt: skip
    taken = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert {name.lower() for name in _chosen(HTTPS)} == {name.lower() for name in taken}


def test_ssh_asks_nobody_and_trusts_one_list(tmp_path: Path) -> None:
    """ssh's own reading of the words, not ours."""
    words = ssh_command(PLACES).split()
    done = subprocess.run([*words, "-G", "git@git.example.test"], capture_output=True, text=True, check=True)
    taken = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    assert taken["stricthostkeychecking"] in {"true", "yes"}
    assert taken["batchmode"] == "yes"
    assert taken["userknownhostsfile"] == str(PLACES.known_hosts_copy)
    assert taken["globalknownhostsfile"] == "/dev/null"
    assert taken["identityfile"] == str(PLACES.key_copy)
    for name in ("passwordauthentication", "kbdinteractiveauthentication", "forwardagent", "permitlocalcommand"):
        assert taken[name] == "no", name
    assert taken.get("proxycommand", "none") == "none"


def test_nothing_of_the_secret_is_in_words_or_variables() -> None:
    credentials = usable({"host": b"git.example.test", "username": b"robot", "password": PASSWORD}, HTTPS)
    everything = [*options(HTTPS, PLACES), *environment(HTTPS, PLACES, credentials, {}).values(), repr(credentials)]
    assert any(str(PLACES.secret) in word for word in everything), "control: the way to it is there"
    assert not any(PASSWORD.decode() in word for word in everything)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Username for 'https://git.example.test': ", "robot"),
        ("Password for 'https://robot@git.example.test': ", "sesame"),
        ("Password for 'https://git.example.test:443': ", "sesame"),
        ("Password for 'https://GIT.example.test': ", "sesame"),
        ("Password for 'https://git.example.test:8443': ", None),
        ("Password for 'https://evil.test': ", None),
        ("Password for 'https://git.example.test@evil.test': ", None),
        ("Password for 'https://evil.test/https://git.example.test': ", None),
        ("Password for 'https://git.example.test.evil.test': ", None),
        ("Password for 'http://git.example.test': ", None),
        ("Enter passphrase for key '/tmp/key': ", None),
        ("git@git.example.test's password: ", None),
        ("", None),
    ],
)
def test_the_askpass_program_answers_for_one_place(tmp_path: Path, question: str, reply: str | None) -> None:
    (tmp_path / "username").write_text("robot\n")
    (tmp_path / "password").write_text("sesame\n")
    assert answer(question, tmp_path, "git.example.test 443") == reply


@pytest.mark.parametrize("host", [b"", b"evil.test", b"git.example.test:444", b"git.example.test/x", b"*.example.test"])
def test_a_secret_for_another_place_is_refused(host: bytes) -> None:
    with pytest.raises(FetchFailed, match="host"):
        usable({"host": host, "password": PASSWORD}, HTTPS)
    assert usable({"host": b"git.example.test:443", "password": PASSWORD}, HTTPS).for_https


def test_what_a_server_says_is_no_cause_and_shows_no_secret() -> None:
    hidden = Credentials({"password": PASSWORD, "username": b"robot"}).hidden
    said = f"remote: fatal: fsck error\nremote: {PASSWORD.decode()}\nfatal: something new {PASSWORD.decode()}\n"
    found = explain(said, 128, HTTPS, secret=True, hidden=hidden)
    assert found.outcome == "server_failed"
    assert "something new [hidden]" in found.message
    assert PASSWORD.decode() not in found.message
    pair = "cm9ib3Q6c2VzYW1lLW9wZW4tc2VzYW1l"
    assert redacted(f"Authorization: Basic {pair}", hidden) == "Authorization: Basic [hidden]"
