"""Times the feature networks of templates and their oracle in turns, and gives the share of the oracle's time."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from serving.catalogue.lookup import Entry
from serving.engines.network import Network
from serving.loading.opening import open_model
from serving.profiling.timing import median, take_turns
from specialization.templates.stored import StoredTemplate, feature_entry

BUDGET_S = 3.0


def latency_shares(
    oracle: Entry, templates: Sequence[StoredTemplate], threads: int, budget_s: float = BUDGET_S
) -> Mapping[str, float]:
    """By template, the median time of one input over the oracle's; ModelError where a network cannot be opened."""
    entries = {"": oracle} | {each.name: feature_entry(each.directory) for each in templates}
    networks = {name: open_model(entry, threads) for name, entry in entries.items()}
    runs = {name: partial(_seconds, networks[name], _blank(entry)) for name, entry in entries.items()}
    found = take_turns(runs, budget_s, random.Random(0), time.perf_counter)
    for network in networks.values():
        network.close()
    return {name: median(seconds) / median(found[""]) for name, seconds in found.items() if name}


def _blank(entry: Entry) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    size = entry.card.input
    return np.zeros((1, *size.item_shape), np.dtype(size.dtype))


def _seconds(network: Network, item: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> float:
    started = time.perf_counter()
    network.run(item)
    return time.perf_counter() - started
