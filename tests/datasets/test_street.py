"""The generated street: same seed same pictures, truth that fits the pixels, every class, day brighter than night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice, pairwise

import numpy as np
import pytest

from datasets.street import LABELS, OTHER, VEHICLES, StreetFrame, open_street
from datasets.street.options import Options, parse_options

SMALL = {"width": "320", "height": "180", "fps": "4", "duration_s": "2"}


def street(options: Mapping[str, str] | None = None, **changed: str) -> list[StreetFrame]:
    return list(open_street({**SMALL, **(options or {}), **changed}))


def test_the_same_options_give_the_same_frames() -> None:
    once, again = street(seed="5"), street(seed="5")
    assert [frame.objects for frame in once] == [frame.objects for frame in again]
    assert all(np.array_equal(a.image, b.image) for a, b in zip(once, again, strict=True))


def test_another_seed_is_another_street() -> None:
    assert not np.array_equal(street(seed="5")[0].image, street(seed="6")[0].image)


def test_what_happens_does_not_depend_on_the_frame_rate() -> None:
    slow, fast = street(seed="5", fps="2"), street(seed="5", fps="8")
    assert [frame.objects for frame in slow] == [frame.objects for frame in fast[::4]]


def test_size_number_and_times_of_the_frames() -> None:
    frames = street(width="322", height="182", fps="8", duration_s="1.5")
    assert {frame.image.shape for frame in frames} == {(182, 322, 3)}
    assert [frame.media_time_s for frame in frames] == [number / 8 for number in range(12)]


def test_frames_are_drawn_one_by_one() -> None:
    endless = open_street({**SMALL, "duration_s": "1000000"})
    assert len(list(islice(endless, 2))) == 2


@pytest.mark.parametrize("light", ["day", "dusk", "night", "cycle"])
def test_boxes_lie_in_the_frame_and_shares_in_0_to_1(light: str) -> None:
    objects = [item for frame in street(seed="8", light=light, density="2") for item in frame.objects]
    assert objects
    for item in objects:
        x_min, y_min, x_max, y_max = item.box
        assert 0 <= x_min < x_max <= 1
        assert 0 <= y_min < y_max <= 1
        assert 0 < item.visible <= 1


def test_pixels_differ_from_the_empty_street_inside_the_boxes_and_hardly_outside() -> None:
    # A street whose traffic is so thin that nobody has come yet is the same street without objects.
    busy = next(open_street({**SMALL, "seed": "2", "density": "2"}))
    empty = next(open_street({**SMALL, "seed": "2", "density": "0.01"}))
    assert busy.objects
    assert not empty.objects
    changed = np.abs(busy.image.astype(int) - empty.image).max(axis=2) > 30
    inside = np.zeros(changed.shape, bool)
    for item in busy.objects:
        left, top, right, bottom = (round(share * side) for share, side in zip(item.box, (320, 180) * 2, strict=True))
        area = (right - left) * (bottom - top)
        assert changed[top:bottom, left:right].sum() > 0.15 * area * item.visible, item.label
        inside[max(top - 3, 0) : bottom + 8, max(left - 8, 0) : right + 8] = True
    assert changed[~inside].mean() < 0.03


@pytest.mark.parametrize("label", [*VEHICLES, "person"])
def test_a_mix_of_one_class_yields_this_class(label: str) -> None:
    found = {item.label for frame in street(seed="4", mix=label, density="2") for item in frame.objects}
    assert found == {label}


def test_strays_are_drawn_but_are_no_objects() -> None:
    still = street(seed="4", mix=f"{OTHER}:1", density="0.01")[0]
    strays = street(seed="4", mix=f"{OTHER}:1", density="4")[0]
    assert not strays.objects
    assert (np.abs(strays.image.astype(int) - still.image) > 40).any()


def test_every_class_comes_along_by_itself() -> None:
    frames = street(seed="54", fps="2", duration_s="30")
    assert {item.label for frame in frames for item in frame.objects} == set(LABELS) - {OTHER}


def test_ids_follow_things_through_the_picture() -> None:
    frames = street(seed="54", fps="8", duration_s="6")
    labels: dict[int, set[str]] = {}
    for frame in frames:
        assert max(Counter(item.id for item in frame.objects).values(), default=1) == 1
        for item in frame.objects:
            labels.setdefault(item.id, set()).add(item.label)
    assert all(len(names) == 1 for names in labels.values())
    for before, after in pairwise(frames):
        now = {item.id: item.box for item in after.objects if item.visible > 0.9}
        for item in before.objects:
            if item.id in now and item.visible > 0.9:
                assert abs(item.box[2] - now[item.id][2]) < 0.2


def test_what_is_covered_is_less_visible() -> None:
    shares = [item.visible for frame in street(seed="4", density="3") for item in frame.objects]
    assert min(shares) < 0.5 < max(shares)


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_night_is_darker_than_dusk_and_dusk_than_day(seed: str) -> None:
    day, dusk, night = (street(seed=seed, light=light)[0].image.mean() for light in ("day", "dusk", "night"))
    assert night < 0.75 * dusk < 0.75 * day


def test_a_cycle_goes_from_day_to_night() -> None:
    frames = street(seed="3", light="cycle", fps="0.2", duration_s="31")
    assert frames[6].image.mean() < 0.5 * frames[0].image.mean()


def test_at_eye_level_roofs_reach_above_the_middle_of_the_picture() -> None:
    """From above every vehicle is below the horizon; who stands on the pavement looks up at a lorry."""

    def highest(view: str) -> float:
        objects = [
            item
            for seed in ("1", "2", "3")
            for frame in street(seed=seed, view=view, density="4", mix="juggernaut", fps="1", duration_s="4")
            for item in frame.objects
        ]
        assert objects
        return float(np.median([item.box[1] for item in objects]))

    assert highest("eye-level") < highest("above")


@pytest.mark.parametrize("weather", ["rain", "fog"])
def test_weather_takes_contrast_away(weather: str) -> None:
    assert street(seed="3", weather=weather)[0].image.std() < street(seed="3")[0].image.std()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sed": "1"}, "unknown street option 'sed': allowed are seed, fps, duration_s"),
        ({"seed": "one"}, "seed='one': must be a whole number"),
        ({"seed": "-1"}, "seed='-1': must be a whole number from 0"),
        ({"fps": "0"}, "fps='0': must be a number from 0.1 to 120"),
        ({"fps": "nan"}, "fps='nan'"),
        ({"duration_s": "inf"}, "duration_s='inf'"),
        ({"width": "99999"}, "width='99999': must be a whole number from 64 to 3840"),
        ({"height": "2.5"}, "height='2.5'"),
        ({"light": "noon"}, "light='noon': must be one of day, dusk, night, cycle"),
        ({"weather": "snow"}, "weather='snow': must be one of clear, rain, fog"),
        ({"view": "below"}, "view='below': must be one of above, eye-level"),
        ({"density": "0"}, "density='0'"),
        ({"mix": "tank:1"}, "mix: unknown class 'tank': allowed are bike, car, juggernaut"),
        ({"mix": "car:x"}, "mix (car)='x'"),
        ({"mix": "car:0"}, "mix='car:0': at least one class"),
        ({"mix": ""}, "mix: unknown class ''"),
    ],
)
def test_bad_options_are_named_at_once(options: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match="street option") as error:
        open_street(options)
    assert says in str(error.value)


def test_options_are_read() -> None:
    read = parse_options({"seed": "7", "fps": "5", "light": "night", "density": "0.5", "mix": "car:5, person:3,bike"})
    assert read == Options(seed=7, fps=5.0, light="night", density=0.5, mix={"car": 5.0, "person": 3.0, "bike": 1.0})
