"""Whether Spark reads two texts as the same query, by its optimized plans.

What sqlglot makes of a query, with names resolved, must be what Spark makes of it. EXPLAIN shows a plan with the
numbers that Spark gives to columns. Two queries are read alike if their plans are the same with other numbers.
"""

from __future__ import annotations

import re

SETTINGS = {"spark.sql.debug.maxToStringFields": "100000", "spark.sql.maxPlanStringLength": "100000000"}
"""Settings under which Spark shows plans in full."""

_SECTION = re.compile(r"== Optimized Logical Plan ==\n(.*?)\n(?:\n== |\Z)", re.DOTALL)
_DEFINED = re.compile(r" AS ((?:(?! AS )[^#\n])+)#(\d+)")
_GENERATED = re.compile(r"(Generate .*?, (?:true|false), )[^,\[]*, ")
"""The name of a LATERAL VIEW, which its columns have in neither query."""
_NUMBERED = re.compile(r"((?:[A-Za-z_][\w.$]*|`[^`]*`)?)#(\d+)L?")


def explain_sql(query: str) -> str:
    """The statement that shows the plans of a query."""
    return f"explain extended {query}"


def canonical(explained: str) -> str | None:
    """The optimized plan in a text of EXPLAIN EXTENDED, its columns numbered in the order of their mention.

    None where there is no such plan, as where Spark has refused the query.
    """
    found = _SECTION.search(explained)
    if found is None:
        return None
    plan = found.group(1)
    for name, number in _DEFINED.findall(plan):  # names that Spark makes of expressions
        plan = plan.replace(f"{name}#{number}", f"#{number}")
    plan = _GENERATED.sub(r"\1", plan)
    numbers: dict[str, int] = {}

    def counted(match: re.Match[str]) -> str:
        return f"#{numbers.setdefault(match.group(2), len(numbers))}"

    return _NUMBERED.sub(counted, plan)
