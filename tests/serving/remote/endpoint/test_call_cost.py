"""The cost of calls: what is reserved is at least what an honest call takes."""

from __future__ import annotations

from serving.budgets.prices import Prices
from serving.remote.endpoint.call_cost import CallCost, expected
from serving.remote.endpoint.question import body, manners
from serving.remote.endpoint.reply import TokenUsage
from serving.remote.endpoint.terms import Question, TokenPrices


def test_a_call_reserves_what_the_dearest_took() -> None:
    cost = CallCost(Prices("EUR"), TokenPrices(1.0, 1.0), TokenUsage(100, 10))
    before = cost.estimate(0)
    assert cost.of(TokenUsage(5000, 10), 0) > before
    assert cost.estimate(0) == cost.of(TokenUsage(5000, 10), 0)


def test_an_estimate_is_no_call() -> None:
    cost = CallCost(Prices("B"), TokenPrices(), TokenUsage())
    assert [cost.estimate(2000), cost.estimate(0)] == [2000, 0]
    assert cost.of(TokenUsage(9, 9), 1500) == 1500
    assert cost.estimate(0) == 1500


def test_calls_and_prices_of_calls_are_counted() -> None:
    assert CallCost(Prices("calls"), TokenPrices(), TokenUsage()).of(None, 999) == 1
    assert CallCost(Prices("EUR", per_call=0.5, per_gib=2.0), TokenPrices(), TokenUsage()).of(None, 1 << 30) == 2.5


def test_the_tokens_that_are_expected_are_more_than_there_are() -> None:
    question = Question("Which of these is it, seen from above, at night?", tuple(f"label {n}" for n in range(50)))
    (manner, *_) = manners("schema")
    sent = len(body("m", question, "", manner))
    found = expected(question, 336)
    assert found.prompt_tokens > 576 + sent / 4
    assert found.completion_tokens >= max(map(len, question.labels))
