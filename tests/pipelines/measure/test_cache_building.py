"""`sluice caches build`: what is explored is kept, what pays is stored, and a variant that alone is as fast wins."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from cache_adapt.caches import explore, training
from cache_adapt.compose.rivals import Variant
from pipelines.commands.models import caches
from pipelines.measure import cache_building, tapped_pictures
from pipelines.measure.cache_files import EXPLORED, built_caches
from pipelines.measure.template_data import Shown
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.errors import BadInput
from serving.variants.artefacts import folder

ENTRY = Catalogue([SHIPPED]).find("street-kind")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """Coloured noise: the network says of each the same as of its like."""
    directory, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for number in range(120):
        picture = rng.integers(0, 60, (40, 40, 3)).astype(np.uint8)
        picture[..., number % 3] += 150
        cv2.imwrite(str(directory / f"{number}.png"), picture)
    return directory


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    monkeypatch.setattr(tapped_pictures, "BUDGET_S", 0.05)
    monkeypatch.setattr(explore.Wanted, "__init__", _few(explore.Wanted.__init__))
    monkeypatch.setattr(cache_building, "CALIBRATION", 8)
    monkeypatch.setattr(training, "LEAST_STEPS", 20)
    monkeypatch.setattr(training, "SELECTOR_EPOCHS", 2)


def _few(init):
    def made(self, *args, **more):
        init(self, *args, **{"architectures": ("Pool(128)",), **more})

    return made


def build(pictures: Path, tmp_path: Path, again: bool = False):
    said: list[str] = []
    found = cache_building.build_caches(
        ENTRY, cache_building.Order(Shown.of(pictures), 0.6, tmp_path, again), lambda what, share: said.append(what)
    )
    return found, said


def test_caches_that_pay_are_stored_and_what_was_explored_is_kept(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_building, "_int8", lambda *_: [])
    # The network is fast and these pictures are alike: a slow network stands for one in which caches pay.
    monkeypatch.setattr(tapped_pictures, "cut_costs", lambda *_: (0.1, 1e-5))
    found, said = build(pictures, tmp_path)
    assert found.built.caches is not None
    stored = built_caches(ENTRY)
    assert stored is not None
    assert stored.card == found.built.caches.card
    assert (stored.card.model, stored.card.of, stored.card.samples) == ("street-kind", "answers", 120)
    assert (folder(tmp_path, ENTRY) / EXPLORED).exists()
    assert {"pictures", "forward", "latency"} <= set(said)
    monkeypatch.setattr(explore, "_explored", None)  # whatever is explored again fails
    again, _ = build(pictures, tmp_path)
    assert list(again.explored) == list(found.explored)
    with pytest.raises(TypeError):
        build(pictures, tmp_path, again=True)


def test_where_a_variant_alone_is_fastest_nothing_is_stored(pictures, tmp_path, monkeypatch):
    def int8(entry, found, whole, *_):
        fast = type(whole)([seconds / 100 for seconds in whole.layers], (), whole.agreement)
        return [Variant("street-kind@onnxruntime-int8", 0.99, fast)]

    monkeypatch.setattr(cache_building, "_int8", int8)
    found, _ = build(pictures, tmp_path)
    assert found.plan.variant == "street-kind@onnxruntime-int8"
    assert found.file is None
    assert built_caches(ENTRY) is None


def test_the_command_says_what_was_found_and_draws_it(pictures, tmp_path):
    picture = tmp_path / "spectrum.png"
    ran = CliRunner().invoke(
        caches.command,
        ["build", "street-kind", "--data", str(pictures), "--target", "0.6", "--json", "--plot", str(picture)],
    )
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert said["model"] == "street-kind"
    assert said["variants"][0]["variant"] == "street-kind"
    assert len(said["explored"]) > 3
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_too_few_pictures_are_refused(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(tapped_pictures, "LEAST", 500)
    with pytest.raises(BadInput, match="caches need 500 pictures"):
        build(pictures, tmp_path)
