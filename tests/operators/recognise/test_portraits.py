"""What is enrolled of a picture: the object that the query's own detector finds."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from operators.audits.roles import Roles
from operators.base import Call
from operators.frames.frame import Box, Frame, Region
from operators.recognise.gallery import Gallery, GalleryRecogniser
from operators.recognise.gallery_check import alike, checked, strangers
from operators.recognise.portraits import LONGEST, DetectedObject, WholePicture, bordered, shrunk
from operators.testing import FakeEngine, call, card_of, make_frame
from serving.common.tensors import Image
from serving.errors import BadInput

GREY, BACKGROUND = 114, (60, 60, 60)
BLUE, GREEN, RED = (255, 0, 0), (0, 255, 0), (0, 0, 255)
HERE = Path("ada/1.jpg")


class Spots:
    """A detector that finds every spot of a strong colour that fills at most a share of the frame."""

    def __init__(self, most: float = 1.0, label: str = "face") -> None:
        self.most, self.label, self.seen = most, label, list[tuple[int, ...]]()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        self.seen.append(frame.image.shape)
        strong = (frame.image.max(axis=2).astype(int) - frame.image.min(axis=2) > 100).astype(np.uint8)
        _, _, stats, _ = cv2.connectedComponentsWithStats(strong)
        height, width = strong.shape
        boxes = [Box(x / width, y / height, (x + w) / width, (y + h) / height) for x, y, w, h, _ in stats[1:]]
        return [Region(0, "detect", box, self.label, 0.9) for box in boxes if box.area <= self.most]

    def forget(self, stream: str) -> None:
        pass


def photo(*spots: tuple[int, int, int, tuple[int, int, int]], size: int = 100) -> Image:
    """A picture with squares: left, top, side, colour."""
    image = np.full((size, size, 3), BACKGROUND, np.uint8)
    for left, top, side, colour in spots:
        image[top : top + side, left : left + side] = colour
    return image


def everything(region: Region) -> bool:
    return True


def detected(detector: Spots, wanted: Callable[[Region], bool] = everything) -> DetectedObject:
    return DetectedObject(detector, "spots", wanted)


async def test_the_object_is_found_and_not_its_surroundings() -> None:
    found = await detected(Spots()).find(HERE, photo((20, 30, 40, RED)))
    assert (found.box.x_min, found.box.y_min, found.box.x_max, found.box.y_max) == pytest.approx((0.2, 0.3, 0.6, 0.7))
    assert found.found == 1


async def test_of_several_the_largest_is_taken_and_all_are_counted() -> None:
    found = await detected(Spots()).find(HERE, photo((2, 2, 10, BLUE), (40, 40, 30, RED)))
    assert (found.found, found.box.area) == (2, pytest.approx(0.09))


async def test_a_picture_that_is_cut_closely_is_found_with_a_border_around_it() -> None:
    found = await detected(Spots(most=0.3)).find(HERE, photo((0, 0, 100, RED)))
    assert found.box.area == pytest.approx(1.0, abs=0.02)


async def test_a_picture_without_an_object_is_one_line_that_names_the_file() -> None:
    with pytest.raises(BadInput, match=r"^gallery picture ada/1\.jpg: 'spots' finds nothing on it") as caught:
        await detected(Spots()).find(HERE, photo())
    assert "\n" not in str(caught.value)


async def test_what_the_query_would_not_recognise_is_not_enrolled() -> None:
    def large(region: Region) -> bool:
        return region.box.area > 0.5

    with pytest.raises(BadInput, match="finds nothing"):
        await detected(Spots(), large).find(HERE, photo((20, 30, 40, RED)))


async def test_a_large_picture_is_made_smaller_before_it_gets_a_border() -> None:
    detector = Spots()
    await detected(detector).find(HERE, photo((500, 500, 900, RED), size=2000))
    assert max(max(shape) for shape in detector.seen[1:]) <= LONGEST * 3
    assert shrunk(photo(), 640).shape == (100, 100, 3)


async def test_without_a_detector_the_picture_is_the_object() -> None:
    assert (await WholePicture().find(HERE, photo())).box.area == 1.0


def test_a_border_is_grey_and_all_around() -> None:
    framed = bordered(photo(), 0.25)
    assert framed.shape == (150, 150, 3)
    assert (framed[:25] == GREY).all()
    assert (framed[25:-25, 25:-25] == BACKGROUND).all()


def look() -> FakeEngine:
    """An embedder that sees nothing but the mean colour."""
    card = card_of("look", task="embed", classes=None, min_similarity=0.9)
    return FakeEngine(look=(card, lambda batch: [batch.mean(axis=(2, 3))]))


def gallery(folder: Path, **people: Sequence[Image]) -> Path:
    for name, pictures in people.items():
        (folder / name).mkdir(parents=True)
        for number, picture in enumerate(pictures):
            cv2.imwrite(str(folder / name / f"{number}.jpg"), picture, [cv2.IMWRITE_JPEG_QUALITY, 100])
    return folder


def recogniser(folder: Path, detector: Spots | None = None) -> GalleryRecogniser:
    engine = look()
    finder = detected(detector or Spots())
    return GalleryRecogniser(engine, Roles.of(["look"], engine.card), "who", folder, finder=finder)


UNCUT = {"ada": photo((20, 30, 30, BLUE)), "bob": photo((50, 10, 30, GREEN)), "eve": photo((40, 40, 30, RED))}
CUT = {name: photo((0, 0, 100, colour)) for name, colour in (("ada", BLUE), ("bob", GREEN), ("eve", RED))}


@pytest.mark.parametrize("kind", [UNCUT, CUT], ids=["uncut", "cut"])
async def test_people_enrolled_cut_and_uncut_get_the_same_answers(tmp_path: Path, kind: dict[str, Image]) -> None:
    folder = gallery(tmp_path, **{name: [picture] for name, picture in kind.items()})
    known = recogniser(folder)
    await known.prepare()
    crowd = photo((5, 5, 20, GREEN), (60, 5, 25, RED), (10, 60, 30, BLUE))
    regions = await Spots().process(make_frame(image=crowd), [], call())
    await known.process(make_frame(image=crowd), regions, call("look"))
    found = sorted((round(region.box.x_min, 2), region.attributes[0].label) for region in regions)
    assert found == [(0.05, "bob"), (0.1, "ada"), (0.6, "eve")]
    assert (await checked(known, "look")).faults == ()


async def test_a_gallery_that_is_as_it_should_be_raises_no_doubts(tmp_path: Path) -> None:
    report = await checked(recogniser(gallery(tmp_path, **{name: [each] for name, each in UNCUT.items()})), "look")
    assert (report.faults, report.doubts) == ((), ())


async def test_all_pictures_without_an_object_are_named_at_once(tmp_path: Path) -> None:
    folder = gallery(tmp_path, ada=[UNCUT["ada"], photo()], bob=[photo()])
    report = await checked(recogniser(folder), "look")
    assert [fault.split(":")[0] for fault in report.faults] == [
        f"gallery picture {folder / 'ada' / '1.jpg'}",
        f"gallery picture {folder / 'bob' / '0.jpg'}",
    ]


async def test_the_same_picture_under_two_names_is_a_fault(tmp_path: Path) -> None:
    report = await checked(recogniser(gallery(tmp_path, ada=[UNCUT["ada"]], bob=[UNCUT["ada"]])), "look")
    (fault,) = report.faults
    assert "bob/0.jpg: it is 'ada' as much as 'bob'" in fault


async def test_two_people_who_look_alike_and_a_picture_with_two_faces_are_doubts(tmp_path: Path) -> None:
    folder = gallery(
        tmp_path,
        ada=[photo((20, 30, 30, BLUE), (80, 80, 10, RED))],
        bob=[photo((20, 30, 30, (255, 80, 0)))],
        eve=[photo((20, 30, 30, RED))],
    )
    report = await checked(recogniser(folder), "look")
    assert report.faults == ()
    assert report.doubts[0] == "ada/0.jpg shows 2 objects: the largest is enrolled"
    assert report.doubts[1].startswith("ada/0.jpg and bob/0.jpg look alike: similarity 0.9")
    assert len(report.doubts) == 2


async def test_a_plain_picture_is_looked_at_twice_and_a_doubtful_one_three_times() -> None:
    plain, small, close = Spots(), Spots(), Spots(most=0.3)
    await detected(plain).find(HERE, photo((20, 30, 40, RED)))
    await detected(small).find(HERE, photo((20, 30, 10, RED)))  # a larger one may have been missed
    await detected(close).find(HERE, photo((0, 0, 100, RED)))
    assert [len(each.seen) for each in (plain, small, close)] == [2, 3, 3]


async def test_a_check_looks_no_further_than_enrolment_has_looked_and_says_how_far_it_is(tmp_path: Path) -> None:
    spots, said = Spots(), list[tuple[str, float]]()
    folder = gallery(tmp_path, **{name: [each] for name, each in CUT.items()})
    larger = {name: photo((20, 30, 40, colour)) for name, colour in (("ada", BLUE), ("bob", GREEN), ("eve", RED))}
    for name, each in larger.items():
        cv2.imwrite(str(folder / name / "0.jpg"), each, [cv2.IMWRITE_JPEG_QUALITY, 100])
    report = await checked(recogniser(folder, spots), "look", lambda step, share: said.append((step, share)))
    assert (report.faults, report.doubts) == ((), ())
    assert len(spots.seen) == 2 * len(larger)
    assert [step for step, _ in said] == 2 * ["ada/0.jpg", "bob/0.jpg", "eve/0.jpg"]
    assert [share for _, share in said] == sorted(share for _, share in said)


async def test_a_picture_that_is_another_one_s_from_afar_is_a_doubt(tmp_path: Path) -> None:
    class Shy(Spots):
        """Finds what is blue in the picture itself only."""

        async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
            found = await super().process(frame, regions, call)
            far = frame.image.shape[0] != 100
            return [each for each in found if not (far and each.box.crop(frame.image)[..., 0].mean() > 200)]

    folder = gallery(tmp_path, ada=[photo((20, 30, 30, BLUE), (80, 80, 10, RED))], eve=[photo((20, 20, 50, RED))])
    report = await checked(recogniser(folder, Shy()), "look")
    assert any(doubt.startswith("ada/0.jpg is 'eve'") for doubt in report.doubts), report


def likeness(*similarities: float) -> Gallery:
    """Identities of which each pair in a row has a similarity, and which are like nobody else."""
    vectors = np.zeros((2 * len(similarities), 2 * len(similarities)), np.float32)
    for pair, similarity in enumerate(similarities):
        vectors[2 * pair, 2 * pair] = 1.0
        vectors[2 * pair + 1, 2 * pair : 2 * pair + 2] = similarity, (1 - similarity**2) ** 0.5
    names = tuple(f"n{number}" for number in range(len(vectors)))
    return Gallery(names, tuple(Path(name) / "1.jpg" for name in names), vectors)


def test_where_strangers_would_get_names_it_is_said_from_which_similarity_they_would_not() -> None:
    (said,) = strangers(likeness(0.1, 0.2, 0.3, 0.45, 0.55), 0.4)
    assert said.startswith("4 of 10 identities are as similar to another one")
    assert said.endswith("at 0.40 strangers would often get a name, with min_confidence: 0.56 about one in 20")
    assert strangers(likeness(0.1, 0.2, 0.3, 0.45, 0.55), 0.56) == []
    assert strangers(likeness(0.1, 0.45), 0.4) == []


def test_pictures_of_one_identity_are_no_strangers_to_each_other() -> None:
    gallery = likeness(*[0.9] * 10)
    couples = Gallery(tuple(f"n{number // 2}" for number in range(20)), gallery.paths, gallery.vectors)
    assert strangers(couples, 0.4) == []


async def test_no_more_pairs_are_named_than_anybody_reads(tmp_path: Path) -> None:
    known = recogniser(gallery(tmp_path, **{f"n{number}": [UNCUT["ada"]] for number in range(10)}))
    said = alike(await known.gallery("look"), 0.9)
    assert len(said) == 21
    assert said[-1] == "25 more pairs look alike"


def test_a_gallery_of_thousands_of_which_all_look_alike_is_compared_as_a_whole() -> None:
    angles = np.linspace(0, 0.1, 600, dtype=np.float32)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    names = tuple(f"n{number}" for number in range(600))
    known = Gallery(names, tuple(Path(name, "1.jpg") for name in names), vectors)
    tracemalloc.start()
    said = alike(known, 0.9)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said[-1] == f"{600 * 599 // 2 - 20} more pairs look alike"
    assert "look alike: similarity 1.00" in said[0]
    assert most < 30 * 600 * 600, "no object of Python's for each pair"
