"""X6: whatever a command prints, memory stays bounded, order is kept and what is left out is counted."""

import time
from pathlib import Path

import pytest
from guildhall_contracts import frames, limits
from support.workshop import running, unb64

pytestmark = pytest.mark.go

KEPT = limits.COMMAND_OUTPUT_HEAD_BYTES + limits.COMMAND_OUTPUT_TAIL_BYTES
RSS_GROWTH_MAX_BYTES = 64 * limits.MIB


@pytest.mark.parametrize(
    ("command", "total"),
    [
        ("head -c 1073741824 /dev/zero", 1 << 30),
        ("head -c 1048576 /dev/zero | tr '\\0' x", 1 << 20),
        ("head -c 5000000 /dev/urandom", 5_000_000),
        ("yes | head -c 300000000", 300_000_000),
    ],
)
def test_floods_are_cut_and_counted(tmp_path: Path, command: str, total: int) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        client.sh("true")
        before, most = shop.rss_bytes(), 0
        number = client.start(frames.ExecRequest, command=f"echo FIRST; {command}; echo; echo LAST")
        while number not in client.ready:
            most = max(most, shop.rss_bytes())
            client._take(client._reply())
        answer = client.finish(number)
        assert answer.last.total_bytes == total + len("FIRST\n\nLAST\n")
        assert answer.last.omitted_bytes >= answer.last.total_bytes - KEPT
        head, tail = unb64(answer.last.head), unb64(answer.last.tail)
        assert len(head) + len(tail) + answer.last.omitted_bytes == answer.last.total_bytes
        assert head.startswith(b"FIRST\n")
        assert tail.endswith(b"LAST\n")
        assert len(answer.output) + answer.skipped == answer.last.total_bytes
        assert max(most, shop.rss_bytes()) - before < RSS_GROWTH_MAX_BYTES
        assert client.sh("echo small").text == b"small\n"  # control: little output comes whole
        assert client.sh("echo small").last.omitted_bytes == 0


def test_endless_output_ends_with_the_wall_limit(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        before, began = shop.rss_bytes(), time.monotonic()
        answer = client.sh("yes", wall_seconds=3)
        assert answer.last.ended == "wall_timeout"
        assert time.monotonic() - began < 3 + limits.COMMAND_KILL_GRACE_SECONDS
        assert shop.rss_bytes() - before < RSS_GROWTH_MAX_BYTES
        live_bytes_per_second = len(answer.output) / (time.monotonic() - began)
        assert live_bytes_per_second < 256 * limits.KIB


def test_stdout_and_stderr_keep_their_order(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        answer = client.sh("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done")
        assert answer.text == b"".join(f"o{i}\ne{i}\n".encode() for i in range(1, 6))
        assert answer.output == answer.text


def test_a_reader_that_does_not_read_costs_no_memory(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        before = shop.rss_bytes()
        number = client.start(frames.ExecRequest, command="yes", wall_seconds=600)
        time.sleep(3)  # the client reads nothing meanwhile
        assert shop.rss_bytes() - before < RSS_GROWTH_MAX_BYTES
        client.start(frames.CancelRequest, target=number)
        assert client.finish(number).code == "cancelled"
