"""How many threads run a network: one, unless all cores together are much quicker.

Threads that wait for each other at every operator cost processor time, and many networks made of many small operators
gain nothing from them (``benchmarks/spinning.py``). So both are tried when a network is first loaded on a machine, and
what is found is kept beside its artefacts, for as long as processor, cores and engine stay the same. All cores must not
take more processor time than one, unless the network is so slow that a deadline may need them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.engines.engine import Engine
from serving.errors import Malformed, SluiceError
from serving.variants.profiles import Fingerprint, fingerprint
from serving.variants.variant import Variant

log = logging.getLogger(__name__)

Open = Callable[[int], Engine]
"""Makes an engine for so many threads, with nothing loaded."""

Segments = Callable[[], Sequence[bytes]]
"""Gives a network's segments where they are wanted: they may be large."""

SPEED_UP = 1.5
"""All cores are used where one takes at least so many times as long."""
SMALL_S = 0.0015
"""A run that takes no longer is not worth more threads: handing its answer on takes as long."""
SLOW_S = 0.03
"""Where one thread takes more processor time for a run, all may take more than it does: a deadline may need them."""
TRIED, TRIED_S = 4, 0.1
"""Runs of one item, of which the least counts, and the time after which no further one begins."""

LARGEST = 4096
"""Bytes of what is kept."""

LOADING_S = 5.0
"""A network that takes longer to load is run by all."""


class Taken(NamedTuple):
    """Seconds of one item."""

    elapsed_s: float
    processor_s: float


Clock = Callable[[int], Taken]
"""Seconds so far, where so many threads run a network."""


def clock(threads: int) -> Taken:
    """The calling thread's processor time where one runs a network, else the process's.

    So other work of the process counts against several threads, and never against one.
    """
    return Taken(time.perf_counter(), time.thread_time() if threads == 1 else time.process_time())


class ThreadChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of threads that was found best, and where that holds."""

    threads: int
    allowed: int
    """As many might have been used."""
    fingerprint: Fingerprint
    version: Literal[2]
    """The rule by which it was found."""


def all_pay(one: Taken, everyone: Taken) -> bool:
    """Whether all cores run a network, by what an item takes with one thread and with all of them.

    >>> all_pay(one=Taken(0.013, 0.013), everyone=Taken(0.012, 0.019))
    False
    >>> all_pay(one=Taken(0.007, 0.007), everyone=Taken(0.004, 0.007))
    True
    """
    quicker = one.elapsed_s > SMALL_S and one.elapsed_s >= SPEED_UP * everyone.elapsed_s
    return quicker and (one.processor_s > SLOW_S or everyone.processor_s <= one.processor_s)


def fewest(segments: Sequence[bytes], open_with: Open, allowed: int, now: Clock) -> int:
    """How many threads of those allowed run a network, found by running it; SluiceError where it fails.

    One after the other, so that its weights are in memory once. All, where that cannot be known.
    """
    one = _least(segments, open_with(1), partial(now, 1))
    if one is None:
        return allowed
    if one.elapsed_s <= SMALL_S:
        return 1
    everyone = _least(segments, open_with(allowed), partial(now, allowed))
    return allowed if everyone is None or all_pay(one, everyone) else 1


def chosen(directory: Path | None, variant: Variant, segments: Segments, open_with: Open, allowed: int) -> int:
    """The threads that run a variant of a network: as was found before, or found now and kept in its directory.

    Without a directory all that are allowed. SluiceError where the network fails.
    """
    if directory is None or allowed == 1:
        return allowed
    path, machine = directory / f"{variant.profiled.id.partition('@')[2]}.threads.json", fingerprint(variant.engine)
    known = _read(path)
    if known is not None and (known.allowed, known.fingerprint) == (allowed, machine) and known.threads in (1, allowed):
        return known.threads
    found = ThreadChoice(fewest(segments(), open_with, allowed, clock), allowed, machine, 2)
    try:
        atomic.write(path, msgspec.json.encode(found))
    except SluiceError as error:
        log.info("%s: how many threads are best is tried at every start: %s", variant.id, error)
    return found.threads


def _read(path: Path) -> ThreadChoice | None:
    """None where there is none that can be read: it is found anew then."""
    try:
        return decode(path.read_bytes(), ThreadChoice, LARGEST)
    except (OSError, Malformed):
        return None


def _least(segments: Sequence[bytes], engine: Engine, now: Callable[[], Taken]) -> Taken | None:
    """The least that one item takes through all segments, of a few runs; None where that is not to be known.

    An input may leave its size open, or the network take so long to load that it must not be loaded often.
    """
    started_s = now().elapsed_s
    with closing(engine):
        engine.load(segments)
        if now().elapsed_s - started_s > LOADING_S:
            return None
        if not all(spec.sizes_known for spec in engine.inputs):
            return None
        items = [spec.blank() for spec in engine.inputs]
        times = [now()]
        while len(times) <= TRIED and times[-1].elapsed_s - times[0].elapsed_s < TRIED_S:
            for index, item in enumerate(items):
                engine.run(index, item)
            times.append(now())
        runs = [Taken(*np.subtract(after, before).tolist()) for before, after in pairwise(times)]
        return Taken(*map(min, zip(*runs, strict=True)))
