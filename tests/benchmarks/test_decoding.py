"""The headline names each structure and rate."""

from __future__ import annotations

from benchmarks.decoding import headline


def test_the_headline_gives_the_ratios() -> None:
    rows = [{"structure": "IPPP", "fps": 5.0, "ratio": 1.0}, {"structure": "3 B-frames", "fps": 2.0, "ratio": 1.6}]
    assert headline(rows) == {"ratio": {"IPPP, 5 fps": 1.0, "3 B-frames, 2 fps": 1.6}}
