"""What CUDA streams gain: the heads behind one cut, run by as many threads at once, against one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

import numpy as np
import torch
from torch import nn

from benchmarks.engines_parts.pytorch_engine import PyTorchEngine
from benchmarks.harness import interleaved
from serving.common.tensors import Array

HEADS, CHANNELS, SIDE = 4, 128, 14


def head_overlap(device: str, rounds: int) -> float:
    """Time of heads one after the other ÷ at once: 1 where nothing overlaps, at most their number."""
    torch.manual_seed(0)
    heads = [_head(device) for _ in range(HEADS)]
    shared = np.random.default_rng(0).random((8, CHANNELS, SIDE, SIDE), np.float32)
    with ThreadPoolExecutor(HEADS) as pool:
        ways = {"in turn": partial(_in_turn, heads, shared), "at once": partial(_at_once, pool, heads, shared)}
        for way in ways.values():
            way()
        seconds = interleaved(ways, rounds)
    return median(seconds["in turn"]) / median(seconds["at once"])


def _head(device: str) -> PyTorchEngine:
    convolutions = [nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), nn.ReLU()]
    head = nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, 10))
    return PyTorchEngine(head, device)


def _in_turn(heads: Sequence[PyTorchEngine], shared: Array) -> float:
    started = time.perf_counter()
    for head in heads:
        head.run(0, shared)
    return time.perf_counter() - started


def _at_once(pool: ThreadPoolExecutor, heads: Sequence[PyTorchEngine], shared: Array) -> float:
    started = time.perf_counter()
    list(pool.map(lambda head: head.run(0, shared), heads))
    return time.perf_counter() - started
