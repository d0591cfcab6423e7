"""Writes the files that are made from the code: docs/reference.md, docs/errors.md, and the package's copy of its entries."""

from __future__ import annotations

from . import GENERATED

for file, text in GENERATED.items():
    file.write_text(text(), encoding="utf-8")
