from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators.audits.roles import Roles
from operators.recognise.classifier import Classifier, probabilities
from operators.testing import FakeEngine, call, card_of, make_frame, make_region
from operators.wire.schema import Model
from serving.errors import ModelError

CALL = call("colour", 7.0)


def classifier(engine: FakeEngine, *models: str, **more: Any) -> Classifier:
    return Classifier(engine, Roles.of(models, engine.card), "paint", **more)


def colour(**changes: Any) -> FakeEngine:
    """Scores are the mean of each channel: the class is the dominant colour."""
    card = card_of("colour", **{"input": {"width": 4, "height": 4, "colour": "bgr", "scale": 0.1}, **changes})
    return FakeEngine(colour=(card, lambda batch: [batch.mean(axis=(2, 3))]))


def flag() -> np.ndarray:
    """Left half blue, right half red."""
    image = np.zeros((40, 40, 3), np.uint8)
    image[:, :20, 0] = image[:, 20:, 2] = 255
    return image


LEFT, RIGHT = {"x": 0.0, "y": 0.0, "w": 0.5, "h": 1.0}, {"x": 0.5, "y": 0.0, "w": 0.5, "h": 1.0}


async def test_each_region_is_named_with_its_model_and_provenance() -> None:
    engine = colour(tier="compact", version="3")
    left, right = make_region(**LEFT), make_region(**RIGHT)
    assert await classifier(engine, "colour").process(make_frame(image=flag()), [left, right], CALL) == []
    (blue,), (red,) = left.attributes, right.attributes
    assert (blue.name, blue.label, blue.provenance) == ("paint", "blue", "oracle")
    assert blue.model == Model(name="colour", version="3", tier="compact")
    assert red.label == "red"
    assert blue.confidence > 0.99
    ((_, batch, deadline),) = engine.asked
    assert (batch.shape, deadline) == ((2, 3, 4, 4), 7.0)


async def test_attributes_are_appended() -> None:
    region = make_region(**LEFT)
    made = classifier(colour(), "colour")
    for _ in range(2):
        await made.process(make_frame(image=flag()), [region], CALL)
    assert len(region.attributes) == 2


async def test_without_regions_nothing_is_asked() -> None:
    engine = colour()
    assert await classifier(engine, "colour").process(make_frame(), [], CALL) == []
    assert engine.asked == []


@pytest.mark.parametrize("card", [{}, {"other_label": "green"}])
async def test_below_the_least_confidence_it_is_unknown(card: dict[str, Any]) -> None:
    region = make_region()
    await classifier(colour(**card), "colour", min_confidence=0.5).process(make_frame(), [region], CALL)
    (attribute,) = region.attributes
    assert attribute.label == "unknown"
    assert attribute.confidence == pytest.approx(1 / 3, abs=1e-4)  # grey: all colours alike


@pytest.mark.parametrize(
    ("option", "in_card", "label"), [(None, 0.5, "unknown"), (0.2, 0.5, "blue"), (0.5, 0.2, "unknown")]
)
async def test_the_least_confidence_is_the_nodes_or_the_cards(option: float | None, in_card: float, label: str) -> None:
    region = make_region()
    made = classifier(colour(min_confidence=in_card), "colour", min_confidence=option)
    await made.process(make_frame(), [region], CALL)
    assert region.attributes[0].label == label


@pytest.mark.parametrize(("option", "in_card", "red"), [(None, 0.5, True), (0.0, 0.5, False), (0.5, 0.0, True)])
async def test_the_margin_is_the_nodes_or_the_cards(option: float | None, in_card: float, red: bool) -> None:
    engine = colour(input={"width": 4, "height": 4, "colour": "bgr", "margin": in_card})
    made = classifier(engine, "colour", margin=option)
    await made.process(make_frame(image=flag()), [make_region(**LEFT)], CALL)
    assert (engine.asked[0][1][0, 2] > 0).any() == red


async def test_the_call_chooses_the_model() -> None:
    engine = FakeEngine(
        big=(card_of("big"), lambda batch: [np.array([[9.0, 0.0, 0.0]])]),
        small=(card_of("small"), lambda batch: [np.array([[0.0, 9.0, 0.0]])]),
    )
    region = make_region()
    await classifier(engine, "big", "small").process(make_frame(), [region], call("small", 0.0))
    assert (region.attributes[0].label, region.attributes[0].model.name) == ("green", "small")


async def test_an_answer_of_another_than_the_oracle_says_so() -> None:
    says = lambda batch: [np.array([[9.0, 0.0, 0.0]])]  # noqa: E731
    engine = FakeEngine(small=(card_of("small", tier="compact"), says), big=(card_of("big"), says))
    region = make_region()
    for model in ("small", "big"):
        await classifier(engine, "small", "big").process(make_frame(), [region], call(model, 0.0))
    assert [attribute.provenance for attribute in region.attributes] == ["variant", "oracle"]


@pytest.mark.parametrize(("scores", "wrong"), [("logits", np.nan), ("logits", np.inf), ("probabilities", np.nan)])
async def test_what_is_no_number_makes_its_object_unknown_and_no_other(
    scores: str, wrong: float, caplog: pytest.LogCaptureFixture
) -> None:
    rows = np.array([[0.1, 0.2, 0.7], [wrong, 0.1, 0.2]])
    engine = FakeEngine(colour=(card_of("colour", scores=scores), lambda batch: [rows]))
    made = classifier(engine, "colour", min_confidence=0.3)
    for _ in range(2):
        sound, odd = make_region(), make_region()
        await made.process(make_frame(), [sound, odd], CALL)
        assert sound.attributes[0].label == "red"
        assert (odd.attributes[0].label, odd.attributes[0].confidence) == ("unknown", 0.0)
    assert not np.isfinite(rows).all(), "the answer is another's too: it is left as it is"
    (logged,) = caplog.messages
    assert "model 'colour' says what is no number" in logged


@pytest.mark.parametrize(
    ("card", "said", "fault"),
    [
        ({}, [9.0, 0.0, -9.0], None),
        ({"scores": "probabilities"}, [1.001, 0.0, 0.0], None),
        ({"scores": "probabilities"}, [0.7, 0.2, 0.1], None),
        ({}, [0.7, 0.2, 0.1], "says numbers that add up to 1, which are probabilities: set 'scores: probabilities'"),
        ({}, [0.7, 0.4, -0.1], None),
        ({}, [9.0, 0.0], "scores 2 classes, its card lists 3: correct 'classes', or name another"),
        ({}, [np.nan, 0.0, 0.0], "says what is no number"),
        (
            {"scores": "probabilities"},
            [9.0, 0.0, -9.0],
            "says -9 … 9, which are no probabilities: set 'scores: logits'",
        ),
    ],
)
async def test_a_card_that_its_network_belies_is_refused_before_the_first_frame(
    card: dict[str, Any], said: list[float], fault: str | None
) -> None:
    engine = FakeEngine(colour=(card_of("colour", **card), lambda batch: [np.array([said])]))
    made = classifier(engine, "colour")
    if fault is None:
        await made.prepare()
    else:
        with pytest.raises(ModelError, match=fault):
            await made.prepare()
    assert engine.loaded == ["colour"]


def test_softmax_of_large_scores_is_finite_and_sums_to_one() -> None:
    rows = probabilities(card_of("c"), np.array([[1000.0, 999.0, -1000.0]]))
    np.testing.assert_allclose(rows, [[0.7310586, 0.2689414, 0.0]], atol=1e-6)


def test_logits_are_divided_by_the_temperature() -> None:
    rows = probabilities(card_of("c", temperature=2.0), np.array([[2.0, 0.0, -2.0]]))
    np.testing.assert_allclose(rows, [[0.66524096, 0.24472847, 0.09003057]], atol=1e-6)


def test_probabilities_are_taken_as_they_are() -> None:
    rows = probabilities(card_of("c", scores="probabilities"), np.array([[[[0.2]], [[0.3]], [[0.5]]]]))
    np.testing.assert_allclose(rows, [[0.2, 0.3, 0.5]], rtol=1e-6)


def test_another_number_of_scores_is_refused() -> None:
    with pytest.raises(ModelError, match="scores 4 classes, its card lists 3"):
        probabilities(card_of("c"), np.zeros((1, 4)))


def test_a_model_that_is_no_classifier_is_refused() -> None:
    engine = FakeEngine(face=(card_of("face", task="embed", classes=None), lambda batch: [batch]))
    with pytest.raises(ModelError, match="made to embed, this node needs one that can classify"):
        classifier(engine, "face")


def test_looks_say_the_cards_classes_whatever_is_withheld() -> None:
    assert classifier(colour(), "colour", min_confidence=0.5).labels("colour") == ("blue", "green", "red")


def test_names_are_the_classes_and_below_the_least_confidence_a_look_says_the_word_behind_them() -> None:
    made = classifier(colour(), "colour", min_confidence=0.5)
    assert (made.names, made.least_share) == (("blue", "green", "red"), 0.5)
    model = Model(name="colour", version="1", tier="reference")
    looks = [made.answer(label, sure, "oracle", model) for label, sure in (("blue", 0.9), ("red", 0.5), ("red", 0.4))]
    assert [made.word_of(look) for look in looks] == [0, 2, 3]


def test_an_exit_answers_with_its_most_probable_name_and_says_where_it_sits() -> None:
    made = classifier(colour(version="3"), "colour", min_confidence=0.5)
    answer = made.exit_answer(np.array([0.1, 0.7, 0.2], np.float32), "specialised", 12, 1)
    assert (answer.name, answer.label, answer.confidence, answer.provenance) == ("paint", "green", 0.7, "specialised")
    assert answer.model == Model(name="colour", version="12", tier="specialised", variant="exit@2")
    doubtful = made.exit_answer(np.array([0.3, 0.3, 0.2], np.float32), "cached", 1, 0)
    assert (doubtful.label, made.accepted(doubtful).label) == ("blue", "unknown")


def test_probabilities_of_names_leave_a_class_out_that_is_no_name() -> None:
    made = classifier(colour(classes=["blue", "unknown", "red"], scores="probabilities"), "colour")
    assert made.names == ("blue", "red")
    shares = made.shares("colour", np.array([[0.2, 0.5, 0.3]], np.float32))
    np.testing.assert_allclose(shares, [[0.2, 0.3]])


@pytest.mark.parametrize(
    ("classes", "other", "nameless"),
    [
        (["blue", "red", "rest"], "rest", {"unknown", "rest"}),
        (["blue", "green", "red"], "green", {"unknown"}),
        (["blue", "red"], None, {"unknown"}),
    ],
    ids=["not the oracle's", "a name of the oracle's", "none"],
)
def test_a_shortcut_s_word_for_all_else_names_nothing_unless_the_oracle_says_it(
    classes: list[str], other: str | None, nameless: set[str]
) -> None:
    def answer(batch: np.ndarray) -> list[np.ndarray]:
        return [np.zeros((len(batch), 3), np.float32)]

    small = card_of("small", classes=classes, other_label=other, tier="compact")
    engine = FakeEngine(oracle=(card_of("oracle"), answer), small=(small, answer))
    assert classifier(engine, "oracle", "small").nameless == nameless
