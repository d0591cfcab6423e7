"""The methods of following the dimension: their tables, and the expected contents of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .cases import DEFAULT_LAYOUT, PLAIN, Case

SOURCE = "dimension"
FEED = "feed"
CHANGES = "changes"

APPLY_CHANGES, UPSERTS, THIRD = "apply_changes", "upserts", "third"
GROUPS_SUM, GROUPS_DISTINCT, SIGNED_SUMS = "groups_sum", "groups_distinct", "signed_sums"
REBUILD, REBUILD_SUM, REBUILD_DISTINCT = "rebuild", "rebuild_sum", "rebuild_distinct"
FLOOR, FLOOR_DEFAULT = "floor", "floor_default"
WATERMARK, WHOLE_MERGE, CHANGELOG_VIEW = "watermark", "whole_merge", "changelog_view"


@dataclass(frozen=True)
class Way:
    """A method. ``name``: also the name of its table.

    ``rebuild``: the method that builds the same table from scratch. ``is_model``: whether a model of this package
    updates the table. ``exact``: whether the table equals that of the rebuild. Otherwise, the method misses deletes.
    """

    name: str
    label: str
    rebuild: str = REBUILD
    is_model: bool = False
    exact: bool = True

    @property
    def is_rebuild(self) -> bool:
        """Whether this method builds its table from scratch."""
        return self.name == self.rebuild


WAYS = {
    way.name: way
    for way in (
        Way(REBUILD, "rebuild by CTAS"),
        Way(FLOOR, "floor: MERGE of exactly the changes"),
        Way(FLOOR_DEFAULT, "floor: the same MERGE into a v3 merge-on-read table"),
        Way(APPLY_CHANGES, "`ip_changelog`, apply_changes", is_model=True),
        Way(UPSERTS, "`ip_changes` with `upserts`, merge", is_model=True, exact=False),
        Way(THIRD, "third stage: `ip_changelog` of the apply_changes table", is_model=True),
        Way(WATERMARK, "MERGE of `updated_at > max(updated_at)`", exact=False),
        Way(WHOLE_MERGE, "MERGE of the whole source"),
        Way(CHANGELOG_VIEW, "Iceberg's changelog view, MERGE"),
        Way(REBUILD_SUM, "rebuild by CTAS: count and sum", REBUILD_SUM),
        Way(GROUPS_SUM, "`ip_changed_groups`: count and sum, merge", REBUILD_SUM, is_model=True),
        Way(SIGNED_SUMS, "`ip_signed_changes` added to the sums, apply_changes", REBUILD_SUM, is_model=True),
        Way(REBUILD_DISTINCT, "rebuild by CTAS: distinct count", REBUILD_DISTINCT),
        Way(GROUPS_DISTINCT, "`ip_changed_groups`: distinct count, merge", REBUILD_DISTINCT, is_model=True),
    )
}
"""In display order."""

OURS = tuple(name for name, way in WAYS.items() if way.is_model)


def needed(names: Sequence[str]) -> list[Way]:
    """The named methods and the methods that they require: rebuilds for comparison, and the stage before the third."""
    wanted = {*names, *(WAYS[name].rebuild for name in names), *([APPLY_CHANGES] if THIRD in names else [])}
    return [way for name, way in WAYS.items() if name in wanted]


def possible(way: Way, layout: str) -> bool:
    """Whether a method supports a layout, and differs from the other methods for this layout."""
    if way.name == CHANGELOG_VIEW:  # Iceberg 1.12 does not support changelogs of tables with delete files
        return layout.endswith("cow")
    return way.name != FLOOR_DEFAULT or layout != DEFAULT_LAYOUT


def in_full(case: Case) -> list[str]:
    """The names of the methods that the full run measures for a case. In plain cases, these are all methods."""
    if case.by_sql:
        return [FLOOR, *OURS]
    omitted: tuple[str, ...] = () if case.is_plain else (WATERMARK, WHOLE_MERGE)
    if (case.layout, case.writer, case.compacted) != (PLAIN.layout, PLAIN.writer, PLAIN.compacted):
        omitted += (REBUILD_DISTINCT, GROUPS_DISTINCT)
    return [name for name in WAYS if name not in omitted]


def in_turn(ways: Sequence[Way], number: int) -> list[Way]:
    """The methods in the order of a round, which alternates. The third stage is always last."""
    turned = list(ways)[:: 1 if number % 2 else -1]
    return sorted(turned, key=lambda way: way.name == THIRD)
