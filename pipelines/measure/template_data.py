"""The pictures that templates are trained on, without labels: a user's, in folders of any depth, or drawn ones."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from operators.capture.sources.images import is_image, natural_order
from operators.capture.sources.open import drawing, open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from pipelines.measure.pictures import CROP_SIZE_PX, SEED
from serving.common.tensors import Image
from serving.errors import BadInput, SourceError

log = logging.getLogger(__name__)

MOST, DRAWN = 20_000, 1_200
TURNS = 60
"""A multiple of the runs of neighbours by which pictures are divided: 12 to cross-fit, 20 to certify thresholds."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Pictures to be read one after the other; neighbours may show the same object."""

    words: str
    sha256: str
    """Identify the pictures without reading them: how they are drawn, or the files and their sizes."""
    paths: Sequence[Path]
    """The files; empty if the pictures are drawn."""

    @classmethod
    def of(cls, folder: Path | None) -> Shown:
        """Those of a folder and all folders in it, at most ``MOST`` of them; None: drawn. BadInput where are none."""
        if folder is None:
            words = f"{DRAWN} drawn street crops, seed {SEED}"
            return cls(words, hashlib.sha256(words.encode()).hexdigest(), ())
        if not folder.is_dir():
            raise BadInput(f"--data {folder}: no such folder")
        paths = _thinned(
            _in_turns(sorted(filter(is_image, folder.rglob("*")), key=lambda path: (path.parent, natural_order(path))))
        )
        if not paths:
            raise BadInput(f"--data {folder}: no pictures in it or in the folders below")
        names = "".join(f"{path.relative_to(folder)} {path.stat().st_size}\n" for path in paths)
        return cls(f"{len(paths)} pictures of {folder.name}", hashlib.sha256(names.encode()).hexdigest(), paths)

    def __len__(self) -> int:
        return len(self.paths) or DRAWN

    def __iter__(self) -> Iterator[Image]:
        if not self.paths:
            yield from drawing().street_crops(SEED, DRAWN, CROP_SIZE_PX)[0]
        for path in self.paths:
            try:
                (picture,) = open_source(SourceUri(str(path)), Sampling(), None).pictures()
            except SourceError as error:
                log.warning("%s", error)
            else:
                yield picture.image


def _in_turns(paths: Sequence[Path]) -> Sequence[Path]:
    """In ``TURNS`` parts, each with a run of neighbours of every folder: folders may be classes."""
    folders = [list(some) for _, some in groupby(paths, key=lambda path: path.parent)]
    return [
        path
        for turn in range(TURNS)
        for some in folders
        for path in some[len(some) * turn // TURNS : len(some) * (turn + 1) // TURNS]
    ]


def _thinned(paths: Sequence[Path]) -> Sequence[Path]:
    """Choose from all parts, in their order."""
    if len(paths) <= MOST:
        return paths
    return [paths[index] for index in np.linspace(0, len(paths) - 1, MOST).astype(int)]
