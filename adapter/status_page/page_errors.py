"""The errors of the status page: what it needs, and where it is written."""

from __future__ import annotations

from pathlib import Path

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.entries import indexed


@indexed
def page_library_missing(error: ImportError) -> ConfigError:
    """The status page is drawn by Plotly, which is not installed."""
    return ConfigError(
        f"The status page cannot be drawn: {error}.\n"
        "  Expected: the package plotly, from which the page takes its charts.\n"
        "  To fix: pip install 'dbt-spark-iceberg[page]'. format: json has the same data without it."
    )


@indexed
def page_not_written(output: Path, error: OSError) -> ConfigError:
    """The file of the status page cannot be written."""
    return ConfigError(
        f"{output} was not written: {error}.\n"
        "  Expected: a path in a folder that exists and can be written to.\n"
        "  To fix: make the folder, or name another path."
    )
