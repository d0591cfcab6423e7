"""Seeds: the rows of a CSV file as queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from .sql import sql_name, sql_value

_DELIMITERS = ",;|\t"


def require_delimiter(names: Sequence[str], *, quoted: bool) -> None:
    """Raise DbtRuntimeError where a file's header was not split into columns; ``quoted``: its names may be any text."""
    if quoted or len(names) != 1 or not set(names[0]) & set(_DELIMITERS):
        return
    likely = max(_DELIMITERS, key=names[0].count)
    raise DbtRuntimeError(
        "Syntax error in the header of the seed: it has one column, whose name has delimiters in it.\n"
        "  Expected: a header whose columns the config `delimiter` separates, which is a comma unless it is set.\n"
        f"  Found: {names[0][:200]!r}.\n"
        f"  What to do: set `delimiter: {likely!r}` for the seed; if that is one column's name, set "
        "`quote_columns: true`."
    )


def query(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A query of some rows, of one file once written; every column is cast once, to its type."""
    columns = ", ".join(
        f"cast(c{i} as {kind}) as {sql_name(name)}" for i, (name, kind) in enumerate(zip(names, types, strict=True))
    )
    values = ",\n".join("(" + ", ".join(sql_value(value) for value in row) + ")" for row in rows)
    given = ", ".join(f"c{i}" for i in range(len(names)))
    return f"select /*+ coalesce(1) */ {columns} from values\n{values}\nas seed({given})"


def queries(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], batch: int) -> Iterator[str]:
    """The rows in queries of at most ``batch`` rows."""
    for start in range(0, len(rows), batch):
        yield query(names, types, rows[start : start + batch])


def types_of(inferred: Mapping[str, str], wanted: Mapping[str, str] | None) -> list[str]:
    """Each column's type: the one its config names, else the inferred one."""
    return [(wanted or {}).get(name, kind) for name, kind in inferred.items()]
