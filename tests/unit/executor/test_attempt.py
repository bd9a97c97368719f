"""Whole attempts against a gateway over HTTP: how Runs end, and what is left of them."""

from pathlib import Path

from support.executor_gateway import one, say, serving
from support.executor_run import run, snapshot


def test_a_run_that_only_finishes(tmp_path: Path) -> None:
    with serving(one("finish", result="# All done\nNothing to do.", artifacts=["a.txt"])) as gateway:
        got = run(tmp_path / "x", snapshot(url=gateway.url))
    assert got.message.outcome == "succeeded"
    assert got.message.last_seq == got.events[-1].seq == len(got.events)
    assert [event.type for event in got.events] == [
        "run.started",
        "role.started",
        "model.started",
        "model.finished",
        "role.finished",
        "error.raised",
        "run.summarized",
        "run.finished",
    ]
    assert got.events[0].op == got.events[1].op == "o1"
    assert got.journal == got.printed
    assert (got.folder / "summary.txt").read_text() == "All done\n"
    assert got.of("run.finished")[0].artifacts == ["a.txt"]


def test_text_without_finish_is_the_result(tmp_path: Path) -> None:
    with serving(say("It works already.")) as gateway:
        got = run(tmp_path / "x", snapshot(url=gateway.url))
    assert got.message.outcome == "succeeded"
    assert got.of("run.finished")[0].result == "It works already."
