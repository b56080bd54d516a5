from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from serving.catalogue.lookup import SHIPPED, Catalogue, search_path, user_models, verify
from serving.catalogue.public import public_models
from serving.errors import ModelError
from tests.models import mean_model, write_card


def test_a_model_is_found_by_its_folder(tmp_path: Path) -> None:
    entry = mean_model(tmp_path).find("means")
    assert entry.card.name == "means"
    assert entry.path == tmp_path / "means" / "net.onnx"
    verify(entry)


def test_the_first_directory_wins(tmp_path: Path) -> None:
    mean_model(tmp_path / "mine", version="mine")
    mean_model(tmp_path / "theirs", version="theirs")
    mean_model(tmp_path / "theirs", name="other")
    catalogue = Catalogue([tmp_path / "mine", tmp_path / "theirs"])
    assert [(entry.card.name, entry.card.version) for entry in catalogue.list()] == [("means", "mine"), ("other", "1")]


def test_a_directory_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert Catalogue([tmp_path / "absent"]).names() == {}


def test_an_unknown_model_is_told_with_near_misses_and_places(tmp_path: Path) -> None:
    catalogue = mean_model(tmp_path, name="vehicle-type")
    with pytest.raises(ModelError, match=r"unknown model 'vehicle-typ'; did you mean 'vehicle-type'\?") as caught:
        catalogue.find("vehicle-typ")
    assert str(tmp_path) in str(caught.value)


def test_an_unknown_model_without_a_near_miss_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="unknown model 'zzz'; allowed: means"):
        mean_model(tmp_path).find("zzz")


def test_a_public_model_is_told_how_to_fetch(tmp_path: Path) -> None:
    name = next(iter(public_models()))
    with pytest.raises(ModelError, match=f"sluice models pull {name}"):
        Catalogue([tmp_path]).find(name)


def test_a_broken_card_harms_only_its_own_model(tmp_path: Path) -> None:
    catalogue = mean_model(tmp_path)
    write_card(tmp_path / "broken", licence=None)
    assert catalogue.find("means")
    with pytest.raises(ModelError, match=r"broken/model\.yaml: licence"):
        catalogue.find("broken")


def test_a_card_under_another_name_is_refused(tmp_path: Path) -> None:
    catalogue = mean_model(tmp_path)
    write_card(tmp_path / "means", name="other")
    with pytest.raises(ModelError, match="name: is 'other' but the folder is called 'means'"):
        catalogue.find("means")


def test_missing_weights_are_one_line(tmp_path: Path) -> None:
    entry = mean_model(tmp_path).find("means")
    entry.path.unlink()
    with pytest.raises(ModelError, match=r"net\.onnx is missing"):
        verify(entry)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b" ", lambda data: b""])
def test_damaged_weights_are_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    entry = mean_model(tmp_path).find("means")
    entry.path.write_bytes(damage(entry.path.read_bytes()))
    with pytest.raises(ModelError, match=r"\(\d+ bytes\) is damaged or another file: sha256 is") as caught:
        verify(entry)
    assert "\n" not in str(caught.value)


def test_a_damaged_public_model_is_told_how_to_fetch_again(tmp_path: Path) -> None:
    entry = mean_model(tmp_path, name="yolox-nano").find("yolox-nano")
    entry.path.write_bytes(b"cut")
    with pytest.raises(ModelError, match="sluice models pull yolox-nano"):
        verify(entry)


def test_the_search_path_is_given_then_user_then_shipped(tmp_path: Path) -> None:
    assert search_path([tmp_path], tmp_path / "user") == [tmp_path, tmp_path / "user", SHIPPED]
    assert search_path() == [user_models(), SHIPPED]


def test_a_given_directory_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such directory of models"):
        search_path([tmp_path / "absent"])
