"""Real providers through pydantic-ai's model classes; this file translates errors and holds the keys.

Guards the keys: they come from files or the environment, go into one client each, and into no error and no log; a
provider's error text is never passed on, since it may quote them. Redirects are not followed.
"""

import logging
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import httpx2
from guildhall_contracts import limits
from guildhall_contracts.model_api import ModelRequest
from pydantic_ai import exceptions, messages
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from guildhall_gateway.prices import Pricing, listed_pricing
from guildhall_gateway.problems import gateway_error
from guildhall_gateway.providers.base import (
    ProviderFailure,
    ProviderReply,
    empty_answer,
    failure_of_status,
    garbage_answer,
    stalled,
)
from guildhall_gateway.providers.translate import (
    count_of,
    stop_reason_of,
    text_of,
    to_messages,
    to_parameters,
    tool_calls_of,
)

log = logging.getLogger(__name__)

KEY_MAX_BYTES: Final = 8 * 1024
CONNECT_SECONDS: Final = 10.0
NO_KEY: Final = "none"  # sent to local servers that want no key

MakeModel = Callable[[str], Model]


def read_key(name: str, folder: Path) -> str | None:
    """The key of provider `name`: file `<folder>/<name>`, else `<NAME>_API_KEY`. None when there is neither."""
    path = folder / name
    try:
        data = path.read_bytes()[:KEY_MAX_BYTES]
    except OSError:
        data = os.environ.get(f"{name.upper().replace('-', '_')}_API_KEY", "").encode()
    text = data.decode("ascii", "ignore").strip()
    return text or None


def http_client() -> httpx2.AsyncClient:
    """A client that follows no redirects and waits for a silent provider as long as the gateway does."""
    timeout = httpx2.Timeout(float(limits.MODEL_STREAM_IDLE_MAX_SECONDS), connect=CONNECT_SECONDS)
    return httpx2.AsyncClient(timeout=timeout, follow_redirects=False)


def _openai(key: str, url: str | None, *, responses: bool) -> MakeModel:
    from pydantic_ai.models.openai import OpenAIResponsesModel  # noqa: PLC0415  one SDK at a time
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    from guildhall_gateway.providers.openai_chat import ChatModel  # noqa: PLC0415

    provider = OpenAIProvider(base_url=url, api_key=key, http_client=http_client())
    if responses:
        return lambda name: OpenAIResponsesModel(name, provider=provider)
    return lambda name: ChatModel(name, provider=provider)


def _anthropic(key: str, url: str | None) -> MakeModel:
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    provider = AnthropicProvider(api_key=key, base_url=url, http_client=http_client())
    return lambda name: AnthropicModel(name, provider=provider)


def _google(key: str, url: str | None) -> MakeModel:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    provider = GoogleProvider(api_key=key, base_url=url, http_client=http_client())
    return lambda name: GoogleModel(name, provider=provider)


def connect(name: str, keys: Path, base_urls: dict[str, str]) -> "PydanticAiProvider | None":
    """The provider called `name`, or None when it is neither known with a key nor given a base URL."""
    key_name = "openai" if name == "openai-chat" else name
    key, url = read_key(key_name, keys), base_urls.get(name)
    if key is None and url is None:
        return None
    secret = key or NO_KEY
    match name:
        case "openai":
            return PydanticAiProvider(name, _openai(secret, url, responses=True))
        case "anthropic":
            return PydanticAiProvider(name, _anthropic(secret, url))
        case "google":
            return PydanticAiProvider(name, _google(secret, url))
    if name != "openai-chat" and url is None:
        return None
    return PydanticAiProvider(name, _openai(secret, url, responses=False))


class PydanticAiProvider:
    """One provider; models by name, all on one HTTP client."""

    def __init__(self, name: str, make: MakeModel) -> None:
        self._name = name
        self._make = make
        self._models: dict[str, Model] = {}

    def pricing(self, request: ModelRequest) -> Pricing:
        return listed_pricing(request.model)

    def _model(self, request: ModelRequest) -> Model:
        name = request.model.partition(":")[2]
        if name not in self._models:
            if len(self._models) >= 64:
                self._models.clear()
            self._models[name] = self._make(name)
        return self._models[name]

    async def stream(self, request: ModelRequest, attempt: int) -> AsyncIterator[str | ProviderReply]:
        """Text as it comes, then the reply. Raises ProviderFailure."""
        del attempt
        try:
            async for piece in self._pieces(request):
                yield piece
        except exceptions.AgentRunError as error:
            raise failure_of(request.model, error) from None
        except Exception as error:  # noqa: BLE001  an SDK that stumbles over a provider's bytes may raise anything
            log.warning("%s: %s while reading its answer", request.model, type(error).__name__)
            raise garbage_answer(request.model) from None

    async def _pieces(self, request: ModelRequest) -> AsyncIterator[str | ProviderReply]:
        settings = ModelSettings(max_tokens=request.max_output_tokens, max_retries=0)
        size = 0
        async with model_request_stream(
            self._model(request),
            to_messages(request.messages),
            model_settings=settings,
            model_request_parameters=to_parameters(request),
            instrument=False,
        ) as stream:
            async for event in stream:
                text = _text_of_event(event)
                size += len(text)
                if size > limits.BLOB_RESULT_MAX_BYTES:
                    break  # no reply may be longer; what came is kept and marked as cut
                if text:
                    yield text
            response = stream.get()
        yield _reply(request, response, was_cut=size > limits.BLOB_RESULT_MAX_BYTES)


def _text_of_event(event: Any) -> str:
    match event:
        case messages.PartStartEvent(part=messages.TextPart(content=text)):
            return text
        case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)):
            return text
    return ""


def _reply(request: ModelRequest, response: messages.ModelResponse, *, was_cut: bool) -> ProviderReply:
    calls = tool_calls_of(response, request.call_id)
    text = text_of(response)
    reason = "max_tokens" if was_cut else stop_reason_of(response, calls=bool(calls))
    count = count_of(response.usage)
    if not text.strip() and not calls and count is None and reason in ("end", "other"):
        raise empty_answer(request.model)
    return ProviderReply(text, calls, reason, count)


def failure_of(who: str, error: exceptions.AgentRunError) -> ProviderFailure:  # noqa: PLR0911  one for each kind
    """The closed taxonomy's word for a pydantic-ai error."""
    match error:
        case exceptions.ModelContextWindowExceededError():
            return failure_of_status(who, 400, overflow=True)
        case exceptions.ModelQuotaExceededError():
            text = f"the account of {who} has no quota or credit left; the platform team must top it up"
            return ProviderFailure(gateway_error("llm_refused", text))
        case exceptions.ModelRateLimitError():
            return failure_of_status(who, 429, error.retry_after)
        case exceptions.ModelHTTPError() if 300 <= error.status_code < 400:
            return garbage_answer(who)
        case exceptions.ModelHTTPError():
            return _billed(failure_of_status(who, error.status_code, error.retry_after), error)
        case exceptions.ModelTimeoutError():
            return stalled(who, float(limits.MODEL_STREAM_IDLE_MAX_SECONDS))
        case exceptions.ModelConnectionError():
            text = f"the connection to {who} failed; this usually passes"
            sent = error.phase not in ("pool", "connect")
            return ProviderFailure(gateway_error("llm_unavailable", text), "unknown" if sent else "nothing")
        case exceptions.ContentFilterError():
            return ProviderFailure(gateway_error("llm_refused", f"{who}'s content filter stopped the reply"), "unknown")
        case exceptions.ModelAPIError() | exceptions.UnexpectedModelBehavior():
            return garbage_answer(who)
    return garbage_answer(who)


def _billed(failure: ProviderFailure, error: exceptions.ModelHTTPError) -> ProviderFailure:
    return ProviderFailure(failure.error, "unknown") if error.in_stream else failure
