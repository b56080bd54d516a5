"""Algorithm 5.1 as printed, line by line."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.weg_parts.printed import Printed
from specialization.rates import Rates, Template
from specialization.weg.algorithm import Weg
from specialization.weg.config import WegConfig
from tests.specialization.weg.driver import COMPACT, CONFIG, specialised, tell_cascade, tell_oracle, weg


def printed(config: WegConfig = CONFIG, **variant: object) -> Weg:
    return Weg(Printed(config, {"compact": COMPACT}, **variant))  # type: ignore[arg-type]


def end_epoch(machine: Weg) -> None:
    tell_oracle(machine, [1, 2, 3] * 10)
    assert machine.state.wanted
    machine.head_arrived(machine.state.wanted.number)
    tell_cascade(machine, range(100, 160))
    assert machine.state.epoch == 2


@pytest.mark.parametrize(
    ("answers", "window"),
    [
        ([1, 2, 3] * 10, 60),
        ([1, 2, 3, 4, 5] * 6, 60),
        ([1, 2, 3, 4, 5, 6] * 5, 30),
        ([1] * 30, 60),
        ([4, 5, 6] * 10, 30),
        ([1, 4, 5] * 10, 60),
    ],
    ids=["same", "two more", "three more", "two fewer", "others", "two fewer and two more"],
)
def test_lines_5_to_7_an_epoch_goes_on_if_its_classes_do(answers: list[int], window: int) -> None:
    machine = printed()
    end_epoch(machine)
    for answer in answers:
        machine.oracle_answered(answer)
    assert machine.state.window == window


def test_without_merging_the_window_stays() -> None:
    machine = printed(merge=False)
    end_epoch(machine)
    for answer in [1, 2, 3] * 10:
        machine.oracle_answered(answer)
    assert machine.state.window == 30


def test_line_8_looks_at_the_last_w_answers_only() -> None:
    machine = printed()
    tell_oracle(machine, list(range(100, 130)))
    assert machine.state.wanted is None
    shares = []
    for answer in [1, 2, 3] * 10:
        if not machine.state.wanted:
            machine.oracle_answered(answer)
            shares.append(sum(each in (1, 2, 3) for each in machine.state.answers[-30:]) / 30)
    assert machine.state.wanted
    assert machine.state.wanted.target.skew == pytest.approx(shares[-1])


def test_line_10_the_estimated_accuracy_must_reach_the_oracles_and_tau_a() -> None:
    strict = msgspec.structs.replace(CONFIG, tau_a=0.14)
    answers = [1, 2, 3] * 8 + list(range(10, 16))
    for config, asks in ((CONFIG, True), (strict, False)):
        machine = printed(config)
        tell_oracle(machine, answers)
        assert (machine.state.wanted is not None) is asks


def test_of_several_templates_the_cheapest_that_serves() -> None:
    rates = {1: Rates(0.95, 0.04, 0.95), 10: Rates(0.9, 0.05, 0.9)}
    templates = {
        "dear": Template("dear", 0.5, rates),
        "cheap": Template("cheap", 0.1, rates),
        "poor": Template("poor", 0.01, {10: Rates(0.3, 0.05, 0.9)}),
    }
    machine = Weg(Printed(CONFIG, templates))
    tell_oracle(machine, [1, 2, 3] * 10)
    assert machine.state.wanted
    assert machine.state.wanted.target.template == "cheap"


def test_more_classes_than_measured_are_not_specialised_to() -> None:
    machine = printed(msgspec.structs.replace(CONFIG, w_min=64))
    tell_oracle(machine, list(range(16)) * 10)
    assert machine.state.wanted is None


@pytest.mark.parametrize(("answers", "leaves"), [(199, True), (201, False)])
def test_line_21_one_contradiction_is_too_many_before_200_answers(answers: int, leaves: bool) -> None:
    machine = specialised(Printed)
    tell_cascade(machine, [1] * answers)
    assert machine.audited(1, agrees=False) == ("the oracle contradicts" if leaves else None)


def test_line_21_counts_the_answers_of_the_head_and_not_those_of_the_oracle_after_it() -> None:
    machine = specialised(Printed)
    assert tell_cascade(machine, ([1] * 9 + [99]) * 22) == []
    assert machine.state.n_c == 198
    assert machine.audited(1, agrees=False) == "the oracle contradicts"


def test_line_20_the_skew_is_that_of_the_last_w_answers() -> None:
    machine = specialised(Printed)
    least = next(others for others in range(31) if estimate(1 - others / 30) < CONFIG.least_accuracy)
    assert tell_cascade(machine, range(100, 100 + least - 1)) == []
    assert tell_cascade(machine, [99]) == ["the skew fell"]


def estimate(skew: float) -> float:
    rates = COMPACT.rates(3)
    assert rates
    return rates.accuracy(skew, CONFIG.oracle_accuracy)


def test_the_simple_exit_leaves_when_the_skew_is_lower_than_on_entry() -> None:
    machine = printed(exit="skew")
    tell_oracle(machine, [1, 2, 3] * 10)
    machine.head_arrived(1)
    assert tell_cascade(machine, [1] * 50) == []
    assert tell_cascade(machine, [99]) == ["the skew fell"]


def test_heads_may_be_trained_with_the_skew_of_the_stream() -> None:
    machine = printed(msgspec.structs.replace(CONFIG, training_skew=None))
    tell_oracle(machine, [1, 2, 3] * 9 + [7, 8, 9])
    assert machine.state.wanted
    assert machine.state.wanted.training_skew == pytest.approx(0.9)


@pytest.mark.parametrize(("window", "k"), [(30, 2), (89, 2), (90, 3), (240, 3)])
def test_the_papers_k(window: int, k: int) -> None:
    assert msgspec.structs.replace(CONFIG, p_out=None).support(window) == k


def test_it_never_asks_for_a_head_while_one_is_in_use() -> None:
    machine = weg(Printed)
    tell_oracle(machine, [1, 2, 3] * 10)
    machine.head_arrived(1)
    tell_cascade(machine, [1, 2, 3, 4] * 50)
    assert machine.state.numbers == 1
