"""The site builds without a network, has no broken links, and loads nothing from other servers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.site import build_site

ROOT = Path(__file__).parents[3]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
LOADED = re.compile(
    r"""<(?:script|img|source|iframe|embed)\b[^>]*\bsrc=["']?([^"'\s>]+)|<link\b[^>]*\bhref=["']?([^"'\s>]+)"""
)
IMPORTED = re.compile(r"""(?:@import\s*|url\()["']?(https?:)?//""")
PAGE_LINKS = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
RUN_IN = re.compile(r"<(p|li|td)>(?:(?!</\1>).)*?\n *(?:- |\d+\. |```)", re.DOTALL)
TUTORIAL_FILE = re.compile(r"^```sql\n-- (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings. Repeated headings are counted once, because pages should not link to them."""
    headings = HEADING.findall(CODE_BLOCK.sub("", page.read_text(encoding="utf-8")))
    words = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings)
    return frozenset(re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in words)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


def test_every_page_is_built(site):
    pages = {path.with_suffix(".html").name for path in (ROOT / "docs").glob("*.md")}
    assert pages | {"index.html", "changelog.html", "contributing.html", "development.html", "security.html"} <= {
        path.name for path in site.glob("*.html")
    }


def test_links_to_examples_point_to_pages(site):
    linked = set(re.findall(r'href="(examples/[^"#]+)"', (site / "watch.html").read_text(encoding="utf-8")))
    assert linked == {f"{path.relative_to(ROOT).with_suffix('.html')}" for path in (ROOT / "examples").rglob("*.py")}
    assert all("<h1" in (site / page).read_text(encoding="utf-8") for page in linked)


def test_pages_load_nothing_from_other_servers(site):
    for page in site.rglob("*.html"):
        loaded = [found[0] or found[1] for found in LOADED.findall(page.read_text(encoding="utf-8"))]
        assert [each for each in loaded if each.startswith(("http:", "https:", "//"))] == [], page
        assert 'class="mermaid"' not in page.read_text(encoding="utf-8"), f"{page}: the theme loads a script for it"
    for sheet in site.rglob("*.css"):
        assert not IMPORTED.search(sheet.read_text(encoding="utf-8")), sheet


def test_no_list_or_code_block_is_merged_into_a_paragraph(site):
    """MkDocs merges them if the indent is less than four spaces, although code hosts accept such an indent."""
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert [found[0] for found in RUN_IN.finditer(text)] == [], page


def test_pictures_have_a_title_and_load_nothing():
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text(encoding="utf-8")
        assert 'role="img"' in text and "<title>" in text, picture
        assert not re.search(r"(?:href|src|url\()\W*http", text), picture


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_point_to_existing_files(path):
    links = [link.partition("#")[0] for link in PAGE_LINKS.findall(path.read_text(encoding="utf-8"))]
    assert [link for link in links if link and not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_linked_anchors_exist(path):
    """The anchors are those of code hosts. MkDocs checks the anchors of the site."""
    links = [link.partition("#")[::2] for link in PAGE_LINKS.findall(path.read_text(encoding="utf-8"))]
    linked = [(path.parent / file if file else path, anchor) for file, anchor in links if anchor]
    assert [f"{page.name}#{anchor}" for page, anchor in linked if anchor not in anchors(page)] == []


@pytest.mark.parametrize(
    ("path", "code"),
    TUTORIAL_FILE.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")),
    ids=lambda each: each if each.startswith("integration_tests") else "",
)
def test_the_tutorial_shows_the_current_files_of_the_project(path, code):
    assert (ROOT / path).read_text(encoding="utf-8") == code
