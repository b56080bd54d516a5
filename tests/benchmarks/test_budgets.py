"""Those who decide for a day of requests keep to what there is, and none is better than who knows the day."""

from benchmarks.budgets_parts.day import PLACES, requests
from benchmarks.budgets_parts.deciders import DECIDERS, Budgets
from benchmarks.wire_split import Cut, Profile, activations_s, crop_s, nothing_s


def test_calls_are_never_exceeded_and_energy_by_the_cheapest_alone() -> None:
    days = [requests(seed, 0.02) for seed in (0, 1)]
    given = Budgets(0.5 * len(days[0]) * PLACES[1].processor_s, 0.2 * len(days[0]))
    found = {way: decide(days, given) for way, decide in DECIDERS.items()}
    for way, ends in found.items():
        assert all(each.calls <= given.calls + 1e-6 for each in ends), way
        assert all(each.processor_s <= 1.15 * given.processor_s for each in ends), way
    best = found["optimal"][1].accuracy
    assert found["static"][1].accuracy <= best + 1e-9
    assert found["server first"][1].accuracy < found["budgets"][1].accuracy <= best + 0.02


def test_nothing_is_sent_where_nothing_gets_through_and_the_crop_where_all_does() -> None:
    found = Profile(0.01, [Cut(0.4, 5000), Cut(0.9, 500)])
    slow, fast = 8e-6 / 0.001, 0.0
    assert nothing_s(found, 8, 0.0, slow) < min(crop_s(found, 8, 0.0, slow), activations_s(found, 8, 0.0, slow))
    assert crop_s(found, 8, 0.0, fast) < min(nothing_s(found, 8, 0.0, fast), activations_s(found, 8, 0.0, fast))
    assert activations_s(found, 8, 0.5, fast) < crop_s(found, 8, 0.5, fast)
