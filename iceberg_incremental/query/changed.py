"""The rows of a query's blocks that a change of its sources can affect. Unaffected rows among them only cost time.

A row of a block can differ between the states only if one of these conditions is true:
- A changed row of a relation, on an inner or preserved side of the block's joins, contributes to the row.
- A changed row on the optional side of a left join matches the row in one of the two states.
- A subquery in one of the block's expressions reads a changed row for the row.
If rows of the block belong together, all rows that share a group or partition with such a row can differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ..names import sql_name
from ..table.clock import DATE, TIME
from . import normal
from .blocks import Block
from .clock import ClockStates, at_checkpoint, compared_parts, is_in_subquery, reads
from .dialect import PlainSpark
from .fewer_relations import Fewer, fewer_relations
from .limits import is_limited
from .matching import Matching
from .membership import can_change
from .restricted import Keys, restricted_block_sql, restricted_sql
from .sql_parts import listed_sql, nothing_sql, raw
from .states import Broadcast, KeyView, State, TableStates
from .subqueries import conjunct, is_in_optional_join, leaves, subqueries, within_sets
from .supported import is_of_row
from .together import kept_together, partitions, windows_of
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
        clock: ClockStates | None = None,
    ) -> None:
        self.broadcast = broadcast
        self._clock = clock
        self._moved = frozenset() if clock is None else clock.moved((DATE, TIME))
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
        return [replace(view, sql=self.finished(view.sql)) for view in self._views.values()]

    def finished(self, sql: str) -> str:
        """SQL with the time in the places of the marks of the clock."""
        return sql if self._clock is None else self._clock.sql(sql)

    def reads_clock(self, query: exp.Expr) -> bool:
        """Whether a query reads the clock, and the value that it reads has changed."""
        return bool(self._moved) and reads(query, self._moved)

    def at(self, node: exp.Expr, state: State) -> exp.Expr:
        """A copy of an expression or query that reads the clock in a state."""
        return at_checkpoint(node) if state is State.OLD and self.reads_clock(node) else node.copy()

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
            block = self._blocks[name]
            self._changed[name] = self.reads_clock(block.query) or any(map(self.is_changed, block.reads))
        return self._changed[name]

    def keys_sql(self, name: str, keys: Mapping[str, exp.Expr]) -> str:
        """The query for the values of some expressions in the affected rows of a block's FROM and WHERE clauses.

        ``keys``: the expressions by column name of the query.
        """
        select = self._blocks[name].query
        assert isinstance(select, exp.Select)
        if self.reads_clock(select):
            fewer = Fewer(select.copy(), {})
        else:
            fewer = fewer_relations(select, keys.values(), self.is_changed, self.has_groups)
        found = []
        for state, variant in self.variants(fewer.select, Matching(self, fewer, keys.values())):
            bare = normal.alone(variant)
            bare.set("expressions", [exp.alias_(self.at(each, state), key, quoted=True) for key, each in keys.items()])
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
            is_joined = isinstance(block.query, (exp.Select, exp.Union))
            self._joins_only[name] = (
                is_joined
                and all(normal.has_only_inner_joins(each) and kept_together(each) is None for each in selects)
                and not self.reads_clock(block.query)
                and all(self._only_joins(each) for each in block.reads)
            )
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
        elif isinstance(block.query, exp.SetOperation):
            found = self._of_values(block, wholes)
        elif several := partitions(block.query):
            found = [self._in_partitions(block, several, whole) for whole in wholes]
        elif (together := kept_together(block.query)) is None:
            at = (*wholes, State.BOTH)
            found = [each.sql(PlainSpark) for state, each in self.variants(block.query) if state in at]
        elif not together and self._can_compare(block):
            found = [self._compared_sql(block, state)]
        else:
            view = self._view(name, together)
            keys = Keys(view.name, tuple(zip(view.columns, together, strict=bool(view.columns))))
            found = [restricted_sql(block.query, keys, self, whole) for whole in wholes]
        return f"({' union all '.join(found)})" if found else None

    def _can_compare(self, block: Block) -> bool:
        """Whether the rows of a SELECT can be compared by value between the states."""
        return all(tells_apart(self.value_types.of(each.unalias())) for each in block.query.expressions)

    def _compared_sql(self, block: Block, state: State) -> str:
        """The values of which a block, all of whose rows may belong together, has more or fewer rows than before."""
        listed = ", ".join(map(sql_name, block.columns))
        differs = {State.REMOVED: "> 0", State.ADDED: "< 0"}.get(state, "<> 0")
        old, new = (self.sql(block.name, each) for each in (State.OLD, State.NEW))
        rows = f"select {listed}, 1 as ip_sign from {old}\nunion all\nselect {listed}, -1 as ip_sign from {new}"
        return f"select {listed} from (\n{rows}\n) group by {listed} having sum(ip_sign) {differs}"

    def _of_values(self, block: Block, wholes: Sequence[State]) -> list[str]:
        """The rows of INTERSECT or EXCEPT whose values are among the changed rows of either side.

        The number of rows with a value depends on this value alone.
        """
        assert isinstance(block.query, exp.SetOperation)
        if block.name not in self._views:
            sides = "\nunion all\n".join(self._sides(block.query, State.BOTH))
            names = tuple(f"k{number}" for number in range(len(block.columns)))
            listed = ", ".join(f"{sql_name(c)} as {n}" for c, n in zip(block.columns, names, strict=True))
            sql = f"select distinct {listed} from (\n{sides}\n)"
            self._views[block.name] = KeyView(f"{self._prefix}_{block.name}", sql, names)
        view = self._views[block.name]
        columns = dict(zip(block.columns, view.columns, strict=True))
        keys = Keys(view.name, ())
        condition = keys.exists_sql([(key, f"ip_rows.{sql_name(column)}") for column, key in columns.items()])
        return [
            f"select * from ({restricted_block_sql(block, columns, keys, self, whole)}) as ip_rows where {condition}"
            for whole in wholes
        ]

    def _in_partitions(self, block: Block, several: Sequence[Sequence[exp.Expr]], whole: State) -> str:
        """The rows of a block that are in an affected partition of any of its windows."""
        select = self.in_state(block.query, whole)
        conditions, added = [], []
        for number, partition in enumerate(several):
            view = self._view(block.name, partition, f"_{number}")
            names = [f"ip_p{number}_{place}" for place in range(len(partition))]
            added += [
                exp.alias_(self.at(each, whole), name, quoted=True) for each, name in zip(partition, names, strict=True)
            ]
            pairs = [(key, f"ip_rows.{name}") for key, name in zip(view.columns, names, strict=True)]
            conditions.append(Keys(view.name, ()).exists_sql(pairs))
        listed = ", ".join(f"ip_rows.{sql_name(column)}" for column in block.columns)
        rows = select.select(*added, copy=False).sql(PlainSpark)
        return f"select {listed} from (\n{rows}\n) as ip_rows where {' or '.join(conditions)}"

    def _sides(self, union: exp.SetOperation, state: State) -> list[str]:
        """The branches of a set operation, each of which reads the changed rows of its block.

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

    def _view(self, name: str, together: Sequence[exp.Expr], suffix: str = "") -> KeyView:
        """The view of a block's affected groups or partitions. ``suffix``: of its name, if there are several."""
        key = f"{name}{suffix}"
        if key not in self._views:
            columns = tuple(f"k{number}" for number in range(len(together))) or ("k0",)
            keys = dict(zip(columns, together or [exp.Literal.number(1)], strict=True))
            sql = f"select distinct * from (\n{self.keys_sql(name, keys)}\n)"
            self._views[key] = KeyView(f"{self._prefix}_{key}", sql, columns if together else ())
        return self._views[key]

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
        moved = self.reads_clock(select)
        adds = not moved and normal.has_only_inner_joins(select) and all(self._only_joins(n) for _, n, _ in changing)
        alone = (
            not moved
            and len(changing) == 1
            and not any(self.is_changed(table.name) for _, inner in inside for table in inner.find_all(exp.Table))
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
        if moved:
            yield from self._of_clock(select)

    def _of_clock(self, select: exp.Select) -> Iterator[tuple[State, exp.Select]]:
        """The variants for rows for which an expression has another value than at the checkpoint, by the clock alone.

        These are all rows if the clock is read in a subquery, a generator, or the ON clause of a left join.
        """
        joins = [join for _, _, join in normal.clauses(select) if join is not None]
        inner = [each for join in joins if not join.side for each in normal.conjuncts(join.args.get("on"))]
        parts = [*normal.filters(select), *inner, *normal.parts(select), *(normal.grouped_by(select) or ())]
        others = [*(join for join in joins if join.side), *(select.args.get("laterals") or ())]
        others += [each for _, each, _ in normal.clauses(select) if not isinstance(each, exp.Table)]
        is_anywhere = any(map(self.reads_clock, others)) or any(is_in_subquery(each, self._moved) for each in parts)
        condition: exp.Expr = exp.true()
        compared = [] if is_anywhere else [each for part in parts for each in compared_parts(part, self._moved)]
        if compared:
            condition = exp.or_(
                *(
                    exp.not_(exp.NullSafeEQ(this=exp.paren(at_checkpoint(each)), expression=exp.paren(each.copy())))
                    for each in dict.fromkeys(compared)
                )
            )
        for state in (State.OLD, State.NEW):
            yield state, self.in_state(select, state).where(condition)

    def _of_optional(
        self, select: exp.Select, alias: str, text: str, join: exp.Join
    ) -> Iterator[tuple[State, exp.Select]]:
        """The variants for rows that a changed row of an optional side matches, and that may have had other partners.

        ``text``: the relation of the changed rows.
        """
        conditions = [each for each in normal.conjuncts(join.args.get("on")) if each.find(exp.Query) is None]
        on = exp.and_(*(each.copy() for each in conditions)) if conditions else exp.true()
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
        node, _ = subqueries(select)[number]
        if is_in_optional_join(node):  # it decides which of all rows have partners
            for state in (State.OLD, State.NEW):
                yield state, self.in_state(select, state)
            return
        values_matter = not any(map(is_limited, within_sets(inner)))
        for leaf in leaves(inner):
            for _, variant in list(self.variants(leaf)):
                reads = normal.alone(variant)
                for state in (State.OLD, State.NEW):
                    changed = select.copy()
                    node, _ = subqueries(changed)[number]
                    predicate = conjunct(node)
                    condition: exp.Expr = exp.Exists(this=reads)
                    if values_matter:
                        condition = can_change(node, leaf, reads, self.value_types, must_be_true=predicate is node)
                    if predicate is not None:  # it may be true in only one of the states
                        predicate.replace(exp.true())
                    yield state, self.in_state(changed, state).where(condition)

    def in_state(self, query: exp.Expr, state: State, own: Mapping[str, str] | None = None) -> exp.Select:
        """A query with its relations in a state. ``own``: the SQL of other relations for its FROM clause, by alias."""
        query = self.at(query, state)
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
