"""The status page in Chromium, at the widths of a desktop and a phone, light and dark, without a network.

With ``STATUS_PAGE_PICTURES=docs/pictures`` (``make pictures``) it also creates the pictures of the documentation.
"""

from __future__ import annotations

import base64
import io
import os
from dataclasses import replace
from pathlib import Path

import pytest

from dbt.adapters.spark_iceberg.status_page.page import page
from tests.unit.incremental.operations.status_page import airline as airline_module
from tests.unit.incremental.operations.status_page.airline import NOW, airline, chain
from tests.unit.incremental.operations.status_page.pictured import MADE_FROM, digest
from tests.unit.incremental.operations.status_page.test_page import HOSTILE, renamed

from .conftest import Browser, Screen

SCREENS = [Screen(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
PICTURES = {
    "overview": (Screen(1280, "light"), "header", "section[aria-labelledby=graph]"),
    "model": (Screen(1280, "dark"), "#model-3", "#model-3"),
    "phone": (Screen(390, "light"), "#model-1", "#model-1"),
}
"""The pictures of the documentation. Each has its screen, and the elements at its top and bottom."""

OUTSIDE = """
    return [...document.querySelectorAll("body *")].filter(each => {
        if (each.closest(".graph, .scroll, .chart, #js-plotly-tester, .numbers > :not(summary)")) return false;
        const box = each.getBoundingClientRect();
        return box.width && (box.left < 0 || box.right > innerWidth + 0.5);
    }).map(each => each.outerHTML.slice(0, 120));
"""
"""Elements that extend beyond the screen, except those inside a scrollable area."""

CLIPPED = """
    return [...document.querySelectorAll(".node")]
        .filter(each => each.offsetParent && each.scrollHeight > each.clientHeight + 1)
        .map(each => each.innerText);
"""
"""The boxes of the graph whose text does not fit."""

OVERLAPPING = """
    const found = [];
    for (const chart of document.querySelectorAll(".chart")) {
        for (const kind of [".xtick text", ".ytick text", ".legendtext"]) {
            const boxes = [...chart.querySelectorAll(kind)]
                .map(each => [each.textContent, each.getBoundingClientRect()]);
            boxes.forEach(([name, one], index) => boxes.slice(index + 1).forEach(([other, two]) => {
                const apart = one.right <= two.left + 1 || two.right <= one.left + 1
                    || one.bottom <= two.top + 1 || two.bottom <= one.top + 1;
                if (!apart) found.push([kind, name, other]);
            }));
        }
    }
    return found;
"""
"""Chart labels that overlap."""

CUT_OFF = """
    return [...document.querySelectorAll(".chart")].flatMap(chart => {
        const whole = chart.querySelector(".main-svg").getBoundingClientRect();
        return [...chart.querySelectorAll(".xtick text, .ytick text, .legendtext, .xtitle, .ytitle")]
            .filter(each => {
                const box = each.getBoundingClientRect();
                return box.left < whole.left - 0.5 || box.right > whole.right + 0.5
                    || box.top < whole.top - 0.5 || box.bottom > whole.bottom + 0.5;
            })
            .map(each => each.textContent);
    });
"""
"""Chart labels that extend beyond their chart."""

BEHIND = """
    return [...document.querySelectorAll(".graph")].filter(each => each.offsetParent).flatMap(graph => {
        const frame = graph.querySelector("svg").getBoundingClientRect();
        const boxes = [...graph.querySelectorAll(".node")].map(each => [each, each.getBoundingClientRect()]);
        return [...graph.querySelectorAll("path")].flatMap(path => {
            const length = path.getTotalLength();
            const points = Array.from({length: 100}, (_, n) => path.getPointAtLength(length * n / 99))
                .map(({x, y}) => [x + frame.left, y + frame.top]);
            return boxes.filter(([, box]) => points.some(([x, y]) =>
                x > box.left + 1 && x < box.right - 1 && y > box.top + 1 && y < box.bottom - 1
            )).map(([each]) => each.innerText);
        });
    });
"""
"""Boxes of the graph that hide a part of an edge."""

CONTRASTS = """
    const rgb = text => text.match(/[\\d.]+/g).map(Number);
    const light = color => {
        const [r, g, b] = rgb(color).map(each => each / 255)
            .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = each => {
        for (; each; each = each.parentElement) {
            const color = getComputedStyle(each).backgroundColor;
            if (!(rgb(color).length === 4 && rgb(color)[3] === 0)) return color;
        }
        return "rgb(255, 255, 255)";
    };
    const hasText = each => [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    const texts = [...document.querySelectorAll("body *")]
        .filter(each => each.offsetParent && hasText(each) && !each.closest("svg, script"));
    const labels = [...document.querySelectorAll(".chart text")];
    return [...texts, ...labels].map(each => {
        const style = getComputedStyle(each);
        const color = each.closest("svg") ? style.fill : style.color;
        const [one, other] = [light(color), light(behind(each))].sort((a, b) => b - a);
        return [(one + 0.05) / (other + 0.05), each.textContent.trim().slice(0, 40)];
    });
"""
"""The contrast of each text with its background, as WCAG 2 defines it."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "status.html"
    file.write_text(page(airline()), encoding="utf-8")
    return file


@pytest.mark.core
@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_the_page_on_each_screen(browser: Browser, opened: Path, screen: Screen) -> None:
    browser.open(opened, screen)
    assert browser.value(OUTSIDE) == []
    assert browser.value("return document.documentElement.scrollWidth") == screen.width
    assert browser.value(CLIPPED) == []
    assert browser.value(OVERLAPPING) == []
    assert browser.value(BEHIND) == []
    faint = [each for each in browser.value(CONTRASTS) if each[0] < 4.5]
    assert faint == []
    graph = "return getComputedStyle(document.querySelector('.graph.{}')).display"
    shown = ["block", "none"] if screen.width > 720 else ["none", "block"]
    assert [browser.value(graph.format(size)) for size in ("wide", "narrow")] == shown
    assert browser.complaints() == []
    assert {url.partition(":")[0] for url in browser.requests()} <= {"file", "data", "about"}


@pytest.mark.parametrize("shorter", [1, 6, 24, 60, 14_400], ids="a day is {} times shorter".format)
@pytest.mark.parametrize("width", [390, 320])
def test_dates_on_charts_are_not_cut_off(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, shorter: int
) -> None:
    monkeypatch.setattr(airline_module, "DAY", airline_module.DAY // shorter)
    monkeypatch.setattr(airline_module, "HOUR", airline_module.HOUR // shorter)
    file = tmp_path / "status.html"
    file.write_text(page(airline()), encoding="utf-8")
    browser.open(file, Screen(width, "light"))
    assert browser.value("return document.querySelectorAll('.xtick text').length") > 4
    assert browser.value(CUT_OFF) == []
    assert browser.value(OVERLAPPING) == []


@pytest.mark.core
def test_the_charts_have_their_marks(browser: Browser, opened: Path) -> None:
    browser.open(opened, SCREENS[0])
    marks = """
        const count = (chart, layer) => chart.querySelectorAll(`.${layer} .point`).length;
        return [...document.querySelectorAll("#model-2 .chart")]
            .map(chart => [count(chart, "scatterlayer"), count(chart, "barlayer")]);
    """
    assert browser.value(marks) == [[16, 0], [0, 12]]  # 10 commits and 6 runs; two bars for each of 6 runs
    assert browser.value("return document.querySelectorAll('.chart svg').length > 0")


@pytest.mark.core
def test_the_charts_follow_the_scheme(browser: Browser, opened: Path) -> None:
    browser.open(opened, Screen(1280, "light"))
    color = "return getComputedStyle(document.querySelector('.chart .xtick text')).fill"
    light = browser.value(color)
    browser.prefer("dark")
    browser.wait(f"return (() => {{ {color} }})() !== '{light}'")


@pytest.mark.core
def test_a_box_opens_the_section_of_its_model(browser: Browser, opened: Path) -> None:
    browser.open(opened, SCREENS[0])
    browser.value("document.querySelectorAll('.model').forEach(each => { each.open = false; })")
    browser.value("document.querySelector('.graph.wide a.node[href=\"#model-3\"]').click()")
    browser.wait("return document.getElementById('model-3').open")
    assert not browser.value("return document.getElementById('model-2').open")


@pytest.mark.parametrize(("layers", "width"), [(4, 1366), (5, 1366), (6, 1366), (9, 1366), (4, 1024), (2, 800)])
def test_no_column_of_the_graph_is_cut_off(browser: Browser, tmp_path: Path, layers: int, width: int) -> None:
    file = tmp_path / "chain.html"
    file.write_text(page(chain(layers)), encoding="utf-8")
    browser.open(file, Screen(width, "light"))
    shown = "[...document.querySelectorAll('.graph')].filter(each => each.offsetParent)"
    assert browser.value(f"return {shown}.map(each => each.scrollWidth <= each.clientWidth)") == [True]
    assert browser.value(CLIPPED) == []
    assert browser.value(BEHIND) == []


@pytest.mark.core
def test_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    status = renamed(renamed(airline(), "flights_latest", HOSTILE), "weather_hours", "<b>bold</b>&lt;")
    file.write_text(page(replace(status, project=HOSTILE)), encoding="utf-8")
    browser.open(file, SCREENS[0])  # an alert would make all later scripts fail
    assert browser.value("return document.title") == f"{HOSTILE}: status"
    assert browser.value("return document.querySelectorAll('img, main b').length") == 0
    ticks = "return [...document.querySelectorAll('.ytick text')].map(each => each.textContent)"
    assert HOSTILE[:17] in [each[:17] for each in browser.value(ticks)]
    assert browser.complaints() == []


@pytest.mark.core
def test_long_names_stay_on_the_screen(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "long.html"
    file.write_text(page(renamed(airline(), "flights_latest", "flights_latest_" * 12)), encoding="utf-8")
    for screen in (SCREENS[0], SCREENS[2]):
        browser.open(file, screen)
        assert browser.value(OUTSIDE) == []
        assert browser.value(CLIPPED) == []
        assert browser.value(OVERLAPPING) == []


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_the_documentation(browser: Browser, opened: Path, name: str) -> None:
    folder = os.environ.get("STATUS_PAGE_PICTURES")
    if not folder:
        pytest.skip("pictures are made by make pictures")
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    screen, first, last = PICTURES[name]
    clock = {"source": f"Date.now = () => {NOW + 90_000}"}
    made = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", clock)
    try:
        browser.open(opened, screen)
        edge = "return document.querySelector(arguments[0]).getBoundingClientRect()[arguments[1]]"
        top, bottom = browser.value(edge, first, "top") - 8, browser.value(edge, last, "bottom") + 8
        clip = {"x": 0, "y": top, "width": screen.width, "height": bottom - top, "scale": 1}
        taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)
    picture = Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")
    shown = PngInfo()
    shown.add_text(MADE_FROM, digest())
    picture.quantize(200).save(Path(folder) / f"status-{name}.png", optimize=True, pnginfo=shown)
