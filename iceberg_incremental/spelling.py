"""Misspelled names: names that are similar to known names, or begin alike. Other unknown names are the user's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache

# 'incremental_stategy' and 'incremental_strategy' have a similarity of 0.97. 'partition_key' and 'partition_by' are
# different names, and have a similarity of 0.88.
_CLOSE = 0.89


def near_misses(names: Iterable[str], ours: Collection[str], known: Collection[str] = ()) -> dict[str, str]:
    """The names that are similar to one of ``ours``, each with the intended name. ``known`` names are not mistakes."""
    unknown = [name for name in names if name not in ours and name not in known]
    meant = {name: _meant(name, tuple(ours)) for name in unknown}
    return {name: each for name, each in meant.items() if each is not None}


@lru_cache(maxsize=1024)  # the models of a project have the same configs
def _meant(name: str, ours: tuple[str, ...]) -> str | None:
    plain = name.lower().replace("-", "_").lstrip("+")
    alike = [each for each in ours if each.count("_") > 1 and each.split("_")[:2] == plain.split("_")[:2]]
    if alike:  # the first two words of a name with more words, as in 'on_source_change'
        return get_close_matches(plain, alike, n=1, cutoff=0)[0]
    if close := get_close_matches(plain, ours, n=1, cutoff=_CLOSE):
        return close[0]
    in_order = {_in_order(each): each for each in ours}
    close = get_close_matches(_in_order(plain), in_order, n=1, cutoff=_CLOSE) if "_" in plain else []
    return in_order[close[0]] if close else None


def _in_order(name: str) -> str:
    """A name with its words in alphabetical order: ``source_hold`` becomes ``hold_source``."""
    return "_".join(sorted(name.split("_")))
