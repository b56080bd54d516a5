"""The errors users see, each one clear line: what is wrong, where, what to do.

SluiceError               exit 1: something failed while running
├── BadInput              exit 2: the user can fix it by changing what they gave
│   ├── QueryError        a query file
│   ├── ModelError        a model directory, card or weights file
│   │   └── OutOfService  a network that did not return is not run again
│   │       └── BackendDown  a backend does not answer at present; exit 1
│   │           └── BudgetSpent  a day's budget does not pay for a network now
│   └── SourceError       a video source (carries a ``Reason`` code for the ``streams`` topic)
├── Malformed             bytes from a topic, a file or a pipe are not what they should be
├── TooLate               an answer that could not be there in time was given up
└── Unavailable           a broker or another service cannot be reached
"""

from __future__ import annotations


class SluiceError(Exception):
    """Base of all errors whose message is meant for the user; ``exit_code`` is the command's status."""

    exit_code = 1


class BadInput(SluiceError):
    """The user's input is wrong; the message says what to change."""

    exit_code = 2


class QueryError(BadInput):
    """A query file is wrong; the message has one line per problem, each naming the key path."""


class ModelError(BadInput):
    """A model directory, card or weights file is missing, damaged or of the wrong kind."""


class OutOfService(ModelError):
    """A network did not return in the time it may take, and is not run again in this process."""


class BackendDown(OutOfService):
    """A backend does not answer, or not with what was asked: its models answer again once it does."""

    exit_code = 1


class BudgetSpent(BackendDown):
    """A day's budget does not pay for a network now, here or elsewhere: others answer in its place."""


class SourceError(BadInput):
    """A video source cannot be read; ``reason`` is the code published on the ``streams`` topic."""

    def __init__(self, message: str, reason: str = "error") -> None:
        super().__init__(message)
        self.reason = reason


class Malformed(SluiceError):
    """Bytes from a topic, a file or a pipe are not what they should be; the message is short and printable."""


class TooLate(SluiceError):
    """An answer could not be there in time, and its request may be given up."""


class Unavailable(SluiceError):
    """A broker or another service cannot be reached."""
