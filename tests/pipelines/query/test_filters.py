"""The filter language: what it means, that it binds as Python does, and what it says of mistakes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.query.filter_parser import FilterError, parse_selection
from pipelines.query.filters import KEYWORDS, WORD, And, Compare, Expr, Not, Or, Selection, Value

CAR = {"label": "car", "confidence": 0.8, "area": 0.1, "kind": "vehicle", "colour": None}
RECOGNISERS = ("kind", "colour")

words = st.sampled_from(["car", "traffic light", "it's", "not", "pickup-truck", "3d", "Zürich"])
numbers = st.floats(0, 1, allow_nan=False)
comparisons = st.builds(
    Compare, st.sampled_from(["label", *RECOGNISERS]), st.sampled_from(["==", "!="]), words
) | st.builds(
    Compare, st.sampled_from(["confidence", "area"]), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), numbers
)
expressions = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=8,
)


def written(selection: Selection) -> str:
    """An input as one would write it."""
    return selection.node if selection.where is None else f"{selection.node}[{_written(selection.where)}]"


def _written(expr: Expr) -> str:
    match expr:
        case Compare(field, op, value):
            return f"{field} {op} {_literal(value)}"
        case Not(term):
            return f"not {_bracketed(term, And, Or)}"
        case And(terms):
            return " and ".join(_bracketed(term, And, Or) for term in terms)
        case Or(terms):
            return " or ".join(_bracketed(term, Or) for term in terms)


def _literal(value: Value) -> str:
    if isinstance(value, float):
        return repr(value)
    if re.fullmatch(WORD, value) and value not in KEYWORDS:
        return value
    return f'"{value}"' if "'" in value else f"'{value}'"


def _bracketed(term: Expr, *looser: type) -> str:
    return f"({_written(term)})" if isinstance(term, looser) else _written(term)


# Text that is at once a filter and Python, without brackets that would hide how tightly the operators bind.
python_leaves = st.sampled_from(
    [
        "label == 'car'",
        "label != 'car'",
        "label in ('bus',)",
        "label not in ('car', 'bus')",
        "confidence > 0.5",
        "area <= 0.05",
        "kind == 'person'",
        "colour == 'red'",
        "colour != 'red'",
        "colour not in ('red',)",
    ]
)
python_texts = st.recursive(
    python_leaves,
    lambda inner: (
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map("".join)
        | inner.map("not {}".format)
        | inner.map("({})".format)
    ),
    max_leaves=8,
)


@given(expressions)
def test_printing_and_parsing_are_inverse(expr: Expr) -> None:
    selection = Selection("detect", expr)
    assert parse_selection(written(selection), RECOGNISERS) == selection


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("label in (car, bus)", "label == car or label == bus"),
        ("label in (car)", "label == car"),
        ("area in (.5, 1,)", "area == .5 or area == 1"),
        ("label not in (car, bus) and area > 0", "not (label == car or label == bus) and area > 0"),
    ],
)
def test_being_among_some_is_to_be_one_of_them(text: str, meant: str) -> None:
    assert parse_selection(f"detect[{text}]") == parse_selection(f"detect[{meant}]")


@given(python_texts, st.sampled_from(["car", "bus"]), st.sampled_from([0.2, 0.8]), st.sampled_from(["person", None]))
def test_operators_bind_as_in_python(text: str, label: str, confidence: float, kind: str | None) -> None:
    facts = {**CAR, "label": label, "confidence": confidence, "kind": kind}
    where = parse_selection(f"detect[{text}]", RECOGNISERS).where
    assert where is not None
    assert where.matches(facts) == eval(text, {}, facts)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("label == car", True),
        ("label in (car, truck) and confidence >= 0.5", True),
        ("label in (bus, truck)", False),
        ("label not in (bus, truck,)", True),
        ('label == "traffic light"', False),
        ("confidence > .8", False),
        ("confidence >= 8e-1", True),
        ("not kind == vehicle or area < 0.2", True),
        ("not (kind == vehicle or area < 0.2)", False),
        ("colour == red", False),
        ("colour != red", True),
        ("colour in (red)", False),
        ("not colour in (red)", True),
    ],
)
def test_meaning(text: str, passes: bool) -> None:
    where = parse_selection(f" detect [ {text} ] ", RECOGNISERS).where
    assert where is not None
    assert where.matches(CAR) is passes


def test_a_bare_node_selects_everything() -> None:
    assert parse_selection("vehicle-type") == Selection("vehicle-type", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the name of a node, found the end (at character 1)"),
        ("detect[", "expected a field, found the end (at character 8)"),
        ("detect[]", "expected a field, found ']' (at character 8)"),
        ("detect[label == car", "expected ']', found the end (at character 20)"),
        ("detect[label == car] x", "expected the end, found 'x' (at character 22)"),
        (
            "detect[lable == car]",
            "unknown field 'lable'; did you mean 'label'? allowed: label, zone, kind, confidence, area",
        ),
        ("detect[kin == car]", "did you mean 'kind'?"),
        ("detect[label = car]", "'=' is not understood; write '==' to compare (at character 14)"),
        ("detect[label < car]", "'label' is a name: compare it by ==, != or in (at character 14)"),
        ("detect[label]", "expected a comparison or 'in' after 'label', found ']' (at character 13)"),
        ("detect[label in car]", "expected '(', found 'car' (at character 17)"),
        ("detect[label in ()]", "expected a name to compare 'label' with, found ')' (at character 18)"),
        ("detect[label not == car]", "expected 'in', found '=='"),
        ("detect[label == 3]", "'label' is a name: quote '3' (at character 17)"),
        ("detect[label == and]", "quote 'and'"),
        ("detect[confidence > high]", "expected a number to compare 'confidence' with, found 'high' (at character 21)"),
        ("detect[area >= 2000]", "'area' is a share, 0 to 1, and never 2000 (at character 16)"),
        ("detect[confidence > 0.5x]", "'0' is not understood"),
        ("detect[label == 'car]", '"\'" is not understood (at character 17)'),
        ("detect[label == car and]", "expected a field, found ']' (at character 24)"),
        ("and[label == car]", "expected the name of a node, found 'and' (at character 1)"),
        ("detect[" + "(" * 60 + "label == car" + ")" * 60 + "]", "nested deeper than 50 (at character 58)"),
        ("detect[" + "not " * 5000 + "label == car]", "nested deeper than 50"),
    ],
)
def test_mistakes_say_what_and_where(text: str, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_selection(text, ["kind"])
    assert message in str(caught.value)


@given(st.text(alphabet="detclab()[]=<>!'\",. 0.5andornti", max_size=40))
def test_any_text_parses_or_is_a_filter_error(text: str) -> None:
    try:
        parse_selection(text, ["deta"])
    except FilterError as error:
        inside = 1 <= error.position <= len(text) + 1
    else:
        inside = True
    assert inside
