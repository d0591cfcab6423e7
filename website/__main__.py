"""Writes the files that are generated from the code: pages in docs/, and the package's error entries."""

from __future__ import annotations

from . import DOCS, GENERATED

for page in (DOCS / "errors").glob("*.md"):
    page.unlink()
for file, text in GENERATED.items():
    file.write_text(text(), encoding="utf-8")
