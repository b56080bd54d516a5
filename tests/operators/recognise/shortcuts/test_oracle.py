"""The last link: answers under the name that the plan gives it, and says what it cannot obey."""

from __future__ import annotations

import pytest

from operators.audits.roles import Roles
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.oracle import Oracle
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, scores

MODELS = ("big", "big@onnxruntime-fp32-batch4", "small")


def oracle() -> tuple[Oracle, FakeEngine]:
    says = lambda batch: [scores(["red"] * len(batch))]  # noqa: E731
    engine = FakeEngine(**{name: (card_of("big"), says) for name in MODELS})
    return Oracle(Classifier(engine, Roles.of(MODELS, engine.card), "paint")), engine


@pytest.mark.parametrize(
    ("planned", "asked", "declined"),
    [
        ("big", "big", {}),
        ("big@onnxruntime-fp32-batch4", "big@onnxruntime-fp32-batch4", {}),
        ("small", "big", {}),  # the variant's link says why it did not answer
        (None, "big", {}),
        ("tiny", "big", {"variant": "tiny is not a model of this node"}),
    ],
)
async def test_it_answers_for_all_that_is_left(planned: str | None, asked: str, declined: dict[str, str]) -> None:
    last, engine = oracle()
    regions = [make_region(id=0), make_region(0.5, id=1)]
    found = await last.answer(make_frame(), regions, call(planned))
    assert [[each.label for each in region.attributes] for region in regions] == [["red"], ["red"]]
    assert [model for model, _, _ in engine.asked] == [asked]
    assert found == declined


async def test_with_nothing_left_nothing_is_asked() -> None:
    last, engine = oracle()
    await last.answer(make_frame(), [], call("big"))
    assert engine.asked == []
