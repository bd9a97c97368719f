"""The shell operation of the real binary (reports SH-01 to SH-11, HI-04)."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from guildhall_contracts import frames, limits
from support.workshop import Client, Workshop, b64, running, unb64

pytestmark = pytest.mark.go


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with running(tmp_path, with_baseline=False) as workshop:
        yield workshop


@pytest.fixture
def client(shop: Workshop) -> Iterator[Client]:
    with shop.client() as one:
        yield one


@pytest.mark.parametrize(("command", "code"), [("true", 0), ("false", 1), ("exit 7", 7), ("no-such-command", 127)])
def test_silent_commands_return_at_once(client: Client, command: str, code: int) -> None:
    """SH-11."""
    began = time.monotonic()
    result = client.sh(command).last
    assert (result.ended, result.exit_code, result.signal) == ("exited", code, None)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    "command",
    [
        "read x || exit 5", "python3 -c 'input()'", "python3", "cat", "bash -i", ": </dev/tty", "dd of=/dev/null",
        "python3 -c 'import getpass; getpass.getpass()'", "less /etc/hostname", "ssh-keygen -t ed25519 -f key",
        "git init -q . && git commit --allow-empty", "git ls-remote https://127.0.0.1:1/p",
        "git init -q . && git config core.editor vim && git commit --allow-empty",
        "git init -q . && echo x >f && git add f && git -c core.pager='less -+F' diff --cached",
    ],
)  # fmt: skip
def test_nothing_waits_for_input_nobody_gives(client: Client, command: str) -> None:
    """SH-01."""
    tool = command.split(maxsplit=1)[0]
    if tool in {"git", "less", "ssh-keygen"} and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    began = time.monotonic()
    assert client.sh(command, 10).last.ended == "exited"
    assert time.monotonic() - began < 3


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_an_editor_that_reads_its_own_output_ends_with_the_idle_limit(client: Client) -> None:
    """Without a terminal at its input it asks the pipe it writes to, which never answers."""
    assert client.sh("vim f", idle_seconds=1).last.ended == "idle_timeout"


def test_a_commit_without_a_message_says_what_to_do(client: Client) -> None:
    """SH-01: the model sees that no input is possible, whatever editor the repository names."""
    setup = (
        "git init -q . && git config user.name a && git config user.email a@b && git config core.editor 'sleep 100;'"
    )
    answer = client.sh(f"{setup} && git commit --allow-empty")
    assert answer.last.exit_code == 1
    assert b"there is no editor and no input" in answer.text
    assert client.sh("git commit -q --allow-empty -m done && git log --format=%s").text == b"done\n"  # control


def test_bytes_that_are_not_text_lose_nothing(client: Client) -> None:
    """SH-08, SH-09."""
    answer = client.sh("printf 'a\\xf0b\\n'; head -c 200000 /dev/zero | tr '\\0' y; echo MARK; exit 3")
    assert unb64(answer.last.head).startswith(b"a\xf0b\ny")
    assert unb64(answer.last.tail).endswith(b"yMARK\n")
    assert answer.last.exit_code == 3


def test_signals_are_reported(client: Client) -> None:
    result = client.sh("kill -SEGV $$").last
    assert (result.ended, result.signal, result.exit_code) == ("signalled", "SIGSEGV", None)


def test_where_it_runs(shop: Workshop, client: Client) -> None:
    (shop.workspace / "sub").mkdir()
    assert client.sh("pwd").text.decode().strip() == str(shop.workspace)
    assert client.sh("pwd", cwd="sub").text.decode().strip() == str(shop.workspace / "sub")
    assert client.sh("true", cwd="none").code == "not_found"
    assert client.sh("true", cwd="../").code == "permission_denied"
    (shop.workspace / "file").touch()
    assert client.sh("true", cwd="file").code == "not_directory"
    assert client.sh("echo x > $HOME/a && cat $HOME/a && mktemp").last.exit_code == 0


def test_stdin_is_given_in_order(client: Client) -> None:
    number = client.start(frames.ExecRequest, command="cat; echo end", stdin=True)
    for piece in ("one\n", "two\n"):
        assert not client.call(frames.StdinRequest, target=number, data=b64(piece)).code
    assert not client.call(frames.StdinRequest, target=number, data=b64("three"), eof=True).code
    assert client.finish(number).text == b"one\ntwo\nthreeend\n"
    assert client.call(frames.StdinRequest, target=number, data=b64("late")).code == "not_found"
    deaf = client.start(frames.ExecRequest, command="sleep 600", stdin=True)
    codes = [client.call(frames.StdinRequest, target=deaf, data=b64(b"x" * 500_000)).code for _ in range(5)]
    assert "busy" in codes
    client.call(frames.CancelRequest, target=deaf)
    assert client.finish(deaf).code == "cancelled"
    without = client.start(frames.ExecRequest, command="sleep 600")
    assert client.call(frames.StdinRequest, target=without, data="").code == "invalid_argument"
    client.call(frames.CancelRequest, target=without)
    client.finish(without)


def test_output_of_the_last_process_is_kept(client: Client) -> None:
    """bash does not wait for a process substitution; what it prints a moment later belongs to the call."""
    assert client.sh("echo a > >(sleep 0.03; cat)").text == b"a\n"


def test_live_output_comes_while_the_command_runs(client: Client) -> None:
    times: list[float] = []
    client.on_output = lambda _, __: times.append(time.monotonic())
    began = time.monotonic()
    client.sh("for i in 1 2 3; do echo $i; sleep 0.4; done")
    assert len(times) >= 3
    assert times[0] - began < 0.4


def test_requests_interleave_and_are_bounded(client: Client) -> None:
    slow = [client.start(frames.ExecRequest, command="sleep 1; echo slow") for _ in range(3)]
    began = time.monotonic()
    assert client.sh("echo fast").text == b"fast\n"
    assert time.monotonic() - began < 0.8
    for call in slow:
        assert client.finish(call).text == b"slow\n"
    assert time.monotonic() - began < 2.5
    many = [client.start(frames.ExecRequest, command="sleep 60") for _ in range(limits.WORKSHOP_INFLIGHT_MAX_COUNT + 3)]
    codes = [client.finish(call).code for call in many[-3:]]
    assert codes == ["busy"] * 3
    for call in many[:-3]:
        client.call(frames.CancelRequest, target=call)
    assert {client.finish(call).code for call in many[:-3]} == {"cancelled"}


def test_nothing_is_left_behind_after_many_calls(shop: Workshop, client: Client) -> None:
    def descriptors() -> int:
        return len(list(Path(f"/proc/{shop.process.pid}/fd").iterdir()))

    for _ in range(5):
        client.sh("true")
    before = descriptors()
    for _ in range(100):
        client.sh("echo x; sleep 0 &")
        client.call(frames.ListRequest)
        client.call(frames.ReadRequest, path="none")
        client.call(frames.WriteRequest, path="a", data="")
        client.call(frames.SearchRequest, pattern="x")
    time.sleep(0.2)
    assert descriptors() <= before + 2
    assert not Path(f"/proc/{shop.process.pid}/task/{shop.process.pid}/children").read_text().split()
