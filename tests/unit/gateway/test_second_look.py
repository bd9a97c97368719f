"""Repository code shares its executor's address: however much junk it sends, a rotated token is still looked at."""

import base64
import json
from pathlib import Path

import pytest
from guildhall_contracts import limits
from guildhall_gateway.identity import WINDOW_SECONDS, Authenticator, Caller, plausible
from guildhall_gateway.problems import Refusal
from unit.gateway import kit

NOW = 1_000_000.0
SPENT = limits.UNAUTHENTICATED_PER_POD_PER_MINUTE_COUNT
FEW = limits.REVIEWS_WHEN_SPENT_PER_MINUTE_COUNT
IP = "127.0.0.1"


def jwt(claims: object, salt: str = "s") -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.{salt}"


def good(number: int) -> str:
    return jwt({"exp": NOW + 600, "n": number})


class Door:
    """An authenticator with clocks of our own, and a Run behind it."""

    def __init__(self) -> None:
        self.cluster = kit.Cluster()
        self.now = 0.0
        self.cluster.add_run(token=good(1))
        self.cluster.tokens[good(2)] = self.cluster.tokens[good(1)]
        self.authenticator = Authenticator(self.cluster, self.cluster, kit.API_ACCOUNT, ["team"], lambda: self.now)
        self.authenticator._unix_clock = lambda: NOW

    async def ask(self, token: str, port: int = 1) -> int:
        answer = await self.authenticator.caller(f"Bearer {token}", IP, "run", port)
        return answer.status if isinstance(answer, Refusal) else 200

    async def spend(self) -> None:
        for number in range(SPENT):
            assert await self.ask(f"junk-{number}") == 401
        assert await self.ask("junk") == 429


async def test_a_rotated_token_is_looked_at_though_the_address_is_spent() -> None:
    door = Door()
    await door.spend()
    reviews = door.cluster.reviews
    assert await door.ask(good(2)) == 200
    assert await door.ask("junk", port=2) == 429
    assert await door.ask(jwt({"exp": NOW - 1}), port=2) == 429
    assert door.cluster.reviews == reviews + 1


async def test_forged_tokens_get_few_reviews_each_once_and_new_ones_in_the_next_minute() -> None:
    door = Door()
    await door.spend()
    reviews = door.cluster.reviews
    assert await door.ask(good(100)) == 401
    assert [await door.ask(good(100)) for _ in range(50)] == [429] * 50
    statuses = [await door.ask(good(number)) for number in range(200, 300)]
    assert statuses == [401] * (FEW - 1) + [429] * (101 - FEW)
    assert door.cluster.reviews == reviews + FEW
    door.now += WINDOW_SECONDS + 1
    assert await door.ask(good(100)) == 401


async def test_a_connection_that_was_served_is_heard_whatever_its_neighbours_forge() -> None:
    door = Door()
    assert await door.ask(good(1), port=7) == 200
    await door.spend()
    for number in range(200, 300):
        await door.ask(good(number), port=8)
    assert await door.ask(good(2), port=8) == 429, "the control: the neighbour's connection has nothing left"
    assert await door.ask(good(2), port=7) == 200
    statuses = [await door.ask(f"junk-{number}", port=7) for number in range(50)]
    assert statuses == [401] * (FEW - 1) + [429] * (51 - FEW), "and is bounded too"


@pytest.mark.parametrize(
    "token",
    ["", "a", "a.b", "a..c", "a.b.c.d", "e30.e30.x", "e30.!!!!.x", jwt([]), jwt({"exp": "9" * 9}), jwt({"exp": None}),
     jwt({"exp": NOW}), "e30." + base64.urlsafe_b64encode(b"[" * 9_000).decode() + ".x", "e30._w.x"],
)  # fmt: skip
def test_what_is_no_unexpired_jwt_is_not_plausible(token: str) -> None:
    assert plausible(jwt({"exp": NOW + 1}), NOW)
    assert not plausible(token, NOW)


async def test_the_app_says_which_connection_asks(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        seen: list[int] = []
        caller = served.gateway.authenticator.caller

        async def noting(header: str | None, source_ip: str, use: str, port: int = 0) -> Caller | Refusal:
            seen.append(port)
            return await caller(header, source_ip, use, port)  # type: ignore[arg-type]

        served.gateway.authenticator.caller = noting  # type: ignore[method-assign]
        async with served.client() as client:
            for _ in range(2):
                assert (await client.get("/v1/mailbox")).status_code == 200
        assert seen[0] == seen[1] > 0
