"""The journal printed again after the executor's death: whole lines from a number on, nothing else, bounded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from guildhall_contracts import limits
from guildhall_contracts.gate import ReprintMessage, decode_message
from guildhall_executor.journal import Journal
from guildhall_executor.reprint import main, reprint
from unit.executor.test_journal import RUN, Out, event, out

__all__ = ["out"]


@pytest.fixture
def journal(tmp_path: Path, out: Out) -> Path:
    """A journal of 20 events, its volume's folder; what was printed while it was written is forgotten."""
    written = Journal(tmp_path / "journal" / RUN, out.fd)
    written.write_events([event(seq, f"text {seq}") for seq in range(1, 21)], durable=True)
    written.close()
    os.ftruncate(out.fd, 0)
    return tmp_path / "journal"


def kept(journal: Path) -> list[bytes]:
    return (journal / RUN / "events.jsonl").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(("first", "count"), [(1, 20), (2, 19), (20, 1), (21, 0), (999_999_999_999, 0)])
def test_lines_from_a_number_on_byte_for_byte(journal: Path, out: Out, first: int, count: int) -> None:
    assert main(["--run", RUN, "--from", str(first), "--journal", str(journal)], out.fd) == 0
    assert out.path.read_bytes() == b"".join(kept(journal)[20 - count :])


def test_a_torn_end_is_not_printed(journal: Path, out: Out) -> None:
    path = journal / RUN / "events.jsonl"
    whole = path.read_bytes()
    for cut in (1, 2, len(kept(journal)[-1]) - 1, len(kept(journal)[-1])):
        os.ftruncate(out.fd, 0)
        path.write_bytes(whole[:-cut])
        reprint(journal / RUN, 1, out.fd)
        assert out.path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:19])


@pytest.mark.parametrize("line", [b"\x00\xff{\n", b"{}\n", b'{"seq":"21"}\n', b'{"seq":3}\n', b"x" * 300_000 + b"\n"])
def test_nothing_is_printed_from_a_foreign_line_on(journal: Path, out: Out, line: bytes) -> None:
    path = journal / RUN / "events.jsonl"
    before = path.read_bytes()
    path.write_bytes(before + line + kept(journal)[0].replace(b'"seq":1,', b'"seq":22,'))
    reprint(journal / RUN, 1, out.fd)
    assert out.path.read_bytes() == before


def test_it_ends_at_the_bound_with_a_whole_line(journal: Path, out: Out) -> None:
    lines = kept(journal)
    reprint(journal / RUN, 3, out.fd, max_bytes=len(lines[2]) + len(lines[3]) + 1)
    assert out.path.read_bytes() == b"".join(lines[2:4])
    assert limits.REPRINT_MAX_BYTES >= limits.LOG_AHEAD_MAX_BYTES + limits.EVENT_MAX_BYTES, "a whole lead fits"


def test_a_volume_that_is_not_there_prints_nothing_and_says_nothing(tmp_path: Path, out: Out) -> None:
    message = tmp_path / "message"
    words = ["--run", RUN, "--from", "1", "--termination-message", str(message), "--journal"]
    assert main([*words, str(tmp_path / "missing")], out.fd) == 1
    assert out.path.read_bytes() == b""
    assert not message.exists()
    assert main([*words, str(tmp_path)], out.fd) == 0, "the volume of an executor that wrote nothing"
    assert said(message).last_seq == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["--run", "../" + RUN, "--from", "1"],
        ["--run", "", "--from", "1"],
        ["--run", RUN, "--from", "0"],
        ["--run", RUN, "--from", "-1"],
        ["--run", RUN, "--from", "\u0663"],
        ["--run", RUN],
        [],
    ],
)
def test_wrong_arguments_are_refused(argv: list[str], out: Out, journal: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*argv, "--journal", str(journal)], out.fd)
    assert ended.value.code == 2
    assert out.path.read_bytes() == b""


def test_as_a_program_it_writes_nothing_but_the_lines(journal: Path, tmp_path: Path) -> None:
    """stderr shares the pod's log with stdout; and the journal, read-only, stays as it is."""
    (journal / RUN).chmod(0o555)
    command = [sys.executable, "-m", "guildhall_executor.reprint", "--run", RUN, "--from", "19", "--journal", journal]
    command += ["--termination-message", tmp_path / "message"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"".join(kept(journal)[18:])
    assert sorted(path.name for path in (journal / RUN).iterdir()) == ["events.jsonl", "inputs.jsonl"]
    missing = subprocess.run([*command[:4], "nobody", *command[5:]], capture_output=True, check=False, timeout=60)
    assert (missing.returncode, missing.stdout, missing.stderr) == (0, b"", b"")


def said(path: Path) -> ReprintMessage:
    found = decode_message(ReprintMessage, path.read_text())
    assert found is not None
    return found


def test_the_termination_message_names_the_last_event(journal: Path, out: Out, tmp_path: Path) -> None:
    message = tmp_path / "message"
    words = ["--run", RUN, "--journal", str(journal), "--termination-message", str(message)]
    assert main([*words, "--from", "99"], out.fd) == 0
    assert (said(message).run, said(message).last_seq) == (RUN, 20), "also of what is not printed"
    path = journal / RUN / "events.jsonl"
    path.write_bytes(path.read_bytes()[:-3])
    assert main([*words, "--from", "1"], out.fd) == 0
    assert said(message).last_seq == 19
    path.unlink()
    assert main([*words, "--from", "1"], out.fd) == 0
    assert said(message).last_seq == 0, "nothing was written: nothing is missing"


def test_a_journal_over_the_bound_is_still_counted_to_its_end(journal: Path, out: Out) -> None:
    assert reprint(journal / RUN, 1, out.fd, max_bytes=1) == 20
    assert out.path.read_bytes() == b""
