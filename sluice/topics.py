"""Results and events from their topics, for applications that consume them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from functools import partial
from typing import Literal, TypeVar

from operators.wire.schema import Counts, Event, from_json
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.extras import need
from pipelines.settings import broker_settings
from serving.errors import BadInput
from sluice.results import Result

M = TypeVar("M", Result, Event | Counts)


def watch(
    broker: str | None = None,
    *,
    streams: Collection[str] = (),
    group: str | None = None,
    from_beginning: bool = False,
    prefix: str | None = None,
) -> Iterator[Result]:
    """Yield results as workers publish them, each once, until the iterator is closed; needs the extra ``kafka``.

    ``broker``: ``kafka://HOST:PORT``, by default ``SLUICE_BROKER``; further variables say how to speak to it
    (``docs/deploy.md``). ``streams``: only these, or this one. ``group``: applications of one group share the streams
    and go on where they were: a result is done when the next one is asked for. ``from_beginning``: begin with the
    oldest where there is no such place. ``prefix``: begins the topics' names. A broker that does not answer is waited
    for, and the log says so. Raises BadInput.
    """
    need("kafka")
    from pipelines.kafka.results import LatestResults

    read = partial(from_json, kind=Result)
    return _messages("results", read, broker, streams, group, from_beginning, prefix, LatestResults().is_new)


def watch_events(
    broker: str | None = None,
    *,
    streams: Collection[str] = (),
    group: str | None = None,
    from_beginning: bool = False,
    prefix: str | None = None,
) -> Iterator[Event | Counts]:
    """Yield what happens as workers publish it: tracks begin and end, enter zones, cross lines; and what zones count.

    The arguments are those of ``watch``. After a worker's death an event may come again, with the same content.

    >>> watch_events("kafka://127.0.0.1:9092", group="")
    Traceback (most recent call last):
    serving.errors.BadInput: group: is empty; a name, or None
    """
    need("kafka")
    from pipelines.observe.forward.sink import read_event

    return _messages("events", read_event, broker, streams, group, from_beginning, prefix, lambda event: True)


def _messages(
    topic: Literal["results", "events"],
    decode: Callable[[bytes], M],
    broker: str | None,
    streams: Collection[str],
    group: str | None,
    from_beginning: bool,
    prefix: str | None,
    is_new: Callable[[M], bool],
) -> Iterator[M]:
    """Messages of the streams that are new; what is wrong is said when they are asked for, not with the first one."""
    from pipelines.kafka.results import MessageReader

    if group == "":
        raise BadInput("group: is empty; a name, or None")
    TopicsConfig().with_prefix(prefix)
    wanted = {streams} if isinstance(streams, str) else set(streams)
    settings = broker_settings(broker)

    def messages() -> Iterator[M]:
        opened = MessageReader(settings, topic, decode, prefix=prefix, from_beginning=from_beginning, group=group)
        with closing(opened) as reader:
            for message, _ in reader:
                if (not wanted or message.stream in wanted) and is_new(message):
                    yield message

    return messages()
