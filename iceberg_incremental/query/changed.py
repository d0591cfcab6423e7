"""The rows of a query's blocks that a change of its sources can affect; supersets, which cost time and nothing else.

The rule: a row of a block can have come, gone or changed only if
- a source that the block reads in full, or the preserved side of a left join, has a changed row in it;
- a changed row of the optional side of a left join matches it, in one state or the other;
- a subquery in one of its expressions reads a changed row for it.
If rows of the block belong together, all that share a group or partition with such a row can have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..sql import sql_name
from . import normal
from .blocks import Block
from .dialect import PlainSpark
from .fewer_relations import Fewer, Match, fewer_relations
from .refusal import refused
from .restricted import Keys, restricted_sql
from .states import State, TableStates
from .subqueries import conjunct, subqueries
from .supported import is_aggregate, is_generator
from .together import kept_together, windows_of
from .types import tells_apart

_CHANGED = "ip_changed"
_MATCHED = "ip_matched"


Broadcast = Callable[[str, int, Sequence[str]], str]


@dataclass(frozen=True)
class KeyView:
    """A view of keys that is made before the statements that read it: its name, and its query."""

    name: str
    sql: str
    columns: tuple[str, ...]


class Changes:
    """The changes of the blocks of one query in one run.

    ``tables``: the states of its base tables; ``types``: of their columns. ``prefix``: of the names of its views.
    ``broadcast``: gives the hint of a relation by its alias, the most rows that it may have, and its columns' types.
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
        """The views of keys that what was asked for so far reads, in the order in which they are made."""
        return list(self._views.values())

    def table(self, name: str) -> TableStates | None:
        """The states of a base table; None for a block."""
        return self._tables.get(name)

    def block(self, name: str) -> Block | None:
        """The block of a name; None for a base table."""
        return self._blocks.get(name)

    def type_of(self, name: str, column: str) -> str | None:
        """The type of a relation's column, where it is a column of a base table; else None."""
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
        """The query for the values that some expressions have in the affected rows of a block's FROM clause.

        ``keys``: the expressions by the names of the columns that they get.
        """
        select = self._blocks[name].query
        assert isinstance(select, exp.Select)
        fewer = fewer_relations(select, keys.values(), self.is_changed)
        found = []
        for _, variant in self.variants(fewer.select, _Matching(self, fewer, keys.values())):
            bare = normal.alone(variant)
            bare.set("expressions", [exp.alias_(each.copy(), key, quoted=True) for key, each in keys.items()])
            found.append(bare.sql(PlainSpark))
        return "\nunion all\n".join(found) or nothing_sql(keys)

    def sql(self, name: str, state: State) -> str | None:
        """A relation in a state, as it stands after FROM; None where it has no such rows."""
        if state is State.EITHER:
            return self._either_sql(name)
        if name in self._tables:
            return self._tables[name].sql(state)
        if (name, state) not in self._texts:
            self._texts[name, state] = self._block_sql(name, state)
        return self._texts[name, state]

    def _either_sql(self, name: str) -> str | None:
        """The rows that a relation has and those that it had; maybe some of them twice."""
        if name in self._blocks and self._only_joins(name):
            return f"({self.query_sql(name, State.EITHER)})"
        new, gone = self.sql(name, State.NEW), self.sql(name, State.GONE)
        if gone is None:
            return new
        names = self._types[name] if name in self._tables else self._blocks[name].columns
        listed = _listed(names)
        return f"(select {listed} from {new} union all select {listed} from {gone})"

    def _only_joins(self, name: str) -> bool:
        """Whether a relation is a table, or joins such relations in a way that each of their rows only adds rows."""
        if name in self._tables:
            return True
        if name not in self._joins_only:
            block = self._blocks[name]
            selects = block.selects
            self._joins_only[name] = all(_is_inner(each) and kept_together(each) is None for each in selects) and all(
                self._only_joins(each) for each in block.reads
            )
        return self._joins_only[name]

    def most_rows(self, name: str, *, changed: bool) -> int | None:
        """The most rows, or changed rows, that a relation can have in either state; None if unknown."""
        if name in self._tables:
            states = self._tables[name]
            if changed or states.rows is None:
                return states.most_changes if changed else None
            return states.rows + (states.most_changes or 0)
        (first, *others), query = self._blocks[name].reads, self._blocks[name].query
        if others or not isinstance(query, exp.Select) or query.args.get("laterals"):
            return None
        return self.most_rows(first, changed=changed)

    def affected_values_sql(self, name: str, columns: Sequence[str]) -> str | None:
        """The values that some columns have in the changed rows of a relation, as they stand after FROM.

        None where it has no such rows.
        """
        block = self._blocks.get(name)
        if block is None or not self.is_changed(name) or not isinstance(block.query, exp.Select):
            return self.sql(name, State.BOTH)
        outputs = {each.alias_or_name.lower(): each.unalias() for each in block.query.expressions}
        values = {column: outputs[column.lower()] for column in columns}
        together = kept_together(block.query)
        if together is None:
            if all(_is_of_row(each) for each in values.values()):
                return f"({self.keys_sql(name, values)})"
        elif all(each in together for each in values.values()):
            view = self._view(name, together)
            listed = ", ".join(
                f"{sql_name(view.columns[together.index(each)])} as {sql_name(column)}"
                for column, each in values.items()
            )
            return f"(select {listed} from {view.name})"
        return self.sql(name, State.BOTH)

    def _block_sql(self, name: str, state: State) -> str | None:
        if state in (State.NEW, State.OLD):
            return f"({self.query_sql(name, state)})"
        return self._changed_sql(name, state) if self.is_changed(name) else None

    def query_sql(self, name: str, state: State) -> str:
        """A block's query on a whole state of all that it reads."""
        return self.in_state(self._blocks[name].query, state).sql(PlainSpark)

    def _changed_sql(self, name: str, state: State) -> str | None:
        """The changed rows of a block: of one whole state, or of both."""
        block = self._blocks[name]
        wholes = {State.GONE: [State.OLD], State.CAME: [State.NEW]}.get(state, [State.OLD, State.NEW])
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
        """The branches of a UNION ALL, each of which is a SELECT of one block, on changed rows of these blocks.

        A branch without such rows counts where it may decide the types of the columns.
        """
        sides = [side for side in (union.this, union.expression) if isinstance(side, exp.Select)]
        names = [_only_relation(side) for side in sides]
        texts = [self.sql(name, state) for name in names]
        if all(text is None for text in texts):
            return []
        if not self.have_same_types(sides):
            texts = [
                f"(select * from {self.sql(name, State.NEW)} where false)" if text is None else text
                for name, text in zip(names, texts, strict=True)
            ]
        return [
            self._replaced(side.copy(), {name: text}).sql(PlainSpark)
            for side, name, text in zip(sides, names, texts, strict=True)
            if text is not None
        ]

    def have_same_types(self, sides: Sequence[exp.Select]) -> bool:
        """Whether the branches of a UNION ALL, each of which reads one relation, are known to have the same types."""
        types = [
            [self.type_of(_only_relation(side), each.unalias().name) for each in side.expressions] for side in sides
        ]
        return all(None not in listed and listed == types[0] for listed in types)

    def _view(self, name: str, together: Sequence[exp.Expr]) -> KeyView:
        """The view of a block's affected groups or partitions."""
        if name not in self._views:
            columns = tuple(f"k{number}" for number in range(len(together))) or ("k0",)
            keys = dict(zip(columns, together or [exp.Literal.number(1)], strict=True))
            sql = f"select distinct * from (\n{self.keys_sql(name, keys)}\n)"
            self._views[name] = KeyView(f"{self._prefix}_{name}", sql, columns if together else ())
        return self._views[name]

    # The rows of FROM and WHERE

    def variants(self, select: exp.Select, matching: _Matching | None = None) -> Iterator[tuple[State, exp.Select]]:
        """A SELECT, once for each way in which its rows can be affected, with the state that it is on.

        ``BOTH``: on changed rows of both states at once, if nothing else that it reads has changed, or if it only
        joins tables by inner joins. In that case it may also return rows that are in neither state. They cost time
        only. ``matching``: the relations that the SELECT was written without.
        """
        inside = subqueries(select)
        matched = frozenset() if matching is None else matching.aliases
        changing = [
            (alias, relation.name, join)
            for alias, relation, join in normal.clauses(select)
            if isinstance(relation, exp.Table) and (alias in matched or self.is_changed(relation.name))
        ]
        adds = _is_inner(select) and all(self._only_joins(name) for _, name, _ in changing)
        alone = len(changing) == 1 and not any(
            self.is_changed(table.name) for _, inner in inside for table in inner.find_all(exp.Table)
        )

        def changes(alias: str, name: str, state: State) -> str | None:
            return matching.sql(alias, name, state) if matching and alias in matched else self.sql(name, state)

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
        """The rows that a changed row of the optional side matches: in the other state they had other partners.

        ``text``: the changed rows.
        """
        on = (join.args.get("on") or exp.true()).copy()
        if any(isinstance(node, exp.Query) for node in on.walk()):
            raise refused("a subquery in an ON clause", join, "join the subquery as a relation")
        for column in on.find_all(exp.Column):
            if column.table == alias:
                column.set("table", exp.to_identifier(_CHANGED))
        matches = exp.Exists(this=exp.select("1").from_(_raw(text, _CHANGED)).where(on))
        for state in (State.OLD, State.NEW):
            yield state, self.in_state(select, state).where(matches)

    def _of_subquery(self, select: exp.Select, number: int, inner: exp.Expr) -> Iterator[tuple[State, exp.Select]]:
        """The rows for which a subquery reads a changed row."""
        if not any(self.is_changed(table.name) for table in inner.find_all(exp.Table)):
            return
        if not isinstance(inner, exp.Select):
            raise refused("UNION in a subquery of an expression", inner, "name it by a CTE and read that")
        for _, variant in list(self.variants(inner)):
            reads = normal.alone(variant)
            for state in (State.OLD, State.NEW):
                changed = select.copy()
                node, _ = subqueries(changed)[number]
                condition = self._affects(node, inner, reads.copy())
                predicate = conjunct(node)
                if predicate is not None:  # it may hold in one state and not in the other
                    predicate.replace(exp.true())
                yield state, self.in_state(changed, state).where(condition)

    def _affects(self, node: exp.Expr, inner: exp.Select, reads: exp.Select) -> exp.Expr:
        """The condition that a subquery reads a row of ``reads`` that matters."""
        if isinstance(node, exp.In) and len(inner.expressions) == 1:
            value = inner.expressions[0].unalias()
            nodes = [*value.walk(), *node.this.walk()]
            computed = any(is_aggregate(each) or isinstance(each, (exp.Window, exp.Query)) for each in nodes)
            if not computed and not windows_of(inner):
                same = exp.paren(exp.EQ(this=exp.paren(node.this.copy()), expression=exp.paren(value.copy())))
                reads = reads.where(exp.not_(exp.Is(this=same, expression=exp.false())))
        return exp.Exists(this=reads)

    def in_state(self, query: exp.Expr, state: State, own: Mapping[str, str] | None = None) -> exp.Select:
        """A query on a state of all that it reads; ``own``: other texts for some sources in its FROM, by alias."""
        query = query.copy()
        mine: dict[int, str] = {}
        if own and isinstance(query, exp.Select):
            mine = {id(relation): own[alias] for alias, relation, _ in normal.clauses(query) if alias in own}
        for table in list(query.find_all(exp.Table)):
            if table.name in self.names and not isinstance(table.this, exp.Var):
                text = mine.get(id(table)) or self.sql(table.name, state)
                assert text is not None
                table.replace(_raw(text, table.alias_or_name))
        return query  # type: ignore[return-value] # a SELECT or a UNION

    def _replaced(self, query: exp.Expr, texts: Mapping[str, str]) -> exp.Expr:
        for table in list(query.find_all(exp.Table)):
            if table.name in texts:
                table.replace(_raw(texts[table.name], table.alias_or_name))
        return query


class _Matching:
    """The changed rows of the relations of a SELECT that other relations were left out for.

    Rows that match a changed row of one that was left out are among them.
    """

    def __init__(self, changes: Changes, fewer: Fewer, keys: Iterable[exp.Expr]) -> None:
        self._changes = changes
        self._fewer = fewer
        self._keys = list(keys)
        self.aliases = frozenset(fewer.matches)

    def sql(self, alias: str, name: str, state: State) -> str | None:
        """The changed rows of a relation in a state, as they stand after FROM."""
        columns = self._fewer.columns_of(alias, self._keys)
        return self._changed_sql(name, columns, self._fewer.matches[alias], state)

    def _changed_sql(self, name: str, columns: Sequence[str], matches: Sequence[Match], state: State) -> str | None:
        """Some columns of the changed rows of a relation, and of those that match."""
        found, conditions = [], []
        if columns and state is State.BOTH:
            own = self._changes.affected_values_sql(name, columns)
        else:
            own = self._changes.sql(name, state)
        if own is not None:
            found.append(f"select {_listed(columns)} from {own}")
        for match in matches:
            text = self._matched_sql(match)
            if text is None:
                continue
            known = self._known_columns(name, match)
            if all(column in known for column in columns):
                listed = ", ".join(f"{sql_name(known[column])} as {sql_name(column)}" for column in columns)
                found.append(f"select {listed or _ONE} from {text}")
            else:
                conditions.append(self._exists(match, text))
        if conditions:
            whole = self._changes.sql(name, _WHOLE[state])
            other = next(iter(matches)).other
            rows = exp.select(*(exp.column(column, other, quoted=True) for column in columns)).from_(
                _raw(whole or "", other)
            )
            found.append(rows.where(exp.or_(*conditions)).sql(PlainSpark))
        return f"({' union all '.join(found)})" if found else None

    def _known_columns(self, name: str, match: Match) -> dict[str, str]:
        """The columns whose values are those of columns of a relation that was left out.

        They have the same type, of which equal values are the same: 0.0 and -0.0 are not.
        """
        type_of = self._changes.type_of
        return {
            own: other
            for other, own in match.columns.items()
            if tells_apart(type_ := type_of(name, own)) and type_ == type_of(match.name, other)
        }

    def _matched_sql(self, match: Match) -> str | None:
        """The changed rows of a relation that was left out: the columns that it is joined by."""
        filters = match.filters if self._changes.table(match.name) is not None else ()
        read = [column.name for each in filters for column in each.find_all(exp.Column)]
        columns = list(dict.fromkeys([*match.columns, *read]))
        text = self._changed_sql(match.name, columns, match.matches, State.BOTH)
        if text is None or not filters:
            return text
        rows = exp.select("*").from_(_raw(text, match.alias)).where(*(each.copy() for each in filters))
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
        select = exp.select(exp.Var(this=f"{hint}1")).from_(_raw(text, _MATCHED))
        return exp.Exists(this=select.where(*equal))

    def _most_rows(self, match: Match) -> tuple[int | None, list[str]]:
        """The most rows of a relation that was left out that may count as changed, and the types of its columns.

        None if their number is unknown. An unknown type is that of a text.
        """
        types = [self._changes.type_of(match.name, column) or "string" for column in match.columns]
        return self._changes.most_rows(match.name, changed=not match.matches), types


_WHOLE = {State.GONE: State.OLD, State.CAME: State.NEW, State.BOTH: State.EITHER}
"""The rows of a relation that may match a changed row of another, by the state that is asked for."""

_ONE = "1 as ip_one"


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(sql_name, columns)) or _ONE


def _is_inner(select: exp.Select) -> bool:
    """Whether each row of the relations that a SELECT joins can only add rows to its FROM and WHERE."""
    joins = [join for _, _, join in normal.clauses(select) if join is not None]
    return not subqueries(select) and not any(join.side for join in joins)


def _is_of_row(value: exp.Expr) -> bool:
    """Whether a value is computed from one row of FROM alone."""
    return not any(
        is_aggregate(node) or is_generator(node) or isinstance(node, (exp.Window, exp.Query)) for node in value.walk()
    )


def nothing_sql(columns: Iterable[str]) -> str:
    """The query for no rows of some columns."""
    return f"select {', '.join(f'null as `{column}`' for column in columns)} where false"


def _only_relation(side: exp.Select) -> str:
    """The name of the relation that a branch of a UNION ALL reads."""
    table = side.find(exp.Table)
    assert table is not None
    return table.name


def _raw(text: str, alias: str) -> exp.Table:
    """SQL after FROM as a node of the tree."""
    return exp.Table(this=exp.Var(this=text), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
