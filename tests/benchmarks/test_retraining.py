"""The benchmark fits exits that can be fitted, and names the largest window; no clock is asserted on."""

from __future__ import annotations

from matplotlib.figure import Figure

from benchmarks.retraining import FIT, PAPER_S, TUNING, draw, headline, row, windows
from serving.catalogue.lookup import SHIPPED, Catalogue


def test_windows_are_as_long_and_as_wide_as_they_say_and_exits_can_be_fitted_to_them() -> None:
    cases = windows(Catalogue([SHIPPED]).find("vehicle-type"), [40])
    found = [row(case, [0.2, 0.3, 0.9]) for case in cases]
    assert [(each["what"], each["cuts"]) for each in found] == [(FIT, 1), (FIT, 2), (TUNING, 2)]
    assert {each["samples"] for each in found} == {40}
    assert found[0]["dims"] < found[1]["dims"] == found[2]["dims"]
    assert found[0]["processor_s"] == 0.3
    for case in cases[:2]:
        assert len(case.fitted().exits) == len(case.spec.cuts)


def test_the_headline_names_the_largest_windows() -> None:
    rows = [
        {"what": FIT, "cuts": cuts, "samples": samples, "processor_s": samples / 1000}
        for cuts in (1, 2)
        for samples in (600, 2400)
    ]
    assert headline(rows) == {
        "processor_s": {"fit, 1 cuts": 2.4, "fit, 2 cuts": 2.4},
        "caches_of_the_paper_s": PAPER_S,
    }
    draw(Figure(), rows)
