"""What WEG must know of a compact network before a stream begins: its cost, and how heads on it do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.weg_parts.image_sets import Image, ImageSet, Look
from specialization.accuracy_estimate import Template
from specialization.head import SpecialisedHead
from specialization.profile_rates import profile
from specialization.train_head import train_head
from specialization.weg_config import WegConfig
from specialization.weg_state import Head

ACCURACY = 0.97
"""What a query would demand: the agreement with the oracle."""
TOLERANCE = (1 - ACCURACY) / 2
"""Share of a head's answers that may differ from the oracle's on held-out rows: half of what is allowed, as the
recogniser has it, so that audits can prove it."""
TIMED = 40


@dataclass(frozen=True)
class Measured:
    """A template of a set, and what its heads are trained on."""

    templates: Mapping[str, Template]
    config: WegConfig
    features: NDArray[np.float32]
    said: NDArray[np.intp]
    """By the oracle."""

    def train(self, head: Head) -> SpecialisedHead:
        """Raises SluiceError where there can be no such head."""
        rng = np.random.default_rng(head.number)
        return train_head(self.features, self.said, head.target.classes, head.training_skew, TOLERANCE, rng)


def measure_template(images: ImageSet, seed: int, draws: int) -> Measured:
    """Run and time both networks on the stored pictures; see how heads do for classes drawn at random."""
    features, said = images.features(images.stored), images.oracle(images.stored).argmax(axis=1)
    by_tolerance = profile(features, said, np.random.default_rng((seed, 2)), draws=draws)
    rates = max(
        (each for each in by_tolerance if each.tolerance <= TOLERANCE * (1 + 1e-9)), key=lambda each: each.tolerance
    )
    cost = seconds(images.features, images.stored) / seconds(images.oracle, images.stored)
    template = Template("compact", cost, rates.rates)
    config = WegConfig(classes=images.classes, tau_a=ACCURACY - 1)
    return Measured({template.name: template}, config, features, said)


def seconds(look: Look, pictures: Sequence[Image]) -> float:
    """Median time for one picture, what happens to it before included."""
    found = []
    for picture in pictures[:TIMED]:
        begun = perf_counter()
        look([picture])
        found.append(perf_counter() - begun)
    return float(np.median(found))
