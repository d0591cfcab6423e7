"""Calls of macros that do not exist, and whose names are nearly those of ours: dbt only reports a name as undefined."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from iceberg_incremental.spelling import near_misses

_EXPRESSION = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_CALL = re.compile(r"(?<![\w.])(?P<name>ip_\w+)\s*\(")


def misspelt(raw_code: str, ours: Collection[str], known: Collection[str]) -> dict[str, str]:
    """The names of macros that a model calls and that are nearly one of ours, each with the one that was meant.

    ``raw_code``: the model's file. ``known``: the names of all macros that dbt finds.
    """
    return near_misses(dict.fromkeys(_called(raw_code)), ours, known)


def _called(raw_code: str) -> Iterator[str]:
    for expression in _EXPRESSION.finditer(raw_code):
        for call in _CALL.finditer(expression[0]):
            yield call["name"]
