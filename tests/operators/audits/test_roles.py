from __future__ import annotations

import pytest

from operators.audits.roles import Roles
from operators.testing import FakeEngine, card_of
from serving.errors import ModelError

ENGINE = FakeEngine(
    big=(card_of("big"), lambda batch: [batch]), small=(card_of("small", tier="compact"), lambda batch: [batch])
)


def card(model: str):  # type: ignore[no-untyped-def]
    return ENGINE.card(model.partition("@")[0])


@pytest.mark.parametrize(
    ("listed", "oracle", "added"),
    [
        (["big"], "big", False),
        (["small", "big"], "big", False),
        (["big", "small"], "big", False),
        (["small"], "small", False),
        (["small@onnxruntime-int8"], "small", True),
        (["big@onnxruntime-int8"], "big", True),
        (["big@openvino-bf16", "small"], "big", True),
        (["small@onnxruntime-int8", "small"], "small", False),
        (["small", "big@onnxruntime-int8"], "small", False),
        (["big@openvino-fp32", "big@onnxruntime-fp32"], "big@onnxruntime-fp32", False),
        (["big@openvino-fp32", "big@onnxruntime-fp32-batch4"], "big@onnxruntime-fp32-batch4", False),
    ],
)
def test_the_oracle_is_the_first_reference_as_it_is_or_the_first_model_as_it_is(
    listed: list[str], oracle: str, added: bool
) -> None:
    roles = Roles.of(listed, card)
    assert roles.oracle == oracle
    assert roles.models == ((*listed, oracle) if added else tuple(listed))


def test_shortcuts_are_what_is_not_the_oracle_under_some_name() -> None:
    models = ["big@openvino-int8", "big@onnxruntime-fp32", "big", "small"]
    assert Roles.of(models, card).shortcuts == {"big@openvino-int8", "small"}
    assert Roles.of(["big", "big@onnxruntime-fp32-batch4"], card).shortcuts == frozenset()


def test_a_name_that_is_no_variant_is_refused() -> None:
    with pytest.raises(ModelError, match="unknown precision"):
        Roles.of(["big@onnxruntime-int7"], card)
