"""Writes the files that are generated from the code: two pages in docs/, and the package's error entries."""

from __future__ import annotations

from . import GENERATED

for file, text in GENERATED.items():
    file.write_text(text(), encoding="utf-8")
