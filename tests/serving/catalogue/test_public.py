from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from serving.catalogue.public import PublicModel, public_model, public_models
from serving.errors import ModelError

PERMISSIVE = {"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause"}


@pytest.mark.parametrize("model", public_models().values(), ids=lambda model: model.name)
def test_every_public_model_has_a_sound_card_licence_and_addresses(model: PublicModel) -> None:
    for build in model.builds:
        card = model.card_for(build)
        assert card.licence in PERMISSIVE
        assert card.sha256 == build.sha256
    assert all(urlsplit(url).scheme == "https" for url in model.urls)


def test_the_tasks_that_queries_need_are_there() -> None:
    tasks = {model.card["task"] for model in public_models().values()}
    assert tasks == {"detect", "classify", "embed"}


def test_labels_of_the_detectors_agree_where_they_mean_the_same() -> None:
    """A query must be able to list either detector: both say ``person``, ``car``, ``motorcycle``."""
    yolox, ssd = (public_model(name).class_names() for name in ("yolox-nano", "ssd-mobilenet-v1"))
    assert [name for name in ssd if not name.startswith("unused")] == yolox
    assert len(yolox) == 80


def test_an_unknown_name_is_told_with_a_near_miss() -> None:
    with pytest.raises(ModelError, match=r"no public model 'yolox-nan'; did you mean 'yolox-nano'\?"):
        public_model("yolox-nan")


def test_the_sample_weights_are_an_accepted_build(data_dir: Path) -> None:
    content = (data_dir / "weights" / "yolox_nano.onnx").read_bytes()
    assert hashlib.sha256(content).hexdigest() in {build.sha256 for build in public_model("yolox-nano").builds}
