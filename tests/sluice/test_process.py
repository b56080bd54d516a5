"""A run changes nothing of the process that it is embedded in, and lets it end when it wants to."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.real.process import WAIT_S
from tests.sluice.clips import clip

STATE = """
import gc, os, signal, sys, threading, warnings
import cv2, numpy
from threadpoolctl import threadpool_info

def state():
    return {
        "environment": dict(os.environ),
        "garbage": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "interval": sys.getswitchinterval(),
        "recursion": sys.getrecursionlimit(),
        "opencv": cv2.getNumThreads(),
        "matrices": {each["filepath"]: each["num_threads"] for each in threadpool_info()},
        "stand-ins": [name for name, found in sys.modules.items() if found is None or not hasattr(found, "__name__")],
        "hooks": (sys.excepthook, threading.excepthook, sys.stdout, sys.stderr, sys.displayhook),
        "warnings": list(warnings.filters),
        "path": list(sys.path),
        "folder": os.getcwd(),
    }

def changed(before):
    now = state()
    now["matrices"] = {path: threads for path, threads in now["matrices"].items() if path in before["matrices"]}
    return {name: (before[name], now[name]) for name in before if before[name] != now[name]}
"""
RUN = """
nodes = [
    {"name": "detect", "task": "detect", "model": "motion"},
    {"name": "track", "task": "track", "input": "detect"},
    {"name": "type", "task": "recognise", "input": "track", "model": "vehicle-type", "specialize": True},
]
query = sluice.Query(name="test", slo_ms=5000, nodes=nodes)
"""


def script(code: str, folder: Path) -> list[str]:
    (folder / "script.py").write_text("\n".join([STATE, textwrap.dedent(code)]), encoding="utf-8")
    return [sys.executable, str(folder / "script.py"), str(clip(folder, frames=40))]


def said(code: str, folder: Path) -> str:
    done = subprocess.run(script(code, folder), capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_process_is_the_same_before_an_import_during_a_run_and_after_it(tmp_path: Path) -> None:
    code = f"""
before = state()
import sluice
print(changed(before))
{RUN}
for result in sluice.run(query, sys.argv[1]):
    if result.seq == 20:
        print(changed(before))
print(changed(before))
"""
    assert said(code, tmp_path).splitlines() == ["{}"] * 3


def test_a_program_that_forgets_its_run_ends_without_a_word(tmp_path: Path) -> None:
    code = f"""
import sluice
{RUN}
results = sluice.run(query, sys.argv[1])
print(next(results).seq)
"""
    assert said(code, tmp_path) == "0\n"


@pytest.mark.parametrize("place", ["in the loop", "between frames"])
def test_ctrl_c_ends_the_run_and_is_the_programs(tmp_path: Path, place: str) -> None:
    wait = "time.sleep(600)" if place == "in the loop" else "pass"
    code = f"""
import time
import sluice
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
{RUN}
try:
    while True:
        for result in sluice.run(query, sys.argv[1]):
            print("running", flush=True)
            {wait}
except KeyboardInterrupt:
    print("threads", [each.name for each in threading.enumerate() if each.name.startswith("sluice-run")])
"""
    with subprocess.Popen(script(code, tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        lines = process.stdout.read().splitlines()
        assert process.wait(WAIT_S) == 0
    assert lines[-1] == "threads []"
