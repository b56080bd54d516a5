"""The protocol's messages as plain JSON values: every field by its name, numbers as numbers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.message import Message


def plain(message: Message) -> dict[str, object]:
    """The fields of a message; those that were not set have their defaults.

    >>> from serving.remote.protocol.inference_pb2 import ServerMetadataResponse
    >>> plain(ServerMetadataResponse(name="sluice", extensions=["statistics"]))
    {'name': 'sluice', 'version': '', 'extensions': ['statistics']}
    """
    found: dict[str, object] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        words = {} if field.enum_type is None else {each.number: each.name for each in field.enum_type.values}
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            found[field.name] = {key: plain(each) for key, each in value.items()}
        elif field.is_repeated:
            found[field.name] = [_one(each, words) for each in value]
        else:
            found[field.name] = _one(value, words)
    return found


def _one(value: object, words: Mapping[int, str]) -> object:
    """``words``: of an enumeration, by number; none for other kinds."""
    if isinstance(value, Message):
        return plain(value)
    return words[value] if words and isinstance(value, int) else value
