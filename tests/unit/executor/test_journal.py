"""The journal after crashes at every byte, and what it prints."""

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.errors import error_info
from guildhall_contracts.events import ErrorRaised, KnownEvent, ModelText, Unreadable, decode_event
from guildhall_executor.inputs import At, Began, Tick
from guildhall_executor.journal import Journal
from guildhall_executor.resume import rebuild
from guildhall_executor.roster import make_roster
from hypothesis import given, settings
from hypothesis import strategies as st
from support.executor_loop import Story, call
from support.executor_run import SOLO, TEAM, known, snapshot

RUN = "11111111-2222-3333-4444-555555555555"


def event(seq: int, text: str = "x") -> KnownEvent:
    return ModelText(run=RUN, attempt=1, seq=seq, ts="2030-01-02T03:04:05.678Z", op="o1", text=text)


class Out:
    """A place to print to."""

    def __init__(self, base: Path) -> None:
        self.path = base / "out"
        self.fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def lines(self) -> list[bytes]:
        return self.path.read_bytes().splitlines()


@pytest.fixture
def out(tmp_path: Path) -> Any:
    out = Out(tmp_path)
    yield out
    os.close(out.fd)


def test_a_line_is_printed_as_it_is_kept(tmp_path: Path, out: Out) -> None:
    journal = Journal(tmp_path / "j", out.fd)
    journal.write_events([event(1, "a\n\x1b[2J\u2028{}"), event(2)], durable=True)
    journal.close()
    kept = (tmp_path / "j" / "events.jsonl").read_bytes()
    assert kept == out.path.read_bytes()
    assert [known(line).seq for line in kept.splitlines()] == [1, 2]
    assert all(32 <= byte < 127 or byte == 10 for byte in kept)


def test_a_crash_at_any_byte_leaves_only_whole_lines(tmp_path: Path, out: Out) -> None:
    folder = tmp_path / "j"
    journal = Journal(folder, out.fd)
    journal.write_events([event(n, f"text {n}") for n in range(1, 5)])
    journal.close()
    whole = (folder / "events.jsonl").read_bytes()
    for size in range(len(whole) + 1):
        (folder / "events.jsonl").write_bytes(whole[:size])
        again = Journal(folder, out.fd)
        assert again.last_seq == whole[:size].count(b"\n")
        again.write_events([event(again.last_seq + 1, "next")])
        again.close()
        lines = (folder / "events.jsonl").read_bytes().splitlines()
        assert [known(line).seq for line in lines] == list(range(1, len(lines) + 1))
        assert whole.startswith(b"\n".join(lines[:-1]))


@settings(max_examples=30, deadline=None)
@given(tail=st.binary(min_size=1, max_size=60))
def test_rubbish_after_the_last_line_is_cut_off(tmp_path_factory: pytest.TempPathFactory, tail: bytes) -> None:
    folder = tmp_path_factory.mktemp("j")
    out = Out(folder)
    journal = Journal(folder, out.fd)
    journal.write_events([event(1)])
    journal.write_input(At(seq=0, ts="2030-01-02T03:04:05.678Z", input=Began()))
    journal.close()
    for name in ("events.jsonl", "inputs.jsonl"):
        with (folder / name).open("ab") as file:
            file.write(tail)
    again = Journal(folder, out.fd)
    assert (again.last_seq, len(again.inputs)) == (1, 1)
    again.write_events([event(2)])
    again.write_input(At(seq=1, ts="2030-01-02T03:04:05.678Z", input=Tick()))
    again.close()
    final = Journal(folder, out.fd)
    assert (final.last_seq, len(final.inputs)) == (2, 2)
    final.close()
    os.close(out.fd)


def test_room_ends_at_the_bound_and_comes_back_with_acknowledgement(tmp_path: Path, out: Out) -> None:
    journal = Journal(tmp_path / "j", out.fd)
    seq = itertools.count(1)
    while journal.has_room:
        journal.write_events([event(next(seq), "y" * 16_000)])
    assert journal.ahead_bytes <= limits.LOG_AHEAD_MAX_BYTES + 20_000
    journal.acknowledge(journal.last_seq // 2)
    assert journal.has_room
    assert abs(journal.ahead_bytes - limits.LOG_AHEAD_MAX_BYTES // 2) < 40_000
    assert not journal.is_stored
    journal.acknowledge(10**12)
    assert journal.is_stored
    assert journal.ahead_bytes == 0
    journal.acknowledge(1)
    assert journal.is_stored
    journal.close()


def test_lines_are_printed_again_from_where_they_are_missed(tmp_path: Path, out: Out) -> None:
    journal = Journal(tmp_path / "j", out.fd)
    journal.write_events([event(n) for n in range(1, 6)])
    journal.print_again(4)
    assert [known(line).seq for line in out.lines()] == [1, 2, 3, 4, 5, 4, 5]
    journal.print_again(99)
    journal.print_again(1, max_bytes=2 * len(out.lines()[0]) + 20)
    assert [known(line).seq for line in out.lines()][7:] == [1, 2]
    journal.close()


def test_a_later_attempt_can_print_what_an_earlier_one_wrote(tmp_path: Path, out: Out) -> None:
    first = Journal(tmp_path / "j", out.fd)
    first.write_events([event(n) for n in range(1, 4)])
    first.close()
    second = Journal(tmp_path / "j", out.fd)
    second.write_events([event(4)])
    second.print_again(2)
    assert [known(line).seq for line in out.lines()] == [1, 2, 3, 4, 2, 3, 4]
    second.close()


def test_a_reader_that_went_away_is_no_reason_to_stop(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    journal = Journal(tmp_path / "j", write_end)
    os.close(read_end)
    journal.write_events([event(1)])
    journal.write_events([event(2)])
    journal.close()
    os.close(write_end)
    assert (tmp_path / "j" / "events.jsonl").read_bytes().count(b"\n") == 2


def test_an_event_too_large_to_say_is_cut_and_not_lost(tmp_path: Path, out: Out) -> None:
    journal = Journal(tmp_path / "j", out.fd)
    huge = error_info("internal", "why", detail={f"{n}": "\U0001f600" * 8_000 for n in range(8)})
    journal.write_events([ErrorRaised(run=RUN, attempt=1, seq=1, ts="2030-01-02T03:04:05.678Z", error=huge), event(2)])
    journal.close()
    kept = [known(line) for line in out.lines()]
    assert [(one.seq, one.type) for one in kept] == [(1, "error.raised"), (2, "model.text")]
    assert kept[0].error.message == "why"  # type: ignore[union-attr]
    assert all(text.endswith("…") for text in kept[0].error.detail.values())  # type: ignore[union-attr]
    assert all(len(line) <= limits.EVENT_MAX_BYTES for line in out.lines())


def test_a_full_disk_leaves_neither_half_a_line_nor_a_number(
    tmp_path: Path, out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "j", out.fd)
    journal.write_events([event(1)])
    write, left = os.write, [100]

    def full(fd: int, data: Any) -> int:
        if left[0] == 0:
            raise OSError(28, "No space left on device")
        size = write(fd, bytes(data)[: left[0]])
        left[0] -= size
        return size

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        with pytest.raises(OSError, match="No space"):
            journal.write_events([event(2), event(3)])
    assert (left, journal.last_seq) == ([0], 1)
    journal.write_events([event(2, "again")])
    journal.print_again(1)
    journal.close()
    lines = (tmp_path / "j" / "events.jsonl").read_bytes().splitlines()
    assert [known(line).seq for line in lines] == [1, 2]
    assert out.lines() == [lines[0], lines[1], lines[0], lines[1]]


# The fold of the journal


def told() -> Story:
    story = Story(snapshot(TEAM))
    story.reply("", call("update_plan", {"items": [{"text": "one"}]}))
    story.reply("", call("delegate", {"role": "coder", "brief": "b"}), call("read_file", {"path": "z"}, "t2"))
    story.reply("", call("read_file", {"path": "a"}, "1"), call("run_shell", {"command": "ls"}, "2"))
    return story.result("A").result("B").reply("done").result("Z")


def test_folding_the_inputs_gives_the_same_state_and_events() -> None:
    story = told()
    state, missing = rebuild(make_roster(snapshot(TEAM)), story.inputs, 0)
    assert missing == story.events
    assert state == story.state


def test_events_a_crash_kept_from_the_journal_are_told_again() -> None:
    story = told()
    for last_seq in range(len(story.events)):
        _, missing = rebuild(make_roster(snapshot(TEAM)), story.inputs, last_seq)
        assert missing == story.events[last_seq:]


def test_a_model_call_in_flight_is_asked_again_by_its_own_id() -> None:
    from guildhall_executor.inputs import Resumed

    story = Story(snapshot(SOLO)).reply("", call("list_files")).result()
    before = story.asked
    story.put(Resumed(), attempt=2)
    assert story.asked.call_id == before.call_id
    assert story.asked.body() == before.body()
    again = [event for event in story.events if event.attempt == 2]
    assert [event.type for event in again] == ["run.started", "model.finished", "model.started"]
    assert again[0].resumed_from == again[0].seq - 1
    assert (again[1].op, again[1].outcome) == (before.op, "cancelled")
    story.reply("done")
    assert story.state.steps == 2


def test_a_tool_call_in_flight_is_never_repeated_and_its_result_is_paired() -> None:
    from guildhall_executor.inputs import Resumed

    story = Story(snapshot(SOLO)).reply("", call("run_shell", {"command": "deploy"}, "a"), call("list_files", {}, "b"))
    op = story.of("tool.started")[-1].op
    story.put(Resumed(), attempt=2)
    ended = story.last("tool.finished")
    assert (ended.op, ended.outcome, ended.error_code) == (op, "cancelled", "interrupted")
    assert story.tools_run == ["run_shell", "list_files"]
    story.result("files")
    results = [m for m in story.messages if m.kind == "tool"]
    assert [m.call for m in results] == ["a", "b"]
    assert results[0].is_error


@pytest.mark.parametrize("sealed", [False, True])
def test_a_decided_run_is_only_sealed(sealed: bool) -> None:
    from guildhall_executor.effects import Seal, TakeChanges
    from guildhall_executor.inputs import Resumed

    story = Story(snapshot(SOLO)).reply("done")
    if sealed:
        story.taken()
    count = len(story.events)
    story.put(Resumed(), attempt=2)
    assert len(story.events) == count
    assert isinstance(story.effects[-1], Seal if sealed else TakeChanges)


def test_any_line_of_inputs_is_an_input_or_nothing() -> None:
    from guildhall_executor.inputs import decode_at

    for line in (b"", b"{}", b"\xff", b"[" * 100_000, b'{"seq":-1}', b"null"):
        assert decode_at(line) is None
    assert isinstance(decode_event(b"\xff"), Unreadable)
