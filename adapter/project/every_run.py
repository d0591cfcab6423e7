"""Whether a model's SQL is the same in a first build as in later runs."""

from __future__ import annotations

from .conditional_reads import Macros
from .jinja_names import reached

_DIFFERS = frozenset({"flags", "is_incremental", "should_full_refresh", "this"})
"""What a template asks to tell a first build from later runs."""


def same_in_every_run(sql: str, macros: Macros) -> bool:
    """Whether a model's SQL, as it is written, asks for nothing that differs between its runs.

    ``macros``: the project's own, in which it may ask too. A template that cannot be parsed may ask for anything.
    """
    names, _ = reached(sql, macros)
    return names.is_whole and names.called.isdisjoint(_DIFFERS)
