"""What builds the site of the documentation, and the pages of it that are made from the code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import errors, reference

DOCS = Path(__file__).parents[1] / "docs"
PAGES: dict[str, Callable[[], str]] = {"reference.md": reference.page, "errors.md": errors.page}
"""The pages of docs/ that are made from the code."""
