"""Pictures that ship as strangers: all of the sheet, as it was drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from serving.errors import ModelError
from specialization.templates import strangers as module
from specialization.templates.strangers import SIDE, strangers
from tools.shipped import draw_strangers


def test_there_are_many_and_no_two_are_the_same() -> None:
    pictures = strangers()
    assert {picture.shape for picture in pictures} == {(SIDE, SIDE, 3)}
    assert len({picture.tobytes() for picture in pictures}) == len(pictures) == 96


def test_a_sheet_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHEET", tmp_path / "none.jpg")
    with pytest.raises(ModelError, match="cannot be read; install Sluice again"):
        strangers()


def test_the_sheet_holds_what_was_drawn_picture_by_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def grey(seed: int, count: int, side: int, view: str) -> tuple[np.ndarray, list[str]]:
        first = 0 if view == "above" else count
        levels = 2 * np.arange(first, first + count, dtype=np.uint8)
        return np.tile(levels[:, None, None, None], (1, side, side, 3)), []

    sheet = tmp_path / "sheet.jpg"
    monkeypatch.setattr(draw_strangers, "street_crops", grey)
    monkeypatch.setattr(draw_strangers, "SHEET", sheet)
    monkeypatch.setattr(module, "SHEET", sheet)
    draw_strangers.main()
    assert [round(float(picture.mean())) for picture in strangers()] == list(range(0, 192, 2))
