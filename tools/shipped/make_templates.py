"""Makes the templates that ship: ``python -m tools.shipped.make_templates``; takes ten minutes on two cores.

The photos and streets are none that the oracle or the compact network learnt from, nor any that benchmarks measure on.
Of street cameras there are no others, so their crops are changed at random once more.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator

from datasets import camera_crops, vehicle6
from datasets.street import street_crops
from serving.catalogue.lookup import SHIPPED as MODELS
from serving.catalogue.lookup import Catalogue
from serving.common.tensors import Image
from specialization.kit.looks import nudge
from specialization.templates.derive import compact
from specialization.templates.fill import PictureSource, fill, forward
from specialization.templates.stored import SHIPPED
from tools.shipped.augment import augment
from tools.shipped.collect import CORRECTIONS, DRAWN_SIZE, typed
from tools.shipped.recipes import VEHICLE_TYPES
from tools.shipped.samples import corners

TEMPLATES = {"vehicle-type": "vehicle-type-compact"}
"""Oracle → the compact network whose features are used."""
DATA = "validation split of the vehicle6 photos, pieces of them, drawn street crops, changed crops of street cameras"
LOOKS = 4
"""At each photo: as it is, and cut and mirrored at random."""
CORNERS = 400
OF_TYPE = 200
"""Crops of street cameras of each type."""
STREETS, CROPS = 8, 150
"""So many draws of so many crops."""
DRAWN_SEED = 3_000_017
"""The first; neither of those that the networks learnt from and were measured on, nor that of profiles."""


def main() -> None:
    """Make all, or say what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.shipped.make_templates", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="images/")
    parser.add_argument("--into", type=Path, default=SHIPPED, help="where the templates go")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    models = Catalogue([MODELS])
    shown = pictures(arguments.data, np.random.default_rng(1))
    for oracle, network in TEMPLATES.items():
        template = compact(models.find(oracle), models.find(network), arguments.into)
        seen = forward(models.find(oracle), [template], shown, arguments.threads, lambda count: None)
        data = PictureSource(DATA, hashlib.sha256(b"".join(image.tobytes() for image in shown)).hexdigest())
        fill(template, seen.features[template.name], seen.labels, data, lambda share: None)
        print(f"{template.name}: {np.bincount(seen.labels).tolist()} pictures of {', '.join(template.labels)}")


def pictures(data: Path, rng: Generator) -> list[Image]:
    """Photos of a split that is neither for learning nor for tests, bits of them, and drawn streets.

    What shows the same object lies side by side; apart from that the order is random.
    """
    photos = vehicle6.load(vehicle6.ensure(data / "images" / "vehicle6"), "validation")
    groups: list[list[Image]] = [[image, *(nudge(image, rng) for _ in range(LOOKS - 1))] for image, _ in photos]
    groups += [[image] for image, _ in corners(photos, CORNERS, rng)]
    groups += [[augment(image, rng)] for image in _by_type(data, rng)]
    groups += [list(street_crops(DRAWN_SEED + street, CROPS, DRAWN_SIZE)[0]) for street in range(STREETS)]
    return [image for number in rng.permutation(len(groups)) for image in groups[number]]


def _by_type(data: Path, rng: Generator) -> Iterator[Image]:
    """Crops of street cameras, as many of each type."""
    crops = camera_crops.corrected(camera_crops.read(data / "crops"), camera_crops.read_corrections(CORRECTIONS))
    named = typed(crops)
    for kind in VEHICLE_TYPES:
        own = [image for image, name in named if name == kind]
        yield from (own[i] for i in rng.integers(0, len(own), OF_TYPE if own else 0))


if __name__ == "__main__":
    main()
