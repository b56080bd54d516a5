"""A backend of a fleet serves as ever where no broker answers; without one it brings nothing of Kafka."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.backend_process import backend_process
from tests.real.command import sluice
from tests.real.ports import free_port
from tests.real.process import until

MODEL = "street-kind"


def test_a_broker_that_is_not_there_keeps_nobody_from_serving(tmp_path: Path) -> None:
    away = f"kafka://127.0.0.1:{free_port()}"
    with backend_process(tmp_path, "--load", MODEL, "--broker", away, "--name", "gpu-1") as backend:
        assert "placements call this backend" in backend.command.errors
        until(lambda: "no scheduler hears" in backend.command.errors, "what is said of it", backend.command)
        assert backend.command.terminate() == 0
        assert "Unclosed" not in backend.command.errors
        assert backend.command.errors.count("no scheduler hears") == 1


def test_nothing_of_kafka_is_imported_without_a_broker() -> None:
    program = (
        "import sys; import pipelines.commands.backend.process, pipelines.commands.backend.page; "
        "print([each for each in ('aiokafka', 'kafka', 'faust') if each in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--name", "gpu-1"), "are for a fleet: give --broker too"),
        (("--broker", "kafka://b:1", "--device", "A 10"), "--device 'A 10': a name of small letters"),
    ],
)
def test_options_that_cannot_be(options: tuple[str, ...], says: str) -> None:
    said = sluice("backend", *options)
    assert said.returncode == 2
    assert says in said.stderr
