"""Reasoning of every provider: out of the text, back to its provider with its signature, and nowhere else."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.model_api import AssistantMessage, ToolCall
from guildhall_gateway.budget import prompt_tokens_at_most
from guildhall_gateway.live import Timeouts
from guildhall_gateway.providers.base import ProviderReply
from guildhall_gateway.providers.carry import carry_of, restored
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import messages as theirs
from support.providers import server as wire
from support.providers.chat import Chat, chat, piece
from support.providers.dialect import Call, Dialect, Say
from support.providers.server import Provider
from unit.gateway import kit
from unit.gateway.asking import BOTH_WAYS, DIALECTS, EVERY, adapter, asked, gathered, keys

THOUGHT, SIGNATURE = "SECRET-PLAN", "c2lnbmF0dXJl"  # base64, as signatures are
THINKING = Say("Let me", (Call("c1"),), thought=THOUGHT, signature=SIGNATURE, stop="calls")


@pytest.fixture
async def server() -> AsyncIterator[Provider]:
    async with wire.provider() as made:
        yield made


def history(reply: ProviderReply, **changed: Any) -> list[dict[str, Any]]:
    """The conversation after a reply whose calls were answered."""
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    turn = {"kind": "assistant", "text": reply.text, "toolCalls": calls, "carry": reply.carry}
    results = [
        {"kind": "tool", "call": call.id, "name": call.name, "content": [kit.block("done", "workspace", "data")]}
        for call in reply.tool_calls
    ]
    return [{"kind": "user", "content": [kit.block("do it")]}, turn | changed, *results]


async def thought_through(server: Provider, folder: Path, dialect: Dialect, *, whole: bool = False) -> ProviderReply:
    server.behave = dialect.whole(THINKING) if whole else dialect.streamed(THINKING)
    live, reply = await gathered(adapter(dialect, server, folder, whole=whole), asked(dialect))
    assert THOUGHT not in live
    return reply


async def shown_back(
    server: Provider, folder: Path, dialect: Dialect, messages: list[dict[str, Any]]
) -> list[tuple[str, str]]:
    server.behave = dialect.streamed(Say("ok"))
    await gathered(adapter(dialect, server, folder), asked(dialect, messages=messages))
    return dialect.shown(server.last)


@EVERY
@BOTH_WAYS
async def test_reasoning_stays_out_of_the_text_and_goes_back_with_its_signature(
    server: Provider, tmp_path: Path, dialect: Dialect, whole: bool
) -> None:
    reply = await thought_through(server, tmp_path, dialect, whole=whole)
    assert reply.text == "Let me"
    assert reply.carry
    shown = await shown_back(server, tmp_path, dialect, history(reply))
    expected = THOUGHT if isinstance(dialect, Chat) else SIGNATURE
    assert [text for kind, text in shown if kind == "thought"] == [expected]
    others = [text for kind, text in shown if kind not in ("thought", "assistant")]
    assert THOUGHT not in "".join(others)
    assert ("call", 'c1 {"path":"a"}') in shown


@EVERY
async def test_it_goes_to_no_other_model_and_fits_no_other_message(
    server: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    reply = await thought_through(server, tmp_path, dialect)
    marked = (THOUGHT, SIGNATURE)
    control = await shown_back(server, tmp_path, dialect, history(reply))
    assert any(mark in text for _, text in control for mark in marked)
    other = DIALECTS[(DIALECTS.index(dialect) + 1) % len(DIALECTS)]
    for where, messages in (
        (other, history(reply)),
        (dialect, history(reply, text="Let me see")),
        (dialect, history(reply, toolCalls=history(reply)[1]["toolCalls"] * 2)),
        (dialect, history(reply, carry="{" + reply.carry)),
        (dialect, history(reply, carry="[" * 50_000)),
    ):
        shown = await shown_back(server, tmp_path, where, messages)
        assert not any(mark in text for _, text in shown for mark in marked)
        assert "call" in {kind for kind, _ in shown}, "the message itself is still there"


@EVERY
async def test_a_reply_that_asks_for_nothing_carries_nothing(
    server: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    server.behave = dialect.streamed(Say("Done.", thought=THOUGHT, signature=SIGNATURE))
    _, reply = await gathered(adapter(dialect, server, tmp_path), asked(dialect))
    assert (reply.text, reply.carry) == ("Done.", "")


async def test_thoughts_between_tags_in_the_text_are_taken_out(server: Provider, tmp_path: Path) -> None:
    local = DIALECTS[2]
    server.behave = chat(
        {"role": "assistant"}, {"content": "<think>"}, {"content": THOUGHT}, {"content": "</think>"},
        {"content": "Let me"}, piece(0, "c1", "write_file", "{}"), finish="tool_calls",
    )  # fmt: skip
    live, reply = await gathered(adapter(local, server, tmp_path), asked(local))
    assert THOUGHT not in live + reply.text
    assert "Let me" in reply.text
    assert reply.carry == "", "tags were no field: nobody wants them back"


@EVERY
async def test_a_model_that_thinks_for_long_is_not_silent(server: Provider, tmp_path: Path, dialect: Dialect) -> None:
    """Reasoning shows nothing to people, and is a sign of life all the same."""
    stream = dialect.streamed(Say("Let me", (Call("c1"),), thought="x", signature=SIGNATURE, stop="calls"))

    async def slowly(write: wire.Write) -> None:
        async def late(data: bytes) -> None:
            await asyncio.sleep(0.08)
            await write(data)

        await stream(late)

    server.behave = slowly
    keys(tmp_path)
    urls = {dialect.name: server.url + dialect.base}
    limits_ = Timeouts(idle=0.5, call=20, heartbeat=0.2)
    allow = {"allow": [f"{dialect.name}:*"]}
    async with kit.serve(tmp_path, timeouts=limits_, models=allow, base_urls=urls) as served:
        served.cluster.add_run()
        last = (await served.model(kit.request(model=dialect.model)))[-1]
    assert last["type"] == "reply", last
    assert last["reply"]["carry"]


def thinking(size: int) -> theirs.ModelResponse:
    parts: list[theirs.ModelResponsePart] = [
        theirs.ThinkingPart("x" * size, signature="s", provider_name="p"),
        theirs.ToolCallPart("t", "{}", "c1"),
    ]
    return theirs.ModelResponse(parts=parts)


def test_what_is_carried_is_bounded_and_paid_for() -> None:
    carried = carry_of(thinking(1_000), "p:m")
    assert 1_000 < len(carried) < 2_000
    assert carry_of(thinking(limits.MODEL_CARRY_MAX_BYTES), "p:m") == ""
    turn = {"kind": "assistant", "text": "", "toolCalls": [{"id": "c1", "name": "t", "arguments": "{}"}]}
    plain = asked(DIALECTS[0], messages=[turn])
    paid = asked(DIALECTS[0], messages=[turn | {"carry": carried}])
    assert prompt_tokens_at_most(paid) - prompt_tokens_at_most(plain) == len(carried)


@given(st.text(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_carry_is_taken_back_or_left_out(carry: str) -> None:
    message = AssistantMessage(text="x", carry=carry, tool_calls=[ToolCall(id="c", name="t", arguments="{}")])
    assert restored(message, "p:m") is None
