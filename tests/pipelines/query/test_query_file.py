"""Reading query files: what they mean, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from operators.capture.sources.uri import SourceUri
from operators.detect.motion import MotionSettings
from operators.track.tracker import TrackSettings
from pipelines.query.check import examine
from pipelines.query.draft import load_query
from pipelines.query.nodes import DetectNode, Motion, RecogniseNode, TrackNode
from pipelines.query.query_file import Fps
from pipelines.query.yaml_file import parse_yaml
from serving.errors import QueryError, SourceError
from tests.pipelines.queries import DETECT, TRACK, TYPE, query, write

GOOD = """\
    version: 1
    name: vehicles
    slo_ms: 250
    streams:
      - uri: synthetic:street?seed=1
      - id: yard
        uri: rtsp://viewer:hunter2@camera.local/1
        sample: {fps: 5}
        max_width: 1280
      - uri: clips/a.mp4
        sample: keyframes
        overload: drop_late
    nodes:
      - {name: detect, task: detect, model: motion, motion: {min_area: 0.01}}
      - {name: track, task: track, input: detect}
      - {name: type, task: recognise, input: track, model: [big, small], gallery: people}
"""


def problems_of(path: Path) -> list[str]:
    with pytest.raises(QueryError) as caught:
        load_query(path)
    return [line.removeprefix(f"{path}") for line in str(caught.value).splitlines()]


def test_a_file_becomes_a_query_with_defaults(tmp_path: Path) -> None:
    found = load_query(write(tmp_path / "q.yaml", GOOD))
    assert (found.name, found.slo_ms, found.accuracy) == ("vehicles", 250, 0.9)
    assert [stream.id for stream in found.streams] == ["street-1", "yard", "a"]
    assert [stream.sample for stream in found.streams] == ["all", Fps(fps=5), "keyframes"]
    assert [stream.overload_policy for stream in found.streams] == ["block", "drop_oldest", "drop_late"]
    detect, track, type_ = found.nodes
    assert isinstance(detect, DetectNode)
    assert isinstance(track, TrackNode)
    assert isinstance(type_, RecogniseNode)
    assert (detect.model, detect.motion.min_area) == (("motion",), 0.01)
    assert (type_.model, type_.attribute) == (("big", "small"), "type")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    found = load_query(write(tmp_path / "q.yaml", GOOD))
    assert found.streams[2].uri.path == tmp_path / "clips/a.mp4"
    assert isinstance(found.nodes[2], RecogniseNode)
    assert found.nodes[2].gallery == tmp_path / "people"


def test_credentials_do_not_show(tmp_path: Path) -> None:
    assert "hunter2" not in repr(load_query(write(tmp_path / "q.yaml", GOOD)))


def test_a_query_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        query().name = "other"  # type: ignore[misc]


def test_the_defaults_are_the_operators() -> None:
    assert MotionSettings(**Motion().model_dump()) == MotionSettings()
    track = TrackNode.model_validate(TRACK)
    chosen = {name: getattr(track, name) for name in ("confirm_s", "lost_after_s", "max_distance")}
    assert TrackSettings(**chosen) == TrackSettings()


def test_sources_replace_streams_and_take_the_settings_of_the_first() -> None:
    streams = [{"id": "yard", "uri": "rtsp://h/1", "sample": {"fps": 5}, "max_width": 640}]
    found = query(streams=streams).with_sources(["/x/a.mp4", "/y/a.mp4", "v4l2:0"])
    assert [stream.id for stream in found.streams] == ["a", "a-2", "v4l2-0"]
    assert [stream.uri for stream in found.streams] == [SourceUri(uri) for uri in ("/x/a.mp4", "/y/a.mp4", "v4l2:0")]
    assert {(stream.sample, stream.max_width) for stream in found.streams} == {(Fps(fps=5), 640)}
    assert [stream.overload_policy for stream in found.streams] == ["block", "block", "drop_oldest"]


def test_an_archive_of_files_of_few_names_is_numbered_at_once() -> None:
    found = query().with_sources(["/x/a-3.mp4", *(f"/{day}/{name}.mp4" for day in range(5000) for name in "ab")])
    assert [stream.id for stream in found.streams][:7] == ["a-3", "a", "b", "a-2", "b-2", "a-4", "b-3"]
    assert len({stream.id for stream in found.streams}) == 10_001


def test_no_sources_change_nothing() -> None:
    assert query().with_sources([]) == query()


def test_a_wrong_source_is_an_error() -> None:
    with pytest.raises(SourceError, match="gopher"):
        query().with_sources(["gopher://x"])


def test_all_problems_are_told_at_once_in_order_and_without_secrets(tmp_path: Path) -> None:
    path = write(
        tmp_path / "q.yaml",
        """\
        version: 2
        name: Vehicles
        slo_ms: fast
        acuracy: 0.9
        streams:
          - id: "a b"
            uri: rtsp://viewer:hunter2@:5/x
            sample: {fps: 0}
          - uri: synthetic:street?seed=1
            sample: keyframe
          - uri: synthetic:street?seed=1
            overload: drop_oldst
        nodes:
          - {name: detect, task: detect, modle: motion}
          - {name: track, task: trak, input: detect}
          - {name: type, input: track}
          - name: other
            task: recognise
            input: track
            model: []
            model: x
        publish: {events: {end_after: 3}}
        """,
    )
    found = problems_of(path)
    assert found == [
        ":1: version: is 2; allowed: 1",
        ":2: name: 'Vehicles' should be 1 to 50 small letters, digits or '-'",
        ":3: slo_ms: 'fast' should be a number",
        ":4: acuracy: unknown key; did you mean 'accuracy'? allowed: version, name, slo_ms, priority, "
        "accuracy, variants, learning, streams, backends, nodes, masks, zones, lines, publish",
        ":6: streams[0].id: 'a b' should be 1 to 100 letters, digits, '.', '_' or '-'",
        ":7: streams[0].uri: source rtsp://***@:5/x: no valid host and port after ://",
        ":8: streams[0].sample.fps: 0 should be greater than 0",
        ":10: streams[1].sample: is 'keyframe'; did you mean 'keyframes'? allowed: all, keyframes, {fps: 5}",
        ":11: streams[2].id: 'street-1' is the id of streams[1] too",
        ":12: streams[2].overload: is 'drop_oldst'; did you mean 'drop_oldest'? allowed: block, drop_oldest, drop_late",
        ":14: nodes[0].model: is missing",
        ":14: nodes[0].modle: unknown key; did you mean 'model'? "
        "allowed: name, budget, task, model, input, when, detail, detail_cost, min_confidence, labels, max_objects, "
        "motion",
        ":15: nodes[1].task: is 'trak'; did you mean 'track'? allowed: detect, track, recognise",
        ":16: nodes[2].task: is missing; allowed: detect, track, recognise",
        ":21: nodes[3].model: given twice, first in line 20",
        ":22: publish.events.end_after: unknown key; did you mean 'end_after_s'? "
        "allowed: update_every_s, end_after_s, settle_s, margin, count_every_s",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": is empty"),
        ("# only a comment", ": is empty"),
        ("- 1", ": should be a mapping of keys to values"),
        ("nodes: 3", ":1: nodes: should be a list"),
        ("nodes: []", ":1: nodes: should not be empty"),
        ("nodes: [3]", ":1: nodes[0]: should be a mapping of keys to values"),
        ("a: b: c", ":1: is not valid YAML: indent it as the lines around it, and put text that holds ': ' in quotes"),
        ("a:\n  b: [1, 2\n\nc: 3", ":2: is not valid YAML: a bracket is not closed, or text with brackets"),
        ("a: {input: b[c in (d, e)]}", ":1: is not valid YAML: a bracket is not closed, or text with brackets"),
        ("a:\n  - b: 1\n   - b: 2", ":3: is not valid YAML: does not fit the lines above: indent it as they are"),
        ("a:\n  - b: 1\n  c: 2", ":3: is not valid YAML: does not fit the lines above: indent it as they are"),
        ("a: 1\nb:2\nc: 3", ":2: is not valid YAML: is no 'key: value': a colon, or the space behind it"),
        ("a:\n\t- b: 1", ":2: is not valid YAML: begins with a tab or a sign that YAML keeps: indent by spaces"),
        ("a:\n  b: @c", ":2: is not valid YAML: begins with a tab or a sign that YAML keeps: indent by spaces"),
        ("a: 1\nb: 'c\nd: 2", ":2: is not valid YAML: a quote is not closed"),
        ("a: &x 1\nb: *x", ":2: is not valid YAML: aliases (*name) are not allowed"),
        ("a: " + "[" * 5000, ":1: is not valid YAML: nested deeper than 20"),
        ("a: !!python/object/apply:os.system [id]", ":1: is not valid YAML: tags (!name) are not allowed"),
        ("a: 1\nb: !!int ''", ":2: is not valid YAML: tags (!name) are not allowed: put text in quotes"),
        ("a: !!bool maybe", ":1: is not valid YAML: tags (!name) are not allowed"),
        ("!!timestamp never", ":1: is not valid YAML: tags (!name) are not allowed"),
        ("? !!set [a]\n: 1", ":1: is not valid YAML: tags (!name) are not allowed"),
        ("streams: !!set {a: , b: }", ":1: is not valid YAML: tags (!name) are not allowed"),
        ("<<: {name: a}", ":1: <<: unknown key; allowed: version,"),
        ("name: =", ":1: name: '=' should be 1 to 50 small letters, digits or '-'"),
        ("1: 2", ": 1 is no key: keys are text"),
        ("streams: [{uri: 3}]", ":1: streams[0].uri: should be text; put it in quotes"),
        ("backends: {gpu: {url: a, tls: {ca: 3}}}", ":1: backends.gpu.tls.ca: should be text; put it in quotes"),
        ("a: \0", "is not valid YAML"),
        ("---\na: 1\n---\nb: 1", "expected a single document"),
        ("a: " + "x" * 300_000, ": is larger than 256 KiB"),
        ("variants: int8", ":1: variants: is 'int8'; allowed: auto, off, false"),
        ("variants: yes", ":1: variants: is true; allowed: auto, off, false"),
        ("priority: 0.5", ":1: priority: 0.5 should be a whole number"),
        ("nodes: [{name: d, task: detect, model: [a, b, a]}]", ":1: nodes[0]: model: lists one model twice"),
        ("nodes: [{name: d, task: detect, model: 5}]", ":1: nodes[0].model: should be text; put it in quotes"),
        ("name: 12\nversion: 1", ":1: name: should be text; put it in quotes"),
        ("version: 1\nslo_ms: 0x" + "F" * 20_000, ":2: is not valid YAML: a number without end"),
        ("version: 1\nslo_ms: " + "1:" * 3000 + "1", ":2: is not valid YAML: a number without end"),
        ("slo_ms: " + "9" * 5000 + ".0", ":1: is not valid YAML: a number without end"),
        ("nodes: [{name: [], task: track}]", ":1: nodes[0].name: should be text"),
        ("slo_ms:", ":1: slo_ms: has no value"),
        ("version: '1'", ":1: version: is '1' in quotes; allowed: 1"),
        ("Version: 1", ":1: Version: unknown key; did you mean 'version'? allowed: version,"),
        (
            "nodes: [" + "{name: a, task: detect, model: motion}, " * 101 + "]",
            ":1: nodes: should have at most 100 items, not 101",
        ),
        ("nodes: [{name: {a: 1}, task: track}]", ":1: nodes[0].name: should be text"),
        (
            "nodes: [{name: d, task: detect, model: motion, motion: {absorb_s: 0}}]",
            ":1: nodes[0].motion.absorb_s: 0 should be greater than 0",
        ),
    ],
)
def test_what_is_no_query_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "q.yaml"
    path.write_text(text)
    assert any(message in problem for problem in problems_of(path))


PIECES = st.sampled_from(
    [
        *"a[]{},?!&*|>'#~\t-",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "<<",
        "!!int ",
        "!!timestamp ",
        "!!set ",
        "0x_",
        "1:2",
        "\ufeff",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join))
def test_whatever_a_file_holds_becomes_lines_and_no_exception(text: str) -> None:
    found = examine(parse_yaml(Path("q.yaml"), text))
    assert found.problems
    assert all(str(problem) for problem in found.problems)


def test_dates_are_text(tmp_path: Path) -> None:
    text = "{version: 1, name: 2024-01-01, slo_ms: 1, nodes: [{name: d, task: detect, model: m}]}"
    assert load_query(write(tmp_path / "q.yaml", text)).name == "2024-01-01"


def test_unreadable_files_are_one_line(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "none.yaml") == [": cannot be read (No such file or directory)"]
    assert problems_of(tmp_path) == [": cannot be read (Is a directory)"]
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9")
    assert problems_of(tmp_path / "latin.yaml") == [": is not UTF-8 text (byte 9)"]


def test_nodes_are_what_they_say() -> None:
    assert [node.task for node in query(DETECT, TRACK, TYPE).nodes] == ["detect", "track", "recognise"]


MASKED = """\
    version: 1
    name: cars
    slo_ms: 250
    nodes:
      - {name: detect, task: detect, model: motion}
    masks:
      - {streams: yard, ignore: [[0.1, 0.1], [0.3, 0.1], [0.3, 0.6]], labels: moving}
      - {streams: ["gate-*", door], require: [[0, 0.5], [1, 0.5], [1, 1], [0, 1]]}
"""


def test_masks_say_for_which_streams_and_objects_they_are(tmp_path: Path) -> None:
    ignore, require = (spec.mask for spec in load_query(write(tmp_path / "q.yaml", MASKED)).masks)
    assert (ignore.kind, ignore.streams, ignore.labels) == ("ignore", ("yard",), {"moving"})
    assert (require.kind, require.streams, require.labels) == ("require", ("gate-*", "door"), None)
    assert require.polygon == ((0, 0.5), (1, 0.5), (1, 1), (0, 1))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ignore: [[0.1, 0.1], [0.3, 0.1]]", "masks[0].ignore: has 2 corners: give 3 to 50"),
        ("ignore: yes", "masks[0].ignore: should be a list of corners: [[0.1, 0.2], [0.4, 0.2], [0.4, 0.9]]"),
        (
            "ignore: [[10, 0.1], [0.3, 0.1], [0.3, 0.6]]",
            "masks[0].ignore: corner 1 should be [x, y], shares of the frame's width and height from 0 to 1",
        ),
        ("ignore: [[.nan, 0.1], [0.3, 0.1], [0.3, 0.6]]", "masks[0].ignore: corner 1 should be [x, y], shares"),
        ("ignore: [0.1, 0.1, 0.3]", "masks[0].ignore: corner 1 should be [x, y], shares"),
        ("ignore: [[0, 0], [1, 1], [1, 0], [0, 1]]", "masks[0].ignore: sides 1 and 3 cross"),
        ("labels: moving", "masks[0]: needs one polygon: 'ignore' or 'require'"),
        ("{ignore: A, require: A}", "masks[0]: needs one polygon: 'ignore' or 'require'"),
        ("igore: [[0, 0], [1, 0], [1, 1]]", "masks[0].igore: unknown key; did you mean 'ignore'?"),
        ("{ignore: A, streams: 'a b'}", "masks[0].streams: 'a b' should be 1 to 100 letters, digits"),
    ],
)
def test_a_mask_that_is_none_is_one_clear_line(tmp_path: Path, given: str, said: str) -> None:
    mask = f"{{{given.strip('{}')}}}".replace("A", "[[0, 0], [1, 0], [1, 1]]")
    lines = problems_of(write(tmp_path / "q.yaml", MASKED.replace(MASKED.splitlines()[6].strip("- "), mask)))
    assert len([line for line in lines if said in line]) == 1, lines


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("5", "is 5: write {fps: 5} for so many frames a second"),
        ("2.5 fps", "is '2.5 fps': write {fps: 2.5} for so many frames a second"),
        ("keyfames", "is 'keyfames'; did you mean 'keyframes'? allowed: all, keyframes, {fps: 5}"),
        ("true", "is true; allowed: all, keyframes"),
    ],
)
def test_a_sample_that_is_none_is_told_what_was_meant(tmp_path: Path, written: str, said: str) -> None:
    path = write(tmp_path / "q.yaml", GOOD.replace("keyframes", written))
    assert problems_of(path) == [f":11: streams[2].sample: {said}"]


@pytest.mark.parametrize("word", ["yes", "no", "true", "off"])
def test_a_word_is_no_number(tmp_path: Path, word: str) -> None:
    text = GOOD.replace("250", word).replace("1280", word).replace("0.01", word)
    path = write(tmp_path / "q.yaml", text.replace("gallery: people", f"gallery: people, margin: {word}"))
    read = "'true'" if word in ("yes", "true") else "'false'"
    assert [line.partition(": ")[2] for line in problems_of(path)] == [
        f"slo_ms: {read} should be a number",
        f"streams[1].max_width: {read} should be a whole number",
        f"nodes[0].motion.min_area: {read} should be a number",
        f"nodes[2].margin: {read} should be a number",
    ]


def test_a_wrong_address_is_told_once_and_as_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD.replace("clips/a.mp4", "clips/${DAY}.mp4"))
    where = "stands only in the address of a camera, after rtsp:// or http://"
    assert problems_of(path) == [f":10: streams[2].uri: source clips/${{DAY}}.mp4: ${{DAY}} {where}"]


def test_a_file_may_be_called_as_secrets_are(tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "${DAY}.mp4").touch()
    found = load_query(write(tmp_path / "q.yaml", GOOD.replace("clips/a.mp4", "clips/${DAY}.mp4")))
    assert found.streams[2].uri.path == tmp_path / "clips" / "${DAY}.mp4"
