"""A network as a model directory, and caches that are built from pictures which it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx
import yaml

from benchmarks.caches_images_parts.cases import NAME, Case
from benchmarks.caches_parts.build import WholeNetwork, build
from benchmarks.caches_parts.explore import BuildGoal, explore
from benchmarks.caches_parts.lookup import lookup_s
from benchmarks.caches_parts.tapped_pictures import CuttableNetwork, Tapped, built_whole, tapped_pictures
from cache_adapt.exits.certify import Constraint
from cache_adapt.learned.artefact import ExitArtefact
from serving.catalogue.lookup import Catalogue, file_sha256

FORMS = ("FC(64)",)


@dataclass(frozen=True)
class Learnt:
    """What caches are built from."""

    known: Catalogue
    whole: CuttableNetwork
    tapped: Tapped

    @classmethod
    def of(cls, case: Case, folder: Path) -> Learnt:
        """Run the pictures of one half through, with a tap at every cut point."""
        known = _catalogue(case, folder)
        entry = known.find(NAME)
        whole = built_whole(entry, entry.path, "fp32")
        return cls(known, whole, tapped_pictures(whole, case.learnt))

    def caches(self, constraint: Constraint) -> ExitArtefact | None:
        """Those that composition chooses; None where none pay."""
        wanted, tapped = BuildGoal(constraint, FORMS), self.tapped
        explored = list(explore(tapped.cuts, wanted, lookup_s))
        return build(WholeNetwork(NAME, self.whole.card.identity, tapped.whole_s), tapped.cuts, explored, wanted).exits


def _catalogue(case: Case, folder: Path) -> Catalogue:
    directory = folder / NAME
    directory.mkdir()
    onnx.save(case.model, directory / "net.onnx")
    size, classes = case.learnt.shape[2], [f"class-{number}" for number in range(10)]
    card = {"name": NAME, "version": "1", "task": "classify", "file": "net.onnx", "classes": classes}
    card |= {"sha256": file_sha256(directory / "net.onnx"), "licence": "MIT", "source": "https://www.cs.toronto.edu"}
    (directory / "model.yaml").write_text(yaml.safe_dump({**card, "input": {"width": size, "height": size}}))
    return Catalogue([folder])
