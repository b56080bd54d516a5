from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import msgspec
import numpy as np
import pytest

from operators.audits.roles import Roles
from operators.recognise.enrolment import KeptVectors
from operators.recognise.gallery import Gallery, GalleryRecogniser, unit
from operators.recognise.identities import identities
from operators.testing import FakeEngine, call, card_of, make_frame, make_region
from operators.wire.schema import Model
from serving.errors import BadInput, ModelError

CALL = call("look", 7.0)
BLUE, GREEN, RED = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def painted(colour: tuple[int, int, int]) -> np.ndarray:
    return np.full((32, 32, 3), colour, np.uint8)


def enrolled(gallery: Path, **people: list[tuple[int, int, int]]) -> Path:
    for name, colours in people.items():
        (gallery / name).mkdir(parents=True)
        for index, colour in enumerate(colours):
            cv2.imwrite(str(gallery / name / f"{index}.jpg"), painted(colour))
    return gallery


def look() -> FakeEngine:
    """An embedder that sees nothing but the mean colour."""
    card = card_of("look", task="embed", classes=None, min_similarity=0.9)
    return FakeEngine(look=(card, lambda batch: [batch.mean(axis=(2, 3))]))


LOOK = Roles.of(["look"], look().card)


async def test_who_was_enrolled_is_known_and_who_was_not_is_unknown(tmp_path: Path) -> None:
    recogniser = GalleryRecogniser(look(), LOOK, "who", enrolled(tmp_path, ada=[BLUE], bob=[GREEN]))
    await recogniser.prepare()
    answers = []
    for colour in (BLUE, GREEN, RED):
        region = make_region()
        await recogniser.process(make_frame(image=painted(colour)), [region], CALL)
        answers += [(each.name, each.label, each.provenance, each.model.name) for each in region.attributes]
    assert answers == [
        ("who", "ada", "oracle", "look"),
        ("who", "bob", "oracle", "look"),
        ("who", "unknown", "oracle", "look"),
    ]


async def test_a_vector_that_holds_what_is_no_number_is_nobody_s(tmp_path: Path) -> None:
    card, mean = look().card("look"), lambda batch: batch.mean(axis=(2, 3))
    odd = FakeEngine(look=(card, lambda batch: [np.where(mean(batch) > 0.9 * mean(batch).max(), mean(batch), np.nan)]))
    recogniser = GalleryRecogniser(odd, LOOK, "who", enrolled(tmp_path, ada=[(255, 255, 255)]))
    await recogniser.prepare()
    white, blue = make_region(), make_region()
    await recogniser.process(make_frame(image=painted((255, 255, 255))), [white], CALL)
    await recogniser.process(make_frame(image=painted(BLUE)), [blue], CALL)
    assert [region.attributes[0].label for region in (white, blue)] == ["ada", "unknown"]


async def test_confidence_is_the_similarity(tmp_path: Path) -> None:
    recogniser = GalleryRecogniser(look(), LOOK, "who", enrolled(tmp_path, ada=[BLUE]))
    region = make_region()
    await recogniser.process(make_frame(image=painted((255, 255, 0))), [region], CALL)
    assert region.attributes[0].confidence == pytest.approx(np.sqrt(0.5), abs=0.01)
    assert region.attributes[0].label == "unknown"


async def test_the_least_similarity_may_be_the_nodes(tmp_path: Path) -> None:
    gallery = enrolled(tmp_path, ada=[BLUE])
    recogniser = GalleryRecogniser(look(), LOOK, "who", gallery, min_similarity=0.6)
    region = make_region()
    await recogniser.process(make_frame(image=painted((255, 255, 0))), [region], CALL)
    assert region.attributes[0].label == "ada"


async def test_any_picture_of_an_identity_will_do(tmp_path: Path) -> None:
    recogniser = GalleryRecogniser(look(), LOOK, "who", enrolled(tmp_path, ada=[BLUE, RED], bob=[GREEN]))
    region = make_region()
    await recogniser.process(make_frame(image=painted(RED)), [region], CALL)
    assert region.attributes[0].label == "ada"


async def test_a_large_gallery_is_enrolled_in_pieces(tmp_path: Path) -> None:
    engine = look()
    colours = [(5 * each, 0, 99) for each in range(40)]
    recogniser = GalleryRecogniser(engine, Roles.of(["look"], engine.card), "who", enrolled(tmp_path, ada=colours))
    await recogniser.prepare()
    assert [len(batch) for _, batch, _ in engine.asked] == [16, 16, 8]


async def prepared(
    folder: Path, way: str = "a", channels: Sequence[int] = (0, 1, 2)
) -> tuple[list[int], GalleryRecogniser]:
    """How many pictures were embedded at once by a new process, and its recogniser; ``channels``: what it looks at."""
    engine = FakeEngine(look=(look().card("look"), lambda batch: [batch.mean(axis=(2, 3))[:, list(channels)]]))
    kept = KeptVectors(folder / "kept.json", way)
    recogniser = GalleryRecogniser(engine, LOOK, "who", folder / "people", kept=lambda model: kept)
    await recogniser.prepare()
    return [len(batch) for _, batch, _ in engine.asked], recogniser


async def test_a_picture_is_embedded_once_and_one_of_them_at_each_start(tmp_path: Path) -> None:
    people = enrolled(tmp_path / "people", ada=[BLUE, RED], bob=[GREEN])
    first, before = await prepared(tmp_path)
    again, after = await prepared(tmp_path)
    assert (first, again) == ([3], [1])
    assert np.array_equal((await before.gallery("look")).vectors, (await after.gallery("look")).vectors)
    assert (await after.gallery("look")).names == ("ada", "ada", "bob")
    assert (tmp_path / "kept.json").stat().st_mode & 0o777 == 0o600
    enrolled(people, eve=[(255, 255, 0)])
    (people / "ada" / "0.jpg").unlink()
    assert (await prepared(tmp_path))[0] == [1, 1], "one to see that nothing has changed, and the new one"
    _, recogniser = await prepared(tmp_path)
    region = make_region()
    await recogniser.process(make_frame(image=painted((255, 255, 0))), [region], CALL)
    assert region.attributes[0].label == "eve"


async def test_the_loop_does_not_wait_for_the_file_of_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = list[threading.Thread]()

    def noted(real: Callable[..., Any]) -> Callable[..., Any]:
        def does(*of: Any) -> Any:
            threads.append(threading.current_thread())
            return real(*of)

        return does

    enrolled(tmp_path / "people", ada=[BLUE])
    monkeypatch.setattr(KeptVectors, "read", noted(KeptVectors.read))
    monkeypatch.setattr(KeptVectors, "write", noted(KeptVectors.write))
    await prepared(tmp_path)
    assert len(threads) == 2
    assert threading.main_thread() not in threads


async def test_nothing_is_kept_of_a_picture_that_was_removed(tmp_path: Path) -> None:
    people = enrolled(tmp_path / "people", ada=[BLUE, RED], bob=[GREEN])
    await prepared(tmp_path)
    for left, gone in ((2, "bob/0.jpg"), (1, "ada/1.jpg")):
        (people / gone).unlink()
        (people / "bob").exists() and (people / "bob").rmdir()
        assert (await prepared(tmp_path))[0] == [1]
        assert len(msgspec.json.decode((tmp_path / "kept.json").read_bytes())["vectors"]) == left


async def test_what_was_enrolled_in_another_way_or_by_another_network_is_enrolled_anew(tmp_path: Path) -> None:
    enrolled(tmp_path / "people", ada=[BLUE, RED], bob=[GREEN])
    await prepared(tmp_path)
    assert (await prepared(tmp_path, way="b"))[0] == [3]
    for other in ((2, 1, 0), (0, 1)):
        found, recogniser = await prepared(tmp_path, way="b", channels=other)
        assert found == [1, 3], "the first is not as it was, though the way is the same"
        assert (await recogniser.gallery("look")).vectors.shape == (3, len(other))


@pytest.mark.parametrize("fault", ["cut", "endless", "uneven", "empty"])
async def test_a_file_of_vectors_that_is_damaged_is_made_anew(tmp_path: Path, fault: str) -> None:
    enrolled(tmp_path / "people", ada=[BLUE, RED], bob=[GREEN])
    await prepared(tmp_path)
    file = tmp_path / "kept.json"
    kept = msgspec.json.decode(file.read_bytes())
    key = next(iter(kept["vectors"]))
    kept["vectors"] |= {"endless": {key: b64([np.inf] * 3)}, "uneven": {key: b64([1.0])}}.get(fault, {})
    whole = msgspec.json.encode(kept | ({"vectors": {}} if fault == "empty" else {}))
    file.write_bytes(whole[:-9] if fault == "cut" else whole)
    assert (await prepared(tmp_path))[0] == [3]
    assert (await prepared(tmp_path))[0] == [1]


def b64(numbers: Sequence[float]) -> str:
    return base64.b64encode(np.array(numbers, "<f4").tobytes()).decode()


def test_the_nearest_picture_decides() -> None:
    gallery = Gallery(("ada", "bob"), (Path("a.jpg"), Path("b.jpg")), unit(np.array([[1.0, 0.0], [0.0, 1.0]])))
    ((name, similarity),) = gallery.match(unit(np.array([[3.0, 4.0]])))
    assert (name, similarity) == ("bob", pytest.approx(0.8))


def test_a_row_of_zeros_is_similar_to_nothing() -> None:
    assert unit(np.zeros((1, 3))).tolist() == [[0, 0, 0]]


async def test_a_damaged_picture_is_one_line(tmp_path: Path) -> None:
    gallery = enrolled(tmp_path, ada=[BLUE])
    whole = (gallery / "ada" / "0.jpg").read_bytes()
    (gallery / "ada" / "1.jpg").write_bytes(whole[:-2])
    recogniser = GalleryRecogniser(look(), LOOK, "who", gallery)
    with pytest.raises(BadInput, match=r"ada/1\.jpg is damaged or cut off") as caught:
        await recogniser.prepare()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"\xff\xd8\xff\xd9"])
async def test_what_is_no_picture_is_one_line(tmp_path: Path, content: bytes) -> None:
    (enrolled(tmp_path, ada=[BLUE]) / "ada" / "1.jpg").write_bytes(content)
    with pytest.raises(BadInput, match=r"ada/1\.jpg cannot be read: "):
        await GalleryRecogniser(look(), LOOK, "who", tmp_path).prepare()


async def test_a_picture_that_claims_gigapixels_is_refused_undecoded(tmp_path: Path) -> None:
    path = enrolled(tmp_path, ada=[BLUE]) / "ada" / "0.jpg"
    data = bytearray(path.read_bytes())
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = (65_500).to_bytes(2) * 2
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"too large: it claims 65500×65500 pixels"):
        await GalleryRecogniser(look(), LOOK, "who", tmp_path).prepare()


def test_a_gallery_must_be_a_folder_of_folders_of_pictures(tmp_path: Path) -> None:
    def made() -> GalleryRecogniser:
        return GalleryRecogniser(look(), LOOK, "who", tmp_path / "gallery")

    with pytest.raises(BadInput, match="no gallery at"):
        made()
    (tmp_path / "gallery").mkdir()
    with pytest.raises(BadInput, match="is empty"):
        made()
    (tmp_path / "gallery" / "ada").mkdir()
    with pytest.raises(BadInput, match="ada has no pictures"):
        made()
    (tmp_path / "gallery" / "ada" / "face.png").touch()
    with pytest.raises(BadInput, match=r"face\.png is no JPEG"):
        made()
    (tmp_path / "gallery" / "ada" / "face.png").rename(tmp_path / "gallery" / "face.png")
    (tmp_path / "gallery" / "ada").rmdir()
    with pytest.raises(BadInput, match="lies in the gallery itself"):
        made()


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    gallery = enrolled(tmp_path, ada=[BLUE])
    (gallery / ".DS_Store").touch()
    (gallery / "ada" / ".thumbs").touch()
    assert {name: len(pictures) for name, pictures in identities(gallery).items()} == {"ada": 1}


def test_a_model_that_is_no_embedder_is_refused(tmp_path: Path) -> None:
    engine = FakeEngine(colours=(card_of("colours"), lambda batch: [batch]))
    with pytest.raises(ModelError, match="this node needs one that can embed"):
        GalleryRecogniser(engine, Roles.of(["colours"], engine.card), "who", enrolled(tmp_path, ada=[BLUE]))


def test_what_may_be_said(tmp_path: Path) -> None:
    gallery = enrolled(tmp_path, bob=[GREEN], ada=[BLUE])
    assert GalleryRecogniser(look(), LOOK, "who", gallery).labels("look") == ("ada", "bob", "unknown")


def test_a_look_is_certain_by_its_distance_from_the_least_similarity(tmp_path: Path) -> None:
    recogniser = GalleryRecogniser(look(), LOOK, "who", enrolled(tmp_path, ada=[BLUE]), min_similarity=0.5)
    model = Model(name="look", version="1", tier="reference")
    certain = [
        recogniser.certainty(recogniser.answer(label, similarity, "oracle", model))
        for label, similarity in (("ada", 0.5), ("ada", 0.6), ("ada", 0.9), ("unknown", 0.4), ("unknown", 0.0))
    ]
    assert certain == pytest.approx([0.5, 0.88, 1.0, 0.88, 1.0], abs=0.01)


def test_the_confidence_of_pooled_looks_is_their_mean_similarity(tmp_path: Path) -> None:
    recogniser = GalleryRecogniser(look(), LOOK, "who", enrolled(tmp_path, ada=[BLUE]))
    assert recogniser.pooled_confidence(0.99, 0.71) == 0.71


def similar(*similarities: float) -> np.ndarray:
    """Embeddings that are so similar to blue, and to nobody else who is enrolled."""
    return np.array([[each, 0.0, np.sqrt(1 - each**2)] for each in similarities], np.float32)


async def test_the_share_of_a_name_is_how_certain_a_look_is_of_it(tmp_path: Path) -> None:
    gallery = enrolled(tmp_path, ada=[BLUE], bob=[GREEN])
    recogniser = GalleryRecogniser(look(), LOOK, "who", gallery, min_similarity=0.5)
    await recogniser.prepare()
    rows = similar(0.9, 0.6, 0.5, 0.4)
    shares = recogniser.shares("look", rows)
    looks = await recogniser.said("look", rows)
    assert (recogniser.names, recogniser.least_share) == (("ada", "bob"), 0.5)
    assert shares[:3, 0] == pytest.approx([recogniser.certainty(each) for each in looks[:3]], abs=1e-3)
    named = shares.max(axis=1) >= recogniser.least_share
    assert named.tolist() == [each.label != "unknown" for each in looks]
    assert [recogniser.word_of(each) for each in looks] == [0, 0, 0, 2]


@pytest.mark.parametrize(("certain", "label"), [(0.9, "ada"), (0.5, "ada"), (0.3, "unknown"), (0.0, "unknown")])
async def test_an_exit_of_a_gallery_answers_with_a_similarity(tmp_path: Path, certain: float, label: str) -> None:
    gallery = enrolled(tmp_path, ada=[BLUE], bob=[GREEN])
    recogniser = GalleryRecogniser(look(), LOOK, "who", gallery, min_similarity=0.5)
    answer = recogniser.exit_answer(np.array([certain, 0.0], np.float32), "cached", 1, 0)
    assert (answer.label, answer.provenance) == (label, "cached")
    assert recogniser.certainty(answer) == pytest.approx(max(certain, 1 - certain), abs=1e-3)


async def test_what_is_enrolled_as_unknown_is_no_name(tmp_path: Path) -> None:
    gallery = enrolled(tmp_path, ada=[BLUE], unknown=[GREEN])
    recogniser = GalleryRecogniser(look(), LOOK, "who", gallery)
    await recogniser.prepare()
    rows = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], np.float32)
    assert recogniser.names == ("ada",)
    assert [recogniser.word_of(each) for each in await recogniser.said("look", rows)] == [1, 0]
    shares = recogniser.shares("look", rows)
    assert (shares[:, 0] >= recogniser.least_share).tolist() == [False, True]
