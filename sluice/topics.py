"""Results from a topic, for applications that consume them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from functools import partial

from pipelines.kafka.topics import TopicsConfig
from pipelines.process.extras import need
from pipelines.settings import broker_settings
from serving.errors import BadInput
from sluice.results import Result


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
    from pipelines.kafka.results import LatestResults, ResultsReader

    if group == "":
        raise BadInput("group: is empty; a name, or None")
    TopicsConfig().with_prefix(prefix)  # said when it is asked for, not with the first result
    wanted = {streams} if isinstance(streams, str) else set(streams)
    opens = partial(ResultsReader, broker_settings(broker), Result)

    def results() -> Iterator[Result]:
        latest = LatestResults()
        with closing(opens(prefix=prefix, from_beginning=from_beginning, group=group)) as reader:
            for result, _ in reader:
                if (not wanted or result.stream in wanted) and latest.is_new(result.id):
                    yield result

    return results()
