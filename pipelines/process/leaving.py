"""The end of the process."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import NoReturn

from serving.watchdog.abandoned import lost


def leave(status: int) -> NoReturn:
    """Exit; without cleaning up if a thread never returned from a network, because cleaning up would abort in it."""
    if lost():
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    sys.exit(status)
