"""Real providers through pydantic-ai's model classes; this file translates errors and holds the keys.

Guards the keys: they come from files or the environment, go into one client each, and into no error and no log; a
provider's error text is never passed on, since it may quote them. Redirects are not followed.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypedDict

import httpx2
from guildhall_contracts import limits
from guildhall_contracts.model_api import ModelRequest
from pydantic_ai import exceptions, messages
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from guildhall_gateway.prices import Pricing, listed_pricing
from guildhall_gateway.providers.base import (
    ProviderFailure,
    ProviderReply,
    broke_off,
    empty_answer,
    garbage_answer,
    gave_up,
    overflowed,
)
from guildhall_gateway.providers.carry import carry_of
from guildhall_gateway.providers.faults import failure_of
from guildhall_gateway.providers.translate import (
    count_of,
    ending_of,
    stop_reason_of,
    text_of,
    to_messages,
    to_parameters,
    tool_calls_of,
)
from guildhall_gateway.providers.transport import http_client
from guildhall_gateway.providers.unframed import Unframed

log = logging.getLogger(__name__)

KEY_MAX_BYTES: Final = 8 * 1024
REPLY_MAX_CHARS: Final = limits.BLOB_RESULT_MAX_BYTES + limits.TOOL_ARGUMENTS_MAX_BYTES
NO_KEY: Final = "none"  # sent to local servers that want no key

MakeModel = Callable[[str], Model]


class _Asked(TypedDict):
    """What pydantic-ai is asked with, streaming or not."""

    model: Model
    messages: list[messages.ModelMessage]
    model_settings: ModelSettings
    model_request_parameters: ModelRequestParameters
    instrument: bool


def read_key(name: str, folder: Path) -> str | None:
    """The key of provider `name`: file `<folder>/<name>`, else `<NAME>_API_KEY`. None when there is neither."""
    path = folder / name
    try:
        data = path.read_bytes()[:KEY_MAX_BYTES]
    except OSError:
        data = os.environ.get(f"{name.upper().replace('-', '_')}_API_KEY", "").encode()
    text = data.decode("ascii", "ignore").strip()
    return text or None


def key_of(name: str, folder: Path) -> str | None:
    """The key that provider `name` is asked with: `openai-chat` is OpenAI's older protocol, with OpenAI's key."""
    return read_key("openai" if name == "openai-chat" else name, folder)


def _openai(key: str, url: str | None, client: httpx2.AsyncClient, *, responses: bool) -> MakeModel:
    from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings  # noqa: PLC0415  one SDK at a time
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    from guildhall_gateway.providers.openai_chat import ChatModel  # noqa: PLC0415

    class Responses(Unframed, OpenAIResponsesModel):
        pass

    provider = OpenAIProvider(base_url=url, api_key=key, http_client=client)
    if responses:
        settings = OpenAIResponsesModelSettings(openai_store=False)  # OpenAI keeps nothing of a private Run either
        return lambda name: Responses(name, provider=provider, settings=settings)
    return lambda name: ChatModel(name, provider=provider)


def _anthropic(key: str, url: str | None, client: httpx2.AsyncClient) -> MakeModel:
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    class Messages(Unframed, AnthropicModel):
        pass

    provider = AnthropicProvider(api_key=key, base_url=url, http_client=client)
    return lambda name: Messages(name, provider=provider)


def _google(key: str, url: str | None, client: httpx2.AsyncClient) -> MakeModel:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    class Gemini(Unframed, GoogleModel):
        pass

    provider = GoogleProvider(api_key=key, base_url=url, http_client=client)
    return lambda name: Gemini(name, provider=provider)


def connect(name: str, keys: Path, base_urls: dict[str, str], *, whole: bool = False) -> "PydanticAiProvider | None":
    """The provider called `name`, or None when it is neither known with a key nor given a base URL.

    `whole`: it is asked without streaming, for servers that cannot stream or do not count tokens when they do.
    """
    key, url = key_of(name, keys), base_urls.get(name)
    if key is None and url is None:
        return None
    secret = key or NO_KEY
    silence = limits.MODEL_CALL_MAX_SECONDS if whole else limits.MODEL_STREAM_IDLE_MAX_SECONDS
    client = http_client(silence)
    match name:
        case "openai":
            return PydanticAiProvider(_openai(secret, url, client, responses=True), client, whole=whole)
        case "anthropic":
            return PydanticAiProvider(_anthropic(secret, url, client), client, whole=whole)
        case "google":
            return PydanticAiProvider(_google(secret, url, client), client, whole=whole)
    if name != "openai-chat" and url is None:
        return None
    return PydanticAiProvider(_openai(secret, url, client, responses=False), client, whole=whole)


class PydanticAiProvider:
    """One provider; models by name, all on one HTTP client."""

    def __init__(self, make: MakeModel, client: httpx2.AsyncClient, *, whole: bool = False) -> None:
        self._client = client
        self._make = make
        self._is_whole = whole  # asked without streaming
        self._models: dict[str, Model] = {}

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()

    def pricing(self, request: ModelRequest) -> Pricing:
        return listed_pricing(request.model, datetime.now(UTC))

    def _model(self, request: ModelRequest) -> Model:
        name = request.model.partition(":")[2]
        if name not in self._models:
            if len(self._models) >= 64:
                self._models.clear()
            self._models[name] = self._make(name)
        return self._models[name]

    async def stream(self, request: ModelRequest, attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        """Text as it comes, then the reply. Raises ProviderFailure."""
        del attempt
        try:
            async with contextlib.aclosing(self._pieces(request)) as pieces:
                async for piece in pieces:
                    yield piece
        except ProviderFailure:
            raise
        except exceptions.AgentRunError as error:
            raise failure_of(request.model, error) from None
        except Exception as error:  # noqa: BLE001  an SDK that stumbles over a provider's bytes may raise anything
            log.warning("%s: %s while reading its answer", request.model, type(error).__name__)
            raise garbage_answer(request.model) from None

    def _pieces(self, request: ModelRequest) -> AsyncGenerator[str | ProviderReply, None]:
        """Text as it comes, an empty piece for every other sign of life, then the reply."""
        asked: _Asked = {
            "model": self._model(request),
            "messages": to_messages(request.messages, request.model),
            "model_settings": ModelSettings(max_tokens=request.max_output_tokens, max_retries=0),
            "model_request_parameters": to_parameters(request),
            "instrument": False,
        }
        return _whole(request, asked) if self._is_whole else _streamed(request, asked)


async def _whole(request: ModelRequest, asked: _Asked) -> AsyncGenerator[str | ProviderReply, None]:
    """An answer that comes in one piece shows no life before; only the limit of a whole call ends the wait."""
    waiting = asyncio.ensure_future(model_request(**asked))
    try:
        while not (await asyncio.wait({waiting}, timeout=limits.MODEL_HEARTBEAT_SECONDS))[0]:
            yield ""
        yield _reply(request, waiting.result(), was_cut=False)
    finally:
        waiting.cancel()


async def _streamed(request: ModelRequest, asked: _Asked) -> AsyncGenerator[str | ProviderReply, None]:
    size = 0
    async with model_request_stream(**asked) as stream:
        async for event in stream:
            text, more = _seen(event)
            size += more
            if size > REPLY_MAX_CHARS:
                break  # no reply may be longer; what came is kept and marked as cut
            yield text
        response = stream.get()
    yield _reply(request, response, was_cut=size > REPLY_MAX_CHARS)


def _seen(event: Any) -> tuple[str, int]:
    """The text an event brings for people to see, and how many characters it brings in all."""
    match event:
        case messages.PartStartEvent(part=messages.TextPart(content=text)):
            return text, len(text)
        case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)):
            return text, len(text)
        case messages.PartStartEvent(part=messages.ThinkingPart(content=thought)):
            return "", len(thought)
        case messages.PartDeltaEvent(delta=messages.ThinkingPartDelta(content_delta=thought)):
            return "", len(thought or "")
        case messages.PartDeltaEvent(delta=messages.ToolCallPartDelta(args_delta=str(arguments))):
            return "", len(arguments)
    return "", 0


def _reply(request: ModelRequest, response: messages.ModelResponse, *, was_cut: bool) -> ProviderReply:
    if not was_cut:
        _require_end(request.model, response)
    calls = tool_calls_of(response, request.call_id)
    text = text_of(response)
    reason = "max_tokens" if was_cut else stop_reason_of(response, calls=bool(calls))
    count = count_of(response.usage)
    if not text.strip() and not calls and count is None and reason in ("end", "other"):
        raise empty_answer(request.model)
    return ProviderReply(text, calls, reason, count, carry_of(response, request.model))


def _require_end(who: str, response: messages.ModelResponse) -> None:
    """Raises ProviderFailure where the answer is no whole reply."""
    match ending_of(response):
        case "cut":
            raise broke_off(who)
        case "failed":
            raise gave_up(who)
        case "overflow":
            raise overflowed(who, count_of(response.usage) or "unknown")
