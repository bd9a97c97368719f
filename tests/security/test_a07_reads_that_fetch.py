"""A7: a tool that is handed an address counts as consequential, whatever its Connection or its server say of it."""

from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.policy import CallContext, ToolPolicy, may_execute
from guildhall_gateway.adapters.reach import policy_of, reaches_out
from guildhall_gateway.adapters.schema import sound_schema
from mcp_types import ToolAnnotations
from support.connections import bench, guild_of
from support.mcp_server import mcp_server

DECLARED = ToolPolicy(effect="read", allowed_in_private=True, allowed_without_user_present=True)


def schema(**properties: Any) -> dict[str, Any]:
    return sound_schema({"type": "object", "properties": properties})


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
URI = {"type": "string", "format": "uri"}
HREF = {"type": "object", "properties": {"b": {"properties": {"href": TEXT}}}}
CHOICE = {"anyOf": [{"type": "null"}, {"type": "string", "format": "url"}]}
CONDITION = {
    "properties": {"k": TEXT},
    "if": {"properties": {"k": {"const": "x"}}},
    "then": {"properties": {"url": TEXT}},
}
PART = {"type": "object", "$defs": {"P": {"properties": {"link": TEXT}}}, "properties": {"p": {"$ref": "#/$defs/P"}}}
FETCHES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "an argument named url": ("look", "Looks.", schema(url=TEXT), {}),
    "in camel case": ("look", "Looks.", schema(targetUrl=TEXT), {}),
    "in capitals": ("look", "Looks.", schema(imageURLs={"type": "array", "items": TEXT}), {}),
    "in capitals alone": ("look", "Looks.", schema(IMAGEURL=TEXT), {}),
    "run together": ("look", "Looks.", schema(imageurl=TEXT), {}),
    "run together, at its beginning": ("look", "Looks.", schema(urlstring=TEXT), {}),
    "a page of the web": ("look", "Looks.", schema(webpage=TEXT), {}),
    "a page of the web in two words": ("look", "Looks.", schema(web_page=TEXT), {}),
    "a link run together": ("look", "Looks.", schema(permalink=TEXT), {}),
    "an address run together": ("look", "Looks.", schema(REDIRECTURI=TEXT), {}),
    "in a part of a composition": ("look", "Looks.", sound_schema({"allOf": [{"properties": {"link": TEXT}}]}), {}),
    "in a condition": ("look", "Looks.", sound_schema(CONDITION), {}),
    "a program that fetches": ("curl", "Runs it.", schema(args={"type": "array", "items": TEXT}), {}),
    "a program, with more": ("run_wget", "Runs it.", schema(args=TEXT), {}),
    "a program, by its description": ("run", "Like curl.", schema(args=TEXT), {}),
    "its name run together": ("GETURL", "Gives text.", schema(q=TEXT), {}),
    "its name in capitals": ("HTTPGET", "Gives text.", schema(q=TEXT), {}),
    "its deed run together": ("webfetch", "Gives text.", schema(q=TEXT), {}),
    "a hook": ("notify", "Tells.", schema(web_hook={"type": "string", "description": "where"}, webhook=TEXT), {}),
    "a host": ("ping", "Pings.", schema(host=TEXT), {}),
    "format uri": ("look", "Looks.", schema(where={"type": "string", "format": "uri"}), {}),
    "format in a list": ("look", "Looks.", schema(a={"type": "array", "items": URI}), {}),
    "deep inside": ("look", "Looks.", schema(a=HREF), {}),
    "behind a choice": ("look", "Looks.", schema(a=CHOICE), {}),
    "behind a reference": ("look", "Looks.", sound_schema(PART), {}),
    "its name": ("fetch_page", "Gives text.", schema(q=TEXT), {}),
    "its description": ("get", "Downloads a document from the internet.", schema(q=TEXT), {}),
    "an argument's description": ("get", "Gives.", schema(q={"type": "string", "description": "an https address"}), {}),
    "openWorldHint": ("get", "Gives.", schema(q=TEXT), {"openWorldHint": True}),
    "destructiveHint": ("get", "Gives.", schema(q=TEXT), {"destructiveHint": True}),
    "and a read-only claim": ("fetch", "Reads.", schema(url=TEXT), {"readOnlyHint": True, "openWorldHint": False}),
}  # fmt: skip
PLAIN: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "a number": ("read_note", "The text of a note.", schema(number={"type": "integer"}), {}),
    "a page number": ("list", "A page of notes.", schema(page={"type": "integer"}), {}),
    "a count of links": ("count", "Counts.", schema(links={"type": "integer"}), {}),
    "a count of links in a part": (
        "count",
        "Counts.",
        sound_schema({"allOf": [{"properties": {"links": NUMBER}}] * 2}),
        {},
    ),
    "words that only sound so": (
        "list",
        "Notes.",
        schema(security=TEXT, maturity=TEXT, during=TEXT, prerequisites=TEXT),
        {},
    ),
    "a name that only sounds so": ("cooking_time", "Of a dish.", schema(dish=TEXT), {}),
    "a search": ("search_notes", "Notes that have a word.", schema(query=TEXT, limit={"type": "integer"}), {}),
}


@pytest.mark.parametrize("tool", FETCHES.values(), ids=FETCHES.keys())
def test_it_asks_a_person(tool: tuple[str, str, dict[str, Any], dict[str, Any]]) -> None:
    policy = policy_of(DECLARED, reaches_out(*tool))
    assert policy.effect == "consequential"
    assert not may_execute(policy, CallContext(approved=False))
    assert may_execute(policy, CallContext(approved=True))


@pytest.mark.parametrize("tool", PLAIN.values(), ids=PLAIN.keys())
def test_positive_control_what_fetches_nothing_stays_a_read(
    tool: tuple[str, str, dict[str, Any], dict[str, Any]],
) -> None:
    assert may_execute(policy_of(DECLARED, reaches_out(*tool)), CallContext(approved=False))


ADDRESS = {"url": "http://127.0.0.1:9/?q=the+secret"}
READS = {"effect": "read", "allowedInPrivate": True, "allowedWithoutUserPresent": True}


async def test_the_call_of_one_does_not_reach_its_server_without_a_yes(tmp_path: Path) -> None:
    """Server and Connection both call it a read; the gateway's own look at it decides."""
    async with mcp_server() as server:
        assert server.made is not None
        asked: list[str] = []

        @server.made.tool(description="Gives a text.", annotations=ToolAnnotations(read_only_hint=True))
        async def fetch(url: str) -> str:
            asked.append(url)
            return "the page"

        guild = guild_of("notes__fetch", "notes__read_note")
        tools = {"fetch": READS, "read_note": READS}
        async with bench(tmp_path, guild, server=server, tools=tools, offers=3) as made:
            effects = {tool["name"]: tool["policy"]["effect"] for tool in await made.get()}
            assert effects == {"notes__fetch": "consequential", "notes__read_note": "read"}
            control = await made.call("notes__read_note", {"number": 1}, call_id="c0")
            assert control.status_code == 200, "what fetches nothing is called at once, as declared"

            refused = await made.call("notes__fetch", ADDRESS)
            assert refused.json()["error"]["detail"]["code"] == "approval_needed"
            assert asked == []
            assert b"the+secret" not in b"".join(server.told.pieces), "nothing of it was sent"

            await made.approve("notes__fetch", ADDRESS)
            said = await made.call("notes__fetch", ADDRESS, approvalId="a1")
            assert said.json()["content"][0]["text"] == "the page", "control: after a yes the call is made"
            assert asked == [ADDRESS["url"]]
            assert b"the+secret" in b"".join(server.told.pieces)
