"""Between the street and the picture: clouds, fog, rain, and what the camera itself adds (softness and noise)."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.street.drawing.sprite import Image, Sprite
from datasets.street.options import Options
from datasets.street.surroundings.layout import Layout
from datasets.street.surroundings.light import Light

CLEARNESS = {"clear": 1.0, "rain": 0.3, "fog": 0.1}
FOG_M = 42.0
RAIN_M = 90.0
NOISE_TILES = 64


class Lens:
    """Weather and camera of one scene; pictures go in clean and come out as taken."""

    def __init__(self, options: Options, layout: Layout) -> None:
        self.weather = options.weather
        self.camera = layout.camera
        self.clouds = layout.clouds and options.weather == "clear"
        self.clearness = CLEARNESS[options.weather]  # how much of the sun gets through
        self._rng = np.random.default_rng([options.seed, 6])
        width, height = options.width, options.height
        noise = self._rng.normal(0, 1, (height + NOISE_TILES, width + NOISE_TILES, 3)).astype(np.float32)
        noise = 0.75 * noise.mean(axis=2, keepdims=True) * np.sqrt(3) + 0.5 * cv2.GaussianBlur(noise, (3, 3), 0.8)
        self._noise = noise
        self._grain: tuple[float, Image] | None = None
        self._shade = cloud_shade(self._rng, width, height)
        self._depth = self._depths(layout)

    def _depths(self, layout: Layout) -> NDArray[np.float32]:
        rays = self.camera.rays(1)
        ground = self.camera.height_m / np.maximum(-rays[..., 2], 1e-3)
        front = layout.front_y / np.maximum(rays[..., 1], 1e-3)
        return np.minimum(ground, front).astype(np.float32)[..., None]

    def haze_colour(self, light: Light) -> tuple[float, float, float]:
        """The colour that distance fades to."""
        blue, green, red = (0.55 * a + 0.45 * b for a, b in zip(light.sky_low, (180, 180, 180), strict=True))
        gain = 0.35 + 0.65 * (1 - light.lamps)
        return blue * gain, green * gain, red * gain

    def hazed(self, picture: Image, light: Light) -> Image:
        """The backdrop seen through fog or rain."""
        if self.weather == "clear":
            return picture
        share = 1 - np.exp(-self._depth / (FOG_M if self.weather == "fog" else RAIN_M))
        haze = np.array(self.haze_colour(light), np.float32)
        mixed: Image = np.clip(picture * (1 - share) + haze * share, 0, 255).astype(np.uint8)
        return mixed

    def seen_through_air(self, sprite: Sprite, gain: tuple[float, ...], distance_m: float, light: Light) -> Sprite:
        """A sprite in this light at this distance."""
        share = 0.0
        if self.weather != "clear":
            share = float(1 - np.exp(-distance_m / (FOG_M if self.weather == "fog" else RAIN_M)))
        return sprite.tinted(gain, self.haze_colour(light), share)

    def clouded(self, picture: Image, light: Light, time_s: float) -> Image:
        """The picture under shadows of clouds that drift over it."""
        if not self.clouds or light.sun < 0.1:
            return picture
        width = picture.shape[1]
        start = int(time_s * 9.0) % (2 * width)
        shade = cv2.cvtColor(np.ascontiguousarray(self._shade[:, start : start + width]), cv2.COLOR_GRAY2BGR)
        shaded: Image = cv2.multiply(picture, shade, scale=1 / 255)
        return shaded

    def shot(self, picture: Image, light: Light, time_s: float) -> Image:
        """Add the camera's view of the weather: rain streaks, a soft lens, noise."""
        rng = np.random.default_rng([self.camera.width, int(time_s * 1000) & 0x7FFFFFFF])
        if self.weather == "rain":
            picture = self._rained(picture, rng)
        picture = cv2.GaussianBlur(picture, (3, 3), 0.55)
        if self._grain is None or self._grain[0] != light.noise:
            self._grain = (light.noise, np.clip(self._noise * light.noise + 128, 0, 255).astype(np.uint8))
        down, right = rng.integers(0, NOISE_TILES, 2)
        grain = self._grain[1][down : down + picture.shape[0], right : right + picture.shape[1]]
        taken: Image = cv2.addWeighted(picture, 1.0, grain, 1.0, -128.0)
        return taken

    def _rained(self, picture: Image, rng: np.random.Generator) -> Image:
        """Falling streaks, faint and slanted."""
        height, width = picture.shape[:2]
        streaks = np.zeros((height, width), np.uint8)
        for x, y, length in zip(
            rng.integers(0, width, 160), rng.integers(-10, height, 160), rng.integers(6, 18, 160), strict=True
        ):
            cv2.line(streaks, (int(x), int(y)), (int(x + length * 0.2), int(y + length)), 46, 1, cv2.LINE_AA)
        wet: Image = cv2.add(picture, cv2.cvtColor(streaks, cv2.COLOR_GRAY2BGR))
        return wet


def cloud_shade(rng: np.random.Generator, width: int, height: int) -> Image:
    """The share of sunlight that clouds let through, 0…255: soft patches; the last third repeats the first."""
    patches = np.tile(rng.normal(0, 1, (3, 8)).astype(np.float32), (1, 3))
    smooth = cv2.resize(patches, (6 * width, height), interpolation=cv2.INTER_CUBIC)[:, 2 * width : 5 * width]
    shade: Image = (255 * (1 - 0.09 * np.clip(smooth, 0, 1))).astype(np.uint8)
    return shade
