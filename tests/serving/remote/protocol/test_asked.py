from __future__ import annotations

import math
from typing import Any

import pytest

from serving.errors import Malformed
from serving.remote.protocol.asked import put_urgency, read_queue, read_urgency
from serving.remote.protocol.inference_pb2 import ModelInferRequest
from serving.remote.protocol.parameters import WireLimits, values
from serving.scheduling.requests import BACKGROUND, Urgency


def crossed(urgency: Urgency, sent_s: float, came_s: float) -> Urgency:
    request = ModelInferRequest()
    put_urgency(request.parameters, urgency, sent_s)
    return read_urgency(values(request.parameters, WireLimits()), came_s)


@pytest.mark.parametrize(
    ("urgency", "expected"),
    [
        (Urgency(12.5), Urgency(102.5)),
        (Urgency(9.0), Urgency(99.0)),
        (Urgency(11.0, True, 0.25), Urgency(101.0, True, 0.25)),
        (BACKGROUND, BACKGROUND),
        (Urgency(1e9), Urgency(3700.0)),
    ],
)
def test_urgency_crosses_to_another_clock(urgency: Urgency, expected: Urgency) -> None:
    assert crossed(urgency, 10.0, 100.0) == expected


def test_who_says_nothing_waits_a_second() -> None:
    assert read_urgency({}, 5.0) == Urgency(6.0)


@pytest.mark.parametrize(
    "said",
    [
        {"deadline_ms": math.nan},
        {"deadline_ms": math.inf},
        {"deadline_ms": "soon"},
        {"deadline_ms": True},
        {"deadline_ms": 3_600_001},
        {"downstream_ms": -1},
        {"droppable": 1},
        {"background": "yes"},
    ],
)
def test_urgency_out_of_bounds_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(Malformed, match=f"parameter {next(iter(said))} must be"):
        read_urgency(said, 0.0)


def test_a_queue_is_a_number_from_nought() -> None:
    assert read_queue({}) is None
    assert read_queue({"queue": 7}) == 7
    for wrong in (-1, 1.5, True, "7", 1 << 32):
        with pytest.raises(Malformed, match="parameter queue"):
            read_queue({"queue": wrong})


def test_parameters_are_few_short_and_say_something() -> None:
    limits = WireLimits(parameters=2, text=5)
    request = ModelInferRequest()
    request.parameters["a"].double_param = 1.5
    request.parameters["b"].uint64_param = 1 << 63
    assert values(request.parameters, limits) == {"a": 1.5, "b": 1 << 63}
    request.parameters["b"].string_param = "123456"
    with pytest.raises(Malformed, match="more than 5 characters"):
        values(request.parameters, limits)
    request.parameters["b"].Clear()
    with pytest.raises(Malformed, match="no value"):
        values(request.parameters, limits)
    request.parameters["c"].bool_param = True
    with pytest.raises(Malformed, match="3 parameters"):
        values(request.parameters, limits)
