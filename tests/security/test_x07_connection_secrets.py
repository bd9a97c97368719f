"""X7, SSRF: a Connection's token goes to its own host and nowhere else: no status, answer, context, log or database.

The positive control is in every test: the right server was called with the token, or would have been.
"""

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from guildhall_gateway.adapters.connections import Reach
from guildhall_gateway.adapters.guard import FORBIDDEN, origin_of
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from support.connections import QUICK, Bench, bench, connection, frozen, guild_of
from support.mcp_server import Running, mcp_server
from unit.gateway import kit

CANARY = "canary-4f1d0b7e-secret-token"
READ = "notes__read_note"
AUTH = {"secretRef": {"name": "notes-token"}}


def secret(cluster: kit.Cluster, host: str, token: str = CANARY) -> None:
    cluster.secrets["team", "notes-token"] = {"host": host.encode(), "token": token.encode()}


async def condition(cluster: kit.Cluster, name: str = "notes", after: int = 0) -> dict[str, Any]:
    """The condition of the next status that is written."""
    await kit.until(lambda: len([1 for one, _ in cluster.connection_statuses if one == name]) > after)
    found: dict[str, Any] = [status for one, status in cluster.connection_statuses if one == name][-1]["conditions"][0]
    return found


def place(server: Running) -> str:
    """What the Secret's `host` must say."""
    return origin_of(server.url).partition("://")[2]


def everything(folder: Path) -> bytes:
    """All that was written below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def heard(server: Running) -> list[str]:
    return [headers.get("authorization", "") for headers in server.told.headers]


async def test_the_token_reaches_its_own_server_and_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with mcp_server(token=CANARY) as server:
        where = Reach(frozenset({origin_of(server.url)}), (), QUICK)
        async with kit.serve(tmp_path, where=where) as served:
            secret(served.cluster, place(server))
            run = served.cluster.add_run(**frozen(guild_of(READ, "notes__publish")))
            served.cluster.tell("set", connection(server.url, auth=AUTH))
            made = Bench(served, server, run)
            await made.ready()
            answer = await made.call(READ, {"number": 1})
            refused = await made.call(READ, {"number": "x"}, call_id="c2")
            tools = await made.get()
            assert answer.status_code == 200
            async with served.client(kit.API_TOKEN) as client:
                ledger = await client.get(f"/internal/v1/runs/{run.uid}/ledger")
        said = json.dumps([served.cluster.connection_statuses, served.cluster.run_statuses, tools])
        assert set(heard(server)) == {f"Bearer {CANARY}"}, "positive control: the server was asked with it"
        for text in (said, answer.text, refused.text, ledger.text, caplog.text, repr(served.gateway.connections)):
            assert CANARY not in text
    files = everything(tmp_path)
    assert b"read_note" in files, "positive control: the database was looked at"
    assert CANARY.encode() not in files


def spellings(token: str) -> dict[str, str]:
    """How a program may say a token back without meaning to hide it."""
    packed = base64.b64encode(f"Bearer {token}".encode()).decode()
    return {
        "as it is": token,
        "base64": packed,
        "base64url": base64.urlsafe_b64encode(f">?{token}".encode()).decode(),
        "percent": "".join(f"%{ord(each):02X}" for each in token),
        "json": "".join(f"\\u{ord(each):04x}" for each in token),
        "json in json": json.dumps({"said": json.dumps(json.dumps(token))}),
    }


@pytest.mark.parametrize("spelling", spellings(""))
async def test_a_server_that_says_the_token_back_does_not_get_it_into_a_context(tmp_path: Path, spelling: str) -> None:
    echo = MCPServer("echo")
    token = CANARY + '"?~>'
    told = spellings(token)[spelling]
    canaries = (CANARY, token, told, told.strip("="), "canary-4f1d")

    @echo.tool(description=f"Knows {told}.")
    async def read_note(number: int) -> str:
        if number:
            raise ToolError(f"failed with {told}")
        return f"You are {told}."

    async with mcp_server(echo.streamable_http_app(), lifespan=True) as server:
        where = Reach(frozenset({origin_of(server.url)}), (), QUICK)
        async with kit.serve(tmp_path, where=where) as served:
            secret(served.cluster, place(server), token)
            run = served.cluster.add_run(**frozen(guild_of(READ)))
            served.cluster.tell("set", connection(server.url, auth=AUTH))
            made = Bench(served, server, run)
            status = await made.ready(tools=1)
            good = await made.call(READ, {"number": 0})
            bad = await made.call(READ, {"number": 1}, call_id="c2")
            assert "You are " in good.text
            assert "(token left out)" in good.text
            assert bad.json()["outcome"] == "error"
            for text in (good.text, bad.text, json.dumps(status), json.dumps(await made.get())):
                assert "(token left out)" in text
                assert not [each for each in canaries if each in text]


@pytest.mark.parametrize(
    "host",
    ["other.test", "127.0.0.1.evil.test", "", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:1", "x@{here}", "{here}/x",
     "{here}?", "{here}#", "http://{here}", "{here} other.test", ":{here}", "[{here}]", "{here}:80", "\u0661{here}"],
)  # fmt: skip
async def test_a_secret_for_another_host_or_port_is_not_sent(tmp_path: Path, host: str) -> None:
    """Without a port `host` means the scheme's own, which no test server has."""
    async with mcp_server() as server:
        where = Reach(frozenset({origin_of(server.url)}), (), QUICK)
        async with kit.serve(tmp_path, where=where) as served:
            secret(served.cluster, host.format(here=place(server)))
            served.cluster.tell("set", connection(server.url, auth=AUTH))
            assert (await condition(served.cluster))["reason"] == "SecretForOtherHost"
            assert server.told.headers == [], "nothing was sent"
            secret(served.cluster, place(server))
            served.cluster.tell("set", connection(server.url, auth=AUTH, generation=2))
            assert (await condition(served.cluster, after=1))["reason"] == "Connected", "positive control"


@pytest.mark.parametrize(
    "values", [None, {}, {"host": b"127.0.0.1"}, {"host": b"127.0.0.1", "token": b"a b"},
               {"host": b"127.0.0.1", "token": b"\xff"}, {"host": b"127.0.0.1", "token": b"x" * 9_000}], ids=str,
)  # fmt: skip
async def test_a_secret_that_is_no_token_is_not_sent(tmp_path: Path, values: dict[str, bytes] | None) -> None:
    async with mcp_server() as server:
        where = Reach(frozenset({origin_of(server.url)}), (), QUICK)
        async with kit.serve(tmp_path, where=where) as served:
            if values is not None:
                named = {"host": place(server).encode()} if "host" in values else {}
                served.cluster.secrets["team", "notes-token"] = values | named
            served.cluster.tell("set", connection(server.url, auth=AUTH))
            reason = "SecretUnusable" if values is None or "host" in values else "SecretForOtherHost"
            assert (await condition(served.cluster))["reason"] == reason
            assert server.told.headers == []


async def test_only_named_origins_and_never_this_machine(tmp_path: Path) -> None:
    async with mcp_server() as server:
        origin = origin_of(server.url)
        for allowed, forbidden, reason in (
            (frozenset[str](), (), "HostNotAllowed"),
            (frozenset({"http://127.0.0.1:1"}), (), "HostNotAllowed"),
            (frozenset({origin.replace("http:", "https:")}), (), "HostNotAllowed"),
            (frozenset({origin}), FORBIDDEN, "HostNotAllowed"),
        ):
            async with kit.serve(tmp_path, where=Reach(allowed, forbidden, QUICK)) as served:
                served.cluster.tell("set", connection(server.url))
                assert (await condition(served.cluster))["reason"] == reason
        assert server.told.headers == [], "not one request arrived"
        named = server.url.replace("127.0.0.1", "localhost")
        async with kit.serve(tmp_path, where=Reach(frozenset({origin_of(named)}), FORBIDDEN, QUICK)) as served:
            served.cluster.tell("set", connection(named))
            assert (await condition(served.cluster))["reason"] == "HostNotAllowed", "nor by a name that points there"
        assert server.told.headers == []
        async with kit.serve(tmp_path, where=Reach(frozenset({origin}), (), QUICK)) as served:
            served.cluster.tell("set", connection(server.url))
            assert (await condition(served.cluster))["reason"] == "Connected", "positive control"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_host_is_not_followed(tmp_path: Path, status: int) -> None:
    async with mcp_server() as other:

        async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
            headers = [(b"location", other.url.encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b""})

        async with mcp_server(elsewhere) as server:
            allowed = frozenset({origin_of(server.url), origin_of(other.url)})
            async with kit.serve(tmp_path, where=Reach(allowed, (), QUICK)) as served:
                secret(served.cluster, place(server))
                served.cluster.tell("set", connection(server.url, auth=AUTH))
                assert (await condition(served.cluster))["status"] == "False"
                assert server.told.headers != [], "positive control: the first host was asked"
                assert other.told.headers == [], "the second never"


async def test_the_secret_is_read_anew_so_a_new_token_is_used(tmp_path: Path) -> None:
    async with mcp_server(token="first") as server:
        where = Reach(frozenset({origin_of(server.url)}), (), QUICK)
        async with kit.serve(tmp_path, where=where) as served:
            secret(served.cluster, place(server), "first")
            run = served.cluster.add_run(**frozen(guild_of(READ)))
            served.cluster.tell("set", connection(server.url, auth=AUTH))
            made = Bench(served, server, run)
            await made.ready()
            assert (await made.call(READ, {"number": 1})).json()["outcome"] == "done"
            server.token = "second"
            secret(served.cluster, place(server), "second")
            assert (await made.call(READ, {"number": 2}, call_id="c2")).json()["outcome"] == "done"
            assert [call for _, call in server.told.calls] == [{"number": 1}, {"number": 2}]


async def test_positive_control_the_bench_itself(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        assert (await made.call(READ, {"number": 1})).status_code == 200
