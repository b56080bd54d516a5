"""Reads a source that is not live, in this thread."""

from __future__ import annotations

from contextlib import closing

from operators.capture.session import Session
from operators.capture.sources import open_source


def read_local(session: Session) -> str | None:
    """Read the source to its end, again and again where the spec says so. Returns what a person should know.

    ``SourceError`` if the source cannot be opened or breaks.
    """
    spec = session.spec
    while True:
        with closing(open_source(spec.uri, spec.sampling, spec.max_width)) as source:
            empty = True
            for picture in source.pictures():
                empty = False
                session.accept(picture)
                if session.done:
                    return None
            if empty or not spec.loop:
                return source.summary()
            session.rewound(source.interval_s)
