"""Vision models behind endpoints in a query: what is needed, what is refused, and what leaves the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.query.check import examine
from pipelines.query.draft import load_query
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.lookup import Catalogue
from serving.common.redaction import redact
from serving.errors import BadInput
from serving.remote.endpoint.terms import TokenPrices
from tests.pipelines.queries import write, write_model

HEAD = """\
version: 1
name: test
slo_ms: 250
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
"""
NODE = "  - {name: type, task: recognise, input: track, model: MODEL}\n"
SPEC = {
    "endpoint": "'http://127.0.0.1:8000/v1'",
    "name": "qwen-vl",
    "labels": "[car, truck]",
    "budget": "{per_day: 100 calls}",
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    write_model(tmp_path / "models", "vehicle-type")
    write_model(tmp_path / "models", "faces", "embed")
    return Catalogue([tmp_path / "models"])


def spec(**changes: str | None) -> str:
    keys = {key: value for key, value in {**SPEC, **changes}.items() if value is not None}
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def problems(folder: Path, catalogue: Catalogue, nodes: str) -> list[str]:
    return [str(each) for each in examine(write(folder / "q.yaml", HEAD + nodes), catalogue).problems]


def node(path: Path) -> RecogniseNode:
    found = load_query(path).nodes[-1]
    assert isinstance(found, RecogniseNode)
    return found


def test_a_node_may_be_answered_by_an_endpoint(tmp_path: Path, catalogue: Catalogue) -> None:
    text = (
        NODE.replace("MODEL", spec())
        + "  - {name: cars, task: recognise, input: 'type[type == car]', model: vehicle-type}\n"
    )
    assert problems(tmp_path, catalogue, text) == []
    write(tmp_path / "q.yaml", HEAD + NODE.replace("MODEL", spec()))
    found = node(tmp_path / "q.yaml")
    ((name, endpoint),) = found.endpoints.items()
    assert found.models == (name,)
    assert name.startswith("qwen-vl-")
    assert name.endswith(" on endpoint")
    terms = endpoint.terms(None)
    assert terms.question.text == "Which of these does the picture show: car, truck?"
    assert terms.card().classes == ("car", "truck", "unknown")


def test_a_local_model_may_be_listed_behind_it(tmp_path: Path, catalogue: Catalogue) -> None:
    assert problems(tmp_path, catalogue, NODE.replace("MODEL", f"[{spec()}, vehicle-type]")) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"budget": None}, "budget: is missing"),
        ({"budget": "{}"}, "per_day: is missing"),
        ({"budget": "{per_day: 2 EUR}"}, "give one of per_call, per_gib, per_million_given"),
        ({"budget": "{per_day: 2 Wh}"}, "nothing measures the energy of another machine here"),
        ({"budget": "{per_day: 2 EUR, price: {per_million_given: 1 USD}}"}, "give it in EUR"),
        ({"budget": "{per_day: 9 calls, price: {per_million_given: 1 EUR}}"}, "per_million_given"),
        ({"budget": "{per_day: 2}"}, "give an amount with its unit"),
        ({"budget": "{per_day: 0 calls}"}, "more than nothing"),
        ({"calls_per_minute": "0"}, "calls_per_minute"),
        ({"labels": None}, "labels: is missing"),
        ({"labels": "[]"}, "labels"),
        ({"labels": "[car, Car]"}, "'Car' is there twice"),
        ({"labels": "[car, Unknown]"}, "leave it out"),
        ({"labels": "[' car']"}, "white space"),
        ({"labels": '["a\\nb"]'}, "glyph"),
        ({"name": "''"}, "name"),
        ({"endpoint": "'ftp://127.0.0.1/v1'"}, "should be an address"),
        ({"endpoint": "'http:///v1'"}, "should be an address"),
        ({"endpoint": "'http://127.0.0.1:99999/v1'"}, "should be an address"),
        ({"endpoint": "'http://127.0.0.1/v1?key=1'"}, "should be an address"),
        ({"endpoint": "'http://bob:hunter22@127.0.0.1/v1'"}, "give a key in its place"),
        ({"key": "sk-0815"}, "does not belong in the file"),
        ({"timeout_ms": "1"}, "timeout_ms"),
        ({"detail": "4000"}, "detail"),
        ({"asks": "x"}, "asks"),
    ],
)
def test_what_cannot_be_is_one_line(
    changes: dict[str, str | None], why: str, tmp_path: Path, catalogue: Catalogue
) -> None:
    found = problems(tmp_path, catalogue, NODE.replace("MODEL", spec(**changes)))
    assert [line for line in found if why in line], found
    assert not [line for line in found if "hunter22" in line or "0815" in line]


@pytest.mark.parametrize(
    ("endpoint", "said", "allowed"),
    [
        ("https://vlm.example.com/v1", None, False),
        ("https://vlm.example.com/v1", "yes, to this address", True),
        ("http://10.0.0.7:8000/v1", None, False),
        ("http://10.0.0.7:8000/v1", "yes, to this address", False),
        ("http://10.0.0.7:8000/v1", "yes, unencrypted, to this address", True),
        ("http://localhost:11434/v1", None, True),
        ("http://[::1]:8000/v1", None, True),
        ("http://127.0.0.1.example.com/v1", None, False),
        ("http://localhost.example.com/v1", None, False),
        ("http://0.0.0.0:8000/v1", None, False),
        ("https://vlm.example.com/v1", "yes", False),
        ("https://vlm.example.com/v1", "true", False),
    ],
)
def test_pictures_leave_the_machine_only_where_the_query_says_so_in_words(
    endpoint: str, said: str | None, allowed: bool, tmp_path: Path, catalogue: Catalogue
) -> None:
    given = spec(endpoint=f"'{endpoint}'", send_pictures=None if said is None else f"'{said}'")
    found = problems(tmp_path, catalogue, NODE.replace("MODEL", given))
    assert (found == []) is allowed, found
    if said is None and not allowed:
        assert "pictures of objects would leave this machine" in found[0]


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("  - {name: type, task: recognise, input: detect, model: MODEL}\n", "asked once for each tracked object"),
        ("  - {name: type, task: recognise, input: track, answer: look, model: MODEL}\n", "not at every look"),
        ("  - {name: type, task: recognise, input: track, gallery: people, model: MODEL}\n", "remove the gallery"),
        ("  - {name: type, task: recognise, input: track, model: [vehicle-type, MODEL]}\n", "lists it first"),
        ("  - {name: found, task: detect, model: MODEL}\n", "model"),
        ("  - {name: type, task: recognise, input: track, model: vehicle-type on endpoint}\n", "is written out"),
    ],
)
def test_where_an_endpoint_does_not_belong_it_is_said(
    nodes: str, why: str, tmp_path: Path, catalogue: Catalogue
) -> None:
    found = problems(tmp_path, catalogue, nodes.replace("MODEL", spec()))
    assert [line for line in found if why in line], found


def test_two_nodes_that_ask_the_same_agree_on_its_terms(tmp_path: Path, catalogue: Catalogue) -> None:
    other = NODE.replace("name: type", "name: kind").replace("MODEL", spec(budget="{per_day: 5 calls}"))
    found = problems(tmp_path, catalogue, NODE.replace("MODEL", spec()) + other)
    assert len(found) == 1
    assert "the same on other terms" in found[0]
    same = NODE.replace("name: type", "name: kind").replace("MODEL", spec())
    assert problems(tmp_path, catalogue, NODE.replace("MODEL", spec()) + same) == []


def test_another_question_makes_another_network(tmp_path: Path) -> None:
    def digest(**changes: str) -> str:
        path = write(tmp_path / "q.yaml", HEAD + NODE.replace("MODEL", spec(**changes)))
        (endpoint,) = node(path).endpoints.values()
        return endpoint.terms(None).sha256

    assert digest() == digest(budget="{per_day: 7 calls}", timeout_ms="5000")
    assert len({digest(), digest(ask="'What is it?'"), digest(labels="[car, bus]"), digest(name="other")}) == 4


def test_the_key_comes_from_its_place_and_shows_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vlm.key").write_text("sk-hunter-22\n")
    path = write(tmp_path / "q.yaml", HEAD + NODE.replace("MODEL", spec(key="'${file:vlm.key}'")))
    (endpoint,) = node(path).endpoints.values()
    opened = endpoint.opened("node type: model")
    assert opened.key == "sk-hunter-22"
    assert "hunter" not in repr(opened)
    assert redact("key sk-hunter-22") == "key ***"
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    path = write(tmp_path / "q.yaml", HEAD + NODE.replace("MODEL", spec(key="'${NO_SUCH_KEY}'")))
    (endpoint,) = node(path).endpoints.values()
    with pytest.raises(BadInput, match=r"node type: model\.key.*NO_SUCH_KEY"):
        endpoint.opened("node type: model")


def test_its_budget_is_an_amount_with_prices_of_calls_and_tokens(tmp_path: Path) -> None:
    price = "{per_call: 0.001 EUR, per_million_given: 0.2 EUR, per_million_answered: 0.6 EUR}"
    path = write(tmp_path / "q.yaml", HEAD + NODE.replace("MODEL", spec(budget=f"{{per_day: 2 EUR, price: {price}}}")))
    (endpoint,) = node(path).endpoints.values()
    terms = endpoint.budget_terms()
    assert str(terms).startswith("2 EUR a day of endpoint qwen-vl-")
    assert (terms.prices.per_call, endpoint.terms(None).tokens) == (0.001, TokenPrices(0.2, 0.6))
