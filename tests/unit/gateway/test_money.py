"""Money and tokens, pure: prices are hand calculations, worst cases are never below what any tokenizer could count."""

import pytest
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import ModelRequest
from guildhall_contracts.run import Awaiting
from guildhall_gateway.budget import (
    Scope,
    Totals,
    Worst,
    over_budget,
    prompt_tokens_at_most,
    totals_view,
    worst_case,
)
from guildhall_gateway.prices import TokenCount, TokenPrice, dearest, listed_pricing
from guildhall_gateway.usage import status_of
from hypothesis import given
from hypothesis import strategies as st
from unit.gateway import kit

PRICE = TokenPrice(prompt_micro_usd=3_000_000, cached_micro_usd=300_000, output_micro_usd=15_000_000)


def test_a_scripted_price_is_rounded_up() -> None:
    assert PRICE.cost(TokenCount(prompt=1_000, cached=800, output=10)) == 200 * 3 + 240 + 150
    assert PRICE.cost(TokenCount(prompt=1, cached=1)) == 1, "0.3 micro-USD is charged as 1"
    assert TokenPrice(prompt_micro_usd=3_000_000).cost(TokenCount(prompt=10, cached=10)) == 30, (
        "no discount unless said"
    )
    assert PRICE.cost(TokenCount(prompt=5, cached=9)) >= 0


def test_list_prices_match_a_hand_calculation() -> None:
    gpt = listed_pricing("openai-chat:gpt-4o")
    assert gpt(TokenCount(prompt=1_000, output=100)) == 2_500 + 1_000
    assert gpt(TokenCount(prompt=1_000, cached=400, output=0)) == 1_500 + 500
    claude = listed_pricing("anthropic:claude-sonnet-4-5")
    assert claude(TokenCount(prompt=80_005, cache_written=80_000, output=90)) == 15 + 300_000 + 1_350


@pytest.mark.parametrize("model", ["openai:no-such-model-1", "local:qwen", "anthropic:", "x:y"])
def test_an_unknown_price_is_unknown_not_zero(model: str) -> None:
    assert listed_pricing(model)(TokenCount(prompt=1, output=1)) is None
    assert dearest(listed_pricing(model), 1, 1) is None


def test_the_worst_case_counts_cache_writes_where_they_cost_more() -> None:
    claude = listed_pricing("anthropic:claude-sonnet-4-5")
    plain = claude(TokenCount(prompt=100_000, output=10))
    worst = dearest(claude, 100_000, 10)
    assert plain is not None
    assert worst is not None
    assert worst > plain


def asked(text: str) -> ModelRequest:
    return ModelRequest.model_validate(kit.request(messages=[{"kind": "user", "content": [kit.block(text)]}]))


@given(text=st.text(max_size=400))
def test_no_tokenizer_counts_more_than_the_bound(text: str) -> None:
    """A byte-level tokenizer with no merges at all is the worst there is: one token a byte."""
    assert prompt_tokens_at_most(asked(text)) >= len(text.encode()) + 64


def test_everything_that_is_sent_counts() -> None:
    base = prompt_tokens_at_most(asked("x"))
    tool = {"name": "t", "description": "d" * 500, "parameters": {"type": "object"}}
    with_tool = ModelRequest.model_validate(kit.request(tools=[tool]))
    assert prompt_tokens_at_most(with_tool) > base + 500
    call = {"id": "1", "name": "t", "arguments": "a" * 700}
    spoken = kit.request(messages=[{"kind": "assistant", "text": "b" * 300, "toolCalls": [call]}])
    assert prompt_tokens_at_most(ModelRequest.model_validate(spoken)) >= base + 1_000
    assert worst_case(asked("x"), PRICE.cost).tokens == base + 100


@given(
    limit=st.integers(0, 1_000), spent=st.integers(0, 1_000), held=st.integers(0, 1_000), wanted=st.integers(0, 1_000)
)
def test_the_words_and_the_ledgers_rule_agree(limit: int, spent: int, held: int, wanted: int) -> None:
    totals = Totals(cost=spent, cost_reserved=held)
    why = over_budget(Scope("k", "this Run", limit), totals, Worst(0, wanted))
    assert (why is None) == (spent + held + wanted <= limit)


def test_what_is_left_is_never_negative_and_unknown_cost_is_absent() -> None:
    view = totals_view(Totals(cost=900, cost_reserved=200, tokens=50), Budget(cost_micro_usd=1_000, tokens=40))
    assert (view.left_micro_usd, view.left_tokens, view.cost_micro_usd) == (0, 0, 900)
    assert (view.limit_micro_usd, view.limit_tokens) == (1_000, 40)
    told = status_of(view, Awaiting())["usage"]
    assert (told["limitMicroUSD"], told["limitTokens"], "leftTokens" in told) == (1_000, 40, False)
    unknown = totals_view(Totals(cost=900, unpriced=1), Budget())
    assert "limitMicroUSD" not in status_of(unknown, Awaiting())["usage"]
    assert (unknown.cost_micro_usd, unknown.left_micro_usd) == (None, None)
    assert status_of(unknown, Awaiting())["cost"] == "unknown"
