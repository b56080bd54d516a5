"""Messages of the past stay readable, and what is written still says all that it said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from operators.wire.schema import Message, from_json, to_json
from serving.errors import Malformed

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.json"))
UNWRITTEN = {
    ".nodes[].self_agreement",
    ".nodes[].early_s",
    ".nodes[].identity_agreement",
    ".sessions[].prefix",
}
"""Optional fields that are read past and not written any more: it is not known any more, or told elsewhere."""
KINDS: dict[str, type[msgspec.Struct]] = {msgspec.structs.fields(kind)[0].default: kind for kind in get_args(Message)}


def missing(old: Any, new: Any, path: str = "") -> list[str]:
    """Where ``new`` does not say what ``old`` said."""
    if path in UNWRITTEN:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return [line for key in old for line in missing(old[key], new.get(key, "absent"), f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for a, b in zip(old, new, strict=True) for line in missing(a, b, f"{path}[]")]
    return [] if old == new else [f"{path}: {old!r} became {new!r}"]


def keys(value: Any, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {path, *(found for key in value for found in keys(value[key], f"{path}.{key}"))}
    if isinstance(value, list):
        return {path, *(found for item in value for found in keys(item, f"{path}[]"))}
    return {path}


def fields(kind: msgspec.inspect.Type, path: str = "") -> set[str]:
    """All paths of a struct, through lists and nested structs."""
    match kind:  # a message within a message has golden ones of its own
        case msgspec.inspect.StructType() if path and kind.cls in KINDS.values():
            return {path}
        case msgspec.inspect.StructType():
            return {path}.union(*(fields(field.type, f"{path}.{field.encode_name}") for field in kind.fields))
        case msgspec.inspect.ListType():
            return fields(kind.item_type, f"{path}[]")
        case msgspec.inspect.UnionType():
            return set[str]().union(*(fields(member, path) for member in kind.types))
        case _:
            return {path}


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_an_old_message_is_read_and_written_with_nothing_lost(file: Path) -> None:
    old = json.loads(file.read_text())
    message = from_json(file.read_bytes(), KINDS[old["schema"]])
    assert missing(old, json.loads(to_json(message))) == []


@pytest.mark.parametrize("schema", KINDS)
def test_every_field_is_guarded_by_a_golden_message(schema: str) -> None:
    golden = [json.loads(file.read_text()) for file in GOLDEN]
    guarded = {path for message in golden if message["schema"] == schema for path in keys(message)}
    assert fields(msgspec.inspect.type_info(KINDS[schema])) - guarded == set()


def test_another_schema_is_refused() -> None:
    message = json.loads((Path(__file__).parents[2] / "golden" / "result-empty.json").read_text())
    message["schema"] = "sluice.result/2"
    with pytest.raises(Malformed, match="schema"):
        from_json(json.dumps(message).encode(), KINDS["sluice.result/1"])
