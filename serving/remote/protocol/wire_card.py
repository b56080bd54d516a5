"""A network's card as our backend serves it, and that of what travels: pictures as bytes, boxes that are decoded.

Pure. Pictures are normalised at the backend; a detector's raw output, a megabyte, never leaves it.
"""

from __future__ import annotations

from typing import Any

from serving.catalogue.cards import ImageInput, ModelCard, parse_card
from serving.catalogue.decodings import BoxesDecoding, CenterFaceDecoding
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.remote.protocol.inference_pb2 import ModelConfig
from serving.remote.protocol.parameters import WireLimits

INPUT = "images"
"""The name of the one input of every network of our backend."""
BOXES = ("boxes", "scores", "classes", "counts")
LANDMARKS = "landmarks"
"""Outputs of a detector, as ``BoxesDecoding`` reads them."""
LEAST_SCORE = "min_score"
"""Parameter of a call to a detector: the score from which boxes are told; the card's where it is not given."""


def wire_card(card: ModelCard) -> ModelCard:
    """The card by which a network of our backend is used from elsewhere."""
    changes: dict[str, object] = {"input": wire_input(card.input)}
    if card.decoding is not None:
        decoding, landmarks = card.decoding, has_landmarks(card)
        changes["decoding"] = BoxesDecoding(kind="boxes", min_score=decoding.min_score, nms_iou=decoding.nms_iou)
        changes["outputs"] = (*BOXES, LANDMARKS) if landmarks else BOXES
    return card.model_copy(update=changes)


def has_landmarks(card: ModelCard) -> bool:
    """Whether a detector tells points of what it finds."""
    rule = card.decoding
    return isinstance(rule, CenterFaceDecoding) or (isinstance(rule, BoxesDecoding) and len(card.outputs) > len(BOXES))


def wire_input(size: ImageInput) -> ImageInput:
    """The input that travels in place of a network's own: pictures of its size as bytes, not yet normalised.

    >>> wire_input(ImageInput(width=64, height=32, scale=1 / 255, mean=(0.5, 0.5, 0.5))).item_shape
    (32, 64, 3)
    """
    plain: dict[str, object] = {"layout": "nhwc", "dtype": "uint8", "scale": 1.0}
    return size.model_copy(update={**plain, "mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)})


PLATFORM = "sluice"
"""The platform in our backend's metadata of a model."""
CARD, IDENTITY = "sluice.card", "sluice.identity"
"""Parameters of ``ModelConfig``: the network's card of the catalogue, from which that of what travels follows, and its
identity, which answers have too: a backend may be exchanged for another one behind an address.
"""


def put_card(config: ModelConfig, card: ModelCard) -> None:
    config.parameters[CARD].string_value = card.model_dump_json(exclude_unset=True)
    config.parameters[IDENTITY].string_value = card.identity


def read_card(config: ModelConfig, limits: WireLimits) -> ModelCard:
    """The card of the catalogue; Malformed where it is not there or not whole."""
    if missing := [key for key in (CARD, IDENTITY) if key not in config.parameters]:
        raise Malformed(f"the configuration has no parameter {missing[0]}")
    raw: dict[str, Any] = decode(config.parameters[CARD].string_value.encode(), dict[str, Any], limits.card_bytes)
    try:
        card = parse_card(raw, CARD)
    except ModelError as error:
        raise Malformed(str(error).splitlines()[0]) from None
    if config.parameters[IDENTITY].string_value != card.identity:
        raise Malformed(f"{IDENTITY} is not that of {CARD}")
    return card
