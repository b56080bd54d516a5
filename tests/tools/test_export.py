"""``python -m tools.export``: from safetensors to a model that answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import save_file

from serving.catalogue.lookup import Catalogue, verify
from serving.errors import BadInput, ModelError
from serving.loading.opening import open_model
from serving.preprocess import batch
from tests.cifar import images_of_test_set, share_right
from tools.architectures.registry import ARCHITECTURES
from tools.export import command

NAMES = ("left", "middle", "right")


def export(*arguments: str, classes: Path, into: Path) -> str:
    told = ("--classes", str(classes), "--into", str(into), "--licence", "MIT", "--source", "https://example.org")
    result = CliRunner().invoke(command, [*arguments, *told], catch_exceptions=False)
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    path = tmp_path / "classes.txt"
    path.write_text("\n".join(NAMES) + "\n\n", encoding="utf-8")
    return path


def saved(path: Path, architecture: str, count: int = len(NAMES)) -> str:
    torch.manual_seed(1)
    save_file(ARCHITECTURES[architecture].build(count).state_dict(), path / "w.safetensors")
    return str(path / "w.safetensors")


@pytest.mark.data
def test_weights_become_a_model_as_accurate_as_they_are(tmp_path: Path, data_dir: Path) -> None:
    images, labels, names = images_of_test_set(data_dir, 300)
    (tmp_path / "classes.txt").write_text("\n".join(names), encoding="utf-8")
    weights = str(data_dir / "weights" / "resnet18_cifar10.safetensors")
    pixels = ("--mean", ".4914", ".4822", ".4465", "--std", ".247", ".2435", ".2616")
    told = ("--name", "cifar10", "--half", *pixels)
    said = export("resnet18-cifar", weights, *told, classes=tmp_path / "classes.txt", into=tmp_path / "m")
    assert said == f"cifar10: {tmp_path / 'm' / 'cifar10'}\n"
    entry = Catalogue([tmp_path / "m"]).find("cifar10")
    verify(entry)
    assert entry.card.classes == names
    assert (entry.card.licence, entry.card.source) == ("MIT", "https://example.org")
    assert entry.path.stat().st_size < 23e6
    network = open_model(entry, threads=1)
    ready = batch(entry.card.input, images)[0]
    scores = np.concatenate([network.run(ready[start : start + 50])[0] for start in range(0, len(ready), 50)])
    network.close()
    assert share_right(scores, labels) == pytest.approx(0.88, abs=0.075)


def test_name_size_and_normalisation_have_the_defaults_of_public_weights(tmp_path: Path, classes: Path) -> None:
    export("mobilenet-v2", saved(tmp_path, "mobilenet-v2"), classes=classes, into=tmp_path / "m")
    card = Catalogue([tmp_path / "m"]).find("mobilenet-v2").card
    assert (card.input.width, card.input.height) == (224, 224)
    assert (card.input.mean, card.input.std) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert card.input.scale == pytest.approx(1 / 255)
    assert card.classes == NAMES


def test_another_size_is_taken_where_the_architecture_can(tmp_path: Path, classes: Path) -> None:
    weights = saved(tmp_path, "cifar-resnet20")
    export("cifar-resnet20", weights, "--size", "48", classes=classes, into=tmp_path / "m")
    entry = Catalogue([tmp_path / "m"]).find("cifar-resnet20")
    network = open_model(entry, threads=1)
    assert network.run(np.zeros((2, 3, 48, 48), np.float32))[0].shape == (2, 3)
    network.close()
    weights = saved(tmp_path, "s2")
    with pytest.raises(ModelError, match="s2 cannot be exported for images of 40 × 40 pixels: "):
        export("s2", weights, "--size", "40", classes=classes, into=tmp_path / "m")
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["cifar-resnet20"]


@pytest.mark.parametrize(
    ("architecture", "count", "more", "message"),
    [
        ("cifar-resnet32", 3, (), r"it lacks layer1\.3\.conv1\.weight"),
        ("cifar-resnet20", 4, (), r"linear\.weight is 4 × 64, must be 3 × 64"),
        ("cifar-resnet20", 3, ("--name", "Big Net"), "the card: name: "),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_nothing(
    tmp_path: Path, classes: Path, architecture: str, count: int, more: tuple[str, ...], message: str
) -> None:
    weights = saved(tmp_path, "cifar-resnet20", count)
    with pytest.raises(ModelError, match=message):
        export(architecture, weights, *more, classes=classes, into=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_an_unknown_architecture_has_a_near_miss(tmp_path: Path, classes: Path) -> None:
    with pytest.raises(ModelError, match=r"unknown architecture 'resnet19'; did you mean 'resnet18'\?"):
        export("resnet19", "w.safetensors", classes=classes, into=tmp_path)


def test_a_model_that_is_there_is_not_replaced(tmp_path: Path, classes: Path) -> None:
    weights = saved(tmp_path, "cifar-resnet20")
    export("cifar-resnet20", weights, classes=classes, into=tmp_path / "m")
    with pytest.raises(ModelError, match="cifar-resnet20 exists: remove it, or give the model another name"):
        export("cifar-resnet20", weights, classes=classes, into=tmp_path / "m")


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), (" \n", "holds no names")])
def test_classes_must_be_named(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "names.txt"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        export("cifar-resnet20", "w.safetensors", classes=path, into=tmp_path / "m")
