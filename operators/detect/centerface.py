"""Decodes CenterFace (Xu et al., 2019, §3): a face is a peak of a heatmap, which also tells its box and landmarks.

Pure. Outputs for an input of H × W pixels and stride R, one value per cell of R × R pixels: the heatmap 1 × H/R × W/R;
sizes 2 × H/R × W/R, the logarithms of height and width in cells; offsets 2 × H/R × W/R of the centre from the cell's,
down and across, in cells; landmarks 10 × H/R × W/R, for each of five points how far down and across the box it lies, in
shares of the box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from operators.detect.detections import Detections
from serving.catalogue.cards import ModelCard
from serving.catalogue.decodings import CenterFaceDecoding
from serving.common.tensors import Array, numbers
from serving.errors import ModelError

POINTS = 5
CHANNELS = (1, 2, 2, 2 * POINTS)


def centerface(card: ModelCard, rule: CenterFaceDecoding, item: Sequence[Array], threshold: float) -> Detections:
    """Return the faces of one image, those found twice included; raises ModelError where the outputs do not fit."""
    _check(card, rule, item)
    heat, sizes, offsets, landmarks = item
    rows, columns = np.nonzero(numbers(card.name, heat[0]) >= threshold)
    spans = np.exp(sizes[:, rows, columns].T) * rule.stride
    centres = (np.column_stack([rows, columns]) + 0.5 + offsets[:, rows, columns].T) * rule.stride
    starts = centres - spans / 2
    points = starts[:, None] + landmarks[:, rows, columns].T.reshape(-1, POINTS, 2) * spans[:, None]
    boxes = np.hstack([starts[:, ::-1], (starts + spans)[:, ::-1]]).astype(np.float32)
    points = points[..., ::-1].astype(np.float32)
    return Detections(boxes, heat[0, rows, columns], np.zeros(len(rows), np.intp), points)


def _check(card: ModelCard, rule: CenterFaceDecoding, item: Sequence[Array]) -> None:
    cells = card.input.height // rule.stride, card.input.width // rule.stride
    wanted = [(channels, *cells) for channels in CHANNELS]
    if [each.shape for each in item] == wanted:
        return
    expected, given = (
        ", ".join(" × ".join(map(str, shape)) for shape in shapes) for shapes in (wanted, [each.shape for each in item])
    )
    raise ModelError(
        f"model {card.name!r} says {given or 'nothing'}; this decoding takes {expected} "
        "(heatmap, sizes, offsets, landmarks): check 'outputs', 'stride' and 'input' in its card"
    )
