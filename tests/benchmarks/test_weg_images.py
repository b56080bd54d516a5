"""The benchmarks of specialization on pictures: accounts are right, whatever the networks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks import weg_ablations, weg_images
from benchmarks.weg_parts import ablation_plot, image_plot
from benchmarks.weg_parts.heads import OTHER, SpecialisedHead, StoredFeatures
from benchmarks.weg_parts.image_run import Account, Ours, measured
from benchmarks.weg_parts.image_sets import MODELS, Image, ImageSet, divided, plates_set
from benchmarks.weg_parts.image_template import TOLERANCE, measure_template
from benchmarks.weg_parts.recorded import Forge, Recording, VirtualClock, record
from benchmarks.weg_parts.variants import FAMILIES, VARIANTS, SimpleExit
from datasets import plates
from datasets.streams import Phase, generate
from serving.errors import SluiceError
from specialization.rates import Rates, Template
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Weg
from specialization.weg.config import WegConfig
from specialization.weg.state import FALLBACK, HEAD, Head, HeadTarget, WegState

CLASSES = 20
ORACLE_S, COMPACT_S, TRAINING_S = 10.0, 1.0, 55.0
GOOD = {n: Rates(1.0, 0.0, 1.0) for n in (1, 15)}
EYE = np.eye(CLASSES, dtype=np.float32)
NOTHING = StoredFeatures(np.empty((0, CLASSES), np.float16), np.empty(0, np.int32))


def one_hot(images: Sequence[Image]) -> np.ndarray:
    return EYE[[int(image) for image in images]]


def world(clock: VirtualClock) -> ImageSet:
    """Pictures are their classes; both networks see them as they are and take their time."""

    def look(images: Sequence[Image], cost_s: float) -> np.ndarray:
        clock.now_s += cost_s * len(images)
        return one_hot(images)

    oracle, features = partial(look, cost_s=ORACLE_S), partial(look, cost_s=COMPACT_S)
    return ImageSet("w", CLASSES, oracle, features, NOTHING, lambda _, label: np.array(label), range(CLASSES))


def perfect(head: Head) -> SpecialisedHead:
    """Says its classes where it sees them."""
    classes = head.target.classes
    weights = np.zeros((CLASSES, len(classes) + 1), np.float32)
    weights[list(classes), np.arange(len(classes))] = 20
    bias = np.array([*np.zeros(len(classes)), 5], np.float32)
    return SpecialisedHead(classes, weights, bias, 0.5)


def ran(phase: Phase, train: Any = perfect, epsilon: float = 0.01) -> tuple[Account, VirtualClock]:
    clock = VirtualClock()
    config = WegConfig(classes=CLASSES, tau_a=-0.03, epsilon=epsilon)
    weg = Weg(Adaptive(config, {"c": Template("c", COMPACT_S / ORACLE_S, GOOD)}))

    def slow(head: Head) -> SpecialisedHead:
        clock.now_s += TRAINING_S
        found: SpecialisedHead = train(head)
        return found

    rng = np.random.default_rng(0)
    labels = generate(rng, CLASSES, [phase]).labels.tolist()
    images = world(clock)
    return measured(images, labels, Ours(images, weg, slow, rng, clock), rng), clock


def test_a_skewed_stream_is_answered_by_heads_and_every_second_is_accounted_for() -> None:
    account, clock = ran(Phase(1000, 3, 0.9), epsilon=0.0)
    assert (account.objects, account.oracle_right, account.ours_right, account.agreed) == (1000, 1000, 1000, 1000)
    assert account.entered >= 1
    assert account.by_head > 700
    assert account.oracle_s == 1000 * ORACLE_S
    asked = account.objects - account.by_head
    assert account.ours_s == pytest.approx(asked * ORACLE_S + account.under_head * COMPACT_S)
    assert account.training_s == [TRAINING_S] * len(account.training_s)
    assert clock.now_s == pytest.approx(account.oracle_s + account.ours_s + sum(account.training_s))
    assert account.speedup > account.speedup_one_core > 3


def test_audits_count() -> None:
    account, _ = ran(Phase(1000, 3, 0.9), epsilon=1.0)
    assert account.ours_s == pytest.approx(1000 * ORACLE_S + account.under_head * COMPACT_S)


def test_without_skew_the_oracle_goes_on() -> None:
    account, _ = ran(Phase(600))
    assert (account.entered, account.under_head, account.agreed) == (0, 0, 600)
    assert account.speedup == 1.0
    assert account.accuracy_diff == 0.0


def test_the_oracle_goes_on_while_a_head_is_trained() -> None:
    """A head that takes as long as the whole stream never comes."""
    account, _ = ran(Phase(300, 1, 0.95))
    slow, _ = ran(Phase(300, 1, 0.95), train=_waiting)
    assert account.by_head > 100
    assert slow.under_head == 0


def _waiting(head: Head) -> SpecialisedHead:
    raise SluiceError("too few samples")


def test_wrong_answers_of_heads_cost_accuracy() -> None:
    def blind(head: Head) -> SpecialisedHead:
        whole = perfect(head)
        return replace(
            whole,
            weights=np.zeros_like(whole.weights),
            bias=np.array([9.0] + [0.0] * len(head.target.classes), np.float32),
        )

    account, _ = ran(Phase(600, 3, 0.9), train=blind)
    assert account.ours_right < account.oracle_right
    assert account.accuracy_diff == (account.ours_right - account.oracle_right) / 600
    assert account.agreed == account.ours_right


def test_the_streams_of_a_set_fit_its_classes() -> None:
    assert list(weg_images.streams(120, 300)) == ["2_90", "3_80", "5_90", "5_80", "10_90", "random", "changes"]
    assert list(weg_images.streams(6, 300)) == ["2_90", "3_80", "random", "changes"]
    for classes in (6, 10, 120):
        for stream in weg_images.streams(classes, 300).values():
            labels = stream(np.random.default_rng(0)).labels
            assert len(labels) == 300
            assert labels.max() < classes


def test_changes_are_of_the_stream_that_matters() -> None:
    stream = weg_images.streams(120, 300)["changes"](np.random.default_rng(0))
    assert {len(dominant) for dominant in stream.dominant} == {5}
    assert all(not before & now for before, now in zip(stream.dominant, stream.dominant[1:], strict=False))


def test_the_networks_for_plates_know_them() -> None:
    images = plates_set()
    labels = list(range(0, 120, 2))
    pictures = plates.pictures(np.random.default_rng(77), labels)
    said = images.oracle(pictures).argmax(axis=1)
    assert images.features(pictures[:2]).shape == (2, images.stored.features.shape[1])
    assert np.bincount(images.stored.labels, minlength=120).min() > 60
    assert (said == labels).mean() > 0.95
    for name, most_bytes in (("plates", 6_000_000), ("plates-compact", 300_000)):
        assert (MODELS / name / "model.onnx").stat().st_size <= most_bytes


def test_no_stored_picture_is_ever_drawn() -> None:
    pictures = [np.array(number) for number in range(40)]

    def numbered(pictures: Sequence[Image]) -> np.ndarray:
        return np.array([[int(picture)] for picture in pictures], np.float32)

    images = divided(
        "w", 4, lambda seen: numbered(seen) % 4, numbered, pictures, [number % 4 for number in range(40)], 3, seed=0
    )
    kept = set(images.stored.features[:, 0].astype(int).tolist())
    rng = np.random.default_rng(0)
    drawn = {int(images.draw(rng, label)) for label in images.labels for _ in range(60)}
    assert len(kept) == 12
    assert not kept & drawn
    assert len(drawn) == 28
    assert all(int(images.draw(rng, 3)) % 4 == 3 for _ in range(10))


def test_rates_and_costs_of_a_template_are_measured() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(CLASSES * 40, dtype=np.int32) % CLASSES
    store = StoredFeatures((EYE[labels] + rng.normal(0, 0.1, (len(labels), CLASSES))).astype(np.float16), labels)
    found = measure_template(replace(world(VirtualClock()), stored=store), seed=0, draws=2)
    (template,) = found.templates.values()
    assert template.cost > 0
    assert template.measured[5].a_in > 0.9
    assert found.config.least_accuracy == pytest.approx(1 - 2 * TOLERANCE)
    head = found.train(Head(1, HeadTarget("compact", (2, 5), 0.9, 0.2), 0.6))
    assert head.decide(one_hot([np.array(2), np.array(9)])).tolist() == [2, OTHER]


def test_a_recording_answers_as_the_networks_did_and_takes_virtual_time() -> None:
    images = world(VirtualClock())
    recording = record(images, np.random.default_rng(0), per_class=3)
    clock = VirtualClock()
    again = replace(recording, oracle_s=2.0, compact_s=0.5).replayed(clock)
    picture = again.draw(np.random.default_rng(1), 7)
    assert again.oracle([picture]).argmax() == again.features([picture]).argmax() == 7
    assert clock.now_s == 2.5


def test_a_forge_trains_no_head_twice_but_takes_its_time_every_time() -> None:
    asked: list[Head] = []

    def train(head: Head) -> SpecialisedHead:
        asked.append(head)
        if head.target.classes == (1,):
            raise SluiceError("too few")
        return perfect(head)

    forge, clock = Forge(train), VirtualClock()
    heads = [Head(number, HeadTarget("c", (3, number % 2), 0.9, 0.2), 0.6) for number in (1, 2, 3)]
    assert forge.train(heads[0], clock) is forge.train(heads[2], clock)
    once_s = clock.now_s
    assert once_s > 0
    assert forge.train(heads[1], clock).classes == (3, 0)
    for _ in range(2):
        with pytest.raises(SluiceError, match="too few"):
            forge.train(Head(4, HeadTarget("c", (1,), 0.9, 0.2), 0.6), clock)
    assert len(asked) == 3


@pytest.mark.parametrize("family", list(FAMILIES))
def test_variants_differ_in_what_they_say(family: str) -> None:
    templates = {"c": Template("c", 0.1, GOOD)}
    made = {name: FAMILIES[family](name, WegConfig(classes=CLASSES), templates) for name in VARIANTS}
    assert len(set(map(repr, made.values()))) == len(VARIANTS)
    assert made["window of 60"].config.w_min == 60
    assert made["variable skew"].config.training_skew is None
    assert made["whole"].config == WegConfig(classes=CLASSES)


def test_simple_exit_leaves_as_soon_as_the_skew_is_below_that_on_entry() -> None:
    rules = SimpleExit(WegConfig(classes=CLASSES), {"c": Template("c", 0.1, GOOD)})
    head = Head(1, HeadTarget("c", (1,), 0.9, 0.2), 0.6)
    state = WegState(answers=[1] * 28 + [2] * 2, sources=[HEAD] * 28 + [FALLBACK] * 2, head=head)
    assert rules.leave(state, "oracle answered") is None
    state = WegState(answers=[1] * 26 + [2] * 4, sources=[HEAD] * 26 + [FALLBACK] * 4, head=head)
    assert rules.leave(state, "oracle answered") == "the skew fell"


def test_ablations_are_related_to_the_whole_of_their_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weg_ablations, "PHASES", (Phase(300, 2, 0.95), Phase(100, 3, 0.9)))
    recording = record(world(VirtualClock()), np.random.default_rng(0), per_class=1)
    template = _Template()
    rows = weg_ablations.compared(recording, template, Forge(perfect), 1)  # type: ignore[arg-type]
    assert [(row["rules"], row["variant"]) for row in rows] == [(f, v) for f in FAMILIES for v in VARIANTS]
    for row in rows:
        whole = next(each for each in rows if (each["rules"], each["variant"]) == (row["rules"], "whole"))
        assert row["speedup_change"] == pytest.approx(row["speedup"] / whole["speedup"] - 1, abs=1e-3)
    assert set(weg_ablations.headline(rows)["speedup_change"]) == set(VARIANTS) - {"whole"}
    figure = Figure()
    ablation_plot.draw(rows, figure)
    assert len(figure.axes) == 2


class _Template:
    config = WegConfig(classes=CLASSES, tau_a=-0.03)
    templates: Mapping[str, Template] = {"c": Template("c", 0.1, GOOD)}


def test_rows_tell_what_a_run_took_and_the_picture_shows_them() -> None:
    account, _ = ran(Phase(400, 2, 0.9))
    row = {"set": "w", "classes": CLASSES, "stream": "2_90", **weg_images.figures(account)}
    assert row["speedup"] == round(account.speedup, 3)
    assert row["oracle_ms"] == ORACLE_S * 1e3
    figure = Figure()
    image_plot.draw([row, {**row, "set": "v", "stream": "random"}], figure)
    assert len(figure.axes[0].patches) == 2


def test_a_recording_knows_only_its_own_pictures() -> None:
    recording = Recording(world(VirtualClock()), EYE, EYE, 1, 1.0, 1.0)
    with pytest.raises(IndexError):
        recording.replayed(VirtualClock()).oracle([np.array(CLASSES)])
