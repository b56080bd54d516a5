from __future__ import annotations

import json

import pytest

from serving.catalogue import cards
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import SHIPPED
from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import ModelConfig
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.wire_card import CARD, IDENTITY, put_card, read_card

LIMITS = WireLimits()


@pytest.fixture
def card() -> ModelCard:
    return cards.read_card(SHIPPED / "vehicle-type")


@pytest.fixture
def config(card: ModelCard) -> ModelConfig:
    config = ModelConfig()
    put_card(config, card)
    return ModelConfig.FromString(config.SerializeToString())


def test_a_card_crosses(card: ModelCard, config: ModelConfig) -> None:
    found = read_card(config, LIMITS)
    assert found == card
    assert found.identity == card.identity


@pytest.mark.parametrize("key", [CARD, IDENTITY])
def test_what_is_missing_is_said(config: ModelConfig, key: str) -> None:
    del config.parameters[key]
    with pytest.raises(Malformed, match=key):
        read_card(config, LIMITS)


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
            read_card(config, LIMITS)
        assert str(error.value).isprintable()
    with pytest.raises(Malformed, match="more than the 10 that are allowed"):
        read_card(config, WireLimits(card_bytes=10))
