"""A real headless Chromium, driven by its own driver."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from tests.real.require import unavailable

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDTH, HEIGHT = 1400, 900


def why_missing() -> str | None:
    """What there is not; None if all is there."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)}" if missing else None


@contextmanager
def browsing() -> Iterator[webdriver.Chrome]:
    """A browser with an empty profile of its own, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(shutil.which("chromium"))
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
        try:
            look(driver)
            yield driver
        finally:
            driver.quit()


def look(driver: webdriver.Chrome, width: int = WIDTH, height: int = HEIGHT, theme: str = "light") -> None:
    """Set the size of the window in CSS pixels, and what the system prefers."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features: list[dict[str, Any]] = [{"name": "prefers-color-scheme", "value": theme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.fixture
def browser() -> Iterator[webdriver.Chrome]:
    """A browser for one test."""
    missing = why_missing()
    if missing:
        unavailable("Chromium", missing, "apt-get install chromium chromium-driver")
    with browsing() as driver:
        yield driver
