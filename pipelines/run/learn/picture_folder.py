"""A folder of pictures that a node's network is shown, in folders of any depth; no labels."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from operators.capture.sources.images import is_image, natural_order
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from serving.common.tensors import Image
from serving.errors import BadInput, SourceError

log = logging.getLogger(__name__)

MOST = 20_000
TURNS = 60


class PictureFolder:
    """Pictures to be read one after the other; neighbours may show the same object."""

    def __init__(self, folder: Path) -> None:
        """At most ``MOST`` of them; BadInput where there are none."""
        if not folder.is_dir():
            raise BadInput(f"--data {folder}: no such folder")
        self.paths = _thinned(
            _in_turns(sorted(filter(is_image, folder.rglob("*")), key=lambda path: (path.parent, natural_order(path))))
        )
        if not self.paths:
            raise BadInput(f"--data {folder}: no pictures in it or in the folders below")

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Image]:
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
