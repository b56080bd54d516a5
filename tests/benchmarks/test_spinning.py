"""The headline follows the product's choice; the product opens its sessions with the setting that was measured."""

from __future__ import annotations

from benchmarks.spinning import ONE_THREAD, SETTINGS, headline
from serving.engines.session import session_options


def test_the_headline_says_what_the_product_does_with_each_network() -> None:
    times = {"large": {"default": 8.0, "asleep": 5.0, ONE_THREAD: 10.0}, "wide": dict.fromkeys(SETTINGS, 10.0)}
    rows = [
        {"network": network, "beside": "nothing", "threads": how, "cpu_ms": 3 * wall_ms, "wall_ms": wall_ms}
        for network, figures in times.items()
        for how, wall_ms in figures.items()
    ]
    assert headline(rows) == {
        "large": {"threads": "asleep", "cpu": 0.625, "wall": 0.625},
        "wide": {"threads": ONE_THREAD, "cpu": 1.0, "wall": 1.0},
    }


def test_the_product_has_the_setting_that_is_called_asleep() -> None:
    options = session_options(2)
    for key, value in SETTINGS["asleep"].items():
        assert options.get_session_config_entry(key) == value
