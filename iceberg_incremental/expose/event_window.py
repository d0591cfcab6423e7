"""Event-time windows as SQL conditions."""

from __future__ import annotations

from ..plan.event_window import EventWindow
from ..sql import plain_name, sql_name, sql_string

_NO_TEXT = "event_time is a text column, whose values are not compared as times. Cast it to a date or a timestamp"


def inside_sql(window: EventWindow, column: str) -> str:
    """The condition that a row's event time is in a window.

    The bounds are strings, as in dbt's own filter, so that Spark casts them to the type of the column.
    """
    name = sql_name(plain_name(column))
    low, high = (sql_string(f"{bound.isoformat(sep=' ')}+00:00") for bound in (window.start, window.end))
    inside = f"{name} >= {low} and {name} < {high}"
    return f"if(typeof({name}) = 'string', raise_error({sql_string(_NO_TEXT)}), {inside})"
