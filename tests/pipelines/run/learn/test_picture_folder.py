"""The order of a user's pictures: neighbours stay together, and no part is without one of the folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipelines.run.learn.choice import TAUGHT
from pipelines.run.learn.pictures import PictureFolder


def shown(tmp_path: Path, **folders: int) -> list[Path]:
    for name, count in folders.items():
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (tmp_path / name / f"{number}.jpg").write_bytes(b"")
    return list(PictureFolder(tmp_path).paths)


def test_pictures_of_one_folder_are_in_the_order_of_their_names(tmp_path):
    found = shown(tmp_path, all=150)
    assert [int(path.stem) for path in found] == list(range(150))


def test_neither_those_that_are_learnt_from_nor_the_others_leave_a_folder_out(tmp_path):
    found = shown(tmp_path, **{f"class{number:02}": 60 for number in range(20)})
    assert len(set(found)) == len(found) == 1200
    names = np.array([path.parent.name for path in found])
    first = int(len(found) * TAUGHT)
    assert len(set(names[:first])) == len(set(names[first:])) == 20


def test_of_small_folders_and_large_ones_no_picture_is_lost_and_neighbours_stay_in_order(tmp_path):
    found = shown(tmp_path, few=7, many=500, one=1)
    assert len(set(found)) == 508
    for name in ("few", "many", "one"):
        numbers = [int(path.stem) for path in found if path.parent.name == name]
        assert numbers == sorted(numbers)
