"""Where the caches of a node come from."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from cache_adapt.caches import store
from learning.purse import unlimited
from operators.recognise.cached import validation
from operators.recognise.cached.building import CutPlace
from operators.recognise.cached.caches import Caches
from operators.recognise.cached.released import ReleasedCaches
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.testing import FakeEngine
from pipelines.assembly.caches import cache_source
from pipelines.assembly.environment import Audits, Environment, Training
from pipelines.assembly.node import node
from pipelines.assembly.registry import Shortcuts
from pipelines.measure.cache_files import caches_file, validation_folder
from pipelines.measure.cache_places import cut_places, cuts_at
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.variants.variant import parse
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.cached.paints import built, named, validation_set

KNOWN = Catalogue([SHIPPED])


@pytest.fixture(autouse=True)
def cache_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))


def of_shipped(agreement: float) -> store.BuiltCaches:
    entry = KNOWN.find("street-kind")
    made = built(agreement)
    return replace(made, card=msgspec.structs.replace(made.card, model_identity=entry.card.identity))


def test_places_lie_where_shares_of_the_work_are_done():
    plan = cut_places(KNOWN.find("vehicle-type"))
    assert len(plan) == 3
    assert [cut.share for cut in plan] == sorted(cut.share for cut in plan)
    assert all(abs(cut.share - wanted) < 0.1 for cut, wanted in zip(plan, (0.3, 0.5, 0.7), strict=True))
    assert all(np.prod(cut.grid) <= 2048 for cut in plan)


def test_built_caches_are_used(tmp_path):
    store.write(caches_file(KNOWN.find("street-kind")), of_shipped(0.97))
    source = cache_source(KNOWN, "street-kind", 0.95, tmp_path)
    assert source.built is not None
    assert source.built.card == of_shipped(0.97).card


def test_a_larger_oracle_is_taken_to_cost_more_to_open_again(tmp_path):
    small, large = (cache_source(KNOWN, name, 0.95, tmp_path) for name in ("street-kind", "vehicle-type"))
    assert 0 < small.opening_s < large.opening_s
    assert large.weights_bytes == KNOWN.find("vehicle-type").path.stat().st_size


def test_caches_for_a_lower_agreement_are_not_used(tmp_path, caplog):
    store.write(caches_file(KNOWN.find("street-kind")), of_shipped(0.9))
    assert cache_source(KNOWN, "street-kind", 0.95, tmp_path).built is None
    assert "were built for 0.9, this query asks 0.95" in caplog.text


def test_damaged_caches_are_told_and_not_used(tmp_path, caplog):
    path = caches_file(KNOWN.find("street-kind"))
    store.write(path, of_shipped(0.97))
    path.write_bytes(b"garbage")
    assert cache_source(KNOWN, "street-kind", 0.95, tmp_path).built is None
    assert "they are not used" in caplog.text


def test_a_validation_set_tells_the_places_and_a_damaged_one_is_not_used(tmp_path, caplog):
    entry = KNOWN.find("street-kind")
    plan, folder = [CutPlace("somewhere", (4, 1, 1), 0.4)], validation_folder(entry)
    validation.write(folder, entry.card, plan, [np.zeros((9, 4), np.float32)], np.zeros(9, np.intp))
    source = cache_source(KNOWN, "street-kind", 0.95, tmp_path)
    assert source.validation is not None
    assert (source.validation.directory, source.places()) == (folder, plan)
    assert not caplog.text
    (folder / "card.json").write_bytes(b"{")
    source = cache_source(KNOWN, "street-kind", 0.95, tmp_path)
    assert source.validation is None
    assert source.places() == cut_places(entry)
    assert "build the caches again; it is not used" in caplog.text


def test_only_caches_in_the_oracle_at_places_of_the_validation_set_are_adapted(tmp_path):
    source = cache_source(KNOWN, "street-kind", 0.95, tmp_path)
    kept = validation_set(tmp_path / "kept")
    adapted = replace(source, built=of_shipped(0.97), elsewhere=Mock(), validation=kept)
    assert adapted.is_adapted
    for changes in ({"built": None}, {"elsewhere": None}, {"validation": None}, {"variant": "street-kind@x"}):
        assert not replace(adapted, **changes).is_adapted
    assert not replace(adapted, built=built(cuts=["early"])).is_adapted


async def test_a_node_with_caches_gets_the_link_before_the_variant(tmp_path):
    entry = KNOWN.find("street-kind")
    engine = FakeEngine(**{"street-kind": (entry.card, named)})
    trainer = ThreadSpecializer()
    training = Training(KNOWN, [tmp_path], trainer, tmp_path / "samples")
    spec = RecogniseNode(name="kind", task="recognise", input="track", model="street-kind", caches=True, answer="track")
    chain = node(spec, Environment(engine, Audits(Shortcuts("q"), Rule(0.95), training, unlimited())))
    assert [type(link) for link in chain.links] == [Caches]
    await trainer.close()


@pytest.mark.parametrize("models", [("street-kind",), ("street-kind", "street-kind@onnxruntime-int8")])
async def test_a_node_that_releases_gets_one_link_whose_answers_go_out_early(tmp_path, models):
    entry = KNOWN.find("street-kind")
    store.write(caches_file(entry), of_shipped(0.97))
    store.write(caches_file(entry, parse("street-kind@onnxruntime-int8")), of_shipped(0.97))
    engine = FakeEngine(**dict.fromkeys(models, (entry.card, named)))
    trainer = ThreadSpecializer()
    training = Training(KNOWN, [tmp_path], trainer, tmp_path / "samples")
    spec = RecogniseNode(name="kind", task="recognise", input="track", model=models, caches="release", answer="look")
    chain = node(spec, Environment(engine, Audits(Shortcuts("q"), Rule(0.95), training)))
    assert [type(link) for link in chain.links] == [ReleasedCaches, VariantShortcut][: len(models)]
    await trainer.close()


def test_places_of_built_caches_are_found_again():
    entry = KNOWN.find("street-kind")
    plan = cut_places(entry)
    made = built(cuts=[cut.tensor for cut in plan[:2]])
    assert cuts_at(entry, made.tensors) == plan[:2]


def test_caches_do_not_go_with_a_gallery(tmp_path):
    with pytest.raises(ValueError, match="caches answer classes"):
        RecogniseNode(name="who", task="recognise", input="track", model="face", caches=True, gallery=tmp_path)
