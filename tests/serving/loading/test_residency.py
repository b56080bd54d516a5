from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from benchmarks.eviction_parts.baselines import LRU
from serving.errors import ModelError
from serving.loading.eviction import Forecast
from serving.loading.residency import MIB, UNBOUNDED, NoRoom, Residency

BUDGET = 100


def resident(*models: str, size_bytes: int = 30) -> Residency:
    """These models are loaded, in this order, under a budget of 100 bytes, evicted by LRU."""
    residency = Residency(BUDGET, LRU())
    for now, model in enumerate(models):
        residency.requested(model, float(now))
        assert residency.admit(model, size_bytes) == []
        assert residency.loaded(model, size_bytes, 0.5) == []
    return residency


def test_evicts_nothing_where_it_fits() -> None:
    residency = resident("a", "b")
    assert residency.admit("c", 40) == []
    assert residency.used_bytes == 100


@pytest.mark.parametrize(("budget_bytes", "noted"), [(BUDGET, 1), (UNBOUNDED, 0)])
def test_requests_are_noted_only_where_something_may_have_to_go(budget_bytes: int, noted: int) -> None:
    policy, heard = LRU(), list[str]()
    policy.requested = lambda model, now: heard.append(model)  # type: ignore[method-assign]
    Residency(budget_bytes, policy).requested("a", 1.0)
    assert len(heard) == noted


def test_a_resident_model_is_admitted_as_it_is() -> None:
    residency = resident("a")
    assert residency.admit("a", 999) == []
    assert residency.used_bytes == 30


def test_the_policy_says_what_goes() -> None:
    residency = resident("a", "b", "c")
    residency.requested("a", 9.0)
    assert residency.admit("d", 30) == ["b"]
    assert "b" not in residency
    assert residency.used_bytes == 90


def test_a_model_is_resident_when_it_is_loaded() -> None:
    residency = resident("a")
    residency.admit("b", 30)
    assert "a" in residency
    assert "b" not in residency
    residency.loaded("b", 30, 0.1)
    assert "b" in residency


def test_a_pinned_model_stays_until_its_last_use_ends() -> None:
    residency = resident("a", "b", "c")
    residency.pin("a")
    residency.pin("a")
    residency.unpin("a")
    residency.requested("d", 5.0)
    assert residency.admit("d", 30) == ["b"]
    residency.loaded("d", 30, 0.1)
    residency.unpin("a")
    assert residency.admit("e", 30) == ["a"]


def test_a_model_being_loaded_stays() -> None:
    residency = resident("a")
    residency.admit("b", 60)
    assert residency.admit("c", 40) == ["a"]


def test_a_model_beyond_the_budget_is_refused_with_both_sizes() -> None:
    residency = Residency(64 * MIB, LRU())
    with pytest.raises(ModelError) as error:
        residency.admit("vgg16", 600 * MIB)
    assert str(error.value) == (
        "vgg16: takes 600.0 MiB of memory, the budget for all models is 64.0 MiB: "
        "raise the budget or choose a smaller variant"
    )
    assert residency.used_bytes == 0


def test_no_room_while_the_rest_is_in_use() -> None:
    residency = resident("a", "b", "c")
    for model in "abc":
        residency.pin(model)
    with pytest.raises(NoRoom, match="d: needs"):
        residency.admit("d", 30)
    assert residency.used_bytes == 90
    residency.unpin("b")
    assert residency.admit("d", 30) == ["b"]


def test_a_model_larger_than_expected_pushes_others_out() -> None:
    residency = resident("a", "b")
    residency.requested("c", 5.0)
    residency.admit("c", 30)
    assert residency.loaded("c", 60, 0.5) == ["a"]
    assert residency.used_bytes == 90


@pytest.mark.parametrize(("measured", "error"), [(80, NoRoom), (101, ModelError)])
def test_a_model_that_turns_out_too_large_is_given_up(measured: int, error: type[Exception]) -> None:
    residency = resident("a")
    residency.pin("a")
    residency.admit("b", 30)
    with pytest.raises(error, match="b: "):
        residency.loaded("b", measured, 0.5)
    assert residency.used_bytes == 30
    assert residency.expected_bytes("b", 1) == measured


def test_a_load_that_failed_takes_no_room() -> None:
    residency = resident("a")
    residency.admit("b", 70)
    residency.released("b")
    assert residency.used_bytes == 30
    assert residency.admit("c", 70) == []


def test_a_released_model_is_not_evicted() -> None:
    residency = resident("a", "b", "c")
    residency.released("a")
    residency.requested("d", 5.0)
    residency.admit("d", 40)
    residency.loaded("d", 40, 0.1)
    assert residency.admit("e", 30) == ["b"]


def test_an_estimate_alone_refuses_no_model() -> None:
    residency = resident("a")
    expected = residency.expected_bytes("b", 10 * BUDGET)
    assert expected == BUDGET
    assert residency.admit("b", expected) == ["a"]


def test_who_used_a_model_uses_the_one_it_was_merged_into() -> None:
    residency = resident("a", "a + b")
    residency.pin("a")
    residency.merged("a", into="a + b")
    assert "a" not in residency
    with pytest.raises(NoRoom):
        residency.admit("c", 90)
    residency.unpin("a + b")
    assert residency.admit("c", 90) == ["a + b"]


def test_merging_an_unused_model_pins_nothing() -> None:
    residency = resident("a", "a + b")
    residency.merged("a", into="a + b")
    assert residency.admit("c", 90) == ["a + b"]


def test_the_first_estimate_comes_from_the_file_later_ones_from_measurement() -> None:
    residency = Residency(BUDGET, LRU())
    assert residency.expected_bytes("a", 20) > 20
    residency.admit("a", residency.expected_bytes("a", 20))
    residency.loaded("a", 17, 0.1)
    residency.released("a")
    assert residency.expected_bytes("a", 20) == 17


class Books(RuleBasedStateMachine):
    """Any order of what a backend does keeps the accounts within the budget and spares what is in use."""

    models = st.sampled_from("abcdef")
    sizes = st.integers(0, 120)

    def __init__(self) -> None:
        super().__init__()
        self.residency = Residency(BUDGET, Forecast())
        self.open: dict[str, int] = {}
        self.loading: set[str] = set()
        self.pinned: list[str] = []
        self.now = 0.0

    @rule(model=models, size=sizes)
    def admit(self, model: str, size: int) -> None:
        self.now += 1.0
        self.residency.requested(model, self.now)
        fits = sum(self.open.values()) + size <= BUDGET
        try:
            evicted = self.residency.admit(model, size)
        except (ModelError, NoRoom):
            assert not fits
            assert model not in self.open
            return
        assert not evicted or not fits
        self.close(evicted)
        if model not in self.open:
            self.open[model] = size
            self.loading.add(model)

    @rule(size=sizes)
    def load(self, size: int) -> None:
        for model in sorted(self.loading)[:1]:
            self.loading.remove(model)
            del self.open[model]
            try:
                evicted = self.residency.loaded(model, size, 0.1)
            except (ModelError, NoRoom):
                continue
            self.close(evicted)
            self.open[model] = size

    @rule(model=models)
    def pin(self, model: str) -> None:
        if model in self.residency:
            self.residency.pin(model)
            self.pinned.append(model)

    @rule()
    def unpin(self) -> None:
        if self.pinned:
            self.residency.unpin(self.pinned.pop(0))

    @rule(model=models)
    def release(self, model: str) -> None:
        if model not in self.pinned:
            self.residency.released(model)
            self.open.pop(model, None)
            self.loading.discard(model)

    def close(self, evicted: list[str]) -> None:
        for model in evicted:
            assert model not in self.pinned
            assert model not in self.loading
            del self.open[model]

    @invariant()
    def the_books_are_right(self) -> None:
        assert self.residency.used_bytes == sum(self.open.values()) <= BUDGET
        assert {model for model in "abcdef" if model in self.residency} == self.open.keys() - self.loading


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
