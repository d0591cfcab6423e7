"""The SQL of a tree for Spark. Operators that one SELECT can express become one SELECT."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from ...names import sql_name
from ..states import State
from ..text.dialect import PlainSpark
from . import nodes as op
from .nodes import SUBQUERY, column

Relation = Callable[[str, State], str]
"""The SQL of a base table in a state, as a relation for FROM."""

AtCheckpoint = Callable[[exp.Expr], exp.Expr]

_CLAUSES = {"order": "order by", "sort": "sort by", "cluster": "cluster by", "distribute": "distribute by"}
_JOINS = {"inner": "join", "left": "left join", "right": "right join", "full": "full join", "semi": "left semi join",
          "anti": "left anti join"}  # fmt: skip
_Orders = Sequence[tuple[str, Sequence[exp.Expr]]]
_ONE = "1 as ip_one"
_READ = re.compile(rf"`?{op.READ}(\d+)`?")
_OPERATORS = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Case)
_Names = Mapping[op.Column, exp.Expr]
"""The expressions in the place of columns that the SQL does not have."""


@dataclass(frozen=True)
class _Parts:
    """The clauses of a SELECT. ``aliases``: those in FROM. ``names``: the expressions of other columns.

    ``has_views``: whether FROM ends with LATERAL VIEW, after which no relation can be joined.
    """

    source: str = ""
    where: tuple[str, ...] = ()
    group: str | None = None
    having: tuple[str, ...] = ()
    aliases: frozenset[str] = frozenset()
    names: _Names = field(default_factory=dict)
    has_windows: bool = False
    has_sets: bool = False
    has_views: bool = False

    @property
    def is_source(self) -> bool:
        """Whether it only has FROM, so that it can be joined."""
        return not self.where and self.group is None and not self.has_windows

    def text(self) -> str:
        """The clauses after the SELECT list."""
        where, having = (" and ".join(each) for each in (self.where, self.having))
        texts = [self.source and f"from {self.source}", where and f"where {where}", self.group]
        return " ".join(filter(None, [*texts, having and f"having {having}"]))


class Writer:
    """Writes trees as SQL. ``relation``: returns the SQL of a table. ``columns``: those of each table, by its name.

    ``at_checkpoint``: returns an expression that reads the clock in its old state.
    """

    def __init__(
        self,
        subqueries: Mapping[str, op.Subquery],
        relation: Relation,
        at_checkpoint: AtCheckpoint = lambda each: each,
    ) -> None:
        self._subqueries = subqueries
        self._relation = relation
        self._at_checkpoint = at_checkpoint
        self._numbers = count()
        self._texts: dict[tuple[op.Node, State], str] = {}
        self._shared: set[op.Result] = set()
        self._ctes: dict[tuple[op.Result, State], tuple[str, str]] = {}

    def query(self, node: op.Result, state: State = State.NEW) -> str:
        """The query of a result, with a CTE for each result that it reads several times."""
        read = [each.child for each in op.all_nodes(node, self._subqueries) if isinstance(each, op.Alias)]
        often = {each for each, times in Counter(read).items() if times > 1}
        self._shared = {each for each in often if not op.outer_aliases(each, self._subqueries)}
        self._texts, self._ctes = {}, {}
        text = self.result(node, state)
        listed = ",\n".join(f"{name} as ({query})" for name, query in self._ctes.values())
        return f"with {listed}\n{text}" if listed else text

    def result(self, node: op.Result, state: State = State.NEW, outer: _Names | None = None) -> str:
        """The query of a result. ``outer``: the expressions for columns of queries around it."""
        if outer:
            return self._result(node, state, outer)
        if (node, state) not in self._texts:
            self._texts[node, state] = self._result(node, state, {})
        return self._texts[node, state]

    def _result(self, node: op.Result, state: State, outer: _Names) -> str:  # noqa: C901 (one case per operator)
        match node:
            case op.InState():
                return self.result(node.child, node.state, outer)
            case op.Project():
                return self._select(node, state, outer)
            case op.Distinct(child=op.Union() as union):
                return self._operands(union.children, "union", state, outer)
            case op.Distinct():
                inner, inside = _unwrapped(node.child, state)
                if isinstance(inner, op.Project):
                    return self._select(inner, inside, outer, "distinct ")
                return f"select distinct * from ({self.result(node.child, state, outer)}) as {self._alias()}"
            case op.Union():
                return self._operands(node.children, "union all", state, outer)
            case op.SetOperation():
                word = f"{node.kind}{' all' if node.all else ''}"
                return self._operands((node.left, node.right), word, state, outer)
            case op.Sort():
                return self._sorted(node, state, outer)
            case op.Limit():
                parts = [self.result(node.child, state, outer)]
                parts += [f"limit {node.count.sql(PlainSpark)}"] if node.count is not None else []
                parts += [f"offset {node.offset.sql(PlainSpark)}"] if node.offset is not None else []
                return " ".join(parts)
            case op.Opaque():
                text = node.query.sql(PlainSpark)
                children = [self.result(each, state, outer) for each in node.children]
                return _READ.sub(lambda match: f"({children[int(match[1])]})", text)
            case op.Differing():
                return self._differing(node, outer)

    def _operands(self, nodes: Sequence[op.Result], word: str, state: State, outer: _Names) -> str:
        texts = [self.result(each, state, outer) for each in nodes]
        plain = [isinstance(_unwrapped(each)[0], op.Project) for each in nodes]
        return f"\n{word}\n".join(t if is_plain else f"({t})" for t, is_plain in zip(texts, plain, strict=True))

    def _select(self, node: op.Project, state: State, outer: _Names, distinct: str = "", by: _Orders = ()) -> str:
        parts = self._rows(node.child, state, outer)
        names = _over(parts, outer)
        listed = ", ".join(self._output(name, each, names, state) for name, each in node.outputs) or _ONE
        orders = [f"{_CLAUSES[key]} {', '.join(self._text(e, names, state) for e in those)}" for key, those in by]
        return " ".join(filter(None, [f"select {node.hint}{distinct}{listed}", parts.text(), *orders]))

    def _output(self, name: str, value: exp.Expr, names: _Names, state: State) -> str:
        text = self._text(value, names, state)
        # Spark distinguishes a column from one with its own name as alias
        is_bare = text.rpartition(".")[2] == sql_name(name) and isinstance(value, exp.Column) and "(" not in text
        return text if is_bare else f"{text} as {sql_name(name)}"

    def _sorted(self, node: op.Sort, state: State, outer: _Names) -> str:
        inner, inside = _unwrapped(node.child, state)
        if isinstance(inner, op.Project):
            return self._select(inner, inside, outer, "", node.by)
        if isinstance(inner, op.Distinct) and isinstance(inner.child, op.Project):
            return self._select(inner.child, inside, outer, "distinct ", node.by)
        orders = [f"{_CLAUSES[key]} {', '.join(self._text(e, outer, state) for e in those)}" for key, those in node.by]
        text = self.result(node.child, state, outer)
        return " ".join([f"({text})" if isinstance(inner, (op.Sort, op.Limit)) else text, *orders])

    def _differing(self, node: op.Differing, outer: _Names) -> str:
        listed = ", ".join(map(sql_name, op.names_of(node.child)))
        differs = {State.REMOVED: "> 0", State.ADDED: "< 0"}.get(node.state, "<> 0")
        old, new = (self.result(node.child, each, outer) for each in (State.OLD, State.NEW))
        rows = f"select {listed}, 1 as ip_sign from ({old})\nunion all\nselect {listed}, -1 as ip_sign from ({new})"
        return f"select {listed} from (\n{rows}\n) group by {listed} having sum(ip_sign) {differs}"

    # Rows

    def _rows(self, node: op.Rows, state: State, outer: _Names) -> _Parts:  # noqa: C901 (one case per operator)
        match node:
            case op.One():
                return _Parts()
            case op.RowsInState():
                return self._rows(node.child, node.state, outer)
            case op.Scan():
                return _named(self._scan(node, state), node.alias)
            case op.Delta():
                return _named(self._relation(node.scan.table, node.state), node.scan.alias)
            case op.View():
                return _named(node.name, node.alias)
            case op.Values():
                values = node.rows.copy()
                listed = [exp.to_identifier(name, quoted=True) for name in node.names]
                values.set("alias", exp.TableAlias(this=exp.to_identifier(node.alias, quoted=True), columns=listed))
                return _Parts(self._text(values, outer, state), aliases=frozenset([node.alias]))
            case op.Alias():
                return _named(self._derived(node.child, state, outer), node.alias)
            case op.Filter():
                parts = self._rows(node.child, state, outer)
                # Spark's columns of several grouping sets have other values in subqueries
                if parts.has_windows or (parts.has_sets and op.subqueries_in(node.condition)):
                    parts = self._wrapped(node.child, parts, outer, state)
                text = self._condition(node.condition, _over(parts, outer), state)
                return _with_condition(parts, text)
            case op.Keyed():
                return self._keyed(node, state, outer)
            case op.Join():
                return self._join(node, state, outer)
            case op.Generate():
                parts = self._source(node.child, state, outer)
                names = _over(parts, outer)
                call = self._text(node.call, names, state)
                columns = ", ".join(map(sql_name, node.names))
                if op.subqueries_in(node.call):
                    word = "left join" if node.outer else "join"
                    source = f"{parts.source} {word} lateral {call} as {sql_name(node.alias)}({columns})"
                    source += "" if node.on is None else f" on {self._text(node.on, names, state)}"
                else:
                    word = "lateral view outer" if node.outer else "lateral view"
                    source = f"{parts.source} {word} {call} {sql_name(node.alias)} as {columns}"
                has_views = not op.subqueries_in(node.call)
                return replace(parts, source=source, aliases=parts.aliases | {node.alias}, has_views=has_views)
            case op.Group():
                return self._group(node, state, outer)
            case op.Window():
                parts = self._rows(node.child, state, outer)
                if parts.has_windows:
                    parts = self._wrapped(node.child, parts, outer, state)
                names = dict(parts.names)
                for at, each in enumerate(node.functions):
                    names[node.alias, f"w{at}"] = self._replaced(each, _over(parts, outer), state)
                return replace(parts, names=names, has_windows=True)

    def _derived(self, node: op.Result, state: State, outer: _Names) -> str:
        if node not in self._shared:
            return f"({self.result(node, state, outer)})"
        if (node, state) not in self._ctes:
            query = self.result(node, state)
            self._ctes[node, state] = self._alias(), query
        return self._ctes[node, state][0]

    def _scan(self, node: op.Scan, state: State) -> str:
        if state is not State.EITHER:
            return self._relation(node.table, state)
        new, removed = (self._relation(node.table, each) for each in (State.NEW, State.REMOVED))
        if not removed:
            return new
        listed = ", ".join(map(sql_name, node.names))
        return f"(select {listed} from {new} union all select {listed} from {removed})"

    def _keyed(self, node: op.Keyed, state: State, outer: _Names) -> _Parts:
        """The rows with some keys. In a scan, Iceberg can skip files by bounds of the keys."""
        inner, keys = node.child, node.keys
        if isinstance(inner, op.Scan) and all(isinstance(each, exp.Column) for _, each in node.pairs):
            pairs = [(key, f"ip_source.{sql_name(each.name)}") for key, each in node.pairs]
            bounds = [keys.bound(key, inner.table, each.name) for key, each in node.pairs]
            where = " and ".join([*filter(None, bounds), keys.exists_sql(pairs)])
            return _named(f"(select * from {self._scan(inner, state)} as ip_source where {where})", inner.alias)
        parts = self._rows(inner, state, outer)
        if parts.has_windows or parts.group is not None:
            parts = self._wrapped(inner, parts, outer, state)
        names = _over(parts, outer)
        found = [(key, f"({self._text(each, names, state)})") for key, each in node.pairs]
        return _with_condition(parts, keys.exists_sql(found))

    def _join(self, node: op.Join, state: State, outer: _Names) -> _Parts:
        sides = {each: self._source(each, state, outer) for each in (node.left, node.right)}
        left, right = (
            self._wrapped(each, parts, outer, state) if parts.has_views else parts for each, parts in sides.items()
        )
        text = f"({right.source})" if isinstance(node.right, op.Join) else right.source
        both = _Parts("", aliases=left.aliases | right.aliases, names={**left.names, **right.names})
        word, on = _JOINS[node.kind], ""
        if node.on is not None:
            on = f" on {self._text(node.on, _over(both, outer), state)}"
        elif node.kind == "inner":
            word = "cross join"
        return replace(both, source=f"{left.source} {word} {text}{on}")

    def _group(self, node: op.Group, state: State, outer: _Names) -> _Parts:
        parts = self._rows(node.child, state, outer)
        if parts.group is not None or parts.has_windows:
            parts = self._wrapped(node.child, parts, outer, state)
        names = _over(parts, outer)
        keys = [self._replaced(each, names, state) for each in node.keys]
        own = {(node.alias, f"g{at}"): each for at, each in enumerate(keys)}
        own |= {(node.alias, f"m{at}"): self._replaced(e, names, state) for at, e in enumerate(node.measures)}
        texts = [_grouped_by(each) for each in keys]
        if node.sets is not None and len(node.sets) == 1:  # one of several sets
            (members,) = node.sets
            own |= {(node.alias, f"g{at}"): exp.null() for at in range(len(keys)) if at not in members}
            for at, each in enumerate(node.measures):
                if op.is_numbered(each):
                    own[node.alias, f"m{at}"] = exp.Literal.number(_number_of_set(node, each, members))
            group = f"group by {', '.join(texts[at] for at in members) or 'grouping sets (())'}"
        elif node.sets is not None:
            sets = ", ".join(f"({', '.join(texts[at] for at in each)})" for each in node.sets)
            group = f"group by grouping sets ({sets})"
        else:
            group = f"group by {', '.join(texts)}" if texts else ""
        return replace(parts, group=group, names=own, has_sets=node.sets is not None)

    def _source(self, node: op.Rows, state: State, outer: _Names) -> _Parts:
        """Rows that only have a FROM clause, so that they can be joined."""
        parts = self._rows(node, state, outer)
        return parts if parts.is_source else self._wrapped(node, parts, outer, state)

    def _wrapped(self, node: op.Rows, parts: _Parts, outer: _Names, state: State) -> _Parts:
        """The same rows as a derived table."""
        columns, names = op.columns_of(node), _over(parts, outer)
        aliases = {alias for alias, _ in columns}
        if len(aliases) == 1 and not parts.names and aliases == parts.aliases:
            (alias,) = aliases
            return _named(f"(select {sql_name(alias)}.* {parts.text()})", alias)
        alias = self._alias()
        taken = [name.lower() for _, name in columns]
        short = [name if taken.count(name.lower()) == 1 else f"c{at}" for at, (_, name) in enumerate(columns)]
        listed = ", ".join(
            f"{self._text(column(each), names, state)} as {sql_name(name)}"
            for each, name in zip(columns, short, strict=True)
        )
        own = {each: column((alias, name)) for each, name in zip(columns, short, strict=True)}
        return replace(_named(f"(select {listed or _ONE} {parts.text()})", alias), names=own)

    # Expressions

    def _condition(self, node: exp.Expr, names: _Names, state: State) -> str:
        text = self._text(node, names, state)
        return f"({text})" if isinstance(node, (exp.Or, exp.Xor)) else text

    def _text(self, node: exp.Expr, names: _Names, state: State) -> str:
        return self._replaced(node, names, state).sql(PlainSpark)

    def _replaced(self, node: exp.Expr, names: _Names, state: State) -> exp.Expr:
        """An expression over the columns that the SQL has, in a state."""

        def by_name(each: exp.Expr) -> exp.Expr:
            inner = each.this if isinstance(each, exp.Alias) else None
            if isinstance(inner, exp.Column) and inner.name == each.alias and (inner.table, inner.name) not in names:
                return inner.copy()  # Spark distinguishes a column from one with its own name as alias
            if not isinstance(each, exp.Column):
                return each
            if each.table == SUBQUERY:
                return self._subquery(self._subqueries[each.name], names, state)
            found = names.get((each.table, each.name))
            if found is None:
                return each
            found = found.copy()
            is_inside = each.parent is not None and isinstance(found, _OPERATORS)
            return exp.paren(found, copy=False) if is_inside else found

        found = node.transform(by_name)
        return self._at_checkpoint(found) if state is State.OLD else found

    def _subquery(self, found: op.Subquery, names: _Names, state: State) -> exp.Expr:
        text = self.result(found.query, state, names)
        if found.kind == "exists":
            return exp.Var(this=f"EXISTS ({text})")
        if found.kind in ("scalar", "rows"):
            return exp.Var(this=f"({text})")
        values = ", ".join(self._text(each, names, state) for each in found.values)
        return exp.Var(this=f"(({values}) IN ({text}))")

    def _alias(self) -> str:
        return f"ip_w{next(self._numbers)}"


def _named(text: str, alias: str) -> _Parts:
    return _Parts(f"{text} as {sql_name(alias)}", aliases=frozenset([alias]))


def _over(parts: _Parts, outer: _Names) -> _Names:
    """The expressions for columns: those of a query around it apply unless FROM has the same alias."""
    return {**{each: value for each, value in outer.items() if each[0] not in parts.aliases}, **parts.names}


def _with_condition(parts: _Parts, text: str) -> _Parts:
    if parts.group is None:
        return replace(parts, where=(*parts.where, text))
    return replace(parts, having=(*parts.having, text))


def _number_of_set(node: op.Group, call: exp.Expr, members: Sequence[int]) -> int:
    """The value of ``grouping()`` or ``grouping_id()`` in a grouping set."""
    named = [node.keys.index(each.unnest()) for each in call.expressions] or list(range(len(node.keys)))
    return sum((each not in members) << place for place, each in enumerate(reversed(named)))


def _grouped_by(key: exp.Expr) -> str:
    """An expression of GROUP BY, where a number would be a position."""
    text = key.sql(PlainSpark)
    return f"cast({text} as int)" if isinstance(key, exp.Literal) and not key.is_string else text


def _unwrapped(node: op.Result, state: State = State.NEW) -> tuple[op.Result, State]:
    """A result, and its state."""
    while isinstance(node, op.InState):
        state, node = node.state, node.child
    return node, state
