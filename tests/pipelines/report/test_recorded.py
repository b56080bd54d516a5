"""One result among many, and the audits of a closing report; files may be anybody's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from operators.wire.schema import Result, from_json, to_json
from pipelines.commands.recorded.explain import command
from pipelines.report.recorded import MOST_STREAMS, Sought, audits, results
from serving.common.untrusted import LARGEST_BYTES
from serving.errors import BadInput

HERE = Path(__file__).parent
RESULT = from_json((HERE.parents[1] / "golden" / "result-replanned.json").read_bytes(), Result)


def a_result(stream: str, seq: int, run: str = "r1") -> Result:
    return msgspec.structs.replace(RESULT, stream=stream, seq=seq, run=run)


def sought(seq: int, stream: str | None, *found: Result) -> Result:
    looking = Sought(seq, stream)
    for each in found:
        looking.take(each)
    return looking.result("here")


def test_the_frame_is_found_and_of_several_runs_the_last() -> None:
    every = [a_result("cam", seq) for seq in range(3)] + [a_result("cam", seq, "r2") for seq in range(2)]
    assert sought(1, None, *every).run == "r2"
    assert sought(2, None, *every).run == "r1"


@pytest.mark.parametrize(
    ("seq", "stream", "message"),
    [
        (7, None, "here: there is no frame 7; there are: cam 0 to 2, yard 1 to 1"),
        (7, "yard", "here: there is no frame 7; there are: yard 1 to 1"),
        (1, None, "here: several streams have a frame 1: say --stream cam or yard"),
        (1, "gate", "here: there is no result of stream gate"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(seq: int, stream: str | None, message: str) -> None:
    every = [*(a_result("cam", n) for n in range(3)), a_result("yard", 1)]
    with pytest.raises(BadInput) as refused:
        sought(seq, stream, *every)
    assert str(refused.value) == message
    assert sought(1, "yard", *every).stream == "yard"


def test_of_several_queries_on_a_stream_one_is_named() -> None:
    looking, named, nobody = Sought(0, "cam"), Sought(0, "cam", "faces"), Sought(0, query="none")
    for query in ("cars", "faces"):
        for each in (looking, named, nobody):
            each.take(msgspec.structs.replace(a_result("cam", 0), query=query))
    assert named.result("here").query == "faces"
    with pytest.raises(BadInput, match="here: several queries ask about it: say --query cars or faces"):
        looking.result("here")
    with pytest.raises(BadInput, match="here: there is no result of query none"):
        nobody.result("here")


def test_only_so_many_streams_are_told_apart() -> None:
    looking = Sought(0)
    for number in range(MOST_STREAMS + 50):
        looking.take(a_result(f"cam{number}", 0))
    assert len(looking.seen) == len(looking.found) == MOST_STREAMS


@pytest.mark.parametrize("line", [b"{}", b"\xff\n", b"[" * 10_000, b'{"schema": "sluice.result/9"}'])
def test_a_line_that_is_no_result_is_named(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(to_json(RESULT) + b"\n\n" + line)
    with pytest.raises(BadInput, match=r"r\.jsonl:3: not a result") as refused:
        list(results(path))
    assert "\n" not in str(refused.value)


def test_a_line_without_end_is_refused_and_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with path.open("wb") as file:
        file.truncate(LARGEST_BYTES + 10)  # zeros
    with pytest.raises(BadInput, match=r"r\.jsonl:1: not a result"):
        list(results(path))


def test_the_audits_of_a_report() -> None:
    found = audits(HERE / "run-report.json", "gate")
    assert {each.node for each in found} == {"kind"}
    assert audits(HERE / "run-report.json", "nowhere") == []


def test_the_audits_of_heads_say_why_none_answers(tmp_path: Path) -> None:
    told = json.loads((HERE / "run-report.json").read_text())
    told["audits"][0]["kind"] = "specialised"
    told["specialization"][0]["reason"] = "heads are not used yet"
    path = tmp_path / "report.json"
    path.write_text(json.dumps(told))
    found = audits(path, "gate")
    assert [each.reason for each in found if each.kind == "specialised"] == ["heads are not used yet"]


@pytest.mark.parametrize("text", ["", "[]", '{"audits": [{"stream": "gate"}]}', '{"audits": [7]}'])
def test_what_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(BadInput, match="not a closing report"):
        audits(path, "gate")


def test_the_command_explains_a_frame_of_a_file(tmp_path: Path) -> None:
    path, report = tmp_path / "r.jsonl", tmp_path / "report.json"
    path.write_bytes(to_json(a_result("gate", 4)) + b"\n")
    shutil.copy(HERE / "run-report.json", report)
    done = CliRunner().invoke(command, [str(path), "--frame", "4", "--report", str(report)], catch_exceptions=False)
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0].startswith("frame 4 of stream gate, ")
    assert any(line.startswith("kind, shortcut ") for line in lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["r.jsonl", "--frame", "1", "--broker", "kafka://b:1"], "give RESULTS or --broker, not both"),
        (["--frame", "1", "--report", "x.json", "--broker", "kafka://b:1"], "--report belongs to a file of results"),
        (["gone.jsonl", "--frame", "1"], "gone.jsonl: cannot be read"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str) -> None:
    done = CliRunner().invoke(command, options)
    assert isinstance(done.exception, BadInput)
    assert message in str(done.exception)
