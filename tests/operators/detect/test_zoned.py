"""A detector whose objects say in which zones they are."""

from __future__ import annotations

from operators.detect.zoned import Zoned
from operators.testing import CALL, make_frame, make_region
from operators.zones.layout import Zone
from tests.operators.detect.test_masked import Finds

LEFT = Zone("left", ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)), ("yard",))
LOW = Zone("low", ((0.0, 0.6), (1.0, 0.6), (1.0, 1.0), (0.0, 1.0)), ("yard", "gate"))


async def test_objects_are_in_the_zones_of_their_stream() -> None:
    near, far = make_region(0.1, 0.5), make_region(0.7, 0.1)
    zoned = Zoned(Finds(near, far), [LEFT, LOW])
    assert (await zoned.process(make_frame(stream="yard"), [], CALL)).regions == [near, far]
    assert (near.zones, far.zones) == (("left", "low"), ())
    await zoned.process(make_frame(stream="gate"), [], CALL)
    assert (near.zones, far.zones) == (("low",), ())


async def test_on_a_stream_without_zones_nothing_is_said() -> None:
    found = make_region()
    await Zoned(Finds(found), [LEFT]).process(make_frame(stream="roof"), [], CALL)
    assert found.zones is None


async def test_it_is_prepared_and_forgets_like_its_detector() -> None:
    detector = Finds()
    zoned = Zoned(detector, [LEFT])
    await zoned.prepare()
    zoned.forget("yard")
    assert (detector.prepared, detector.forgotten) == (1, ["yard"])
