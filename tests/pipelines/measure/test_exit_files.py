"""Exits are those of one node; where they are tried is told by shares of the work."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from cache_adapt.learned import files
from cache_adapt.learned.artefact import ExitArtefact
from pipelines.measure.exit_files import exits_file, learned_exits
from pipelines.measure.exit_places import cuts_at, exit_places
from serving.catalogue.lookup import SHIPPED, Catalogue, Entry
from serving.errors import ModelError
from tests.cache_adapt.learned.taught import exits


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """A model in a folder of its own."""
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    shutil.copytree(Catalogue([SHIPPED]).find("street-kind").path.parent, tmp_path / "models" / "street-kind")
    return Catalogue([tmp_path / "models"]).find("street-kind")


def made(entry: Entry, samples: int) -> ExitArtefact:
    found = exits(samples)
    return ExitArtefact(msgspec.structs.replace(found.card, model_identity=entry.card.identity), found.exits)


def test_they_are_of_one_node(entry: Entry) -> None:
    assert learned_exits(entry, "street", "kind") is None
    files.write(exits_file(entry, "street", "kind"), made(entry, 300))
    found = [learned_exits(entry, "street", node) for node in ("kind", "other")]
    assert [each and each.card.samples for each in found] == [300, None]


def test_those_of_another_network_are_refused(entry: Entry) -> None:
    files.write(exits_file(entry, "street", "kind"), exits(200))
    with pytest.raises(ModelError, match="made for vehicle, not for street-kind"):
        learned_exits(entry, "street", "kind")


def test_places_lie_near_their_shares_and_are_found_again(entry: Entry) -> None:
    places = exit_places(entry, (0.3, 0.31, 0.8))
    assert [each.tensor for each in cuts_at(entry, [each.tensor for each in places])] == [
        each.tensor for each in places
    ]
    assert len({each.tensor for each in places}) == len(places) <= 3
    assert all(abs(each.share - share) < 0.2 for each, share in zip(places, (0.3, 0.8), strict=False))
