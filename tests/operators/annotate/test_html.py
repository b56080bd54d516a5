"""A result in a notebook: its picture and what was found, and nothing that the page would obey."""

from __future__ import annotations

import base64
import re

import cv2
import numpy as np
from msgspec.structs import replace

from operators.annotate.drawing import html
from operators.wire.schema import Attribute, Model, Result, from_json
from tests.integration.test_consume_results import a_truck

RESULT = from_json(a_truck(3), Result)


def test_the_picture_has_boxes_and_the_table_a_row_for_each_object() -> None:
    said = html(RESULT, np.full((480, 640, 3), 114, np.uint8))
    (data,) = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', said)
    picture = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (480, 640, 3)
    assert picture.std() > 0
    assert "gate, frame 3: analysed" in said
    assert "<td>7</td><td>truck 90%</td>" in said


def test_without_a_picture_there_are_words() -> None:
    said = html(replace(RESULT, outcome="dropped", cause="queue_full", objects=[]), None)
    assert said == "<figure><figcaption>gate, frame 3: dropped, queue_full</figcaption></figure>"


def test_words_of_models_turn_nothing_around() -> None:
    (found,) = RESULT.objects
    shown = html(replace(RESULT, objects=[replace(found, label="\u202ekcurt")]), None)
    assert "<td>\\u202ekcurt 90%</td>" in shown


def test_words_of_models_are_no_markup() -> None:
    model = Model(name="m", version="1", tier="reference")
    said = Attribute(name="kind", label="<script>", confidence=0.5, provenance="oracle", model=model)
    (found,) = RESULT.objects
    shown = html(replace(RESULT, objects=[replace(found, label="<b>", attributes=[said])]), None)
    assert "<td>&lt;b&gt; 90%</td><td>kind: &lt;script&gt; 50%</td>" in shown
