"""Reads a source that is not live, in this thread."""

from __future__ import annotations

from contextlib import closing

from operators.capture.run import CaptureRun
from operators.capture.sources.open import open_source


def read_local(run: CaptureRun) -> str | None:
    """Read the source to its end, repeatedly if the spec says so. Returns a note for people.

    ``SourceError`` if the source cannot be opened or breaks.
    """
    spec = run.spec
    while True:
        with closing(open_source(spec.uri, spec.sampling, spec.max_width, run.hardware)) as source:
            empty = True
            for picture in source.pictures():
                empty = False
                run.accept(picture)
                if run.done:
                    return None
            if empty or not spec.loop:
                return source.summary()
            run.rewound(source.interval_s)
