"""The headline is the worst of the networks; the product opens its sessions with the setting that was measured."""

from __future__ import annotations

from benchmarks.spinning import SETTINGS, headline
from serving.engines.onnxruntime import session_options


def test_the_headline_is_the_worst_ratio() -> None:
    rows = [
        {"network": network, "beside": "nothing", "threads": how, "cpu_ms": cpu_ms, "wall_ms": 2 * cpu_ms}
        for network, figures in {"a": (10.0, 5.0), "b": (10.0, 8.0)}.items()
        for how, cpu_ms in zip(("default", "asleep"), figures, strict=True)
    ]
    assert headline(rows) == {"cpu_ratio_worst": 0.8, "wall_ratio_worst": 0.8}


def test_the_product_has_the_setting_that_is_called_asleep() -> None:
    options = session_options(2)
    for key, value in SETTINGS["asleep"].items():
        assert options.get_session_config_entry(key) == value
