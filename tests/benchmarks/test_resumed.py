"""What goes on at a head's cut, against what begins anew: both ways answer alike, and only one runs layers twice."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import resumed
from serving.backend import Backend
from serving.catalogue.lookup import SHIPPED, Catalogue
from specialization.templates.derive import derived


async def test_both_ways_give_the_oracles_answers() -> None:
    with tempfile.TemporaryDirectory() as folder:
        known = Catalogue([SHIPPED, Path(folder)])
        made = derived(known.find("street-kind"), Path(folder))
        backend = Backend(known)
        await backend.start()
        try:
            nodes = await resumed._nodes(backend, "street-kind", made.name, made.manifest.cost)
            said = {}
            for way, node in nodes.items():
                frame, regions = resumed._frame()
                await node.look(frame, regions, 2)
                said[way] = [region.attributes[0].label for region in regions[2:]]
                assert [len(region.attributes) for region in regions[:2]] == [int(way == "alone")] * 2
        finally:
            await backend.stop()
    assert said["apart"] == said["in_halves"] == said["alone"]
