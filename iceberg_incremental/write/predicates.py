"""The conditions of the config ``incremental_predicates`` within a statement's own conditions."""

from __future__ import annotations

from collections.abc import Sequence


def enclosed(predicates: Sequence[str]) -> list[str]:
    """The conditions in parentheses, since they may contain OR. A condition may end in a comment."""
    return [f"({each}\n)" if "--" in each else f"({each})" for each in predicates]
