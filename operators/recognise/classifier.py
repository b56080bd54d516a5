"""The classifier: one network, one word per object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.audits.roles import Roles
from operators.inference import Inference, load_all
from operators.recognise.recogniser import Recogniser
from operators.wire.result import UNKNOWN
from operators.wire.schema import Attribute
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array, numbers, softmax
from serving.errors import ModelError

SLACK = 0.05
"""How far outside of 0…1 probabilities may lie by rounding, as in networks of int8."""

SUM = 0.002
"""How far the sum of probabilities may lie from 1 by rounding, in half precision too."""


class Classifier(Recogniser):
    """Gives each region the name of a class."""

    def __init__(
        self,
        engine: Inference,
        roles: Roles,
        attribute: str,
        *,
        min_confidence: float | None = None,
        margin: float | None = None,
    ) -> None:
        """See ``Recogniser``. ``min_confidence``: below it the answer is ``unknown``; None: the oracle's card's."""
        super().__init__(engine, roles, attribute, margin, "classify")
        card = engine.card(roles.oracle)
        self._min_confidence = card.min_confidence if min_confidence is None else min_confidence

    async def prepare(self) -> None:
        """Load the models; ModelError where one cannot be opened."""
        await load_all(self._engine, self.roles.at_once, self._read)

    async def said(self, model: str, output: Array) -> list[Attribute]:
        """The most probable class of each row of a model's output."""
        card = self._engine.card(model)
        return [self._answer(card, model, row) for row in probabilities(card, output)]

    @property
    def least_share(self) -> float:
        return self._min_confidence

    def shares(self, model: str, output: Array) -> NDArray[np.float32]:
        card = self._engine.card(model)
        named = [number for number, label in enumerate(card.classes) if label != UNKNOWN]
        return probabilities(card, output)[:, named]

    def labels(self, model: str) -> tuple[str, ...]:
        """Return the card's classes."""
        return self._engine.card(model).classes

    def accepted(self, answer: Attribute) -> Attribute:
        """Return the answer, ``unknown`` where it is not sure enough."""
        return answer if answer.confidence >= self._min_confidence else msgspec.structs.replace(answer, label=UNKNOWN)

    def _read(self, model: str, outputs: Sequence[Array]) -> None:
        """Read what a network says of a grey picture; ModelError where its card says otherwise."""
        card, said = self._engine.card(model), outputs[0]
        rows = probabilities(card, said)
        if rows.min() < -SLACK or rows.max() > 1 + SLACK:
            found = f"{rows.min():.3g} … {rows.max():.3g}, which are no probabilities: set 'scores: logits'"
        elif card.scores == "logits" and said.min() >= 0 and np.abs(said.reshape(len(said), -1).sum(1) - 1).max() < SUM:
            found = "numbers that add up to 1, which are probabilities: set 'scores: probabilities'"
        else:
            return
        raise ModelError(f"model {model!r} says {found} in its card")

    def _answer(self, card: ModelCard, model: str, row: NDArray[np.float32]) -> Attribute:
        best = int(row.argmax())
        return self._attribute_of(model, card.classes[best], float(row[best]))


def probabilities(card: ModelCard, scores: NDArray[Any]) -> NDArray[np.float32]:
    """Return N × classes whose rows sum to 1; logits go through softmax. ModelError on another width, or no numbers."""
    rows = scores.reshape(len(scores), -1).astype(np.float32)
    if rows.shape[1] != len(card.classes):
        found = f"scores {rows.shape[1]} classes, its card lists {len(card.classes)}"
        raise ModelError(f"model {card.name!r} {found}: correct 'classes', or name another of its 'outputs'")
    return numbers(card.name, rows if card.scores == "probabilities" else softmax(rows / card.temperature))
