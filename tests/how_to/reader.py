"""Follows a how-to: takes its blocks one after the other, writes and runs them in a copy of the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests.doc_pages import ROOT, text
from tests.real.process import WAIT_S

SHOWN = ("text", "json")
"""Languages of blocks that show what comes out; all others are to be written or run."""
NO_CHECKOUT = (".git", ".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "out")
BROKER = "kafka://localhost:9092"
"""The broker of the pages; a test's own takes its place."""


class Reader:
    """One reader of one page. A context manager that fails where a block was left out, and leaves no process behind."""

    def __init__(self, page: str, folder: Path, *, changes: tuple[str, ...] = (), **environ: str) -> None:
        """``changes``: folders of the checkout that the page changes; ``environ``: settings of Sluice."""
        self.folder = folder / "checkout"
        self._blocks = [each for each in _blocks(ROOT / "docs" / "how-to" / f"{page}.md") if each[0] not in SHOWN]
        self._page = page
        self._running = ExitStack()
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
        tools = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": "."}
        self.environ = clean | {"SLUICE_CACHE": os.environ["SLUICE_CACHE"]} | tools | environ
        self.folder.mkdir()
        for entry in ROOT.iterdir():
            if entry.name in changes:
                shutil.copytree(entry, self.folder / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif entry.name not in NO_CHECKOUT:
                (self.folder / entry.name).symlink_to(entry)

    def block(self, language: str) -> str:
        """The page's next block."""
        assert self._blocks, f"{self._page} has no further block"
        found, content = self._blocks.pop(0)
        assert found == language, f"{self._page}: the next block is {found or 'of commands'}:\n{content}"
        return content

    def write(self, name: str, language: str) -> Path:
        """Put the next block into a file of the checkout."""
        path = self.folder / name
        path.write_text(self.block(language), encoding="utf-8")
        return path

    def yard(self, clip: Path) -> Path:
        """Write the query that several pages call ``yard.yaml``: README's, on a clip in place of its camera."""
        (query,) = [
            content for _, content in _blocks(ROOT / "README.md") if content.startswith("version: 1\nname: yard")
        ]
        path = self.folder / "yard.yaml"
        path.write_text(re.sub('uri: "rtsp:[^"]*"', f'uri: "{clip}"', query), encoding="utf-8")
        return path

    def commands(self, changed: Mapping[str, str] | None = None) -> list[str]:
        """The lines of the next block; ``changed`` takes the place of words that are other ones at every reader's."""
        content = self.block("")
        for word, other in (changed or {}).items():
            assert word in content, f"{self._page} does not say {word} here: {content}"
            content = content.replace(word, other)
        return content.splitlines()

    def run(self, line: str, status: int = 0) -> str:
        """Type a command and wait for its end; what it said."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder, env=self.environ, text=True, timeout=WAIT_S, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == status, f"{line}\n{done.stdout}"
        return done.stdout

    def follow(self, changed: Mapping[str, str] | None = None) -> str:
        """Run the next block's commands one after the other; what they said."""
        return "".join(self.run(line) for line in self.commands(changed))

    def start(self, line: str) -> Running:
        """Type a command that goes on."""
        return self._running.enter_context(Running(line, self.folder, self.environ))

    def python(self, code: str, before: str = "", after: str = "") -> str:
        """Run code of the page, between lines of the test's own; what it said."""
        (self.folder / "told.py").write_text("\n".join([before, code, after]), encoding="utf-8")
        return self.run(f"{sys.executable} -W error told.py")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._running.close()
        if kind is None:
            assert self._blocks == [], f"{self._page}: these blocks were not followed"


class Running:
    """A command that goes on; what it says lies in a file."""

    def __init__(self, line: str, folder: Path, environ: Mapping[str, str]) -> None:
        self._said = folder / f"said-{len(list(folder.glob('said-*')))}"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                ["bash", "-c", f"exec {line}"], cwd=folder, env=environ, stdout=said, stderr=said
            )

    @property
    def errors(self) -> str:
        """What it said so far."""
        return self._said.read_text(errors="replace")

    def terminate(self) -> int:
        """SIGTERM; the exit status."""
        self.process.terminate()
        return self.process.wait(WAIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def _blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w*)\n(.*?)^```$", text(page), re.M | re.S)
