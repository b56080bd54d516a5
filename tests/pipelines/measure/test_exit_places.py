"""Where exits are tried in a network that ships."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.learned.specs import MOST_VALUES
from pipelines.measure import exit_places as module
from pipelines.measure.exit_places import PLACES, cuts_at, exit_places
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.errors import ModelError

ENTRY = Catalogue([SHIPPED]).find("vehicle-type")


def test_they_lie_where_shares_of_the_work_are_done() -> None:
    found = exit_places(ENTRY)
    assert [cut.share for cut in found] == pytest.approx(list(PLACES), abs=0.1)
    assert all(np.prod(cut.grid) == cut.values <= MOST_VALUES / len(found) for cut in found)


def test_shares_that_are_nearest_to_one_place_share_it() -> None:
    (cut,) = exit_places(ENTRY, (0.5, 0.5001))
    assert cut.share == pytest.approx(0.5, abs=0.1)


def test_places_of_exits_that_are_there_are_found_again_in_the_order_of_the_network() -> None:
    early, late = exit_places(ENTRY)
    assert cuts_at(ENTRY, [late.tensor, early.tensor, "of another network"]) == [early, late]


def test_a_network_without_a_place_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "tap_grid", lambda point: None)
    with pytest.raises(ModelError, match="vehicle-type has no layer at which an exit could read"):
        exit_places(ENTRY)
