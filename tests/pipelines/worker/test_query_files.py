"""The files of a worker's queries."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from pipelines.commands.worker import group_name
from pipelines.environment import catalogue
from pipelines.query.yaml_file import MAX_BYTES
from pipelines.worker.query_files import MOST_QUERIES, QueryFiles
from serving.errors import BadInput, QueryError

TEXT = "version: 1\nname: {name}\nslo_ms: 100\nnodes: [{{name: find, task: detect, model: motion}}]\n"
KNOWN = catalogue([])


def files(*paths: Path) -> QueryFiles:
    return QueryFiles(paths, KNOWN)


def folder(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).write_text(TEXT.format(name=Path(name).stem.strip(".")))
    return path


def test_a_folder_holds_its_yaml_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    found = files(folder(tmp_path, "b.yaml", "a.yml", ".hidden.yaml", "notes.txt"))
    assert [path.name for path in found.found()] == ["a.yml", "b.yaml"]
    assert [wanted.query.name for _, _, wanted in found.first] == ["a", "b"]
    assert found.follows
    assert group_name(found, None) == tmp_path.name


def test_a_file_that_is_named_by_itself_is_not_followed_and_its_query_names_the_group(tmp_path: Path) -> None:
    found = files(folder(tmp_path, "a.yaml") / "a.yaml")
    assert not found.follows
    assert (group_name(found, None), group_name(found, "fleet")) == ("a", "fleet")


def test_several_files_need_a_name_for_their_group(tmp_path: Path) -> None:
    folder(tmp_path, "a.yaml", "b.yaml")
    found = files(tmp_path / "a.yaml", tmp_path / "b.yaml")
    with pytest.raises(BadInput, match="--group NAME is missing"):
        group_name(found, None)
    assert group_name(found, "fleet") == "fleet"
    with pytest.raises(BadInput, match="--group 'a b': at most"):
        group_name(found, "a b")


def test_a_file_that_is_not_there_is_told_at_first_and_absent_later(tmp_path: Path) -> None:
    found = files(folder(tmp_path, "a.yaml") / "a.yaml", tmp_path / "b.yaml")
    assert list(found.digests()) == [tmp_path / "a.yaml"]
    with pytest.raises(QueryError, match=r"b\.yaml"):
        _ = found.first


def test_a_wrong_file_of_a_folder_does_not_keep_the_others_from_starting(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: [")
    with pytest.raises(QueryError, match=r"bad\.yaml"):
        _ = files(tmp_path).first
    folder(tmp_path, "good.yaml")
    assert [path.name for path, _, _ in files(tmp_path).first] == ["good.yaml"]
    with pytest.raises(QueryError, match=r"bad\.yaml"):
        _ = files(tmp_path / "good.yaml", tmp_path / "bad.yaml").first


def test_folders_without_queries_or_with_too_many_and_long_files_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no query"):
        files(tmp_path)
    (tmp_path / "long.yaml").write_bytes(b"x" * (MAX_BYTES + 10))
    at_first = files(tmp_path)
    assert at_first.digests() == {tmp_path / "long.yaml": sha256(b"x" * (MAX_BYTES + 1)).digest()}
    folder(tmp_path, *(f"q{number}.yaml" for number in range(MOST_QUERIES)))
    with pytest.raises(BadInput, match=f"{MOST_QUERIES + 1} queries are more than the {MOST_QUERIES}"):
        files(tmp_path)
    known = tmp_path / "q99.yaml"
    assert known not in at_first.digests()
    found = at_first.digests([known])
    assert known in found, "those that run are not pushed out by others"
    assert len(found) == MOST_QUERIES
