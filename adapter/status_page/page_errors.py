"""The errors of the status page: missing packages and unwritable files."""

from __future__ import annotations

from pathlib import Path

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.entries import indexed


@indexed
def page_library_missing(error: ImportError) -> ConfigError:
    """Plotly, which the status page needs for its charts, is not installed."""
    return ConfigError(
        f"The status page cannot be created: {error}.\n"
        "  Expected: the package plotly, which the page needs for its charts.\n"
        "  To fix: pip install 'dbt-spark-iceberg[page]'. format: json returns the same data without plotly."
    )


@indexed
def page_not_written(output: Path, error: OSError) -> ConfigError:
    """The file of the status page cannot be written."""
    return ConfigError(
        f"{output} was not written: {error}.\n"
        "  Expected: a path in an existing, writable folder.\n"
        "  To fix: create the folder, or choose another path."
    )
