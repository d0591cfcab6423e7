"""dbt's strategy ``microbatch``: the rows of a batch replace a window of ``event_time``."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import plain_name, sql_name
from .append import append_sql
from .columns import Named
from .predicates import enclosed


def microbatch_sql(
    target: str,
    rows: str,
    columns: Sequence[Named],
    event_time: str,
    window: tuple[object, object],
    predicates: Sequence[str],
) -> str:
    """The DELETE of the window, for any partitioning of the table, and the INSERT, separated by a semicolon.

    ``window``: its start and its exclusive end, as text that Spark can parse.
    """
    name, (start, end) = sql_name(plain_name(event_time)), window
    conditions = [f"{name} >= '{start}'", f"{name} < '{end}'", *enclosed(predicates)]
    return f"delete from {target}\nwhere {' and '.join(conditions)};\n{append_sql(target, rows, columns)}"
