"""Seeds: the rows of a CSV file as queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from iceberg_incremental.sql import sql_name, sql_string, sql_value

from ..as_dbt import dbt_error
from .inserts import exact_cast

if TYPE_CHECKING:
    import agate

_DELIMITERS = ",;|\t"


def require_delimiter(names: Sequence[str], *, quoted: bool) -> None:
    """Raise DbtRuntimeError if a file's header was not split into columns. ``quoted``: names may contain any text."""
    if quoted or len(names) != 1 or not set(names[0]) & set(_DELIMITERS):
        return
    likely = max(_DELIMITERS, key=names[0].count)
    raise dbt_error(
        "Syntax error in the header of the seed: it has only one column, whose name contains delimiters.",
        expected="columns that are separated by the config `delimiter`, which is a comma by default.",
        found=f"{names[0][:200]!r}.",
        fix=f"set `delimiter: {likely!r}` for the seed. If this is the name of one column, set `quote_columns: true`.",
    )


def query(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A query of these rows. Each column is cast to its type once.

    A value that the type cannot hold is an error, even if Spark's cast would return NULL.
    """
    columns = ", ".join(_typed(f"c{i}", name, kind) for i, (name, kind) in enumerate(zip(names, types, strict=True)))
    values = ",\n".join("(" + ", ".join(map(_literal, row)) + ")" for row in rows)
    given = ", ".join(f"c{i}" for i in range(len(names)))
    return f"select /*+ coalesce(1) */ {columns} from values\n{values}\nas seed({given})"


def _literal(value: Any) -> str:
    """A value as a literal. Numbers are written as text, so that they are rounded only once, by the cast.

    As decimals, all numbers of a column would have one type with 38 digits. A small number in the same column as a
    large one could then become 0.
    """
    if not isinstance(value, Decimal):
        return sql_value(value)
    whole = value.to_integral_value()
    return sql_string(format(whole if whole == value else value, "f"))


def _typed(value: str, name: str, kind: str) -> str:
    """A value as a column of its type."""
    what = "The seed has a value that its column cannot hold."
    fix = "correct the value, or the type of the column in the seed's column_types."
    return f"{exact_cast(value, kind, name, what, fix)} as {sql_name(name)}"


def queries(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], batch: int) -> Iterator[str]:
    """The rows in queries of at most ``batch`` rows."""
    for start in range(0, len(rows), batch):
        yield query(names, types, rows[start : start + batch])


def types_of(inferred: Mapping[str, str], wanted: Mapping[str, str] | None) -> list[str]:
    """The type of each column: the one in its config, otherwise the inferred one."""
    return [(wanted or {}).get(name, kind) for name, kind in inferred.items()]


class Seeds:
    """The table of a seed and its rows, as SQL."""

    def __init__(self, convert_type: Callable[[agate.Table, int], str | None]) -> None:
        """``convert_type``: dbt's own method, which returns the type of a column by its index."""
        self._convert_type = convert_type

    def columns(self, rows: agate.Table, config: Mapping[str, Any]) -> list[str]:
        """The column definitions of a seed. Raises DbtRuntimeError if its delimiter is wrong."""
        require_delimiter(rows.column_names, quoted=bool(config.get("quote_columns")))
        inferred = self._types(rows)
        types = types_of(inferred, config.get("column_types"))
        return [f"{sql_name(name)} {kind}" for name, kind in zip(inferred, types, strict=True)]

    def queries(self, rows: agate.Table, column_types: Mapping[str, str] | None, batch_size: int) -> list[str]:
        """The rows of a seed as queries of at most ``batch_size`` rows."""
        inferred = self._types(rows)
        return list(queries(list(inferred), types_of(inferred, column_types), rows.rows, batch_size))

    def _types(self, rows: agate.Table) -> dict[str, str]:
        return {name: str(self._convert_type(rows, index)) for index, name in enumerate(rows.column_names)}
