from __future__ import annotations

from av.codec.hwaccel import HWDeviceType

from operators.capture.sources.hardware import DEVICES, HWACCELS, Hardware


def test_a_device_is_given_up_once() -> None:
    told: list[str] = []
    hardware = Hardware("cuda", told.append)
    assert hardware.wanted == "cuda"
    hardware.give_up("it burns")
    hardware.give_up("it still burns")
    assert (hardware.wanted, told) == ("none", ["it burns"])


def test_auto_becomes_a_device() -> None:
    hardware = Hardware("auto")
    assert (hardware.wanted, hardware.untried) == ("auto", True)
    hardware.choose("vaapi")
    assert (hardware.wanted, hardware.untried) == ("vaapi", False)


def test_software_is_nothing_to_give_up() -> None:
    told: list[str] = []
    Hardware("none", told.append).give_up("why")
    assert told == []
    assert (Hardware().wanted, Hardware().untried) == ("none", False)


def test_pyav_knows_every_device() -> None:
    assert set(DEVICES) <= {kind.name for kind in HWDeviceType}
    assert {"none", "auto", "cuda", "vaapi", "videotoolbox"} <= set(HWACCELS)
