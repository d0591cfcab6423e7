"""Hooks for MkDocs: add pages for files outside of docs/, adapt links, and embed SVG pictures in the page's colors."""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "DEVELOPMENT.md": "development.md",
    "SECURITY.md": "security.md",
}
"""The files in the repository's root that code hosts display, with their pages."""
EXAMPLES = {
    path.relative_to(ROOT).as_posix(): path.relative_to(ROOT).with_suffix(".md").as_posix()
    for path in (ROOT / "examples").rglob("*.py")
}
"""The Python files of the examples, with the pages that show them."""

_WIDE = ("benchmarks.md",)
"""Pages with wide tables, which also use the space of the table of contents."""

_LINK = re.compile(r"\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
_FILE_NAME = re.compile(r"\[(?:docs/)?(?P<name>[\w-]+\.md)\]\(")
"""A link whose text is a file name, which is useful on code hosts."""
_PICTURE = re.compile(r"^!\[[^]]*\]\((?P<path>pictures/[^)]+\.svg)\)$", re.MULTILINE)
_SHORT_CODE = re.compile(r"<code>([^<]{1,28})</code>")
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_HEADING = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_OWN_COLOURS = re.compile(r"<style>.*?</style>\s*", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages for files in the repository's root, and the pages for the examples."""
    for source, page in ROOT_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_LINK.sub(_from_the_root, text)))
    for source, page in EXAMPLES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=f"# {source}\n\n```python\n{text}```\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files in the root by links to their pages, file names by page titles, and pictures by SVGs."""
    if page.file.src_uri in _WIDE:
        page.meta["hide"] = ["toc"]
    titles = _titles(config)
    linked = _FILE_NAME.sub(
        lambda found: f"[{titles.get(found['name'], found['name'])}](", _LINK.sub(_to_the_root, markdown)
    )
    return _PICTURE.sub(lambda found: _inline(found, Path(config.docs_dir)), linked)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Mark short code, which must not be wrapped, and add column names to table cells, for narrow screens."""
    return _SHORT_CODE.sub(r'<code class="short">\1</code>', _TABLE.sub(_with_labels, html))


def _with_labels(table: re.Match[str]) -> str:
    """A table whose cells have the name of their column in the attribute ``data-label``."""
    headings = [escape(unescape(_TAG.sub("", each)).strip()) for each in _HEADING.findall(table[0])]

    def labelled(row: re.Match[str]) -> str:
        names = iter(headings)
        return re.sub(r"<td\b", lambda _: f'<td data-label="{next(names)}"', row[0])

    return _ROW.sub(labelled, table[0])


def _titles(config: MkDocsConfig) -> dict[str, str]:
    """The titles of pages by file, from the navigation or from the pages' headings."""
    folder = Path(config.docs_dir)
    headings = {path.name: path.read_text(encoding="utf-8").partition("\n")[0] for path in folder.glob("*.md")}
    sections = [pages for section in config.nav or () for pages in section.values() if isinstance(pages, list)]
    listed = [page for pages in sections for page in pages if isinstance(page, dict)]
    titles = {name: heading.removeprefix("# ") for name, heading in headings.items()}
    return titles | {file: title for page in listed for title, file in page.items()}


def _from_the_root(link: re.Match[str]) -> str:
    path, anchor = link["path"], link["anchor"] or ""
    return f"]({(ROOT_PAGES | EXAMPLES).get(path, path.removeprefix('docs/'))}{anchor})"


def _to_the_root(link: re.Match[str]) -> str:
    page = (ROOT_PAGES | EXAMPLES).get(link["path"].removeprefix("../"))
    if page is None or not link["path"].startswith("../"):
        return link[0]
    return f"]({page}{link['anchor'] or ''})"


def _inline(picture: re.Match[str], docs: Path) -> str:
    """The SVG without its own colors, so that it has the color scheme that the reader has chosen for the page."""
    text = _OWN_COLOURS.sub("", (docs / picture["path"]).read_text(encoding="utf-8"))
    return f'<figure class="picture">{" ".join(line.strip() for line in text.splitlines())}</figure>'
