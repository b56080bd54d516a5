"""Draws a result onto its picture: thin boxes, one short label for each object, a legend, and how the frame fared.

Labels never cover each other. One that has no room loses its confidence or its word, then goes: the colour of the box
remains, and the legend says what it means.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

import cv2

from operators.annotate.outlines import names, outline, shade
from operators.annotate.style import Colour, Rectangle, Style, banners, captions, colour_of, free_place, legend
from operators.frames.mask import Mask
from operators.wire.schema import Object, Result
from operators.zones.layout import NOTHING, Layout
from serving.common.tensors import Image
from serving.common.untrusted import printable

DARK: Colour = (40, 40, 40)
AMBER: Colour = (0, 150, 230)
RED: Colour = (40, 40, 200)
HIDDEN = 0.12
"""Share of the picture that whole labels may hide."""
WHOLE = 0.98
"""Share of the frame from which an object is the frame itself, and has no box."""


def draw(
    image: Image, result: Result, masks: Sequence[Mask] = (), hurried: bool = True, layout: Layout = NOTHING
) -> Image:
    """Draw the stream's masks, zones, lines, boxes, labels, legend and the frame's outcome onto a copy of the picture.

    A frame that is not ``hurried`` is never shown as late.
    """
    canvas = image.copy()
    shade(canvas, masks)
    outline(canvas, layout)
    style, boxes = Style.of(canvas), [_pixels(found, canvas) for found in result.objects]
    for found, box in zip(result.objects, boxes, strict=True):
        if _share(box, canvas) < WHOLE:
            stroke = style.stroke if found.parent_id is None else max(1, style.stroke // 2)
            cv2.rectangle(canvas, box[:2], (box[2] - 1, box[3] - 1), colour_of(found.label), stroke, cv2.LINE_AA)
    taken = [*_banner(canvas, style, result, hurried), *_legend(canvas, style, result.objects)]
    taken += names(canvas, layout, result.objects, taken)
    crowded = _is_crowded(canvas, style, result.objects)
    # The smallest first: a large object has more places for its label.
    for found, box in sorted(zip(result.objects, boxes, strict=True), key=lambda each: _share(each[1], canvas)):
        texts = captions(found)
        if crowded:
            texts = [text for text in texts[:-1] if style.extent(text)[0] <= box[2] - box[0]] + texts[-1:]
        taken += _label(canvas, style, texts, colour_of(found.label), box, taken)
    return canvas


def _pixels(found: Object, image: Image) -> Rectangle:
    return found.box.pixels(image.shape[1], image.shape[0])


def _share(box: Rectangle, canvas: Image) -> float:
    return (box[2] - box[0]) * (box[3] - box[1]) / float(canvas.shape[0] * canvas.shape[1])


def _banner(canvas: Image, style: Style, result: Result, hurried: bool) -> list[Rectangle]:
    """Write how the frame fared in the top left corner: red for a failure, amber for a missed deadline."""
    height, width = canvas.shape[:2]
    analysed = DARK if result.plan.deadline_met or not hurried else AMBER
    colour = analysed if result.outcome == "analysed" else RED
    for text in banners(result):
        size = style.extent(text)
        if size[0] <= width and size[1] <= height:
            place = (0, 0, *size)
            style.write(canvas, text, place, colour)
            return [place]
    return []


def _legend(canvas: Image, style: Style, objects: Sequence[Object]) -> list[Rectangle]:
    """Write what the colours mean along the lower edge, as far as there is room."""
    height, width = canvas.shape[:2]
    left, places = 0, list[Rectangle]()
    for text, colour in legend(objects):
        across, down = style.extent(text)
        if left + across > width or 3 * down > height:
            break
        places.append((left, height - down, left + across, height))
        style.write(canvas, text, places[-1], colour)
        left += across
    return places


def _is_crowded(canvas: Image, style: Style, objects: Sequence[Object]) -> bool:
    """Whether whole labels would hide too much of the picture; then those remain that are no wider than their box."""
    sizes = [style.extent(captions(found)[0]) for found in objects]
    return bool(sum(across * down for across, down in sizes) > HIDDEN * canvas.shape[0] * canvas.shape[1])


def _label(
    canvas: Image, style: Style, texts: Sequence[str], colour: Colour, box: Rectangle, taken: Sequence[Rectangle]
) -> list[Rectangle]:
    """Write the first of the texts for which there is a free place, and return that place."""
    picture = (canvas.shape[1], canvas.shape[0])
    for text in texts:
        place = free_place(box, style.extent(text), taken, picture)
        if place is not None:
            style.write(canvas, text, place, colour)
            return [place]
    return []


MAX_WIDTH = 960
"""Pixels; larger pictures are shown scaled down."""


def html(result: Result, image: Image | None) -> str:
    """Describe a result; without an image in words alone."""
    said = f"{result.stream}, frame {result.seq}: {result.outcome}"
    head = _words(said if result.cause is None else f"{said}, {result.cause}")
    rows = "".join(map(_row, result.objects))
    table = (
        f'<table style="text-align: left"><tr><th>track</th><th>label</th><th>answers</th></tr>{rows}</table>'
        if rows
        else ""
    )
    return f"<figure>{'' if image is None else _figure(result, image)}<figcaption>{head}</figcaption>{table}</figure>"


def _row(found: Object) -> str:
    track = "" if found.track_id is None else str(found.track_id)
    answers = ", ".join(f"{said.name}: {said.label} {said.confidence:.0%}" for said in found.attributes)
    cells = (track, f"{found.label} {found.confidence:.0%}", answers)
    return f"<tr>{''.join(f'<td>{_words(cell)}</td>' for cell in cells)}</tr>"


def _words(text: str) -> str:
    """Neither markup nor marks that turn the direction of writing are obeyed."""
    return escape(printable(text))


def _figure(result: Result, image: Image) -> str:
    _, jpeg = cv2.imencode(".jpg", draw(image, result))
    data = base64.b64encode(jpeg.tobytes()).decode()
    return f'<img style="max-width: min(100%, {MAX_WIDTH}px)" src="data:image/jpeg;base64,{data}">'
