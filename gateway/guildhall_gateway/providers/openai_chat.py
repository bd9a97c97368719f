"""OpenAI's chat protocol as compatible servers really speak it: some give two tool calls one index, or one id, or none.

Guards against two calls being joined into one whose arguments nobody wrote, and against a stream without an end: the
library takes what came for all there is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from openai.types.chat import chat_completion_chunk
from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse

from guildhall_gateway.providers.unframed import Unframed


@dataclass
class _Stream(OpenAIStreamedResponse):
    _slots: dict[object, str] = field(default_factory=dict, init=False)

    def get(self) -> ModelResponse:
        """What came; incomplete until a finish reason has come, also where the library supposes one."""
        response = super().get()
        return response if self._has_finish_reason else replace(response, state="incomplete")

    def _map_tool_call_delta(self, choice: chat_completion_chunk.Choice) -> Iterable[ModelResponseStreamEvent]:
        for delta in choice.delta.tool_calls or []:
            if delta.id:
                self._slots[delta.index] = delta.id
            identity = self._slots.get(delta.index, "")
            yield from self._parts_manager.handle_tool_call_delta_events(
                vendor_part_id=("call", delta.index, identity),
                tool_name=delta.function.name if delta.function is not None else None,
                args=delta.function.arguments if delta.function is not None else None,
                tool_call_id=delta.id or None,
            )


class ChatModel(Unframed, OpenAIChatModel):
    """An OpenAI-compatible chat model that keeps tool calls apart by index and id; a piece without an id goes to the
    last one of its index."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _Stream
