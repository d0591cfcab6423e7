"""SQL that finds the differences between a table and its rebuild: an aggregate of all rows, then of differing rows.

Rows are compared as multisets, so a row that one side has more often is a difference. ``GROUP BY`` treats NULLs as
equal, and also NaNs. No table is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..capture.cuts import Cut, Cuts
from ..explain import verify_errors
from ..metadata import MetadataReader
from ..sql import sql_name, sql_names
from ..table.checkpoint import Position
from ..table.clone import clone_of
from ..table.history import TableName
from ..write.order.sequence import JSON_OPTIONS
from .columns import ComparedColumn

_REBUILT, _TABLE = "DBT_INTERNAL_REBUILT", "DBT_INTERNAL_TABLE"
_REBUILT_ROW, _TABLE_ROW = f"{_REBUILT}_ROW", f"{_TABLE}_ROW"
_MISSING, _TOO_MANY, _CHANGED, _ROUNDING = (
    f"DBT_INTERNAL_{each}" for each in ("MISSING", "TOO_MANY", "CHANGED", "ROUNDING")
)
_BUCKETS = 64
"""The number of buckets of differing keys. Each bucket returns one example, and may contain several keys."""
_PARTS = 1_000_000
"""The number of buckets of all keys, by hash. A sample consists of some of them."""


@dataclass(frozen=True)
class Comparison:
    """A table and its rebuild. ``rebuilt``, ``table``: queries that return at least the ``columns``.

    ``key``: the names of the columns that identify a row. If it is empty, whole rows are compared. ``share``: how much
    is compared, as a share of all keys from 0 to 1.
    """

    columns: Sequence[ComparedColumn]
    rebuilt: str
    table: str
    key: Sequence[str] = ()
    share: float = 1.0

    @cached_property
    def paired_by(self) -> Sequence[str]:
        """The columns that pair the rows of the two sides, and whose hash selects a sample.

        Without a key, these are all columns without floating-point numbers, which a rebuild may round differently.
        """
        return tuple(self.key) or tuple(each.name for each in self.columns if not each.has_floats)

    @property
    def is_sampled(self) -> bool:
        """Whether only a share of the rows is compared. If no column can be hashed, all rows are compared."""
        return self.share < 1 and bool(self.paired_by)

    @property
    def others(self) -> list[ComparedColumn]:
        """The columns in which two paired rows may differ."""
        paired = set(self.paired_by)
        return [each for each in self.columns if each.name not in paired]

    def counted_sql(self) -> str:
        """The query for the number of the table's rows that are compared."""
        return f"select count(*) from {self._table_side()}{self._sampled()}"

    def differing_sql(self) -> str:
        """The query for the rows that one side has more often, with their counts on both sides."""
        listed = sql_names([each.name for each in self.columns])
        both = (
            f"select *, 1L as {_REBUILT}, 0L as {_TABLE} from {self._rebuilt_side()}{self._sampled()}\n"
            f"union all\nselect *, 0L, 1L from {self._table_side()}{self._sampled()}"
        )
        return (
            f"select {listed}, sum({_REBUILT}) as {_REBUILT}, sum({_TABLE}) as {_TABLE}\nfrom (\n{both}\n)\n"
            f"group by {listed} having sum({_REBUILT}) <> sum({_TABLE})"
        )

    def shown_sql(self) -> str:
        """The query that shows all differing rows, for users."""
        order = f" order by {sql_names(self.paired_by)}" if self.paired_by else ""
        return (
            f"select * except ({_REBUILT}, {_TABLE}), {_REBUILT} as rows_in_rebuild, {_TABLE} as rows_in_table\n"
            f"from (\n{self.differing_sql()}\n){order}"
        )

    def failing_sql(self) -> str:
        """The query of a data test: the keys that differ by more than rounding, with a row of each side as JSON."""
        return (
            f"select {_MISSING} as rows_missing, {_TOO_MANY} as rows_too_many, {_CHANGED} as rows_changed,"
            f" {_json(_REBUILT_ROW)} as rebuilt_row, {_json(_TABLE_ROW)} as table_row\n"
            f"from (\n{self._classified_sql()}\n)\nwhere {_MISSING} + {_TOO_MANY} + {_CHANGED} > 0"
        )

    def found_sql(self) -> str:
        """The query for the counts and examples, in several rows that ``found.found`` combines."""
        kinds = (_MISSING, _TOO_MANY, _CHANGED, _ROUNDING)
        rows = f"concat('{{\"rebuilt\":', {_json(_REBUILT_ROW)}, ',\"table\":', {_json(_TABLE_ROW)}, '}}')"
        shown = (_json(_REBUILT_ROW), _json(_TABLE_ROW), rows, rows)
        counts = [f"sum({kind})" for kind in kinds]
        examples = [f"any_value(if({kind} > 0, {row}, null), true)" for kind, row in zip(kinds, shown, strict=True)]
        columns = [f"count_if({_CHANGED} + {_ROUNDING} > 0 and not {_same(each.name)})" for each in self.others]
        by = f"pmod(xxhash64({sql_names(self.paired_by)}), {_BUCKETS})" if self.paired_by else "0"
        return f"select {', '.join([*counts, *examples, *columns])}\nfrom (\n{self._classified_sql()}\n)\ngroup by {by}"

    def _classified_sql(self) -> str:
        """The differences, grouped by the pairing columns: the number of rows of each kind, and a row of each side."""
        listed = [sql_name(name) for name in self.paired_by]
        row = f"struct({sql_names([each.name for each in self.columns])})"
        grouped = ",\n".join(
            [
                *listed,
                f"any_value(if({_REBUILT} > {_TABLE}, {row}, null), true) as {_REBUILT_ROW}",
                f"any_value(if({_TABLE} > {_REBUILT}, {row}, null), true) as {_TABLE_ROW}",
                f"sum(greatest({_REBUILT} - {_TABLE}, 0L)) as {_MISSING}",
                f"sum(greatest({_TABLE} - {_REBUILT}, 0L)) as {_TOO_MANY}",
            ]
        )
        by = f"\ngroup by {', '.join(listed)}" if listed else "\nhaving count(*) > 0"
        pairs = f"select {grouped}\nfrom (\n{self.differing_sql()}\n){by}"
        is_rounding = f"{_MISSING} = 1 and {_TOO_MANY} = 1 and {self._differs_by_rounding()}"
        rounded = f"select *, if({is_rounding}, 1L, 0L) as {_ROUNDING} from (\n{pairs}\n)"
        changed = f"least({_MISSING}, {_TOO_MANY}) - {_ROUNDING}" if self.key else "0L"
        judged = f"select *, {changed} as {_CHANGED} from (\n{rounded}\n)"
        return (
            f"select * except ({_MISSING}, {_TOO_MANY}),"
            f" {_MISSING} - {_CHANGED} - {_ROUNDING} as {_MISSING},"
            f" {_TOO_MANY} - {_CHANGED} - {_ROUNDING} as {_TOO_MANY}\nfrom (\n{judged}\n)"
        )

    def _differs_by_rounding(self) -> str:
        """The condition that paired rows are equal, except for the rounding of floating-point numbers."""
        if not any(each.rounding for each in self.others):
            return "false"
        return " and ".join(self._alike(each) for each in self.others)

    def _alike(self, column: ComparedColumn) -> str:
        same = _same(column.name)
        if column.rounding is None:
            return same
        one, other = (f"cast({side}.{sql_name(column.name)} as double)" for side in (_REBUILT_ROW, _TABLE_ROW))
        largest = f"greatest(abs({one}), abs({other}))"
        finite = f"{largest} < double('infinity')"  # NaN is greater than infinity
        return f"({same} or coalesce({finite} and abs({one} - {other}) <= {column.rounding} * {largest}, false))"

    def _sampled(self) -> str:
        if not self.is_sampled:
            return ""
        return f" where pmod(xxhash64({sql_names(self.paired_by)}), {_PARTS}) < {max(round(self.share * _PARTS), 1)}"

    def _rebuilt_side(self) -> str:
        values = ", ".join(f"{each.rebuilt} as {sql_name(each.name)}" for each in self.columns)
        return f"(select {values} from (\n{self.rebuilt}\n))"

    def _table_side(self) -> str:
        values = ", ".join(f"{each.table} as {sql_name(each.name)}" for each in self.columns)
        return f"(select {values} from (\n{self.table}\n))"


def _same(name: str) -> str:
    """The condition that paired rows have the same value in a column."""
    return f"({_REBUILT_ROW}.{sql_name(name)} <=> {_TABLE_ROW}.{sql_name(name)})"


def _json(row: str) -> str:
    return f"to_json({row}, {JSON_OPTIONS})"


class PinnedCuts(Cuts):
    """Cuts at the positions of a checkpoint instead of the sources' current snapshots."""

    def __init__(self, reader: Callable[[], MetadataReader], model: str, positions: Mapping[str, Position]) -> None:
        super().__init__(reader)
        self._model = model
        self._positions = positions

    def of(self, table: TableName) -> Cut | None:
        """The cut of a table at its recorded snapshot. None if the table does not exist.

        Raises IncomparableError if the checkpoint does not contain the table, if the table was replaced, or if the
        snapshot no longer exists. Also raises the errors of ``Cuts.of``.
        """
        cut = super().of(table)
        if cut is None:
            return None
        position, clone = self._positions.get(str(table)), clone_of(cut.history)
        if position is None and clone is not None:  # until a cloned model runs, its checkpoint names the origin
            position = self._positions.get(str(clone.origin))
        if position is None:
            raise verify_errors.source_not_recorded(table, self._model)
        if position.table_uuid is not None and cut.history.table_uuid not in (None, position.table_uuid):
            raise verify_errors.source_replaced(table, self._model)
        if position.snapshot_id is None:
            return replace(cut, end=None)
        end = cut.history.snapshots.get(position.snapshot_id)
        if end is None:
            raise verify_errors.snapshot_expired(table, self._model, position)
        return replace(cut, end=end)
