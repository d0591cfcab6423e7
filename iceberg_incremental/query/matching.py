"""The changed rows of relations from which others were left out, including rows that match changed rows of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlglot import exp

from ..names import sql_name
from .dialect import PlainSpark
from .fewer_relations import Fewer, Match
from .restricted import Relations
from .sql_parts import listed_sql, raw
from .states import Broadcast, State, TableStates
from .types import tells_apart

_MATCHED = "ip_matched"


class BlockChanges(Relations, Protocol):
    """The changes of the relations of a query, as in ``Changes``."""

    broadcast: Broadcast

    def table(self, name: str) -> TableStates | None:
        """The states of a base table. None for a block."""
        ...

    def has_groups(self, name: str, columns: Sequence[str]) -> bool:
        """Whether columns of a block have the values of the expressions by which it keeps rows together."""
        ...

    def affected_values_sql(self, name: str, columns: Sequence[str]) -> str | None:
        """The values of columns in a relation's changed rows, as a relation for FROM. None if it has no such rows."""
        ...


class Matching:
    """The changed rows of the relations of a SELECT from which other relations were left out.

    They include the rows that match a changed row of a relation that was left out.
    """

    def __init__(self, changes: BlockChanges, fewer: Fewer, keys: Iterable[exp.Expr]) -> None:
        self._changes = changes
        self._fewer = fewer
        self._keys = list(keys)
        self.aliases = frozenset(fewer.matches)

    def sql(self, alias: str, name: str, state: State) -> str | None:
        """The changed rows of a relation in a state, as a relation for FROM. None if it has no such rows."""
        columns, matches = self._fewer.columns_of(alias, self._keys), self._fewer.matches.get(alias, ())
        if not matches and not self._changes.has_groups(name, columns):
            return self._changes.sql(name, state)
        return self._changed_sql(name, columns, matches, state)

    def _changed_sql(self, name: str, columns: Sequence[str], matches: Sequence[Match], state: State) -> str | None:
        """Some columns of the changed rows of a relation, and of its rows that match changed rows of ``matches``."""
        found, conditions = [], []
        if columns and (state is State.BOTH or self._changes.has_groups(name, columns)):
            own = self._changes.affected_values_sql(name, columns)
        else:
            own = self._changes.sql(name, state)
        if own is not None:
            found.append(f"select {listed_sql(columns)} from {own}")
        for match in matches:
            text = self._matched_sql(match)
            if text is None:
                continue
            known = self._known_columns(name, match)
            if all(column in known for column in columns):
                renamed = [f"{sql_name(known[column])} as {sql_name(column)}" for column in columns]
                listed = ", ".join(renamed) or listed_sql(())
                found.append(f"select {listed} from {text}")
            else:
                conditions.append(self._exists(match, text))
        if conditions:
            whole = self._changes.sql(name, _WHOLE[state])
            other = next(iter(matches)).other
            rows = exp.select(*(exp.column(column, other, quoted=True) for column in columns)).from_(
                raw(whole or "", other)
            )
            found.append(rows.where(exp.or_(*conditions)).sql(PlainSpark))
        return f"({' union all '.join(found)})" if found else None

    def _known_columns(self, name: str, match: Match) -> dict[str, str]:
        """The columns whose values are those of a column of the relation that was left out, with this column.

        Both columns have the same type, of which equal values are identical, unlike 0.0 and -0.0.
        """
        type_of = self._changes.type_of
        return {
            own: other
            for other, own in match.columns.items()
            if tells_apart(type_ := type_of(name, own)) and type_ == type_of(match.name, other)
        }

    def _matched_sql(self, match: Match) -> str | None:
        """The columns of the join in the changed rows of a relation that was left out. None if it has no such rows."""
        filters = match.filters if self._changes.table(match.name) is not None else ()
        read = [column.name for each in filters for column in each.find_all(exp.Column)]
        columns = list(dict.fromkeys([*match.columns, *read]))
        text = self._changed_sql(match.name, columns, match.matches, State.BOTH)
        if text is None or not filters:
            return text
        rows = exp.select("*").from_(raw(text, match.alias)).where(*(each.copy() for each in filters))
        return f"({rows.sql(PlainSpark)})"

    def _exists(self, match: Match, text: str) -> exp.Expr:
        """The condition that a row matches a changed row of a relation that was left out."""
        equal = [each.copy() for each in match.equal]
        for each in equal:
            for column in each.find_all(exp.Column):
                if column.table == match.alias:
                    column.set("table", exp.to_identifier(_MATCHED, quoted=True))
        rows, types = self._most_rows(match)
        hint = "" if rows is None else self._changes.broadcast(_MATCHED, rows, types)
        select = exp.select(exp.Var(this=f"{hint}1")).from_(raw(text, _MATCHED))
        return exp.Exists(this=select.where(*equal))

    def _most_rows(self, match: Match) -> tuple[int | None, list[str]]:
        """The maximum number of changed rows of a relation that was left out, and the types of the join's columns.

        The number is None if it is unknown. An unknown type counts as ``string``.
        """
        types = [self._changes.type_of(match.name, column) or "string" for column in match.columns]
        return self._most_rows_of(match.name, changed=not match.matches), types

    def _most_rows_of(self, name: str, *, changed: bool) -> int | None:
        """The maximum number of rows, or of changed rows, of a relation in either state. None if it is unknown."""
        if (states := self._changes.table(name)) is not None:
            if changed:
                return states.most_changes
            return None if states.rows is None else states.rows + (states.most_changes or 0)
        block = self._changes.block(name)
        assert block is not None
        first, *others = block.reads or [""]
        if others or not isinstance(block.query, exp.Select) or block.query.args.get("laterals") or not first:
            return None
        return self._most_rows_of(first, changed=changed)


_WHOLE = {State.REMOVED: State.OLD, State.ADDED: State.NEW, State.BOTH: State.EITHER}
"""The state whose rows may match a changed row of another relation, by the requested state."""
