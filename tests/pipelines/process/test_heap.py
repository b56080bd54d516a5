from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from pipelines.process.heap import few_arenas, give_back, giving_back
from pipelines.process.tasks import meanwhile

FRAGMENTED = """
import psutil
from pipelines.process.heap import give_back

def resident():
    return psutil.Process().memory_info().rss >> 20

kept = [bytes(4000) for _ in range(30_000)]
last = bytes(4000)  # lies at the heap's end, so that nothing below is returned by itself
del kept
before = resident()
give_back()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's heap is trimmed")
def test_free_memory_below_the_heaps_end_goes_back() -> None:
    done = subprocess.run([sys.executable, "-c", FRAGMENTED], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 80


def test_a_c_library_without_these_functions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    few_arenas()
    give_back()


async def test_memory_is_given_back_while_a_block_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    given, loop = asyncio.Event(), asyncio.get_running_loop()
    monkeypatch.setattr("pipelines.process.heap.give_back", lambda: loop.call_soon_threadsafe(given.set))
    async with meanwhile(giving_back(every_s=0.0)):
        await given.wait()
