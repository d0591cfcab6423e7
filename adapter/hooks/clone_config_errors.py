"""The errors of clone configs."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.durations import EXAMPLES
from iceberg_incremental.errors import ConfigError


def unknown_clone_as(node: str, found: object, known: Sequence[str]) -> ConfigError:
    """The config ``clone_as`` has an unknown value."""
    return ConfigError(
        f"clone_as of {node} is {found!r}.",
        expected=f"{', '.join(map(repr, known))}. The default is {known[0]!r}.",
        fix="set one of these.",
    ).named("unknown-clone-as")


def unknown_retention(node: str, found: object) -> ConfigError:
    """The config ``clone_retention`` is not a duration."""
    return ConfigError(
        f"clone_retention of {node} is {found!r}.",
        expected=f"a duration above 0, {EXAMPLES}. The default is '7 days'.",
        fix="set a duration.",
    ).named("unknown-retention")
