"""Parts of a query that no rule knows, such as PIVOT and WITH RECURSIVE. They are computed as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..text.dialect import may_be_moment
from ..text.functions import CLOCK_MARKS
from ..text.parsing import is_named
from ..text.refusal import Refusal
from .nodes import READ, Opaque, Result

MISREAD = (Refusal, SqlglotError, RecursionError, ValueError, TypeError, LookupError, AttributeError)
"""What a builder raises for SQL that it misreads."""


def opaque(
    node: exp.Expr,
    names: Sequence[str],
    because: Refusal,
    ctes: Collection[str],
    read: Callable[[exp.Table], Result],
) -> Opaque:
    """A query as one operator. ``names``: those of its columns. ``ctes``: the CTEs around it, in lower case.

    ``read``: returns the result of a table or of one of ``ctes``. Raises ``because`` if it may read something else.
    """
    assert isinstance(node, exp.Query)
    query = node.copy()
    own = {each.alias.lower() for each in query.find_all(exp.CTE)}
    reads_fields = any(each.args.get("db") for each in query.find_all(exp.Column))  # or columns of db.table
    if reads_fields or own & set(ctes) or any(map(_is_of_time, query.walk())):
        raise because
    children: list[Result] = []
    for table in list(query.find_all(exp.Table)):
        is_own = not table.args.get("db") and table.name.lower() in own
        if is_own or not is_named(table):
            continue
        new = table.copy()
        new.set("this", exp.to_identifier(f"{READ}{len(children)}"))
        if not table.alias:
            new.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        parts = {key: table.args.get(key) for key in ("this", "db", "catalog")}
        children.append(read(exp.Table(**parts)))
        for key in ("db", "catalog"):
            new.set(key, None)
        table.replace(new)
    return Opaque(query, tuple(children), tuple(names), (None,) * len(names), because)


def _is_of_time(node: exp.Expr) -> bool:
    """Whether a node reads the clock, or may be a text that means a time."""
    if isinstance(node, exp.Literal):
        return node.is_string and may_be_moment(node.name)
    return isinstance(node, exp.Anonymous) and node.name.lower() in CLOCK_MARKS


def without_ctes(node: exp.Expr) -> exp.Expr:
    """A query without its WITH."""
    found = node.copy()
    found.set("with_", None)
    return found


def reads_itself(cte: exp.CTE) -> bool:
    """Whether a CTE is recursive."""
    clause = cte.parent
    if not (isinstance(clause, exp.With) and clause.args.get("recursive") and isinstance(cte.this, exp.Union)):
        return False
    names = [each.name.lower() for each in cte.this.find_all(exp.Table) if not each.args.get("db")]
    return cte.alias.lower() in names
