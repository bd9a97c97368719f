"""Code runs in real workers here: they are cheap, and what matters is what they do."""

from collections.abc import AsyncIterator

import pytest
from support.code import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.pool.close()
