"""What WEG must know of a compact network before a stream begins: its cost, and how heads on it do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from benchmarks.weg_parts.heads import SpecialisedHead, StoredFeatures, head_rates, train_head
from benchmarks.weg_parts.image_sets import Image, ImageSet, Look
from specialization.rates import Template
from specialization.weg.config import WegConfig
from specialization.weg.state import Head

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
    store: StoredFeatures

    def train(self, head: Head) -> SpecialisedHead:
        """Raises SluiceError where there can be no such head."""
        rng = np.random.default_rng(head.number)
        return train_head(self.store, head.target.classes, head.training_skew, TOLERANCE, rng)


def measure_template(images: ImageSet, seed: int, draws: int) -> Measured:
    """Time both networks, and see how heads do for classes drawn at random."""
    store, rng = images.stored, np.random.default_rng((seed, 2))
    rates = head_rates(store, TOLERANCE, rng, draws)
    pictures = [images.draw(rng, label) for label in rng.choice(images.labels, TIMED)]
    cost = seconds(images.features, pictures) / seconds(images.oracle, pictures)
    template = Template("compact", cost, rates)
    config = WegConfig(classes=images.classes, tau_a=ACCURACY - 1)
    return Measured({template.name: template}, config, store)


def seconds(look: Look, pictures: Sequence[Image]) -> float:
    """Median processor time for one picture, what happens to it before included."""
    found = []
    for picture in pictures[:TIMED]:
        begun = process_time()
        look([picture])
        found.append(process_time() - begun)
    return float(np.median(found))
