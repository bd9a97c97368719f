"""`read_file` against a workshop that dribbles, lies about sizes or sends what is no base64."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.frames import ErrorReply, ReadRequest, ReadResult
from guildhall_executor.tools.ask import WorkshopLost
from guildhall_executor.tools.file import READ_MAX_BYTES, READS_MAX_COUNT, ReadFile, read_file
from guildhall_executor.tools.result import Ran

MOST = limits.FRAME_DATA_MAX_BYTES


class Workspace:
    """Answers a read by `piece` of its offset; counts what it is asked."""

    def __init__(self, piece: Callable[[int], bytes], size: int) -> None:
        self.piece = piece
        self.size = size
        self.offsets: list[int] = []

    async def ask(self, make: Callable[[int], Any], result: Any, **_: Any) -> Any:
        request = make(1)
        assert isinstance(request, ReadRequest)
        self.offsets.append(request.offset)
        data = base64.b64encode(self.piece(request.offset)).decode()
        return ReadResult(id=1, data=data, size=self.size, mode=0o644, utf8=True)


async def read(workspace: Any, **fields: Any) -> Ran:
    return await read_file(workspace, ReadFile(path="f", **fields))


def shown(ran: Ran) -> str:
    return ran.result.shown


async def test_a_file_of_several_pieces_is_read_to_its_end() -> None:
    content = b"".join(b"%07d\n" % n for n in range(2 * MOST // 8 + 10))
    workspace = Workspace(lambda offset: content[offset : offset + MOST], len(content))
    last = len(content) // 8
    assert shown(await read(workspace, start_line=last)) == f"{last - 1:07d}"
    assert workspace.offsets == [0, MOST, 2 * MOST]
    workspace.offsets.clear()
    assert shown(await read(workspace, start_line=3, max_lines=1)).startswith("0000002\n[guildhall: lines 3-3 of")
    assert workspace.offsets == [0], "no more is read than is shown"


async def test_one_byte_at_a_time_is_one_request() -> None:
    workspace = Workspace(lambda _: b"x", READ_MAX_BYTES)
    assert shown(await read(workspace)) == "x"
    assert workspace.offsets == [0]


async def test_a_file_that_shrinks_ends_where_its_bytes_end() -> None:
    workspace = Workspace(lambda offset: b"" if offset else b"y" * MOST, 2 * MOST)
    assert not (await read(workspace)).result.is_error
    assert workspace.offsets == [0, MOST]


async def test_a_file_without_an_end_costs_a_bounded_number_of_requests() -> None:
    workspace = Workspace(lambda _: b"z" * MOST, 2**50)
    assert "bytes of this line left out" in shown(await read(workspace))
    assert len(workspace.offsets) == READ_MAX_BYTES // MOST <= READS_MAX_COUNT


@pytest.mark.parametrize("size", [0, 1, 2**53])
async def test_an_empty_file_is_empty_whatever_its_size_is_said_to_be(size: int) -> None:
    assert shown(await read(Workspace(lambda _: b"", size))) == "f is empty"


async def test_what_is_no_base64_is_a_lost_workshop_and_a_refusal_is_shown() -> None:
    class Lies:
        async def ask(self, *_: Any, **__: Any) -> Any:
            return ReadResult(id=1, data="abc", size=3, mode=0, utf8=True)

    class Refuses:
        async def ask(self, *_: Any, **__: Any) -> Any:
            return ErrorReply(id=1, code="not_found", message="f is not there")

    with pytest.raises(WorkshopLost, match="base64"):
        await read(Lies())
    assert shown(await read(Refuses())) == "not_found: f is not there"
