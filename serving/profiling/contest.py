"""Holds a contest: opens the network and its variants together as they serve, and lets them run in turns.

Processor time counts, of all threads: what the machine does besides adds little to it, where the time that passes may
be several times as long. It must be the process's only work, so a contest is held in a process of its own.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import structs

from serving.catalogue.lookup import Entry
from serving.common.explain import first_line
from serving.common.tensors import Array
from serving.common.threads import usable_cores
from serving.common.untrusted import printable
from serving.engines.groups import Group, GroupRequest
from serving.errors import ModelError, SluiceError
from serving.graphs.surgery.sizes import Size
from serving.loading.opening import open_group
from serving.profiling.agreement import Agree, mean
from serving.profiling.timing import median, take_turns
from serving.variants.artefacts import Calibration, ResolvedModel, artefact, build, folder, identity
from serving.variants.contest import LONGEST, Contender, Contest, machine
from serving.variants.variant import Variant, reference

BUDGET_S = 1.0
"""Processor seconds for all turns together."""
RUNS = 3
"""Runs of a turn; the first does not count: it finds the caches full of another network's weights."""
STEP = 4
"""Items of a batch in which answers are compared."""
LEAST_ITEMS = 8
"""Answers are compared on so many pictures at least of which the network says something."""


@dataclass(frozen=True, slots=True)
class ContestItems:
    """A network, and pictures to show to it and to its variants."""

    entry: Entry
    items: Array
    """Prepared pictures, N × …, as streams have shown them."""
    shape: Size | None
    """The input, where it is another than the card's."""
    agree: Agree
    artefacts_dir: Path


@dataclass(frozen=True, slots=True)
class _Opened:
    group: Group
    load_s: float


def held(stage: ContestItems, variants: Sequence[Variant], clock: Callable[[], float] = time.process_time) -> Contest:
    """The figures of all; SluiceError where the network itself fails, or nothing can be compared.

    Where variants are calibrated, every other picture is for that, and the rest is compared.
    ``clock``: processor seconds of this process.
    """
    first = reference(stage.entry.card.name)
    compared = stage.items[1::2] if any(each.precision == "int8" for each in variants) else stage.items
    with ExitStack() as stack:
        opened = {first: _opened(stage, first, clock, stack)}
        wanted = _answers(opened[first].group, first, compared)
        telling = int(np.count_nonzero(~np.isnan(stage.agree(wanted, wanted))))
        if telling < LEAST_ITEMS:
            raise SluiceError(f"{first.model} found something on {telling} pictures, {LEAST_ITEMS} are the least")
        contenders: list[Contender] = []
        for each in variants:
            try:
                found = _opened(stage, each, clock, stack)
                agreement = mean(stage.agree(wanted, _answers(found.group, each, compared)))
                what = identity(stage.entry, each, stage.artefacts_dir)
            except Exception as error:  # whatever a runtime raises, the others go on
                contenders.append(Contender(variant=each.id, refused=printable(first_line(error), LONGEST)))
            else:
                opened[each] = found
                contenders.append(Contender(variant=each.id, identity=what, load_s=found.load_s, agreement=agreement))
        taken = _timed({each: found.group for each, found in opened.items()}, compared[:1], clock)
    by_id = {each.id: seconds for each, seconds in taken.items()}
    return Contest(
        identity=stage.entry.card.identity,
        fingerprints=machine(),
        processor_s=taken[first],
        items=telling,
        contenders=tuple(structs.replace(each, processor_s=by_id.get(each.variant, 0.0)) for each in contenders),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _opened(stage: ContestItems, variant: Variant, clock: Callable[[], float], stack: ExitStack) -> _Opened:
    entry, places = stage.entry, stage.artefacts_dir
    path = _file(stage, variant)
    source = ResolvedModel(variant.id, entry, variant, path, directory=folder(places, entry), shape=stage.shape)
    started_s = clock()
    group = open_group([source], usable_cores())
    stack.callback(group.close)
    return _Opened(group, clock() - started_s)


def _file(stage: ContestItems, variant: Variant) -> Path:
    """The file of a variant: as it was built before, on whatever pictures, else built on those of the streams."""
    try:
        return artefact(stage.entry, variant, stage.artefacts_dir)
    except ModelError:
        shown = stage.items[::2]
        sha256 = hashlib.sha256(shown.tobytes()).hexdigest()
        return build(stage.entry, variant, stage.artefacts_dir, Calibration(shown, sha256))


def _answers(group: Group, variant: Variant, items: Array) -> list[Array]:
    return group.run([GroupRequest(variant.id, items)], min(STEP, group.batch_limit or STEP))[0]


def _timed(groups: Mapping[Variant, Group], item: Array, clock: Callable[[], float]) -> dict[Variant, float]:
    """Processor seconds of one item by each."""
    turns = {each: partial(_turn, group, each, item, clock) for each, group in groups.items()}
    found = take_turns(turns, BUDGET_S, random.Random(0), clock)
    return {each: median(seconds) for each, seconds in found.items()}


def _turn(group: Group, variant: Variant, item: Array, clock: Callable[[], float]) -> float:
    _answers(group, variant, item)
    started_s = clock()
    for _ in range(RUNS - 1):
        _answers(group, variant, item)
    return (clock() - started_s) / (RUNS - 1)
