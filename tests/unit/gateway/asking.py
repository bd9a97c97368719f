"""Asks an adapter of a provider made of records, and gives what came of it."""

from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ModelRequest
from guildhall_gateway.providers.base import ProviderFailure, ProviderReply
from guildhall_gateway.providers.pydantic_ai import PydanticAiProvider, connect
from support.providers.anthropic import Messages
from support.providers.chat import Chat
from support.providers.dialect import Dialect
from support.providers.google import Gemini
from support.providers.responses import Responses
from support.providers.server import Provider
from unit.gateway import kit

KEY = "sk-canary-0123456789"
DIALECTS: tuple[Dialect, ...] = (Responses(), Chat(), Chat("local", "qwen"), Messages(), Gemini())
EVERY = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
BOTH_WAYS = pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
TOOL = {
    "name": "write_file",
    "description": "writes",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def keys(folder: Path) -> Path:
    """The folder with a key file for every provider."""
    (folder / "keys").mkdir(exist_ok=True)
    for name in ("openai", "anthropic", "google", "local"):
        (folder / "keys" / name).write_text(KEY + "\n")
    return folder / "keys"


def adapter(dialect: Dialect, server: Provider, folder: Path, *, whole: bool = False) -> PydanticAiProvider:
    found = connect(dialect.name, keys(folder), {dialect.name: server.url + dialect.base}, whole=whole)
    assert found is not None
    return found


def asked(dialect: Dialect, **more: Any) -> ModelRequest:
    return ModelRequest.model_validate(kit.request(model=dialect.model, tools=[TOOL], **more))


async def gathered(provider: PydanticAiProvider, request: ModelRequest) -> tuple[str, ProviderReply]:
    """The live text, and the reply."""
    text, reply = "", None
    async for item in provider.stream(request, 1):
        if isinstance(item, ProviderReply):
            reply = item
        else:
            text += item
    assert reply is not None
    return text, reply


async def failed(provider: PydanticAiProvider, request: ModelRequest) -> ProviderFailure:
    with pytest.raises(ProviderFailure) as caught:
        await gathered(provider, request)
    return caught.value
