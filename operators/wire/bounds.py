"""Bounds of the fields of messages: a reader refuses everything outside of them, and writers keep to them.

``docs/security.md`` has them in a table; the JSON Schemas in ``docs/`` are made from them.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta

from serving.common.untrusted import shortened

ID_CHARS: Final = 256
LABEL_CHARS: Final = 256
TEXT_CHARS: Final = 2048
"""Characters of a sentence for people, and of a redacted address."""
LARGEST_SEQ: Final = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""
LARGEST_COUNT: Final = 2**63 - 1
LONGEST_SIDE: Final = 65_535
"""Pixels of an image's side, as in JPEG."""
LONGEST_MEDIA_S: Final = 10 * 366 * 86_400.0
"""Largest media time: ten years before or after the first frame."""
LONGEST_MS: Final = 1e13
"""Largest duration: three hundred years, more than two moments of the years below can be apart."""
FIRST_YEAR, LAST_YEAR = 1970, 2200
"""A camera without a clock begins in 1970."""
MOST_OBJECTS: Final = 100_000
"""Objects in a result: as many as 100 nodes may find."""
MOST_ATTRIBUTES: Final = 100
"""Attributes of an object: as many as a query has nodes."""
MOST_NODES: Final = 100
MOST_ZONES: Final = 50
"""Zones of a query, and lines."""
MOST_LISTED: Final = 10_000
"""Names in a list, such as the classes of exits."""
HEADER_CHARS: Final = 4096
"""Characters of a header or key that a dead letter keeps."""
MOST_HEADERS: Final = 64
LETTER_CHARS: Final = 1 << 20
"""Characters of the value that a dead letter keeps, in base64."""
SNAPSHOT_BYTES: Final = 512 << 10
"""Bytes of the JPEG of a snapshot."""
SNAPSHOT_CHARS: Final = (SNAPSHOT_BYTES + 2) // 3 * 4
"""Characters of the same in base64."""

# Control characters, line breaks, and marks that turn the direction of writing: ids are printed and compared by people.
_PLAIN: Final = r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*(?![\s\S])"

Id = Annotated[str, Meta(min_length=1, max_length=ID_CHARS, pattern=_PLAIN)]
"""The id of a stream, a run or a query, without control characters."""
Label = Annotated[str, Meta(max_length=LABEL_CHARS)]
"""A class, a name, a version."""
Text = Annotated[str, Meta(max_length=TEXT_CHARS)]
"""A sentence for people."""
Moment = Annotated[datetime, Meta(tz=True)]
"""A date and time with a time zone; see ``check``."""
Seq = Annotated[int, Meta(ge=0, le=LARGEST_SEQ)]
"""The number of a frame within its run."""
Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
"""A number of things, within 64 bits."""
Number = Annotated[int, Meta(ge=-LARGEST_COUNT, le=LARGEST_COUNT)]
"""A whole number with a sign, within 64 bits."""
Side = Annotated[int, Meta(ge=1, le=LONGEST_SIDE)]
"""The width or height of an image in pixels."""
MediaTime = Annotated[float, Meta(ge=-LONGEST_MEDIA_S, le=LONGEST_MEDIA_S)]
"""Media time in seconds."""
Duration = Annotated[float, Meta(ge=0, le=LONGEST_MEDIA_S)]
"""Media time between two moments, seconds."""
Milliseconds = Annotated[float, Meta(ge=-LONGEST_MS, le=LONGEST_MS)]
"""A duration; negative where clocks disagree."""
Share = Annotated[float, Meta(ge=0, le=1)]
"""A share, 0…1."""
Corner = Annotated[float, Meta(ge=-1, le=2)]
"""A coordinate of a box, relative to the frame; an object that is half in view may reach a little outside."""
FrameRate = Annotated[float, Meta(gt=0, le=1e6)]
"""Frames per second of media time."""
Real = Annotated[float, Meta(ge=-1e12, le=1e12)]
"""Any number."""


def check(*moments: datetime) -> None:
    """Raise ValueError for a moment outside of the years that messages may speak of."""
    for moment in moments:
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            raise ValueError(f"the year {moment.year} is not within {FIRST_YEAR}…{LAST_YEAR}")


def is_id(text: str) -> bool:
    """Whether messages allow this text as the id of a stream, a run or a query."""
    return 0 < len(text) <= ID_CHARS and re.search(_PLAIN, text) is not None


def word(text: str) -> str:
    """Shorten a label or name to what a message may hold."""
    return shortened(text, LABEL_CHARS)


def share(value: float) -> float:
    """Return a confidence as a plain float for the wire, which does not take numpy's numbers."""
    number = float(value)
    return round(number if 0.0 <= number <= 1.0 else limited(number, 0.0, 1.0), 4)


def corner(value: float) -> float:
    """Return a coordinate of a box for the wire."""
    number = float(value)
    return round(number if -1.0 <= number <= 2.0 else limited(number, -1.0, 2.0), 5)


def limited(value: float, low: float, high: float) -> float:
    """Return the value, the nearer bound if it lies outside, or ``low`` if it is not a number."""
    return min(max(value, low), high) if value == value else low
