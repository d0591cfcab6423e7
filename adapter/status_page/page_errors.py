"""The error of the status page: an unwritable file."""

from __future__ import annotations

from pathlib import Path

from iceberg_incremental.errors import ConfigError


def page_not_written(output: Path, error: OSError) -> ConfigError:
    """The file of the status page cannot be written."""
    return ConfigError(
        f"{output} was not written: {error}.",
        expected="a path in an existing, writable folder.",
        fix="create the folder, or choose another path.",
    ).named("page-not-written")
