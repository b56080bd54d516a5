from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from serving.catalogue.cards import read_card
from serving.catalogue.lookup import Catalogue, verify
from serving.catalogue.public import Build, PublicModel, public_models
from serving.catalogue.pull import pull
from serving.errors import BadInput, ModelError, Unavailable
from tests.real.http_files import FileServer, serve_files

CONTENT = bytes(range(256)) * 4000  # a megabyte: several reads
PATH = "/some/release/net.onnx"


def build_of(content: bytes) -> Build:
    return Build(sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))


def public(url: str, *contents: bytes, **card: Any) -> PublicModel:
    return PublicModel(
        name="tiny",
        file="net.onnx",
        urls=(url,),
        builds=tuple(build_of(content) for content in contents or (CONTENT,)),
        card={
            "version": "1",
            "task": "embed",
            "licence": "MIT",
            "source": "https://example.org",
            "input": {"width": 4, "height": 4},
            **card,
        },
    )


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve_files({PATH: CONTENT}) as told:
        yield told


def at_once(seconds: float) -> None:
    """In place of ``time.sleep``."""


def test_a_pulled_model_is_in_the_catalogue(tmp_path: Path, server: FileServer) -> None:
    told: list[tuple[int, int]] = []
    folder = pull(public(server.url + PATH), tmp_path, progress=lambda *step: told.append(step))
    assert folder == tmp_path / "tiny"
    entry = Catalogue([tmp_path]).find("tiny")
    verify(entry)
    assert entry.path.read_bytes() == CONTENT
    assert sorted(path.name for path in folder.iterdir()) == ["model.yaml", "net.onnx"]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert len(told) > 1


def test_what_is_there_and_right_is_not_fetched_again(tmp_path: Path, server: FileServer) -> None:
    pull(public(server.url + PATH), tmp_path)
    (tmp_path / "tiny" / "model.yaml").unlink()
    pull(public(server.url + PATH), tmp_path)
    assert len(server.requests) == 1
    assert read_card(tmp_path / "tiny").name == "tiny"


def test_what_is_there_but_damaged_is_replaced(tmp_path: Path, server: FileServer) -> None:
    pull(public(server.url + PATH), tmp_path)
    (tmp_path / "tiny" / "net.onnx").write_bytes(CONTENT[:-1])
    pull(public(server.url + PATH), tmp_path)
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


def test_what_was_cut_is_fetched_again(tmp_path: Path, server: FileServer) -> None:
    server.cut_after = [300_000, 200_000]
    pull(public(server.url + PATH), tmp_path, sleep=at_once)
    assert len(server.requests) == 3
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


def test_a_connection_that_is_cut_every_time_is_given_up(tmp_path: Path, server: FileServer) -> None:
    server.cut_after = [300_000] * 5
    with pytest.raises(Unavailable, match=rf"5 times: else put the file at {tmp_path}/tiny/net\.onnx and pull again"):
        pull(public(server.url + PATH), tmp_path, sleep=at_once)
    assert not (tmp_path / "tiny" / "net.onnx").exists()
    (tmp_path / "tiny" / "net.onnx").write_bytes(CONTENT)
    assert (pull(public(server.url + PATH), tmp_path, sleep=at_once) / "model.yaml").is_file()


def assert_grow(slept_s: Sequence[float], pauses: int) -> None:
    longest_s = [0.5 * 2**number for number in range(pauses)]
    assert len(slept_s) == pauses
    assert all(long_s / 2 <= each_s <= long_s for each_s, long_s in zip(slept_s, longest_s, strict=True))


def test_a_server_in_trouble_is_asked_again_with_growing_pauses(tmp_path: Path, server: FileServer) -> None:
    server.statuses = [500, 503, 429]
    slept: list[float] = []
    pull(public(server.url + PATH), tmp_path, sleep=slept.append)
    assert_grow(slept, 3)


def test_a_server_that_does_not_announce_the_length(tmp_path: Path, server: FileServer) -> None:
    server.announce_length = False
    pull(public(server.url + PATH), tmp_path, sleep=at_once)
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


def test_another_content_of_the_same_size_is_refused_and_removed(tmp_path: Path, server: FileServer) -> None:
    server.files[PATH] = CONTENT[::-1]
    with pytest.raises(ModelError, match=r"another file \(sha256 [0-9a-f]{12}…, expected [0-9a-f]{12}…\)"):
        pull(public(server.url + PATH), tmp_path)
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_stale_part_is_replaced(tmp_path: Path, server: FileServer) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "net.onnx.part").write_bytes(CONTENT[::-1])
    pull(public(server.url + PATH), tmp_path, sleep=at_once)
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


@pytest.mark.parametrize("wrong", [b"version https://git-lfs.github.com/spec/v1\n", CONTENT + b"more", CONTENT[:-1]])
def test_a_file_of_another_size_is_refused_unread(tmp_path: Path, server: FileServer, wrong: bytes) -> None:
    server.files[PATH] = wrong
    with pytest.raises(Unavailable, match=rf"the file there has {len(wrong)} bytes, expected {len(CONTENT)}"):
        pull(public(server.url + PATH), tmp_path)
    assert not (tmp_path / "tiny" / "net.onnx").exists()


def test_what_no_server_has_is_one_line_with_all_reasons(tmp_path: Path, server: FileServer) -> None:
    model = public(server.url + "/a").model_copy(update={"urls": (server.url + "/a", server.url + "/b")})
    with pytest.raises(Unavailable, match=r"/a: HTTP 404 .*/b: HTTP 404") as caught:
        pull(model, tmp_path)
    assert "\n" not in str(caught.value)


def test_the_next_url_is_tried_where_the_first_has_nothing(tmp_path: Path, server: FileServer) -> None:
    model = public(server.url + "/gone").model_copy(update={"urls": (server.url + "/gone", server.url + PATH)})
    pull(model, tmp_path)
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


def test_the_next_url_is_tried_where_nobody_listens_at_the_first(tmp_path: Path, server: FileServer) -> None:
    with serve_files({}) as gone:
        away = gone.url + PATH
    model = public(away).model_copy(update={"urls": (away, server.url + PATH)})
    pull(model, tmp_path, sleep=lambda seconds: None)
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


def test_the_next_url_is_tried_where_the_first_has_another_file(tmp_path: Path, server: FileServer) -> None:
    with serve_files({PATH: CONTENT[::-1]}) as wrong:
        model = public(wrong.url).model_copy(update={"urls": (wrong.url + PATH, server.url + PATH)})
        pull(model, tmp_path)
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


@pytest.mark.parametrize("name", ["ultraface", "sface"])
def test_the_face_models_come_from_mirrors_of_their_hubs(tmp_path: Path, name: str) -> None:
    """By the path that a mirror of the model's hub has, and by the whole URL, as proxies have it."""
    original = public_models()[name]
    model = original.model_copy(update={"builds": (build_of(CONTENT),)})
    for number, url in enumerate(original.urls):
        for place in (urlsplit(url).path, "/" + url):
            with serve_files({place: CONTENT}) as mirror:
                folder = pull(model, tmp_path / f"{number}{len(place)}", mirror=mirror.url)
            assert read_card(folder).name == name


def test_nobody_listens(tmp_path: Path) -> None:
    with serve_files({}) as gone:
        url = gone.url
    slept: list[float] = []
    with pytest.raises(Unavailable, match="refused, 5 times"):
        pull(public(url + PATH), tmp_path, sleep=slept.append)
    assert_grow(slept, 4)


@pytest.mark.parametrize("path", [PATH, "/net.onnx"])
def test_a_mirror_holds_the_file_by_path_or_by_name(tmp_path: Path, path: str) -> None:
    with serve_files({path: CONTENT}) as mirror:
        pull(public("https://example.invalid" + PATH), tmp_path, mirror=mirror.url + "/")
    assert (tmp_path / "tiny" / "net.onnx").read_bytes() == CONTENT


def test_a_mirror_may_hold_another_accepted_build(tmp_path: Path) -> None:
    other = CONTENT[:1000]
    with serve_files({"/net.onnx": other}) as mirror:
        pull(public("https://example.invalid" + PATH, CONTENT, other), tmp_path, mirror=mirror.url)
    assert read_card(tmp_path / "tiny").sha256 == hashlib.sha256(other).hexdigest()


@pytest.mark.parametrize("mirror", ["file:///etc", "ftp://example.org", "example.org"])
def test_a_mirror_must_be_http(tmp_path: Path, mirror: str) -> None:
    with pytest.raises(BadInput, match="must begin with http"):
        pull(public("https://example.invalid" + PATH), tmp_path, mirror=mirror)


def test_a_target_that_is_a_file_is_one_line(tmp_path: Path, server: FileServer) -> None:
    (tmp_path / "tiny").write_text("in the way")
    with pytest.raises(BadInput, match="tiny: cannot be written"):
        pull(public(server.url + PATH), tmp_path)


def test_a_full_disk_is_one_line(tmp_path: Path, server: FileServer) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "net.onnx.part").symlink_to("/dev/full")
    with pytest.raises(BadInput, match="the disk is full; make room"):
        pull(public(server.url + PATH), tmp_path)


def test_classes_lie_beside_the_card(tmp_path: Path, server: FileServer) -> None:
    model = public(server.url + PATH, task="classify").model_copy(update={"classes": "coco.txt"})
    pull(model, tmp_path)
    assert len(read_card(tmp_path / "tiny").classes) == 80
