"""Pictures that a network of a few weights tells apart in a second."""

from __future__ import annotations

import numpy as np

from serving.catalogue.cards import ImageInput
from tools.shipped.samples import Samples

SIZE = ImageInput(width=16, height=16, scale=1 / 255, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
CLASSES = ("flat", "striped")


def stripes() -> Samples:
    flat = np.full((24, 24, 3), 120, np.uint8)
    striped = flat.copy()
    striped[::6] = striped[1::6] = striped[2::6] = 250
    return Samples.of([(flat, "flat")] * 3 + [(striped, "striped")], (*CLASSES, "other"))
