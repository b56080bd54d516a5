"""The algorithm on simulated streams, under our rules; heads take 20 objects to train."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.weg_parts.compact import Compact
from benchmarks.weg_parts.printed import next_action
from benchmarks.weg_parts.simulate import Account, World, one_object, simulate
from datasets.streams import ClassStream, Phase, changing, generate, in_runs
from specialization.rates import Rates, Template
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Weg
from specialization.weg.config import WegConfig
from specialization.weg.state import WegState
from tests.specialization.weg.driver import COMPACT, CONFIG, weg

TRAINING = 20
FACES = WegConfig(classes=2622, oracle_accuracy=0.958, tau_a=-0.05, training_skew=0.5)
AGREEMENT = WegConfig(classes=100, oracle_accuracy=1.0, tau_a=-0.03)
FEW = WegConfig(classes=10, oracle_accuracy=0.93, tau_a=0.0)
OBJECTS = WegConfig(classes=1000, oracle_accuracy=0.689)
CONFIGS = {"objects": OBJECTS, "faces": FACES, "agreement": AGREEMENT, "few": FEW}


def template(config: WegConfig) -> Template:
    compact = Compact(config.classes, 0.75 * config.oracle_accuracy)
    assert config.training_skew
    return Template("compact", 0.2, {n: compact.rates(n, config.training_skew) for n in (1, 2, 3, 5, 10, 20)})


def run(config: WegConfig, stream: ClassStream, seed: int) -> Account:
    made = template(config)
    world = World(np.random.default_rng(seed), config.classes, config.oracle_accuracy)
    return simulate(Weg(Adaptive(config, {"compact": made})), stream, made, world, TRAINING)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_stream_without_skew_costs_at_most_5_percent_more(name: str) -> None:
    config = CONFIGS[name]
    for seed in range(3):
        stream = generate(np.random.default_rng(seed), config.classes, [Phase(3000)])
        account = run(config, stream, seed)
        assert account.cost(template(config)) <= 1.05
        assert account.head_runs <= 0.05 * account.objects


@pytest.mark.parametrize("length", [2, 5, 20])
@pytest.mark.parametrize("name", CONFIGS)
def test_nor_does_one_of_long_runs(name: str, length: int) -> None:
    config = CONFIGS[name]
    rng = np.random.default_rng(0)
    stream = in_runs(rng, generate(rng, config.classes, [Phase(3000)]), length)
    assert run(config, stream, seed=0).cost(template(config)) <= 1.05


@pytest.mark.parametrize(("dominant", "skew", "at_least"), [(2, 0.9, 2.0), (5, 0.9, 1.8), (10, 0.85, 1.4)])
def test_skew_saves(dominant: int, skew: float, at_least: float) -> None:
    stream = generate(np.random.default_rng(0), 2622, [Phase(2400, dominant, skew)])
    account = run(FACES, stream, seed=0)
    assert account.cost(template(FACES)) <= 1 / at_least
    assert account.accuracy >= FACES.least_accuracy


@pytest.mark.parametrize("skew", [0.75, 0.8, 0.9, 1.0])
def test_it_leaves_soon_after_an_abrupt_change(skew: float) -> None:
    late = []
    for seed in range(12):
        stream = changing(np.random.default_rng(seed), CONFIG.classes, Phase(300, 4, skew), 2)
        late += objects_under_the_old_head(stream, seed)
    assert len(late) >= 6
    assert max(late) <= 60


def objects_under_the_old_head(stream: ClassStream, seed: int) -> list[int]:
    """After the change; empty where no head was in use then."""
    machine, world = weg(Adaptive), World(np.random.default_rng(seed), CONFIG.classes, CONFIG.oracle_accuracy)
    change = stream.phases[0].length
    old = None
    for number, label in enumerate(stream.labels.tolist()):
        if machine.state.wanted and number < change:
            machine.head_arrived(machine.state.wanted.number)
        if number == change:
            old = machine.state.head
        if number >= change and (old is None or machine.state.head != old):
            return [number - change] if old else []
        one_object(machine, label, COMPACT, world, Account())
    return [len(stream.labels) - change]


def test_it_stays_while_nothing_changes() -> None:
    stream = generate(np.random.default_rng(1), CONFIG.classes, [Phase(6000, 4, 0.85)])
    machine, world = weg(Adaptive), World(np.random.default_rng(1), CONFIG.classes, CONFIG.oracle_accuracy)
    account = simulate(machine, stream, COMPACT, world, TRAINING)
    assert sum(account.left.values()) <= 1
    assert account.trained <= 2


def test_missing_dominant_classes_are_added_without_leaving() -> None:
    stream = generate(np.random.default_rng(0), CONFIG.classes, [Phase(1500, 12, 0.9)])
    machine, world = weg(Adaptive), World(np.random.default_rng(0), CONFIG.classes, CONFIG.oracle_accuracy)
    account = simulate(machine, stream, COMPACT, world, TRAINING)
    assert account.trained > account.entered
    assert machine.state.head
    assert len(stream.dominant[0] - set(machine.state.head.target.classes)) <= 1


def test_the_seed_decides() -> None:
    stream = changing(np.random.default_rng(0), 2622, Phase(400, 4, 0.9), 3)
    assert run(FACES, stream, seed=1) == run(FACES, stream, seed=1) != run(FACES, stream, seed=2)


def test_a_restart_after_every_object_changes_nothing() -> None:
    stream = changing(np.random.default_rng(0), CONFIG.classes, Phase(150, 4, 0.9), 2)
    whole = weg(Adaptive)
    simulate(whole, stream, COMPACT, World(np.random.default_rng(5), 500, 0.85), training_objects=0)
    machine, world = weg(Adaptive), World(np.random.default_rng(5), 500, 0.85)
    for label in stream.labels.tolist():
        machine = Weg(machine.rules, msgspec.json.decode(msgspec.json.encode(machine.state), type=WegState))
        if machine.state.wanted:
            machine.head_arrived(machine.state.wanted.number)
        one_object(machine, label, COMPACT, world, Account())
    assert machine.state == whole.state


share = st.floats(0.0, 1.0)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 40),
    st.floats(0.1, 1.0),
    st.builds(Rates, share, share, share),
    st.floats(0.01, 1.5),
    st.lists(st.tuples(st.sampled_from(["answer", "audit", "arrived", "failed"]), st.integers(0, 5)), max_size=300),
)
def test_whatever_happens_it_goes_on(
    classes: int, accuracy: float, rates: Rates, cost: float, events: list[tuple[str, int]]
) -> None:
    config = WegConfig(classes=classes, oracle_accuracy=accuracy, tau_a=-0.2, w_min=5, w_max=40, p_out=0.3)
    machine = Weg(Adaptive(config, {"any": Template("any", cost, {1: rates, 4: Rates(0.9, 0.05, 0.9)})}))
    for event, value in events:
        head, wanted = machine.state.head, machine.state.wanted
        if event == "answer" and head:
            machine.cascade_answered(head.number, value, by_head=value in head.target.classes)
        elif event == "answer":
            machine.oracle_answered(value)
        elif event == "audit" and head:
            machine.audited(head.number, agrees=value > 2)
        elif wanted:
            (machine.head_failed if event == "failed" else machine.head_arrived)(wanted.number)
    action = next_action(machine, 0.5)
    assert action.head == machine.state.head
