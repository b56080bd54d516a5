"""What went wrong while a backend failed is counted."""

from __future__ import annotations

from typing import Any

from benchmarks.outages import EVENTS, headline, rows

FRAMES = 7 * len(EVENTS)
MARKS = [7 * number for number in range(1, len(EVENTS))]


def lines(there: bool = True) -> list[dict[str, Any]]:
    """A result with one object for each frame."""
    model = {"name": "kind", **({"backend": "gpu"} if there else {})}
    said = {"label": "car", "confidence": 0.9, "model": model}
    return [
        {"seq": seq, "outcome": "analysed", "objects": [{"id": 0, "attributes": [dict(said)]}]} for seq in range(FRAMES)
    ]


ALONE = {(seq, 0): ("car", 0.9, "") for seq in range(FRAMES)}


def test_where_all_went_well_nothing_is_counted() -> None:
    found = list(rows(FRAMES, lines(), ALONE, MARKS))
    assert [row["backend"] for row in found] == list(EVENTS)
    assert headline(found) == {
        "frames": FRAMES,
        "analysed": FRAMES,
        "without_result": 0,
        "results_twice": 0,
        "looks": FRAMES,
        "wrong": 0,
    }
    assert {row["there"] for row in found} == {1.0}


def test_what_is_missing_twice_wrong_or_failed_is_told_with_the_state_in_which_it_was() -> None:
    told = lines(there=False)
    told[8]["objects"][0]["attributes"][0]["label"] = "van"
    told[9]["objects"][0]["attributes"][0]["confidence"] = 0.8999
    told[10] |= {"outcome": "failed", "objects": []}
    told = [*told[:15], *told[16:], told[20]]
    _, killed, back, *rest = rows(FRAMES, told, ALONE, MARKS)
    assert (killed["analysed"], killed["wrong"], killed["here"]) == (6, 3, 1.0)
    assert (back["without_result"], back["results_twice"], back["analysed"]) == (1, 1, 6)
    assert back["wrong"] == 1, "a name that is missing"
    assert sum(int(row["wrong"]) for row in rest) == 0
