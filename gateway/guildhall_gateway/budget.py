"""What a call may cost at worst, and whether that fits. Guards money against parallel calls and hostile prompts. Pure.

A token is never shorter than one UTF-8 byte of what is sent, so bytes bound prompt tokens from above whatever the
tokenizer and whatever text a workspace put into the prompt.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.base import dollars
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import AnyMessage, AssistantMessage, LedgerTotals, ModelRequest

from guildhall_gateway.config import Budgets
from guildhall_gateway.prices import Pricing, dearest

CALL_OVERHEAD_TOKENS: Final = 1_024  # what providers add for tool use
ITEM_OVERHEAD_TOKENS: Final = 64  # roles, ids and frames around one message, block, tool or call


@dataclass(frozen=True, slots=True)
class Worst:
    """The most a call can use. `micro_usd` None: the price is unknown."""

    tokens: int
    micro_usd: int | None


@dataclass(frozen=True, slots=True)
class Scope:
    """Something that pays: a Run, a namespace's day, a day. Absent limits do not bind."""

    key: str
    what: str
    cost_micro_usd: int | None = None
    tokens: int | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Over:
    """Why a call does not fit into a scope: which limit, and a sentence a person can act on.

    `held`: what is spent leaves room for it, and calls under way hold that; it may fit when they have settled."""

    limit: Literal["steps", "tokens", "cost", "price"]
    why: str
    held: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """What a scope has spent (`settled`) and promised (`reserved`)."""

    calls: int = 0
    calls_reserved: int = 0
    tokens: int = 0
    cached: int = 0
    output: int = 0
    tokens_reserved: int = 0
    cost: int = 0
    cost_reserved: int = 0
    unpriced: int = 0

    @property
    def spent(self) -> "Totals":
        """Without what is only promised."""
        return replace(self, calls_reserved=0, tokens_reserved=0, cost_reserved=0)


def _message_bytes(message: AnyMessage) -> tuple[int, int]:
    if isinstance(message, AssistantMessage):
        calls = sum(len(call.arguments.encode()) + len(call.name.encode()) for call in message.tool_calls)
        text = len(message.text.encode("utf-8", "surrogatepass"))
        return text + len(message.carry) + calls, 1 + len(message.tool_calls)
    texts = [text for block in message.content for text in (block.text, block.label)]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return size, 1 + len(message.content)


def prompt_tokens_at_most(request: ModelRequest) -> int:
    """An upper bound of the prompt's tokens."""
    sizes = [_message_bytes(message) for message in request.messages]
    tools = sum(len(tool.model_dump_json().encode()) for tool in request.tools)
    items = sum(items for _, items in sizes) + len(request.tools)
    return sum(size for size, _ in sizes) + tools + items * ITEM_OVERHEAD_TOKENS + CALL_OVERHEAD_TOKENS


def worst_case(request: ModelRequest, pricing: Pricing) -> Worst:
    """The most `request` can use and cost."""
    prompt = prompt_tokens_at_most(request)
    return Worst(prompt + request.max_output_tokens, dearest(pricing, prompt, request.max_output_tokens))


def scopes(run_uid: str, namespace: str, day: str, run: Budget, shared: Budgets) -> tuple[Scope, ...]:
    """Who pays for a call of this Run, in the one order in which rows are locked. `day` is YYYY-MM-DD, UTC."""
    return (
        Scope(f"run:{run_uid}", "this Run", run.cost_micro_usd, run.tokens, run.steps),
        Scope(f"ns:{namespace}:{day}", f"namespace '{namespace}' today", shared.namespace_per_day_micro_usd),
        Scope(f"day:{day}", "all Runs today", shared.day_micro_usd),
    )


def over_budget(scope: Scope, totals: Totals, worst: Worst) -> Over | None:
    """Why a call does not fit into `scope`; None when it fits. Only what is spent is a reason to stop for."""
    now, after = _over(scope, totals, worst), _over(scope, totals.spent, worst)
    if now is None or after is not None:
        return after
    what = {"steps": "model calls", "tokens": "tokens", "cost": "money"}.get(now.limit, "budget")
    why = (
        f"calls under way hold what is left of the {what} of {scope.what}; this one is made when there is room for it. "
        "Where that is the rule, raise the budget or let fewer work at once"
    )
    return Over(now.limit, why, held=True)


def _over(scope: Scope, totals: Totals, worst: Worst) -> Over | None:
    if scope.steps is not None and totals.calls + totals.calls_reserved + 1 > scope.steps:
        why = f"the budget of {scope.what} allows {scope.steps} model calls and all are used; raise budget.steps"
        return Over("steps", why)
    left = None if scope.tokens is None else scope.tokens - totals.tokens - totals.output - totals.tokens_reserved
    if left is not None and worst.tokens > left:
        why = (
            f"the next model call may take {worst.tokens} tokens, and {max(left, 0)} of the {scope.tokens} tokens of "
            f"{scope.what} are left; raise budget.tokens"
        )
        return Over("tokens", why)
    return None if scope.cost_micro_usd is None else _too_dear(scope, scope.cost_micro_usd, totals, worst)


def _too_dear(scope: Scope, limit: int, totals: Totals, worst: Worst) -> Over | None:
    if worst.micro_usd is None:
        why = (
            f"{scope.what} has a cost budget but the price of this model is unknown; remove budget.costMicroUSD "
            "(a token budget still binds) or use a model whose price is listed"
        )
        return Over("price", why)
    left = limit - totals.cost - totals.cost_reserved
    if worst.micro_usd <= left:
        return None
    why = (
        f"the next model call may cost {dollars(worst.micro_usd)}, and {dollars(max(left, 0))} of the "
        f"{dollars(limit)} of {scope.what} are left; raise the cost budget"
    )
    return Over("cost", why)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a Run may spend: its frozen budget, raised so many times by a person, and whether one may be asked."""

    frozen: Budget
    raises: int = 0
    attended: bool = False

    @property
    def budget(self) -> Budget:
        """The limits as they are now: money and tokens once more for each raise; steps and seconds stay."""
        cost, tokens, times = self.frozen.cost_micro_usd, self.frozen.tokens, 1 + self.raises
        raised = {
            "cost_micro_usd": None if cost is None else min(cost * times, limits.BUDGET_COST_MAX_MICRO_USD),
            "tokens": None if tokens is None else min(tokens * times, limits.BUDGET_TOKENS_MAX_COUNT),
        }
        return self.frozen.model_copy(update=raised)

    def _gains(self, limit: str) -> bool:
        """Whether one more raise raises this limit: not steps, not a limit of nothing, not one at its bound."""
        more = replace(self, raises=self.raises + 1).budget
        return {
            "cost": more.cost_micro_usd != self.budget.cost_micro_usd,
            "tokens": more.tokens != self.budget.tokens,
        }.get(limit, False)

    def stop(self, scope: Scope, over: Over) -> dict[str, str]:
        """The detail of a refusal: `soft` where a person's answer can raise the Run's own limit, and by how much."""
        own = scope.key.startswith("run:") and self._gains(over.limit)
        if not own or not self.attended or self.raises >= limits.BUDGET_RAISES_MAX_COUNT:
            return {"stop": "hard", "limit": over.limit}
        cost, tokens = self.frozen.cost_micro_usd, self.frozen.tokens
        more = {"moreMicroUSD": cost, "moreTokens": tokens}
        return {"stop": "soft", "limit": over.limit} | {key: str(value) for key, value in more.items() if value}


def totals_view(totals: Totals, budget: Budget) -> LedgerTotals:
    """A Run's totals as executor, api and status see them."""
    spent_tokens = totals.tokens + totals.output + totals.tokens_reserved
    limit, token_limit = budget.cost_micro_usd, budget.tokens
    return LedgerTotals(
        calls=totals.calls,
        tokens=totals.tokens,
        cached_prompt_tokens=totals.cached,
        output_tokens=totals.output,
        cost_micro_usd=None if totals.unpriced else totals.cost,
        limit_micro_usd=limit,
        limit_tokens=token_limit,
        left_micro_usd=None if limit is None else max(limit - totals.cost - totals.cost_reserved, 0),
        left_tokens=None if token_limit is None else max(token_limit - spent_tokens, 0),
    )
