"""Scripted models: a scenario read from a file answers in a model's place. Stateless; nothing is sent anywhere."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

from guildhall_contracts.model_api import GatewayError, ModelRequest, StopReason, ToolCall

from guildhall_gateway.prices import Pricing, TokenCount
from guildhall_gateway.problems import gateway_error
from guildhall_gateway.providers.base import (
    ProviderFailure,
    ProviderReply,
    empty_answer,
    failure_of_status,
    garbage_answer,
)
from guildhall_gateway.scenario import (
    Fault,
    Mismatch,
    Scenario,
    ScenarioError,
    ScriptedReply,
    Step,
    is_inquiry,
    mismatch,
    parse_scenario,
    turn_of,
)

log = logging.getLogger(__name__)

SCRIPTED: Final = "scripted"
PIECE_CHARS: Final = 24
HANG_SECONDS: Final = 3_600.0


def load_scenarios(folder: Path) -> dict[str, Scenario]:
    """Every scenario of a folder by name; a broken file is logged and left out, so that it harms only itself."""
    found: dict[str, Scenario] = {}
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        try:
            scenario = parse_scenario(path.read_bytes(), path.name)
        except (ScenarioError, OSError) as error:
            log.error("scenario left out: %s", error)  # noqa: TRY400  the message says all there is
            continue
        found[scenario.name] = scenario
    return found


class ScriptedProvider:
    """Answers `scripted:<scenario>`. The folder is read again when a name is unknown, so a new ConfigMap is seen."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scenarios = load_scenarios(folder)

    async def close(self) -> None:
        """It holds nothing open."""

    def pricing(self, request: ModelRequest) -> Pricing:
        step = self._find(request)
        scenario = self._scenarios.get(request.model.partition(":")[2])
        price = (step.price if step else None) or (scenario.price if scenario else None)
        return price.cost if price else lambda _count: 0

    async def stream(self, request: ModelRequest, attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        """The step's reply in pieces, or its fault. Raises ProviderFailure."""
        step = self._find(request)
        if step is None:
            raise ProviderFailure(self._no_step(request))
        unmet = mismatch(step.expect, request.messages)
        if unmet is not None:
            raise ProviderFailure(_not_shown(request, unmet))
        if step.delay_seconds:
            await asyncio.sleep(step.delay_seconds)
        if step.fault is not None and (step.fault.first_tries is None or attempt <= step.fault.first_tries):
            await _misbehave(step.fault, request.model)
        if step.reply is None:
            raise empty_answer(request.model)
        for start in range(0, len(step.reply.text), PIECE_CHARS):
            yield step.reply.text[start : start + PIECE_CHARS]
            await asyncio.sleep(0)
        yield _reply(step, step.reply, request.call_id)

    def _find(self, request: ModelRequest) -> Step | None:
        name = request.model.partition(":")[2]
        if name not in self._scenarios:
            self._scenarios |= load_scenarios(self._folder)
        scenario = self._scenarios.get(name)
        if scenario is not None and is_inquiry(request):
            return next((step for step in scenario.inquiries if mismatch(step.expect, request.messages) is None), None)
        steps = scenario.roles.get(request.role, []) if scenario else []
        turn = turn_of(request)
        return steps[turn] if turn < len(steps) else None

    def _no_step(self, request: ModelRequest) -> GatewayError:
        scenario = self._scenarios.get(request.model.partition(":")[2])
        if scenario is None:
            known = ", ".join(sorted(self._scenarios)) or "none"
            return gateway_error("llm_refused", f"there is no scenario for {request.model}; scenarios here: {known}")
        if is_inquiry(request):
            return gateway_error("llm_refused", f"scenario '{scenario.name}' has no answer to this inquiry")
        steps = len(scenario.roles.get(request.role, []))
        expected = f"{steps} turns of role '{request.role}' in scenario '{scenario.name}'"
        shown = f"turn {turn_of(request) + 1} was asked for"
        text = f"the scripted model {request.model} has only {expected}, and {shown}"
        return gateway_error("llm_refused", text, detail={"expected": expected, "shown": shown})


def _not_shown(request: ModelRequest, unmet: Mismatch) -> GatewayError:
    text = (
        f"the scripted model {request.model}, role '{request.role}', turn {turn_of(request) + 1}, was not shown what "
        f"it expects ({unmet.where}).\nExpected: {unmet.expected}\nShown: {unmet.shown}"
    )
    detail = {"where": unmet.where, "expected": unmet.expected, "shown": unmet.shown}
    return gateway_error("llm_refused", text, retryable=False, detail=detail)


async def _misbehave(fault: Fault, model: str) -> None:
    match fault.kind:
        case "401" | "429" | "500":
            raise failure_of_status(model, int(fault.kind), fault.retry_after_seconds)
        case "empty":
            raise empty_answer(model)
        case "garbage":
            raise garbage_answer(model)
        case "hang":
            await asyncio.sleep(HANG_SECONDS)


def _stop_reason(reply: ScriptedReply) -> StopReason:
    return reply.stop_reason or ("tool_calls" if reply.tool_calls else "end")


def _reply(step: Step, reply: ScriptedReply, call_id: str) -> ProviderReply:
    calls = [
        ToolCall(id=f"{call_id}-{index}", name=call.name, arguments=call.text())
        for index, call in enumerate(reply.tool_calls)
    ]
    usage = step.usage
    count = TokenCount(prompt=usage.tokens, cached=usage.cached_prompt_tokens, output=usage.output_tokens)
    return ProviderReply(reply.text, calls, _stop_reason(reply), count)
