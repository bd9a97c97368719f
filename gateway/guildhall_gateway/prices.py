"""Money: what tokens cost, in integer micro-USD, always rounded up. Pure; an unknown price is None, never zero."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

import genai_prices
from guildhall_contracts.base import Record
from pydantic import Field

_MICRO = Decimal(1_000_000)
_GENAI_PROVIDERS = {"openai-chat": "openai"}


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of one call. `prompt` counts all of the prompt; cached reads and cache writes are parts of it."""

    prompt: int = 0
    cached: int = 0
    cache_written: int = 0
    output: int = 0


Pricing = Callable[[TokenCount], int | None]
"""Micro-USD of a count, or None when the price is unknown."""


class TokenPrice(Record):
    """Prices in micro-USD for a million tokens; what a scripted model or a test says it costs."""

    prompt_micro_usd: int = Field(0, ge=0, le=1_000_000_000)
    cached_micro_usd: int | None = Field(None, ge=0, le=1_000_000_000)
    output_micro_usd: int = Field(0, ge=0, le=1_000_000_000)

    def cost(self, count: TokenCount) -> int:
        """Micro-USD of `count`, rounded up."""
        cached_price = self.prompt_micro_usd if self.cached_micro_usd is None else self.cached_micro_usd
        plain = max(count.prompt - count.cached, 0)
        total = plain * self.prompt_micro_usd + count.cached * cached_price + count.output * self.output_micro_usd
        return -(-total // 1_000_000)


def listed_pricing(model: str, at: datetime | None = None) -> Pricing:
    """The list price of a gateway model `<provider>:<name>` as it is `at` a time: some change with the hour."""
    provider, _, name = model.partition(":")

    def price(count: TokenCount) -> int | None:
        return _listed(_GENAI_PROVIDERS.get(provider, provider), name, count, at)

    return price


def _listed(provider: str, name: str, count: TokenCount, at: datetime | None) -> int | None:
    usage = genai_prices.Usage(
        input_tokens=count.prompt,
        cache_read_tokens=count.cached,
        cache_write_tokens=count.cache_written,
        output_tokens=count.output,
    )
    try:
        price = genai_prices.calc_price(usage, model_ref=name, provider_id=provider, genai_request_timestamp=at)
    except (LookupError, ValueError):
        return None
    return int((price.total_price * _MICRO).to_integral_value(rounding=ROUND_CEILING))


def dearest(pricing: Pricing, prompt: int, output: int) -> int | None:
    """Micro-USD at most for so many tokens: all read plainly, or all written to a cache, whichever costs more."""
    plain = pricing(TokenCount(prompt=prompt, output=output))
    written = pricing(TokenCount(prompt=prompt, cache_written=prompt, output=output))
    return None if plain is None or written is None else max(plain, written)
