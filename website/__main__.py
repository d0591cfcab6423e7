"""Writes the pages that are made from the code: docs/reference.md and docs/errors.md."""

from __future__ import annotations

from . import DOCS, PAGES

for name, page in PAGES.items():
    (DOCS / name).write_text(page(), encoding="utf-8")
