from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.common.precision import PRECISIONS
from serving.errors import ModelError
from serving.variants.variant import RUNS, Variant, generate, parse, reference

variants = st.sampled_from(sorted(RUNS)).flatmap(
    lambda engine: st.builds(
        Variant,
        model=st.from_regex(r"[a-z0-9][a-z0-9._-]{0,12}", fullmatch=True),
        engine=st.just(engine),
        precision=st.sampled_from(RUNS[engine]),
        size=st.none() | st.integers(1, 9999),
        max_batch=st.none() | st.integers(1, 99),
    )
)


@given(variants)
def test_an_id_says_everything(variant: Variant) -> None:
    assert parse(variant.id) == variant


def test_ids_as_people_read_them() -> None:
    assert reference("vehicle-type").id == "vehicle-type@onnxruntime-fp32"
    assert Variant("vehicle-type", "openvino", "int8").id == "vehicle-type@openvino-int8"
    assert Variant("m", "onnxruntime", "fp32", max_batch=8).id == "m@onnxruntime-fp32-batch8"
    assert Variant("m", "openvino", "bf16", size=320).id == "m@openvino-bf16-size320"
    assert Variant("m", "openvino", "bf16", size=320).artefact == "fp32-size320"


def test_a_models_name_means_its_reference() -> None:
    assert parse("vehicle-type") == reference("vehicle-type")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("m@openvino", "must be MODEL@ENGINE-PRECISION"),
        ("m@openvino-fp32-size0", "must be MODEL@ENGINE-PRECISION"),
        ("m@openvino-fp32-batch2-size320", "must be MODEL@ENGINE-PRECISION"),
        ("m@openvino-int8-rank2", "must be MODEL@ENGINE-PRECISION"),
        ("@openvino-int8", "must be MODEL@ENGINE-PRECISION"),
        ("m@openvin-int8", "unknown engine 'openvin'; did you mean 'openvino'"),
        ("m@openvino-fp8", "unknown precision 'fp8'"),
        ("m@openvino-fp16", "openvino does not run fp16, only fp32, bf16, int8"),
        ("m@onnxruntime-bf16", "onnxruntime does not run bf16, only fp32, tf32, fp16, int8"),
    ],
)
def test_other_names_are_refused(name: str, problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        parse(name)


def test_generate_combines_what_engines_run_and_begins_with_the_reference() -> None:
    found = generate("m")
    assert found[0] == reference("m")
    assert len(found) == len(set(found)) == 4 + 3
    assert {variant.id for variant in generate("m", ["openvino"], ["bf16"])} == {
        "m@onnxruntime-fp32",
        "m@openvino-bf16",
    }


def test_other_sizes_keep_their_weights() -> None:
    found = {variant.id for variant in generate("m", ["onnxruntime"], ["fp32", "int8"], [320])}
    assert found == {"m@onnxruntime-fp32", "m@onnxruntime-int8", "m@onnxruntime-fp32-size320"}


def test_a_batch_limit_shares_file_and_profile() -> None:
    limited = Variant("m", "openvino", "int8", max_batch=4)
    assert limited.profiled == Variant("m", "openvino", "int8")
    assert limited.artefact == limited.profiled.artefact == "int8"


@pytest.mark.parametrize("precision", PRECISIONS)
def test_engines_share_files(precision: str) -> None:
    stems = {variant.artefact for variant in generate("m", RUNS, PRECISIONS) if variant.precision == precision}
    assert stems == {precision if precision in ("int8", "fp16") else None}
