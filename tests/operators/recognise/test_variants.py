"""A variant as a shortcut: when it is wanted, and what becomes of one that cannot be opened."""

from __future__ import annotations

import numpy as np
import pytest

from operators.audits.roles import Roles
from operators.decision import Decision
from operators.recognise.classifier import Classifier
from operators.recognise.variants import VariantShortcut
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, scores
from serving.errors import BadInput, ModelError, OutOfService, SluiceError


class Node:
    """Models that say blue, or fail as a test wants."""

    def __init__(self, *models: str) -> None:
        self.error: SluiceError | None = None
        tiers = {each: "reference" if each == "big" else "compact" for each in models}
        self.engine = FakeEngine(**{name: (card_of(name, tier=tier), self._answer) for name, tier in tiers.items()})
        self.recogniser = Classifier(self.engine, Roles.of(models, self.engine.card), "paint")

    def _answer(self, batch: np.ndarray) -> list[np.ndarray]:
        if self.error is not None:
            raise self.error
        return [scores(["blue"] * len(batch))]


def test_every_network_has_an_audit_of_its_own() -> None:
    assert VariantShortcut(Node("big", "small").recogniser, "small").key == "variant small"
    three = Node("big", "middle", "small").recogniser
    assert [VariantShortcut(three, model).key for model in ("middle", "small")] == ["variant middle", "variant small"]


@pytest.mark.parametrize(
    ("decision", "wanted"),
    [
        (Decision("small"), True),
        (Decision("big", proving=frozenset(["small"])), True),  # it would be named if it had proven itself
        (Decision("big"), False),
        (Decision(None), False),
        (Decision("small", shortcuts=frozenset(["cached"])), False),
        (Decision("small", shortcuts=frozenset(["variant"])), True),
    ],
)
def test_it_proves_itself_where_the_decision_would_have_it(decision: Decision, wanted: bool) -> None:
    variant = VariantShortcut(Node("big", "small").recogniser, "small")
    asked = call("small")
    assert variant.proves_itself(type(asked)(decision, asked.urgency)) == wanted


async def test_it_answers_for_all_regions_whatever_the_decision_names() -> None:
    node = Node("big", "small")
    regions = [make_region(id=0), make_region(0.5, id=1)]
    assert await VariantShortcut(node.recogniser, "small").answer(make_frame(), regions, call("big"))
    assert [[(each.label, each.provenance) for each in region.attributes] for region in regions] == [
        [("blue", "variant")]
    ] * 2
    assert [model for model, _, _ in node.engine.asked] == ["small"]


@pytest.mark.parametrize(("error", "comes_back"), [(ModelError("not built"), False), (OutOfService("slow"), True)])
async def test_one_that_cannot_be_opened_gives_way_and_says_so(
    error: SluiceError, comes_back: bool, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node("big", "small")
    node.error, variant, region = error, VariantShortcut(node.recogniser, "small"), make_region()
    assert not await variant.answer(make_frame(), [region], call("small"))
    assert region.attributes == []
    assert (variant.is_there, variant.proves_itself(call("small"))) == (comes_back, comes_back)
    assert caplog.messages == [f"small does not answer, others do in its place: {error}"]


async def test_another_failure_is_that_of_the_frame() -> None:
    node = Node("big", "small")
    node.error, variant = BadInput("no picture"), VariantShortcut(node.recogniser, "small")
    with pytest.raises(BadInput):
        await variant.answer(make_frame(), [make_region()], call("small"))
    assert variant.is_there
