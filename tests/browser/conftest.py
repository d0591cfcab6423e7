"""Debian's Chromium, without a network, driven by Selenium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
_SECONDS = 30


@dataclass(frozen=True)
class Screen:
    """A screen. ``width`` is in pixels; ``scheme`` is the preferred color scheme."""

    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{'phone' if self.width < 720 else 'desktop'}-{self.scheme}"


@dataclass
class Browser:
    """A browser tab."""

    driver: Any

    def open(self, page: Path, screen: Screen) -> None:
        """Open a page on a screen, and wait until all of its visible charts are drawn."""
        self.prefer(screen.scheme)
        self._resize(screen, 900)
        self.driver.get(page.as_uri())
        self._resize(screen, self.value("return document.documentElement.scrollHeight"))
        charts = "[...document.querySelectorAll('details[open] > .charts > figure > .chart')]"
        self.wait(f"return {charts}.every(each => each.dataset.drawn)")

    def prefer(self, scheme: str) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )

    def value(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str) -> None:
        """Wait until a script returns true."""
        WebDriverWait(self.driver, _SECONDS).until(lambda driver: driver.execute_script(script))

    def complaints(self) -> list[str]:
        """The messages of the browser's console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The URLs that the browser has requested since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]

    def _resize(self, screen: Screen, height: int) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": screen.width, "height": height, "deviceScaleFactor": 1, "mobile": screen.width < 720},
        )


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no Chromium: apt-get install chromium chromium-driver fonts-dejavu-core")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    opened.execute_cdp_cmd("Network.enable", {})
    opened.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield opened
    opened.quit()


@pytest.fixture
def browser(chromium: Any) -> Browser:
    found = Browser(chromium)
    chromium.get("about:blank")
    found.complaints()
    found.requests()
    return found
