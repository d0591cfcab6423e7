"""The documentation site in Chromium, opened from a folder, without a server or a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site import build_site

from .conftest import Browser, Screen

pytestmark = pytest.mark.core

SCREENS = [Screen(1280, "light"), Screen(390, "light")]
TABLES = ("reference.html", "index.html", "guarantees.html", "compatibility.html")

HIDDEN_CELLS = """
    return [...document.querySelectorAll(".md-content table:not([class]) td")]
        .filter(each => !each.closest("table").querySelector("td[style*=right]"))
        .filter(each => each.offsetParent && each.getBoundingClientRect().right > innerWidth + 0.5)
        .map(each => each.textContent.slice(0, 60));
"""
"""Table cells with text that extend beyond the right edge of the screen."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_the_search_works_without_a_server(browser: Browser, site: Path, screen: Screen) -> None:
    browser.open(site / "concepts.html", screen)
    browser.value("document.getElementById('__search').click()")
    browser.value("""
        const field = document.querySelector("input.md-search__input");
        field.focus();
        field.value = "hold_source";
        field.dispatchEvent(new Event("input", {bubbles: true}));
        field.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
    """)
    found = "[...document.querySelectorAll('a.md-search-result__link')].map(each => each.href)"
    browser.wait(f"return {found}.some(each => each.includes('reference.html'))")
    assert browser.complaints() == []
    assert {url.partition(":")[0] for url in browser.requests()} <= {"file", "data", "about"}


@pytest.mark.parametrize("name", TABLES)
def test_table_cells_fit_on_a_phone(browser: Browser, site: Path, name: str) -> None:
    browser.open(site / name, SCREENS[1])
    assert browser.value("return document.querySelectorAll('.md-content table:not([class]) td').length") > 10
    assert browser.value(HIDDEN_CELLS) == []
    assert browser.value("return document.documentElement.scrollWidth") == SCREENS[1].width


def test_table_cells_name_their_columns_on_a_phone(browser: Browser, site: Path) -> None:
    browser.open(site / "reference.html", SCREENS[1])
    label = "return getComputedStyle(document.querySelector(arguments[0]), '::before').content"
    assert browser.value(label, "td[data-label=meaning]") == '"meaning: "'
    browser.open(site / "reference.html", SCREENS[0])
    assert browser.value(label, "td[data-label=meaning]") == "none"
