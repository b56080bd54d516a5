"""Who makes exits: in this process nobody before that is asked for, or somebody else in its place."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

from cache_adapt.adaptation.elsewhere import Elsewhere
from learning.budget import unlimited
from pipelines.assembly.environment import Learning, learning
from serving.catalogue.lookup import SHIPPED, Catalogue
from tests.turns import turns

KNOWN = Catalogue([SHIPPED])


class Maker(Elsewhere):
    """Notes when its work begins and ends."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def run(self) -> None:
        self.said.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            self.said.append("ended")


async def test_who_makes_exits_here_begins_when_it_is_asked_for_and_ends_with_the_query() -> None:
    made = list[Maker]()

    def make() -> Maker:
        made.append(Maker())
        return made[-1]

    found = Learning(KNOWN, make)  # type: ignore[arg-type]
    await found.close()
    assert made == []
    assert found.maker() is found.maker() is made[0]
    await turns()
    assert made[0].said == ["begun"]
    await found.close()
    assert made[0].said == ["begun", "ended"]


async def test_who_makes_them_elsewhere_does_so_in_place_of_this_process() -> None:
    elsewhere = Mock()
    async with learning(KNOWN, unlimited(), elsewhere) as found:
        assert found.maker() is elsewhere
        assert found.catalogue is KNOWN
