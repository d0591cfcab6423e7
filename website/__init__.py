"""The documentation site, and the files that are generated from the code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from iceberg_incremental.explain import index

from . import engines, errors, reference

DOCS = Path(__file__).parents[1] / "docs"
GENERATED: dict[Path, Callable[[], str]] = {
    DOCS / "reference.md": reference.page,
    DOCS / "engines.md": engines.page,
    DOCS / "errors.md": errors.index,
    **{DOCS / "errors" / f"{name}.md": partial(errors.page, name) for name in errors.MADE},
    index.FILE: errors.shipped,
}
"""The generators of the files that are generated from the code: pages in docs/, and the package's error entries."""
