"""What builds the site of the documentation, and the files that are made from the code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from iceberg_incremental.explain import index

from . import errors, reference

DOCS = Path(__file__).parents[1] / "docs"
GENERATED: dict[Path, Callable[[], str]] = {
    DOCS / "reference.md": reference.page,
    DOCS / "errors.md": errors.page,
    index.FILE: errors.shipped,
}
"""The files that are made from the code: pages of docs/, and the entries of errors that the package ships."""
