"""Writes the files that are made from the code: two pages of docs/, and the entries of errors that are shipped."""

from __future__ import annotations

from . import GENERATED

for file, text in GENERATED.items():
    file.write_text(text(), encoding="utf-8")
