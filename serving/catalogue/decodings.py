"""The part of a detector's card that says how its outputs are read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from serving.common.explain import Strict

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class YoloxDecoding(Strict):
    """One output N × anchors × (4 + 1 + classes): raw grid offsets, objectness, class scores (Ge et al., 2021)."""

    kind: Literal["yolox"]
    strides: tuple[Annotated[int, Field(gt=0, le=1024)], ...] = (8, 16, 32)
    min_score: Share = 0.3
    nms_iou: Share = 0.45


class YoloDecoding(Strict):
    """One output N × K × (4 + classes), centre and size in pixels of the input, then scores; or its transpose.

    With objectness N × K × (5 + classes) (Redmon and Farhadi, 2018).
    """

    kind: Literal["yolo"]
    objectness: bool = False
    """Whether a number before the class scores says how sure it is that there is a thing."""
    min_score: Share = 0.3
    nms_iou: Share = 0.45


class SsdDecoding(Strict):
    """Outputs boxes N × K × 4, scores N × K × classes; or boxes, scores N × K, labels N × K and, perhaps, counts N.

    Instead of the latter also boxes with their score N × K × 5, labels N × K; or box, score and label N × K × 6.
    """

    kind: Literal["ssd"]
    box_order: Literal["xyxy", "yxyx", "cxcywh"] = "xyxy"
    normalised: bool = True
    """Boxes are shares of the input; otherwise pixels of it."""
    activation: Literal["none", "sigmoid", "softmax"] = "none"
    """Makes scores of the K × classes numbers, where the graph says logits."""
    background: int | None = Field(default=None, ge=0)
    """Column of the scores (or label) that means "nothing"; the others count as classes in their order."""
    first_label: int = 0
    """Label of the first class where the network says labels: 1 where it counts from one."""
    min_score: Share = 0.5
    nms_iou: Share | None = 0.45
    """None where the graph has suppressed overlaps already."""


class CenterFaceDecoding(Strict):
    """Outputs heatmap, sizes, offsets and landmarks, each N × channels × rows × columns (Xu et al., 2019)."""

    kind: Literal["centerface"]
    stride: int = Field(default=4, gt=0, le=64)
    """Pixels of the input for each row and column."""
    min_score: Share = 0.5
    nms_iou: Share = 0.3


class BoxesDecoding(Strict):
    """Outputs boxes N × K × 4, scores N × K, classes N × K, counts N and, perhaps, landmarks N × K × 5 × 2.

    Corners and points are pixels of the input, classes are indices of the card's; from its count on a row is padding.
    It is how our backend sends what a detector has found.
    """

    kind: Literal["boxes"]
    min_score: Share = 0.5
    nms_iou: Share | None = None
    """None where each thing is found once."""


Decoding = Annotated[
    YoloxDecoding | YoloDecoding | SsdDecoding | CenterFaceDecoding | BoxesDecoding, Field(discriminator="kind")
]
