"""A parsed query as a tree of operators, with each name resolved as in Spark.

A mistake here cannot give wrong data: Spark's plan of the tree's SQL is compared with that of the query's text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ...table.history import TableName
from ..text.clock import SOME_TIME
from ..text.dialect import PlainSpark
from ..text.parsing import Columns
from ..text.refusal import NotAFunction, Refusal, line_of, other_relation, refused
from ..text.supported import is_aggregate, is_generator, is_nested, own_nodes, require_supported
from . import nodes as op
from .grouping import grouping, is_measure, without_named_windows
from .names import OPEN, Ctes, Expressions, Frame, Scope, by_name, merged, without_alias
from .nodes import SUBQUERY, column
from .opaque import MISREAD, opaque, reads_itself, without_ctes
from .sql import Writer
from .tree import Tree, with_names

_PREFIX = "ip_table_"
_DEFAULTS = {"posexplode": ("pos", "col"), "posexplode_outer": ("pos", "col")}
"""The names of the columns of generators that return several, if the text gives none."""
_CLAUSES = ("order", "sort", "cluster", "distribute")


Describe = Callable[[str], Mapping[str, str]]
"""Returns the types of the columns of a query, by name."""


def build(
    tree: exp.Query,
    columns: Mapping[TableName, Columns],
    catalog: str,
    names: Sequence[str] | None = None,
    describe: Describe | None = None,
    declared: Collection[str] = (),
) -> Tree:
    """The tree of a query. ``columns``: those of each relation that it may read. ``catalog``: the default catalog.

    ``names``: those of the result's columns, if they are known. ``describe``: Spark's types for the parts of the query
    that no rule knows. Without it, no construct is checked: the tree only tells which columns each query returns.
    ``declared``: as in ``require_function``. Raises Refusal.
    """
    builder = Builder(columns, catalog, describe, declared)
    try:
        root = builder.query(tree.copy(), {}, None)
    except Refusal:
        raise
    except MISREAD as error:
        raise refused(f"names that cannot be resolved: {str(error).splitlines()[0]}") from error
    if names is not None:
        root = with_names(root, names)
    schema = {name: {each.lower(): type_ for each, type_ in columns[t].items()} for name, t in builder.tables.items()}
    return Tree(root, builder.tables, schema, builder.types, builder.subqueries, builder.limits)


class Builder(Expressions):
    """Builds the operators of one query."""

    def __init__(
        self,
        columns: Mapping[TableName, Columns],
        catalog: str,
        describe: Describe | None = None,
        declared: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._declared = declared
        self._describe = describe
        self._columns = columns
        self._by_name = {str(table).lower(): table for table in columns}
        self._catalog = catalog
        self.tables: dict[str, TableName] = {}
        self.limits: dict[str, int] = {}

    # Queries

    def query(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> op.Result:
        """The operator of a query."""
        clause = node.args.get("with_")
        for cte in [] if clause is None else clause.expressions:
            found = self._recursive(cte, ctes, outer) if reads_itself(cte) else self.query(cte.this, ctes, outer)
            names = cte.alias_column_names or op.names_of(found)
            ctes = {**ctes, cte.alias.lower(): (found, names)}
        if self._describe is None:
            return self._query(node, ctes, outer)
        subqueries = dict(self.subqueries)
        try:
            require_supported(own_nodes(node), self._declared)
            return self._query(node, ctes, outer)
        except NotAFunction:
            raise
        except Refusal as because:
            self.subqueries = subqueries
            return self._opaque(without_ctes(node), ctes, outer, because)

    def _query(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> op.Result:
        if isinstance(node, exp.Select):
            return self._select(node, ctes, outer)
        if isinstance(node, exp.Subquery):
            return self._ordered(node, self.query(node.this, ctes, outer), ctes, outer)
        if isinstance(node, exp.SetOperation):
            return self._ordered(node, self._set_operation(node, ctes, outer), ctes, outer)
        raise refused(node.key.upper(), node)

    def _set_operation(self, node: exp.SetOperation, ctes: Ctes, outer: Scope | None) -> op.Result:
        left, right = (self.query(each, ctes, outer) for each in (node.this, node.expression))
        is_open = OPEN in (*op.names_of(left), *op.names_of(right))
        if node.args.get("by_name") and not is_open:
            right = self._in_order(right, op.names_of(left), node)
        if len(op.names_of(left)) != len(op.names_of(right)) and not is_open:
            raise refused("a set operation on different numbers of columns", node)
        if not isinstance(node, exp.Union):
            kind = "intersect" if isinstance(node, exp.Intersect) else "except"
            return op.SetOperation(kind, left, right, all=not node.args.get("distinct"))  # type: ignore[arg-type]
        is_chain = isinstance(left, op.Union) and not node.args.get("distinct")
        both = op.Union((*left.children, right) if is_chain else (left, right))  # type: ignore[union-attr]
        return op.Distinct(both) if node.args.get("distinct") else both

    def _ordered(self, node: exp.Expr, found: op.Result, ctes: Ctes, outer: Scope | None) -> op.Result:
        """A result with the order and the limit of a node, which only read its columns."""
        outputs = {name.lower(): exp.column(name, quoted=True) for name in op.names_of(found)}
        scope = Scope(Frame(), outer, ctes, first=outputs)
        return self._limited(node, self._sorted(node, found, lambda each: self._value(each, scope)))

    def _sorted(self, node: exp.Expr, found: op.Result, value: Callable[[exp.Expr], exp.Expr]) -> op.Result:
        by = [(key, tuple(map(value, node.args[key].expressions))) for key in _CLAUSES if node.args.get(key)]
        return op.Sort(found, tuple(by)) if by else found

    def _limited(self, node: exp.Expr, found: op.Result) -> op.Result:
        limit, offset = node.args.get("limit"), node.args.get("offset")
        if limit is None and offset is None:
            return found
        if not isinstance(limit, (exp.Limit, type(None))):
            raise refused("FETCH", node)
        first = limit or offset
        assert first is not None
        self.limits[first.expression.name] = len(op.names_of(found))
        if isinstance(found, op.Limit):
            found = self._in_order(found, op.names_of(found), node)
        counts = [None if each is None else each.expression.copy() for each in (limit, offset)]
        return op.Limit(found, counts[0], counts[1])

    def _in_order(self, found: op.Result, names: Sequence[str], node: exp.Expr) -> op.Project:
        """A result with its columns in the order of some names."""
        rows = self._aliased(found, self._alias())
        known = {name.lower(): name for name in rows.names}
        if known.keys() != {name.lower() for name in names}:
            raise refused("a set operation on different columns", node)
        return op.Project(rows, tuple((name, column((rows.alias, known[name.lower()]))) for name in names))

    # Parts that no rule knows

    def _recursive(self, cte: exp.CTE, ctes: Ctes, outer: Scope | None) -> op.Result:
        """The result of a recursive CTE."""
        name = cte.alias.lower()
        first = self._query(cte.this.this, ctes, outer)
        names = cte.alias_column_names or op.names_of(first)
        if self._describe is None:
            return self._query(cte.this, {**ctes, name: (first, names)}, outer)
        query = exp.select("*").from_(exp.to_table(name))
        query.set("with_", exp.With(expressions=[cte.copy()], recursive=True))
        known = {each: found for each, found in ctes.items() if each != name}
        return self._opaque(query, known, outer, refused("WITH RECURSIVE", cte), names)

    def _opaque(
        self, node: exp.Expr, ctes: Ctes, outer: Scope | None, because: Refusal, names: Sequence[str] | None = None
    ) -> op.Opaque:
        """A query without CTEs that is computed as a whole. ``names``: those of a recursive one. Raises ``because``."""
        assert self._describe is not None
        if outer is not None:
            raise because
        if names is None:
            try:
                names = op.names_of(Builder(self._columns, self._catalog)._query(node, ctes, None))
            except MISREAD as error:
                raise because from error
        found = opaque(node, names, because, ctes, lambda table: self._read(table, ctes))
        sql = Writer(self.subqueries, lambda name, state: self.tables[name].sql).query(found)
        described = self._describe(SOME_TIME.sql(sql))
        if [each.lower() for each in described] != [each.lower() for each in names]:
            raise because
        return replace(found, names=tuple(described), types=tuple(each.lower() for each in described.values()))

    def _read(self, table: exp.Table, ctes: Ctes) -> op.Result:
        """A relation that an opaque part reads, as a result."""
        rows, frame = self._plain_relation(table, ctes, None)
        return op.Project(rows, frame.visible)

    # FROM

    def _aliased(self, found: op.Result, alias: str) -> op.Alias:
        self._record(alias, found)
        return op.Alias(found, alias)

    def _record(self, alias: str, found: op.Result) -> None:
        """Record the types of a result's columns under an alias."""
        names = op.names_of(found)
        if len({name.lower() for name in names}) != len(names):
            raise refused("two columns with the same name", None, "add a different alias to each of them")
        for name, type_ in zip(names, self.types.of_result(found), strict=True):
            self.types.columns[alias, name] = type_

    def _from(self, select: exp.Select, ctes: Ctes, outer: Scope | None) -> tuple[op.Rows, Frame]:
        clause = select.args.get("from_")
        if clause is None:
            return op.One(), Frame()
        rows, frame = self._relation(clause.this, ctes, outer)
        for each in select.args.get("joins") or ():
            rows, frame = self._join(rows, frame, each, ctes, outer)
        return rows, frame

    def _relation(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> tuple[op.Rows, Frame]:
        rows, frame = self._plain_relation(node, ctes, outer)
        for each in node.args.get("pivots") or ():  # not supported, but its columns are known
            rows = self._pivoted(each, rows, Scope(frame, outer, ctes))
            frame = Frame.of((each.alias.lower(),), rows, rows.names)
        return rows, frame

    def _plain_relation(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> tuple[op.Rows, Frame]:
        given = node.args.get("alias")
        alias, names = node.alias.lower(), [] if given is None else [each.name for each in given.columns]
        if is_nested(node):
            rows, frame = self._relation(node.this, ctes, outer)
            for each in node.this.args.get("joins") or ():
                rows, frame = self._join(rows, frame, each, ctes, outer)
            return rows, frame
        if isinstance(node, exp.Values):
            first = node.expressions[0]
            width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
            values = op.Values(node, self._alias(), tuple(names or (f"col{at + 1}" for at in range(width))))
            if len(values.names) != width:
                raise refused("VALUES with other numbers of names and values", node)
            values = replace(values, rows=exp.Values(expressions=[self._constant(e) for e in node.expressions]))
            return values, Frame.of((alias,), values, values.names)
        if isinstance(node, exp.Table):
            cte = ctes.get(node.name.lower()) if not node.args.get("db") else None
            if cte is not None and isinstance(node.this, exp.Identifier):
                rows = self._aliased(cte[0], self._alias())
                return rows, Frame.of((alias or node.name.lower(),), rows, names or cte[1])
            return self._table(node, (alias,) if alias else (), names)
        if not isinstance(node, exp.Subquery):
            raise refused(f"the relation {node.sql(PlainSpark)[:60]}", node)
        found = self.query(without_alias(node), ctes, outer)
        rows = self._aliased(found, self._alias())
        return rows, Frame.of((alias,) if alias else (), rows, names or rows.names)

    def _constant(self, node: exp.Expr) -> exp.Expr:
        return self._value(node, Scope(Frame(), None, {}))

    def _table(self, node: exp.Table, alias: tuple[str, ...], names: Sequence[str]) -> tuple[op.Rows, Frame]:
        parts = [each.name for each in node.parts]
        full = parts if len(parts) > 2 else [self._catalog, *parts]
        known = self._by_name.get(str(TableName.of(full)).lower()) if len(parts) > 1 else None
        if known is None:
            raise other_relation(node.sql(PlainSpark), line_of(node))
        name = next((each for each, table in self.tables.items() if table == known), f"{_PREFIX}{len(self.tables)}")
        self.tables[name] = known
        columns = self._columns[known]
        scan = op.Scan(name, self._alias(), tuple(columns))
        self.types.columns |= {(scan.alias, each): type_.lower() for each, type_ in columns.items()}
        return scan, Frame.of(alias or tuple(str(known).lower().split(".")), scan, names or scan.names)

    def _join(
        self, rows: op.Rows, frame: Frame, node: exp.Join, ctes: Ctes, outer: Scope | None
    ) -> tuple[op.Rows, Frame]:
        if isinstance(node.this, exp.Lateral):
            return self._lateral(rows, frame, node, Scope(frame, outer, ctes))
        right, other = self._relation(node.this, ctes, outer)
        kind: op.JoinKind = node.kind.lower() if node.kind.upper() in ("SEMI", "ANTI") else node.side.lower() or "inner"  # type: ignore[assignment]
        using = [each.name for each in node.args.get("using") or ()]
        if (node.method or "").upper() == "NATURAL":
            mine = {name.lower() for name, _ in frame.visible}
            using = [name for name, _ in other.visible if name.lower() in mine - {OPEN}]
        both = frame.beside(other)
        on: exp.Expr | None = None
        given = node.args.get("on")
        if using:
            pairs = [(name, frame.only(name), other.only(name)) for name in using]
            on = exp.and_(*(exp.EQ(this=mine.copy(), expression=theirs.copy()) for _, mine, theirs in pairs))
            common = [(name, merged(kind, mine, theirs)) for name, mine, theirs in pairs]
            hidden = {name.lower() for name in using}
            rest = [each for each in (*frame.visible, *other.visible) if each[0].lower() not in hidden]
            both = replace(both, visible=(*common, *rest))
        elif given is not None:
            on = self._value(given, Scope(both, outer, ctes))
        elif kind != "inner":
            on = exp.true()
        if kind in ("semi", "anti"):
            both = frame
        return op.Join(kind, rows, right, on), both

    def _lateral(self, rows: op.Rows, frame: Frame, node: exp.Join, scope: Scope) -> tuple[op.Rows, Frame]:
        """JOIN LATERAL: the rows that a subquery or a generator returns for each row before it."""
        lateral, on = node.this, node.args.get("on")
        given = lateral.args.get("alias")
        alias, names = lateral.alias.lower(), [] if given is None else [each.name for each in given.columns]
        is_outer, is_always = node.side.upper() == "LEFT", on is None or on == exp.true()
        if not isinstance(lateral.this, exp.Subquery):
            if not is_always:
                raise refused("JOIN LATERAL of a function with a condition", node, "use LATERAL VIEW and WHERE")
            return self._generated(rows, frame, self._value(lateral.this, scope), alias, names, outer=is_outer)
        query = self.query(lateral.this, scope.ctes, scope)
        shown = op.names_of(query)
        found = op.Generate(rows, self._marked(op.Subquery("rows", (), query), None), self._alias(), shown, is_outer)
        self._record(found.alias, query)
        both = frame.beside(Frame.of((alias,) if alias else (), found, names or shown))
        if is_always or on is None:
            return found, both
        condition = self._value(on, replace(scope, frame=both))
        if not is_outer:
            return op.Filter(found, condition), both
        if op.subqueries_in(condition):
            raise refused("a subquery in ON of LEFT JOIN LATERAL", node, "use it in WHERE of the subquery")
        return replace(found, on=condition), both

    # SELECT

    def _select(self, select: exp.Select, ctes: Ctes, outer: Scope | None) -> op.Result:
        without_named_windows(select)
        rows, frame = self._from(select, ctes, outer)
        for lateral in select.args.get("laterals") or ():
            names = [each.name for each in lateral.args["alias"].columns]
            call = self._value(lateral.this, Scope(frame, outer, ctes))
            is_outer = bool(lateral.args.get("outer"))
            rows, frame = self._generated(rows, frame, call, lateral.alias, names, outer=is_outer)
        rows, frame, listed = self._with_generators(select, rows, frame, ctes, outer)
        scope = Scope(frame, outer, ctes)
        if (where := select.args.get("where")) is not None:
            rows = op.Filter(rows, self._value(where.this, scope))
        outputs: list[tuple[str, exp.Expr]] = []
        for each in listed:
            outputs += self._outputs(each, replace(scope, later=by_name(outputs)), len(outputs))
        later = replace(scope, later=by_name(outputs))
        having, qualify = select.args.get("having"), select.args.get("qualify")
        conditions = [] if having is None else [self._value(having.this, replace(scope, first=by_name(outputs)))]
        shown = {name.lower(): exp.column(name, quoted=True) for name, _ in outputs}
        if qualify is not None:
            outputs.append(("", self._value(qualify.this, replace(scope, first=by_name(outputs)))))

        def ordered(each: exp.Expr) -> exp.Expr:
            return self._value(each, replace(scope, first=shown))

        by = [(key, tuple(map(ordered, select.args[key].expressions))) for key in _CLAUSES if select.args.get(key)]
        grouped = self._group(select, rows, outputs, [*conditions, *(e for _, those in by for e in those)], later)
        if grouped is not None:
            rows, over = grouped
            outputs = [(name, over(each)) for name, each in outputs]
            by = [(clause, tuple(map(over, each))) for clause, each in by]
            self._require_groups(rows, [*(each for _, each in outputs), *map(over, conditions)])
            for each in map(over, conditions):
                rows = op.Filter(rows, each)
        rows, outputs = self._windows(rows, outputs)
        if qualify is not None:
            rows = op.Filter(rows, outputs.pop()[1])
        found: op.Result = op.Project(rows, tuple(outputs))
        if select.args.get("distinct") is not None:
            found = op.Distinct(found)
        return self._limited(select, op.Sort(found, tuple(by)) if by else found)

    def _outputs(self, node: exp.Expr, scope: Scope, number: int) -> list[tuple[str, exp.Expr]]:
        """The columns of an element of a SELECT list."""
        star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
        if isinstance(star, exp.Star):
            if any(star.args.get(key) for key in ("replace", "rename", "ilike")):
                raise refused("* with REPLACE", node, "list the columns")
            visible = scope.frame.star([part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else [])
            without = {each.name.lower() for each in star.args.get("except_") or ()}
            return [(name, value.copy()) for name, value in visible if name.lower() not in without]
        inner = node.unalias()
        named = inner.unnest()
        name = node.alias or (named.name if isinstance(named, exp.Column) else "")
        if isinstance(inner, exp.Dot) and not node.alias:
            name = inner.expression.name
        return [(name or f"_col_{number}", self._value(inner, scope))]

    def _with_generators(
        self, select: exp.Select, rows: op.Rows, frame: Frame, ctes: Ctes, outer: Scope | None
    ) -> tuple[op.Rows, Frame, list[exp.Expr]]:
        """The rows with generators of a SELECT list that return several columns, and the rest of this list."""
        listed: list[exp.Expr] = []
        for each in select.expressions:
            call = each.this if isinstance(each, (exp.Aliases, exp.Alias)) else each
            given = [name.name for name in each.expressions] if isinstance(each, exp.Aliases) else []
            names = given or list(_DEFAULTS.get(call.name.lower(), ()))
            if not is_generator(call) or not names:
                listed.append(each)
                continue
            if any(select.args.get(key) for key in ("group", "having", "distinct", "windows")):
                raise refused("a generator with several columns in a SELECT with groups", each, "use LATERAL VIEW")
            alias, visible = self._alias("generated_"), frame.visible
            value = self._value(call, Scope(frame, outer, ctes))
            rows, frame = self._generated(rows, frame, value, alias, names)
            frame = replace(frame, visible=visible)
            listed += [exp.column(name, alias, quoted=True) for name in names]
        return rows, frame, listed

    def _generated(
        self, rows: op.Rows, frame: Frame, call: exp.Expr, name: str, names: Sequence[str], *, outer: bool = False
    ) -> tuple[op.Rows, Frame]:
        if not names:
            names = _DEFAULTS.get(call.name.lower(), ("col",))
        found = op.Generate(rows, call, self._alias(), tuple(names), outer)
        given = self.types.of(call.expressions[0]) if call.expressions else None
        types: list[str | None] = ["int"] if call.name.lower() == "posexplode" else []
        if call.name.lower() in ("explode", "posexplode") and given is not None and given.startswith("array<"):
            types.append(given[len("array<") : -1])
        if len(types) == len(names):
            self.types.columns |= {(found.alias, each): type_ for each, type_ in zip(names, types, strict=True)}
        return found, frame.beside(Frame.of((name.lower(),), found, names))

    # Groups and windows

    def _group(
        self, select: exp.Select, rows: op.Rows, outputs: Sequence[tuple[str, exp.Expr]], others: Sequence[exp.Expr],
        scope: Scope,
    ) -> tuple[op.Rows, Callable[[exp.Expr], exp.Expr]] | None:  # fmt: skip
        """The groups of a SELECT, and the change of an expression into one over their columns. None without groups."""
        clause, values = select.args.get("group"), [each for _, each in outputs]
        aggregates = [node for each in (*values, *others) for node in each.walk() if is_aggregate(node)]
        if clause is None and not aggregates and select.args.get("having") is None:
            return None
        keys, sets = grouping(clause, values, lambda each: self._value(each, scope))
        alias, measures = self._alias(), dict[exp.Expr, int]()
        # a constant keeps its value everywhere
        known = {each: column((alias, f"g{at}")) for at, each in enumerate(keys) if each.find(exp.Column) is not None}

        def over(node: exp.Expr) -> exp.Expr:
            return node.transform(by_group)

        def by_group(node: exp.Expr) -> exp.Expr:
            if is_measure(node, has_sets=sets is not None):
                return column((alias, f"m{measures.setdefault(node.copy(), len(measures))}"))
            if node in known:
                return known[node].copy()
            if isinstance(node, exp.Column) and node.table == SUBQUERY:
                return self._subquery_over(node, over, known)
            return node

        for each in (*values, *others):
            over(each)
        listed = tuple(measures)
        group = op.Group(rows, alias, tuple(keys), listed, sets)
        for found, each in zip(op.columns_of(group), (*keys, *listed), strict=True):
            self.types.columns[found] = self.types.of(each)
        return group, over

    def _subquery_over(
        self, node: exp.Column, over: Callable[[exp.Expr], exp.Expr], known: Mapping[exp.Expr, exp.Expr]
    ) -> exp.Expr:
        """A subquery whose columns of the query around it are those of groups."""
        found = self.subqueries[node.name]

        def by_key(each: exp.Expr) -> exp.Expr:
            return known[each].copy() if each in known else each

        inner = op.rewritten(found.query, lambda each: each.transform(by_key))
        for each in op.all_nodes(inner, self.subqueries):
            for part in op.expressions_of(each):
                for aggregate in part.walk():
                    if is_aggregate(aggregate) and op.read_columns(aggregate, self.subqueries) & found.outer:
                        raise refused("a subquery that reads an aggregate of the outer query", node)
        values = tuple(map(over, found.values))
        return self._marked(replace(found, values=values, query=inner), self.types.of(node))  # type: ignore[arg-type]

    def _require_groups(self, rows: op.Rows, values: Sequence[exp.Expr]) -> None:
        """Raise Refusal for a column that is neither grouped nor aggregated."""
        assert isinstance(rows, op.Group)
        below = {alias for alias, _ in op.columns_of(rows.child)}
        for each in values:
            if any(alias in below for alias, _ in op.read_columns(each, self.subqueries)):
                raise refused("a column that is neither in GROUP BY nor in an aggregate", each)

    def _windows(
        self, rows: op.Rows, outputs: list[tuple[str, exp.Expr]]
    ) -> tuple[op.Rows, list[tuple[str, exp.Expr]]]:
        alias, functions = self._alias(), dict[exp.Expr, int]()

        def by_window(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Window):
                return node
            return column((alias, f"w{functions.setdefault(node.copy(), len(functions))}"))

        found = [(name, each.transform(by_window)) for name, each in outputs]
        if not functions:
            return rows, outputs
        for each, at in functions.items():
            self.types.columns[alias, f"w{at}"] = self.types.of(each)
        return op.Window(rows, alias, tuple(functions)), found  # type: ignore[arg-type]
