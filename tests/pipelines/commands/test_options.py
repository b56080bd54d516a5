"""Sources from the command line and from a file."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from pipelines.commands import options
from serving.errors import BadInput


@click.command()
@options.sources
def command(sources: tuple[str, ...]) -> None:
    click.echo("|".join(sources))


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_sources_come_from_options_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "cameras"
    file.write_text("# the yard\nrtsp://me:secret@a/1\n\n  rtsp://b/2  \n")
    assert (
        ran("--source", "clip.mp4", "--source-file", str(file)).output == "clip.mp4|rtsp://me:secret@a/1|rtsp://b/2\n"
    )
    assert ran().output == "\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"# none\n", "names no source"),
        (b"\xff", "UTF-8"),
        (b"a" * 1_000_001, "longer than 1000000"),
        (None, "No such"),
    ],
)
def test_a_file_without_sources_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "cameras").write_bytes(content)
    error = ran("--source-file", str(tmp_path / "cameras")).exception
    assert isinstance(error, BadInput)
    assert said in str(error)


def test_a_password_on_the_command_line_is_told_once_without_it(caplog: pytest.LogCaptureFixture) -> None:
    ran("--source", "rtsp://me:hunter22@a/1", "--source", "rtsp://me:hunter22@a/2")
    (line,) = caplog.messages
    assert "--source-file" in line
    assert "hunter22" not in line
    caplog.clear()
    ran("--source", "rtsp://a/1", "--source", "rtsp://[")
    assert caplog.messages == []
