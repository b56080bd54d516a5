"""The front door: what it offers, and that it costs nothing to open."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import sluice

PUBLIC = [
    *("Attribute", "BadInput", "Box", "Call", "Counts", "Event", "Frame", "Model", "ModelError", "Notification"),
    *("Object", "Observer", "Operator", "Query", "QueryError", "Recogniser", "Region", "Result", "Sink"),
    *("SluiceError", "SourceError", "Unavailable", "__version__", "arun", "run", "watch", "watch_events"),
]
"""A name that goes breaks programs of others; one that comes is kept from then on."""


def test_what_is_offered_is_what_programs_of_others_rely_on() -> None:
    assert sluice.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(sluice, name)
    assert found == version("sluice-video") if name == "__version__" else found.__doc__


def test_every_name_is_listed_once_also_before_it_is_used() -> None:
    program = "import sluice; sluice.Query; print(*dir(sluice))"
    listed = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert set(sluice.__all__) <= set(listed)
    assert len(set(listed)) == len(listed)


def test_another_name_is_told_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'sluice' has no attribute 'rum'"):
        sluice.rum()


def test_types_are_shown_to_checkers() -> None:
    assert (Path(sluice.__file__).parent / "py.typed").is_file()


def imported_by(code: str) -> set[str]:
    said = subprocess.run(
        [sys.executable, "-c", f"{code}; import json, sys; print(json.dumps(list(sys.modules)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {name.partition(".")[0] for name in json.loads(said.stdout)}


def test_importing_it_imports_nothing_but_the_standard_library() -> None:
    assert imported_by("import sluice") - imported_by("pass") - sys.stdlib_module_names == {"sluice"}


def test_a_consumer_application_imports_no_networks_no_decoders_and_no_pictures() -> None:
    heavy = {"torch", "cv2", "onnxruntime", "onnx", "av", "numpy"}
    assert imported_by("import sluice; sluice.watch, sluice.watch_events, sluice.Event") & heavy == set()
