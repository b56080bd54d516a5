"""Nothing that comes from elsewhere acts upon a terminal, by whichever way it is shown."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

import pipelines
from pipelines.process.safe_console import SafeConsole
from pipelines.process.terminal import SafeFormatter, say, show_traceback

HOSTILE = "gate\x1b[2J\x9b31m\u202e\x07"
SHOWN = "gate\\x1b[2J\\x9b31m\\u202e\\x07"


def test_lines_are_said_without_escapes_but_in_our_own_style(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"one\n{HOSTILE}")
    assert capsys.readouterr().out == f"one\n{SHOWN}\n"


def test_tables_obey_neither_escapes_nor_markup(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name", box=None)
    table.add_row(HOSTILE)
    table.add_row("[link=http://elsewhere]x[/link]")
    SafeConsole().print(table, "[red]line[/red]")
    said = capsys.readouterr().out
    assert SHOWN in said
    assert "[link=http://elsewhere]x[/link]" in said
    assert "[red]line[/red]" in said


def test_lines_in_a_file_are_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    line = ", ".join(f"thing{number} 1" for number in range(15))
    SafeConsole().print(line)
    assert capsys.readouterr().out == f"{line}\n"


def test_a_log_record_is_one_line_whatever_it_quotes() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(SafeFormatter("sluice: %(message)s"))
    log = logging.Logger("test")
    log.addHandler(handler)
    log.warning("stream %s: %s", HOSTILE, "first\nsluice: error: forged")
    assert stream.getvalue() == f"sluice: stream {SHOWN}: first\\nsluice: error: forged\n"


def test_a_logged_traceback_keeps_its_lines_and_loses_escapes() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(SafeFormatter("%(message)s"))
    log = logging.Logger("test")
    log.addHandler(handler)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        log.exception("failed")
    assert stream.getvalue().startswith("failed\nTraceback")
    assert stream.getvalue().endswith(f"ValueError: {SHOWN}\n")


def test_the_last_traceback_loses_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        show_traceback(*sys.exc_info())  # type: ignore[arg-type]
    assert f"ValueError: {SHOWN}\n" in capsys.readouterr().err


def test_no_command_prints_past_the_safe_ways() -> None:
    """``click.echo`` and Rich's own console print what they are given."""
    folder = Path(pipelines.__file__).parent
    past = re.compile(r"click\.s?echo\(|(?<!Safe)Console\(|(?<![\w.])print\(")
    found = [path for path in sorted(folder.rglob("*.py")) if path.name not in ("terminal.py", "safe_console.py")]
    assert [path.name for path in found if past.search(path.read_text())] == []


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_command_works_where_nobody_shall_read_what_it_says(closed: str) -> None:
    command = ["sh", "-c", f"{sys.executable} -m pipelines.cli models list {closed}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_has_left_is_no_failure() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "pipelines.cli", "--help"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


BESIDE = """
from pipelines import cli
from pipelines.process.terminal import say
from serving.autoscale.cheapest import Candidate, Programme

rates = [(1, 0, 2953), (1, 0, 0.024), (3, 1, 5887), (1, 1, 7.2e-05), (3, 0, 0.54), (0, 1, 0.0056)]
weights = [3790, 188, 0.037, 2.6e-06]
odd = Programme([Candidate(*each) for each in rates], [2081, 261, 897367, 60010], weights, [1652, 0.31], [0, 1])
cli.sluice.main = lambda *_, **__: [os.write(1, b"a library\\n"), odd.cheapest(10), say("ours")]
cli.main()
"""


def test_what_a_library_prints_is_not_output() -> None:
    done = subprocess.run([sys.executable, "-c", "import os" + BESIDE], capture_output=True, text=True, check=True)
    assert done.stdout == "ours\n"
    assert done.stderr.splitlines()[0] == "a library"


AGAIN = """
import sys
from pathlib import Path
from pipelines import cli

cli.sluice.main = lambda arguments, **_: [Path(arguments[-1].rpartition("=")[2]).write_text("a report\\n")]
sys.argv = ["sluice", "run", *sys.argv[1:]]
cli.main()
"""


@pytest.mark.parametrize(
    "named", [["--report", "/dev/stdout"], ["--report=/dev/stdout"], ["/dev/fd/1"], ["/proc/self/fd/1"]]
)
def test_a_path_of_stdout_is_output(named: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", AGAIN, *named], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("a report\n", "")


PRINTS = "from pipelines.process.terminal import claim_stdout; claim_stdout([]); print('seen'); import os; os._exit(0)"


def test_what_is_printed_shows_at_once_where_that_is_wanted() -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run([sys.executable, "-c", PRINTS], capture_output=True, text=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == ("seen\n", "")
