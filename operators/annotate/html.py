"""A result as notebooks show it: the picture with what was found, and a table."""

from __future__ import annotations

import base64
from html import escape

import cv2

from operators.annotate.drawing import draw
from operators.wire.schema import Object, Result
from serving.common.tensors import Image

MAX_WIDTH = 960
"""Pixels; larger pictures are shown scaled down."""


def html(result: Result, image: Image | None) -> str:
    """Describe a result; without an image in words alone."""
    said = f"{result.stream}, frame {result.seq}: {result.outcome}"
    head = escape(said if result.cause is None else f"{said}, {result.cause}")
    rows = "".join(map(_row, result.objects))
    table = (
        f'<table style="text-align: left"><tr><th>track</th><th>label</th><th>answers</th></tr>{rows}</table>'
        if rows
        else ""
    )
    return f"<figure>{'' if image is None else _picture(result, image)}<figcaption>{head}</figcaption>{table}</figure>"


def _row(found: Object) -> str:
    track = "" if found.track_id is None else str(found.track_id)
    answers = ", ".join(f"{said.name}: {said.label} {said.confidence:.0%}" for said in found.attributes)
    cells = (track, f"{found.label} {found.confidence:.0%}", answers)
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _picture(result: Result, image: Image) -> str:
    _, jpeg = cv2.imencode(".jpg", draw(image, result))
    data = base64.b64encode(jpeg.tobytes()).decode()
    return f'<img style="max-width: min(100%, {MAX_WIDTH}px)" src="data:image/jpeg;base64,{data}">'
