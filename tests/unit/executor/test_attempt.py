"""Whole attempts against a gateway over HTTP: how Runs end, and what is left of them."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from guildhall_contracts.gate import ExecutorMessage
from guildhall_executor.attempt import run_attempt
from guildhall_executor.places import Places
from support.executor_gateway import one, say, serving
from support.executor_run import QUICK, places, run, snapshot


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


def test_a_file_of_the_gateway_that_is_missing_is_named(tmp_path: Path) -> None:
    good = places(tmp_path / "x", snapshot())
    (tmp_path / "x" / "bad").write_text("no certificate")

    def ended(at: Places, url: str = "https://localhost:9") -> ExecutorMessage:
        out = os.open(os.devnull, os.O_WRONLY)
        try:
            return asyncio.run(run_attempt(snapshot(url=url), 1, at, QUICK, out))
        finally:
            os.close(out)

    for at, named in (
        (replace(good, ca=tmp_path / "x" / "absent"), "the gateway's CA file"),
        (replace(good, ca=tmp_path / "x" / "bad"), "the gateway's CA file"),
        (replace(good, hosts=tmp_path / "x" / "absent"), "the hosts file"),
    ):
        message = ended(at)
        assert (message.outcome, message.error_kind, message.last_seq > 0) == ("failed", "internal", True)
        assert named in message.message
        assert "journal" not in message.message.replace(str(tmp_path), "")
    with serving(one("finish", result="ok")) as gateway:
        assert ended(good, gateway.url).outcome == "succeeded", "control: no CA is needed for http"
