"""The rows of a query's blocks that a change of its sources can affect. Unaffected rows among them only cost time.

A row of a block can differ between the states only if one of these conditions is true:
- A changed row of a relation, on an inner or preserved side of the block's joins, contributes to the row.
- A changed row on the optional side of a left join matches the row in one of the two states.
- A subquery in one of the block's expressions reads a changed row for the row.
If rows of the block belong together, all rows that share a group or partition with such a row can differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from ..names import sql_name
from . import normal
from .blocks import Block
from .dialect import PlainSpark
from .fewer_relations import fewer_relations
from .matching import Matching
from .membership import can_change
from .refusal import refused
from .restricted import Keys, restricted_sql
from .sql_parts import listed_sql, nothing_sql, raw
from .states import Broadcast, KeyView, State, TableStates
from .subqueries import conjunct, subqueries
from .supported import is_of_row
from .together import kept_together, windows_of
from .types import Types, tells_apart
from .unions import have_same_types, only_relation

_CHANGED = "ip_changed"


class Changes:
    """The changes of the blocks of one query in one run.

    ``tables``: the states of its base tables. ``types``: the types of their columns. ``prefix``: the prefix of the
    names of its views.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        tables: Mapping[str, TableStates],
        types: Mapping[str, Mapping[str, str]],
        prefix: str,
        broadcast: Broadcast = lambda alias, rows, types: "",
    ) -> None:
        self.broadcast = broadcast
        self._types = types
        self.value_types = Types(blocks, types)
        self._blocks = {block.name: block for block in blocks}
        self._tables = tables
        self._prefix = prefix
        self._views: dict[str, KeyView] = {}
        self._changed: dict[str, bool] = {}
        self._joins_only: dict[str, bool] = {}
        self._texts: dict[tuple[str, State], str | None] = {}
        self.names = frozenset((*self._blocks, *tables))

    @property
    def views(self) -> list[KeyView]:
        """The views of keys that the returned SQL reads, in the order of their creation."""
        return list(self._views.values())

    def table(self, name: str) -> TableStates | None:
        """The states of a base table. None for a block."""
        return self._tables.get(name)

    def block(self, name: str) -> Block | None:
        """The block with a name. None for a base table."""
        return self._blocks.get(name)

    def type_of(self, name: str, column: str) -> str | None:
        """The type of a column that is read unchanged from a base table, possibly through blocks. None otherwise."""
        if name in self._types:
            return self._types[name].get(column.lower())
        block = self._blocks.get(name)
        if block is None or not isinstance(block.query, exp.Select):
            return None
        found = next((each.unalias() for each in block.query.expressions if each.alias_or_name == column), None)
        if not isinstance(found, exp.Column):
            return None
        source = next((each for alias, each, _ in normal.clauses(block.query) if alias == found.table), None)
        return self.type_of(source.name, found.name) if isinstance(source, exp.Table) else None

    def is_changed(self, name: str) -> bool:
        """Whether a relation may have changed."""
        if name in self._tables:
            return self._tables[name].changes is not None
        if name not in self._changed:
            self._changed[name] = any(self.is_changed(each) for each in self._blocks[name].reads)
        return self._changed[name]

    def keys_sql(self, name: str, keys: Mapping[str, exp.Expr]) -> str:
        """The query for the values of some expressions in the affected rows of a block's FROM and WHERE clauses.

        ``keys``: the expressions by column name of the query.
        """
        select = self._blocks[name].query
        assert isinstance(select, exp.Select)
        fewer = fewer_relations(select, keys.values(), self.is_changed, self.has_groups)
        found = []
        for _, variant in self.variants(fewer.select, Matching(self, fewer, keys.values())):
            bare = normal.alone(variant)
            bare.set("expressions", [exp.alias_(each.copy(), key, quoted=True) for key, each in keys.items()])
            found.append(bare.sql(PlainSpark))
        return "\nunion all\n".join(found) or nothing_sql(keys)

    def sql(self, name: str, state: State) -> str | None:
        """A relation in a state, as a relation for FROM. None if it has no such rows."""
        if state is State.EITHER:
            return self._either_sql(name)
        if name in self._tables:
            return self._tables[name].sql(state)
        if (name, state) not in self._texts:
            self._texts[name, state] = self._block_sql(name, state)
        return self._texts[name, state]

    def _either_sql(self, name: str) -> str | None:
        """The new and the old rows of a relation, some of them possibly twice."""
        if name in self._blocks and self._only_joins(name):
            return f"({self.query_sql(name, State.EITHER)})"
        new, removed = self.sql(name, State.NEW), self.sql(name, State.REMOVED)
        if removed is None:
            return new
        listed = listed_sql(self._types[name] if name in self._tables else self._blocks[name].columns)
        return f"(select {listed} from {new} union all select {listed} from {removed})"

    def _only_joins(self, name: str) -> bool:
        """Whether a relation is a table, or only joins such relations so that each of their rows can only add rows."""
        if name in self._tables:
            return True
        if name not in self._joins_only:
            block = self._blocks[name]
            selects = block.selects
            self._joins_only[name] = all(
                normal.has_only_inner_joins(each) and kept_together(each) is None for each in selects
            ) and all(self._only_joins(each) for each in block.reads)
        return self._joins_only[name]

    def has_groups(self, name: str, columns: Sequence[str]) -> bool:
        """Whether columns of a block have the values of the expressions by which it keeps rows together."""
        block = self._blocks.get(name)
        if block is None or not columns or not isinstance(block.query, exp.Select):
            return False
        values, together = block.outputs(columns).values(), kept_together(block.query)
        # rows of the same partition may have different values, such as 0.0 and -0.0
        has_one_value = not windows_of(block.query) or all(tells_apart(self.value_types.of(each)) for each in values)
        return has_one_value and together is not None and all(each in together for each in values)

    def affected_values_sql(self, name: str, columns: Sequence[str]) -> str | None:
        """The values of columns in a relation's changed rows, as a relation for FROM. None if it has no such rows."""
        block = self._blocks.get(name)
        if block is None or not self.is_changed(name) or not isinstance(block.query, exp.Select):
            return self.sql(name, State.BOTH)
        values, together = block.outputs(columns), kept_together(block.query)
        if together is None and all(map(is_of_row, values.values())):
            return f"({self.keys_sql(name, values)})"
        if together is None or not self.has_groups(name, columns):
            return self.sql(name, State.BOTH)
        view = self._view(name, together)
        places = {column: view.columns[together.index(each)] for column, each in values.items()}
        listed = ", ".join(f"{sql_name(place)} as {sql_name(column)}" for column, place in places.items())
        return f"(select {listed} from {view.name})"

    def _block_sql(self, name: str, state: State) -> str | None:
        if state in (State.NEW, State.OLD):
            return f"({self.query_sql(name, state)})"
        return self._changed_sql(name, state) if self.is_changed(name) else None

    def query_sql(self, name: str, state: State) -> str:
        """A block's query with all its relations in a state."""
        return self.in_state(self._blocks[name].query, state).sql(PlainSpark)

    def _changed_sql(self, name: str, state: State) -> str | None:
        """The changed rows of a block in its old state, its new state, or both."""
        block = self._blocks[name]
        wholes = {State.REMOVED: [State.OLD], State.ADDED: [State.NEW]}.get(state, [State.OLD, State.NEW])
        if isinstance(block.query, exp.Union):
            found = self._sides(block.query, state)
        elif (together := kept_together(block.query)) is None:
            at = (*wholes, State.BOTH)
            found = [each.sql(PlainSpark) for state, each in self.variants(block.query) if state in at]
        else:
            view = self._view(name, together)
            keys = Keys(view.name, tuple(zip(view.columns, together, strict=bool(view.columns))))
            found = [restricted_sql(block.query, keys, self, whole) for whole in wholes]
        return f"({' union all '.join(found)})" if found else None

    def _sides(self, union: exp.Union, state: State) -> list[str]:
        """The branches of a UNION ALL, each of which reads the changed rows of its block.

        A branch without such rows is omitted, unless it may determine the types of the columns.
        """
        sides = [side for side in (union.this, union.expression) if isinstance(side, exp.Select)]
        names = [only_relation(side) for side in sides]
        texts = [self.sql(name, state) for name in names]
        if all(text is None for text in texts):
            return []
        if not have_same_types(sides, self):
            texts = [
                f"(select * from {self.sql(name, State.NEW)} where false)" if text is None else text
                for name, text in zip(names, texts, strict=True)
            ]
        return [
            self._replaced(side.copy(), {name: text}).sql(PlainSpark)
            for side, name, text in zip(sides, names, texts, strict=True)
            if text is not None
        ]

    def _view(self, name: str, together: Sequence[exp.Expr]) -> KeyView:
        """The view of a block's affected groups or partitions."""
        if name not in self._views:
            columns = tuple(f"k{number}" for number in range(len(together))) or ("k0",)
            keys = dict(zip(columns, together or [exp.Literal.number(1)], strict=True))
            sql = f"select distinct * from (\n{self.keys_sql(name, keys)}\n)"
            self._views[name] = KeyView(f"{self._prefix}_{name}", sql, columns if together else ())
        return self._views[name]

    # The rows of FROM and WHERE

    def variants(self, select: exp.Select, matching: Matching | None = None) -> Iterator[tuple[State, exp.Select]]:
        """Variants of a SELECT, one for each way in which its rows can be affected, each with its state.

        With ``BOTH``, the variant reads changed rows of both states at once. This is possible if no other relation has
        changed, or if the SELECT only joins tables by inner joins. In the latter case, the variant may also return rows
        that are in neither state, which only cost time. ``matching``: the relations that were left out of the SELECT.
        """
        inside = subqueries(select)
        matched = frozenset() if matching is None else matching.aliases
        changing = [
            (alias, relation.name, join)
            for alias, relation, join in normal.clauses(select)
            if isinstance(relation, exp.Table) and (alias in matched or self.is_changed(relation.name))
        ]
        adds = normal.has_only_inner_joins(select) and all(self._only_joins(name) for _, name, _ in changing)
        alone = len(changing) == 1 and not any(
            self.is_changed(table.name) for _, inner in inside for table in inner.find_all(exp.Table)
        )

        def changes(alias: str, name: str, state: State) -> str | None:
            return self.sql(name, state) if matching is None else matching.sql(alias, name, state)

        for alias, name, join in changing:
            if join is not None and join.side.upper() == "LEFT":
                if (text := changes(alias, name, State.BOTH)) is not None:
                    yield from self._of_optional(select, alias, text, join)
            else:
                wholes = (State.BOTH,) if adds or alone else (State.OLD, State.NEW)
                for state in wholes:
                    if (text := changes(alias, name, state.changes)) is not None:
                        others = {State.BOTH: State.EITHER if adds else State.NEW}.get(state, state)
                        yield state, self.in_state(select, others, {alias: text})
        for number, (_, inner) in enumerate(inside):
            yield from self._of_subquery(select, number, inner)

    def _of_optional(
        self, select: exp.Select, alias: str, text: str, join: exp.Join
    ) -> Iterator[tuple[State, exp.Select]]:
        """The variants for rows that a changed row of an optional side matches, and that may have had other partners.

        ``text``: the relation of the changed rows.
        """
        on = (join.args.get("on") or exp.true()).copy()
        for column in on.find_all(exp.Column):
            if column.table == alias:
                column.set("table", exp.to_identifier(_CHANGED))
        matches = exp.Exists(this=exp.select("1").from_(raw(text, _CHANGED)).where(on))
        for state in (State.OLD, State.NEW):
            yield state, self.in_state(select, state).where(matches)

    def _of_subquery(self, select: exp.Select, number: int, inner: exp.Expr) -> Iterator[tuple[State, exp.Select]]:
        """The variants for rows for which a subquery reads a changed row."""
        if not any(self.is_changed(table.name) for table in inner.find_all(exp.Table)):
            return
        if not isinstance(inner, exp.Select):
            raise refused("UNION in a subquery of an expression", inner, "move it to a CTE, and read the CTE")
        for _, variant in list(self.variants(inner)):
            reads = normal.alone(variant)
            for state in (State.OLD, State.NEW):
                changed = select.copy()
                node, _ = subqueries(changed)[number]
                predicate = conjunct(node)
                condition = can_change(node, inner, reads, self.value_types, must_be_true=predicate is node)
                if predicate is not None:  # it may be true in only one of the states
                    predicate.replace(exp.true())
                yield state, self.in_state(changed, state).where(condition)

    def in_state(self, query: exp.Expr, state: State, own: Mapping[str, str] | None = None) -> exp.Select:
        """A query with its relations in a state. ``own``: the SQL of other relations for its FROM clause, by alias."""
        query = query.copy()
        mine: dict[int, str] = {}
        if own and isinstance(query, exp.Select):
            mine = {id(relation): own[alias] for alias, relation, _ in normal.clauses(query) if alias in own}
        for table in list(query.find_all(exp.Table)):
            if table.name in self.names and not isinstance(table.this, exp.Var):
                text = mine.get(id(table)) or self.sql(table.name, state)
                assert text is not None
                table.replace(raw(text, table.alias_or_name))
        return query  # type: ignore[return-value] # a SELECT or a UNION

    def _replaced(self, query: exp.Expr, texts: Mapping[str, str]) -> exp.Expr:
        for table in list(query.find_all(exp.Table)):
            if table.name in texts:
                table.replace(raw(texts[table.name], table.alias_or_name))
        return query
