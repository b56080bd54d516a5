from __future__ import annotations

import json

import pytest

from serving.catalogue.cards import ModelCard, read_card
from serving.catalogue.lookup import SHIPPED
from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import ModelConfig
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.wire_card import CARD, IDENTITY, WIRE, put_card, read_cards

LIMITS = WireLimits()


@pytest.fixture
def card() -> ModelCard:
    return read_card(SHIPPED / "vehicle-type")


@pytest.fixture
def config(card: ModelCard) -> ModelConfig:
    config = ModelConfig()
    wire = card.model_copy(update={"input": card.input.model_copy(update={"dtype": "uint8"})})
    put_card(config, card, wire)
    return ModelConfig.FromString(config.SerializeToString())


def test_both_cards_cross(card: ModelCard, config: ModelConfig) -> None:
    found, wire = read_cards(config, LIMITS)
    assert found == card
    assert found.identity == card.identity
    assert (wire.input.dtype, wire.classes) == ("uint8", card.classes)


@pytest.mark.parametrize("key", [CARD, IDENTITY, WIRE])
def test_what_is_missing_is_said(config: ModelConfig, key: str) -> None:
    del config.parameters[key]
    with pytest.raises(Malformed, match=key):
        read_cards(config, LIMITS)


def test_cards_are_read_strictly(config: ModelConfig) -> None:
    good = json.loads(config.parameters[CARD].string_value)
    for bad, says in [
        ("[]", "Expected `object`"),
        ("{", "truncated"),
        (json.dumps(good | {"more": 1}), "more"),
        (json.dumps(good | {"sha256": "no"}), "sha256"),
        (json.dumps(good | {"sha256": "0" * 64}), "is not that of"),
    ]:
        config.parameters[CARD].string_value = bad
        with pytest.raises(Malformed, match=says) as error:
            read_cards(config, LIMITS)
        assert str(error.value).isprintable()
    with pytest.raises(Malformed, match="more than the 10 that are allowed"):
        read_cards(config, WireLimits(card_bytes=10))
