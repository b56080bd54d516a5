"""Makes the feature store of the plates: ``python -m benchmarks.weg_parts.store_plates``, after ``train_plates``.

Pictures of a seed that neither network learnt from; their labels are the oracle's answers.
"""

from __future__ import annotations

import numpy as np

from benchmarks.weg_parts.image_sets import STORE, plates_networks
from datasets import plates
from learning.features import as_features

SEED, PER_CLASS = 2_000_003, 80


def main() -> None:
    """Write it beside the networks."""
    oracle, features = plates_networks()
    pictures = plates.pictures(np.random.default_rng(SEED), list(range(len(plates.CLASSES))) * PER_CLASS)
    STORE.mkdir(exist_ok=True)
    np.save(STORE / "features.npy", as_features(features(pictures)))
    np.save(STORE / "labels.npy", oracle(pictures).argmax(axis=1).astype(np.int32))


if __name__ == "__main__":
    main()
