"""A network's card as our backend serves it: parameters of the model's configuration in the protocol."""

from __future__ import annotations

from typing import Any

from serving.catalogue.cards import ModelCard, parse_card
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from serving.remote.protocol.inference_pb2 import ModelConfig
from serving.remote.protocol.limits import WireLimits

PLATFORM = "sluice"
"""The platform in our backend's metadata of a model."""
CARD, IDENTITY, WIRE = "sluice.card", "sluice.identity", "sluice.wire"
"""Parameters of ``ModelConfig``: the network's card of the catalogue, its identity, and the card of what travels.

Answers have the identity too: a backend may be exchanged for another one behind an address.
"""


def put_card(config: ModelConfig, card: ModelCard, wire: ModelCard) -> None:
    """Write both cards; ``wire`` has the input and the decoding of what travels."""
    config.parameters[CARD].string_value = card.model_dump_json(exclude_unset=True)
    config.parameters[IDENTITY].string_value = card.identity
    config.parameters[WIRE].string_value = wire.model_dump_json(exclude_unset=True)


def read_cards(config: ModelConfig, limits: WireLimits) -> tuple[ModelCard, ModelCard]:
    """The card of the catalogue and that of what travels; Malformed where one is not there or not whole."""
    card, wire = _card(config, CARD, limits), _card(config, WIRE, limits)
    if config.parameters[IDENTITY].string_value != card.identity:
        raise Malformed(f"{IDENTITY} is not that of {CARD}")
    return card, wire


def _card(config: ModelConfig, key: str, limits: WireLimits) -> ModelCard:
    if key not in config.parameters:
        raise Malformed(f"the configuration has no parameter {key}")
    raw: dict[str, Any] = decode(config.parameters[key].string_value.encode(), dict[str, Any], limits.card_bytes)
    try:
        return parse_card(raw, key)
    except ModelError as error:
        raise Malformed(str(error).splitlines()[0]) from None
