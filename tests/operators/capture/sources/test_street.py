"""What is told where streets cannot be drawn: beside another's package called ``datasets``, and without any."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from serving.errors import SourceError


@pytest.fixture(params=["none", "another's"])
def _installed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("datasets.street")  # ours, which comes back when the test is over
    for name in [name for name in sys.modules if name.partition(".")[0] == "datasets"]:
        monkeypatch.delitem(sys.modules, name)
    if request.param == "none":
        monkeypatch.setitem(sys.modules, "datasets", None)
        return
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_installed")
def test_outside_of_a_checkout_a_street_is_an_error_of_one_line() -> None:
    with pytest.raises(SourceError, match=r"^streets are drawn in a checkout of Sluice alone; give a clip, a camera"):
        open_source(SourceUri("synthetic:street?seed=1"), Sampling(), None)
