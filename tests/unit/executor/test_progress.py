"""Output as it comes becomes few events, and none is held back for ever."""

import asyncio

from guildhall_executor.progress import Progress


async def test_what_a_quiet_tool_said_last_is_told_when_it_is_due() -> None:
    told: list[str] = []
    spoke = asyncio.Event()

    def tell(text: str) -> None:
        told.append(text)
        spoke.set()

    with Progress(tell, 0.05) as progress:
        progress.take("a")
        progress.take("b")
        assert told == []
        async with asyncio.timeout(5):
            await spoke.wait()
    assert told == ["ab"]


async def test_nothing_is_told_after_the_end() -> None:
    told: list[str] = []
    with Progress(told.append, 0.02) as progress:
        progress.take("a")
    await asyncio.sleep(0.05)
    assert told == []


async def test_a_flood_is_told_at_the_pace() -> None:
    told: list[str] = []
    with Progress(told.append, 0.05) as progress:
        until = asyncio.get_running_loop().time() + 0.3
        while asyncio.get_running_loop().time() < until:
            progress.take("x")
            await asyncio.sleep(0.001)
    assert 1 <= len(told) <= 6
