"""A command that is asked to end while it still imports ends in good order."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.kafka_side import write_query
from tests.real.command import environment

STREET = "synthetic:street?seed=1&duration_s=60"


def heeds_interrupts() -> None:
    """What a shell starts in the background ignores them, and so do its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(
    ("words", "number", "expected"),
    [
        (("run", "QUERY", "--source", STREET), signal.SIGTERM, 143),
        (("run", "QUERY", "--source", STREET), signal.SIGINT, 130),
        (("capture", "QUERY", "--source", STREET, "--broker", "127.0.0.1:1"), signal.SIGTERM, 143),
        (("worker", "QUERY", "--broker", "127.0.0.1:1"), signal.SIGTERM, 143),
        (("watch", "--broker", "127.0.0.1:1"), signal.SIGINT, 130),
        (("check", "QUERY"), signal.SIGTERM, 143),
        (("check", "QUERY"), signal.SIGINT, 130),
    ],
)
def test_a_signal_during_imports(tmp_path: Path, words: tuple[str, ...], number: signal.Signals, expected: int) -> None:
    query = write_query(tmp_path)
    arguments = [str(query) if word == "QUERY" else word for word in words]
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "pipelines.cli", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment(),
        text=True,
        preexec_fn=heeds_interrupts,
    ) as process:
        assert process.stderr is not None
        # The first of the modules that the subcommand imports: many more are to come.
        for line in process.stderr:
            if "pipelines.commands.options" in line:
                break
        process.send_signal(number)
        rest = process.stderr.read()
    assert process.returncode == expected, rest[-2000:]
    assert "Traceback" not in rest
