"""The errors of clone configs."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.durations import EXAMPLES
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.entries import indexed


@indexed
def unknown_clone_as(node: str, found: object, known: Sequence[str]) -> ConfigError:
    """The config ``clone_as`` has an unknown value."""
    return ConfigError(
        f"clone_as of {node} is {found!r}.\n"
        f"  Expected: {', '.join(map(repr, known))}. The default is {known[0]!r}.\n"
        "  To fix: set one of these."
    )


@indexed
def unknown_retention(node: str, found: object) -> ConfigError:
    """The config ``clone_retention`` is not a duration."""
    return ConfigError(
        f"clone_retention of {node} is {found!r}.\n"
        f"  Expected: a duration above 0, {EXAMPLES}. The default is '7 days'.\n"
        "  To fix: set a duration."
    )
