"""The documentation is true: links lead somewhere, commands parse, codes are told, examples are what they claim."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

import click
import pytest

from operators.capture.outlet import OVERRUN
from operators.capture.sources.failures import PERSISTENT, Reason
from operators.frames.codec import FrameFault
from operators.publish.frame_buffer import CAPTURE_BUFFER_FULL, MESSAGE_TOO_LARGE
from operators.wire.schema import Outcome, StreamState
from pipelines.cli import sluice
from pipelines.execute.overload import LATE, POLICIES, QUEUE_FULL
from pipelines.query.check import examine
from pipelines.query.lineage import STAGES
from tests.doc_pages import PAGES, ROOT, blocks, each, links, prose, text
from tests.pipelines.queries import write

LIFE, OVERLOAD = ROOT / "docs" / "life-of-a-frame.md", ROOT / "docs" / "overload.md"
ADD_AN_OPERATOR = ROOT / "docs" / "how-to" / "add-an-operator.md"


def lines(page: Path) -> Iterator[str]:
    """What one would type into a shell, without remarks (behind two blanks or a ``#``) and pipes."""
    for block in blocks(page, "", "sh", "bash"):
        for line in block.splitlines():
            yield re.split(r"\s{2,}|\s[#>|]", line.strip())[0].removeprefix(".venv/bin/")


def anchors(page: Path) -> set[str]:
    """The names that code hosts give to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "link"), each(links))
def test_links_lead_somewhere(page: Path, link: str) -> None:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    assert target.exists(), f"{page.name} links to {link}, which does not exist"
    assert not anchor or anchor in anchors(target), f"{page.name} links to {link}: no such heading"


def parse(words: list[str]) -> None:
    """Parse as the command line would, and run nothing; raises click's usage errors."""
    command: click.Command = sluice
    while isinstance(command, click.Group) and not words[0].startswith("-"):
        name = words.pop(0)
        found = command.get_command(click.Context(command), name)
        if found is None:
            raise click.UsageError(f"there is no command {name}")
        command = found
        if isinstance(command, click.Group) and not words:
            return
    with suppress(click.exceptions.Exit):  # --help and --version
        command.make_context(command.name, words)


def typed(page: Path) -> list[str]:
    return [line for line in lines(page) if line.startswith("sluice ")]


@pytest.mark.parametrize(("page", "line"), each(typed))
def test_commands_in_blocks_parse(page: Path, line: str) -> None:
    parse(shlex.split(line)[1:])


def mentioned(page: Path) -> list[str]:
    return [code for code in re.findall(r"`(sluice [^`]+)`", prose(page)) if not re.search(r"[…|]", code)]


@pytest.mark.parametrize(("page", "code"), each(mentioned))
def test_commands_in_the_text_exist_with_their_options(page: Path, code: str) -> None:
    with suppress(click.MissingParameter):  # the text may speak of a command without spelling out its arguments
        parse(shlex.split(code)[1:])


def targets(page: Path) -> list[str]:
    said = [line.removeprefix("make ") for line in lines(page) if line.startswith("make ")]
    said += re.findall(r"`make ([a-z-]+)", prose(page))
    return [line.split()[0] for line in said]


@pytest.mark.parametrize(("page", "target"), each(targets))
def test_targets_of_make_exist(page: Path, target: str) -> None:
    assert re.search(rf"^{target}:", text(ROOT / "Makefile"), re.M)


def modules(page: Path) -> list[str]:
    return re.findall(r"python -m ([a-z_.]+)(?![a-z_.A-Z])", text(page))


@pytest.mark.parametrize(("page", "module"), each(modules))
def test_modules_to_run_exist(page: Path, module: str) -> None:
    assert importlib.util.find_spec(module.rstrip("."))


def variables(page: Path) -> list[str]:
    return re.findall(r"\bSLUICE_[A-Z_]+[A-Z]\b", text(page))


@pytest.fixture(scope="module")
def code() -> str:
    """All Python files of the project, and the variables of Compose."""
    folders = ("pipelines", "operators", "serving", "datasets", "specialization", "learning", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    compose = re.findall(r"\$\{(SLUICE_[A-Z_]+)", text(ROOT / "docker-compose.yml"))
    return "\n".join([*map(text, files), *(f'"{name}"' for name in compose)])


@pytest.mark.parametrize(("page", "variable"), each(variables))
def test_environment_variables_are_read_somewhere(page: Path, variable: str, code: str) -> None:
    assert f'"{variable}"' in code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_begin_with_their_subject(page: Path) -> None:
    assert re.findall(r"(?:^|[.:;!?|*] )(?:Of|Whose) [a-z][^.]*", prose(page), re.M) == []
    assert re.findall(r"[^.]*\btold of\b[^.]*", prose(page).replace('not "told of"', "")) == []


def table(page: Path) -> set[str]:
    """Everything that stands as code in the rows of the page's tables."""
    rows = [line for line in text(page).splitlines() if line.startswith("|")]
    return {word for row in rows for word in re.findall(r"`([a-z_]+)[`:]", row)}


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_of_a_stream_is_told(reason: str) -> None:
    (row,) = [line for line in text(LIFE).splitlines() if re.match(rf"\| `{reason}`( \\\*)? \| \S.* \|.*\|$", line)]
    assert ("\\*" in row) == (reason in PERSISTENT)


@pytest.mark.parametrize("state", get_args(StreamState))
def test_every_state_is_in_the_picture(state: str) -> None:
    assert state in "".join(blocks(LIFE, ""))


CAUSES = (OVERRUN, CAPTURE_BUFFER_FULL, MESSAGE_TOO_LARGE, QUEUE_FULL, LATE)


@pytest.mark.parametrize("word", [*CAUSES, *get_args(FrameFault), *get_args(Outcome), *STAGES])
def test_every_cause_outcome_and_stage_is_told(word: str) -> None:
    assert word in table(LIFE)


@pytest.mark.parametrize("word", [*POLICIES, *CAUSES[:2], QUEUE_FULL, LATE])
def test_every_policy_is_told(word: str) -> None:
    assert word in text(OVERLOAD)


def queries(page: Path) -> list[str]:
    found = [block for block in blocks(page, "yaml") if block.startswith("version: 1") and page != ADD_AN_OPERATOR]
    return [block for block in found if not block.startswith("version: 1\nsinks:")]  # of `sluice forward`


@pytest.mark.parametrize(("page", "query"), each(queries))
def test_queries_are_right(page: Path, query: str, tmp_path: Path) -> None:
    assert [str(problem) for problem in examine(write(tmp_path / "q.yaml", query)).problems] == []
