"""Reading a query: parsing its text into a tree with resolved names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from ..names import sql_name
from ..table.history import TableName
from .aliases import with_own_names
from .dialect import PlainSpark, with_units, with_whole_intervals
from .functions import GENERATORS
from .limits import with_complete_orders
from .listed_values import listed_values_sql
from .plainer import with_generators_in_from, without_natural_joins
from .qualify import without_qualify
from .refusal import line_of, not_a_function, other_relation, refused
from .relations import joins_of, relations
from .semi_joins import as_joins, as_subqueries
from .stars import with_field_names, without_stars
from .supported import is_aggregate, require_columns, require_supported

Columns = Mapping[str, str]
"""The types of a relation's columns, by column name."""

_PREFIX = "ip_table_"
_OF_ARGUMENTS = frozenset(("range", *GENERATORS))
"""Functions for FROM whose rows depend only on their arguments."""


@dataclass(frozen=True)
class Mention:
    """A place in a text that names a relation: from ``start`` to ``end``, exclusive.

    ``alias``: the name by which the rest of the query refers to it, if the text has no alias.
    """

    relation: TableName
    start: int
    end: int
    alias: str | None


@dataclass(frozen=True)
class Reading:
    """A parsed query. ``tree``: with resolved names. ``tables``: its base tables, by their names in the tree.

    ``qualified``: the tree as SQL with the tables' own names, which Spark must interpret like ``text``. ``text``: the
    query for Spark, with views replaced by their definitions. ``values``: the values in VALUES of ``text`` and of
    ``qualified``, as in ``listed_values_sql``. ``catalog``: the default catalog of names in ``text``.
    """

    text: str
    tree: exp.Query
    tables: Mapping[str, TableName]
    qualified: str
    values: tuple[str, str]
    catalog: str

    def on(self, relations: Mapping[TableName, str]) -> tuple[str, str]:
        """``text`` and ``qualified`` with other relations in the place of some tables."""
        if not relations:
            return self.text, self.qualified
        texts = []
        for sql in (self.text, self.qualified):
            found = [each for each in mentions(sql, self.catalog) if each.relation in relations]
            texts.append(replaced(sql, found, [relations[each.relation] for each in found]))
        return texts[0], texts[1]


def parsed(sql: str) -> exp.Query:
    """The tree of one query, without QUALIFY. Raises Refusal."""
    return _parsed(spark_text(sql))


def _parsed(sql: str) -> exp.Query:
    if "|>" in sql and any(each.token_type is TokenType.PIPE_GT for each in PlainSpark().tokenize(sql)):
        raise not_a_function("the pipe operator |>", None, "write the query without pipes")
    try:
        found = [each for each in PlainSpark().parse(sql) if each is not None]
    except (SqlglotError, RecursionError) as error:
        errors: Sequence[Mapping[str, object]] = getattr(error, "errors", None) or [{}]
        line = errors[0].get("line")
        place = f" in line {line}" if line else ""
        raise refused(f"SQL that cannot be parsed{place}: {errors[0].get('description') or error}") from error
    tree = with_units(with_whole_intervals(found[0])) if len(found) == 1 else None
    if not isinstance(tree, exp.Query):
        raise refused("SQL that is not one SELECT")
    for hint in list(tree.find_all(exp.Hint)):  # hints affect no result, and later steps rename what they name
        hint.pop()
    return tree


def literals(sql: str) -> list[str]:
    """The texts in a query, which may be one that cannot be parsed."""
    try:
        tokens = PlainSpark().tokenize(sql)
    except SqlglotError:
        return []
    return [each.text for each in tokens if each.token_type in (TokenType.STRING, TokenType.RAW_STRING)]


def without_end(sql: str) -> str:
    """The text without semicolons at its end, so that it can be part of another query."""
    try:
        tokens = PlainSpark().tokenize(sql)
    except SqlglotError:
        return sql
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        end = tokens.pop()
        sql = f"{sql[: end.start]}{sql[end.end + 1 :]}"
    return sql


def spark_text(sql: str) -> str:
    """A query for Spark 4, which does not support QUALIFY. Other queries keep their text. Raises Refusal."""
    if "qualify" not in sql.lower() or _parsed(sql).find(exp.Qualify) is None:
        return sql
    return without_qualify(sql, _parsed)


def mentions(sql: str, catalog: str | None, namespace: str | None = None) -> list[Mention]:
    """The relations that a query names, in the order of the text, without its own CTEs.

    ``catalog``, ``namespace``: the defaults for names without one. None if unknown. Raises Refusal for a name that is
    not a relation, and OtherRelation for one whose default is unknown.
    """
    return _mentions(_parsed(sql), catalog, namespace)


def relations_of(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> list[TableName]:
    """The relations that a query reads, in the order of the text. Raises OtherRelation for one not in ``columns``."""
    by_name = {str(table).lower(): table for table in columns}
    found: dict[TableName, None] = {}
    for each in mentions(spark_text(sql), catalog):
        if str(each.relation).lower() not in by_name:
            raise other_relation(each.relation, None)
        found[by_name[str(each.relation).lower()]] = None
    return list(found)


def _mentions(tree: exp.Query, catalog: str | None, namespace: str | None) -> list[Mention]:
    found = []
    for table in tree.find_all(exp.Table):
        if _is_cte(table):
            continue
        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() in _OF_ARGUMENTS:
            continue
        if not isinstance(table.this, exp.Identifier):
            read_instead = "read tables, views and models with ref() or source()"
            raise refused(f"FROM {table.this.sql(PlainSpark)}", table, read_instead)
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        name = _table_name([part.name for part in parts], catalog, namespace)
        if name is None:
            raise other_relation(table.sql(PlainSpark), line_of(table))
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        found.append(Mention(name, start, end, None if table.alias else parts[-1].name))
    return sorted(found, key=lambda each: each.start)


def _table_name(parts: Sequence[str], catalog: str | None, namespace: str | None) -> TableName | None:
    full = [*(catalog, namespace)[: 3 - len(parts)], *parts]
    known = [part for part in full if part is not None]
    return TableName(*known) if len(known) == len(full) else None


def _is_cte(table: exp.Table) -> bool:
    """Whether a name refers to a CTE that is in scope."""
    if table.args.get("db") is not None or not isinstance(table.this, exp.Identifier):
        return False
    name, node = table.name.lower(), table.parent
    below: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_")
        if clause is not None:
            listed = clause.expressions
            if below is clause:  # a CTE can only read the CTEs before it, and a recursive one also itself
                inside = next(n for n, each in enumerate(listed) if any(table is t for t in each.find_all(exp.Table)))
                listed = listed[: inside + bool(clause.args.get("recursive"))]
            if any(each.alias.lower() == name for each in listed):
                return True
        below, node = node, node.parent
    return False


def replaced(sql: str, found: Sequence[Mention], texts: Sequence[str]) -> str:
    """The text with the named relations replaced by other relations."""
    pieces, at = [], 0
    for mention, text in zip(found, texts, strict=True):
        needs_alias = mention.alias is not None and text.startswith("(")
        alias = f" as {sql_name(mention.alias)}" if needs_alias and mention.alias else ""
        pieces += [sql[at : mention.start], text, alias]
        at = mention.end
    return "".join([*pieces, sql[at:]])


def read(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> Reading:
    """Read a query. ``columns``: those of each relation that it may read. ``catalog``: the default catalog.

    Raises Refusal for SQL that is not supported, or whose names cannot be resolved.
    """
    text = complete_text(sql, columns, catalog)
    tree = _parsed(text)
    require_supported(tree)
    require_columns(tree, {name.lower() for found in columns.values() for name in found})
    tree, names = _qualified(tree, columns, catalog)
    without_coalesce(tree)
    without_nested_aggregates(tree)
    for column in tree.find_all(exp.Column):  # columns name their table only by its alias
        column.set("db", None)
        column.set("catalog", None)
    group_by_all(tree)
    with_own_names(tree, {name: [column.lower() for column in columns[table]] for table, name in names.items()})
    tables = {name: table for table, name in names.items()}
    qualified = _named(tree, tables)
    has_values = tree.find(exp.Values) is not None
    values = (listed_values_sql(text), listed_values_sql(qualified)) if has_values else ("", "")
    return Reading(text, tree, tables, qualified, values, catalog)


def complete_text(sql: str, columns: Mapping[TableName, Columns], catalog: str) -> str:
    """The text of a query that Spark executes: without QUALIFY, and with complete orders for LIMIT. Raises Refusal."""
    return with_complete_orders(spark_text(sql), lambda text: _qualified(_parsed(text), columns, catalog)[0])


def _qualified(
    tree: exp.Query, columns: Mapping[TableName, Columns], catalog: str
) -> tuple[exp.Query, dict[TableName, str]]:
    """The tree with resolved names and short names of its tables, and these names. Raises Refusal."""
    by_name = {str(table).lower(): table for table in columns}
    names: dict[TableName, str] = {}
    for table in list(tree.find_all(exp.Table)):
        if _is_cte(table) or not isinstance(table.this, exp.Identifier):
            continue
        found = _table_name([part.name for part in table.parts], catalog, None)
        known = None if found is None else by_name.get(str(found).lower())
        if known is None:
            raise other_relation(table.sql(PlainSpark), line_of(table))
        name = names.setdefault(known, f"{_PREFIX}{len(names)}")
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
        table.set("this", exp.to_identifier(name))
        table.set("alias", alias)
        table.set("db", None)
        table.set("catalog", None)
    semi_joins = as_subqueries(tree)
    schema: dict[str, object] = {name: dict(columns[table]) for table, name in names.items()}

    def qualify_names(query: exp.Expr) -> exp.Expr:
        return qualify(
            query, schema=schema, dialect=PlainSpark, quote_identifiers=True, identify=True, expand_alias_refs=True
        )

    try:
        without_natural_joins(tree, qualify_names)
        with_generators_in_from(tree)
        tree = qualify_names(tree)  # type: ignore[assignment] # it returns the tree
        without_stars(tree, schema)
        with_field_names(tree)
    except (SqlglotError, RecursionError, ValueError, TypeError) as error:
        raise refused(
            f"names that cannot be resolved: {str(error).splitlines()[0]}",
            None,
            "qualify columns by their relation's alias, and give computed columns an alias",
        ) from error
    as_joins(tree, semi_joins)
    return tree, names


def _named(tree: exp.Query, tables: Mapping[str, TableName]) -> str:
    """The tree as SQL, with the tables' own names."""
    tree = tree.copy()
    for alias in tree.find_all(exp.Alias):  # Spark distinguishes a column from one with its own name as alias
        if isinstance(alias.this, exp.Column) and alias.this.name == alias.alias:
            alias.replace(alias.this.copy())
    for table in tree.find_all(exp.Table):
        found = tables.get(table.name)
        if found is not None:
            parts = [exp.to_identifier(each, quoted=True) for each in (found.catalog, found.namespace, found.name)]
            table.set("this", parts[2])
            table.set("db", parts[1])
            table.set("catalog", parts[0])
    return tree.sql(PlainSpark)


def without_coalesce(tree: exp.Query) -> None:
    """The column of USING, as in Spark: that of the right side of a right join, and both sides' of a full join."""
    for node in list(tree.find_all(exp.Coalesce)):  # from USING; calls in the text are exp.Anonymous
        first, *others = [node.this, *node.expressions]
        select = node.find_ancestor(exp.Select)
        while select is not None and first.table not in {each.alias_or_name for each in relations(select)}:
            select = select.find_ancestor(exp.Select)
        joins = [] if select is None else joins_of(select)
        sides = {each.this.alias_or_name: each.side.upper() for each in joins}
        found = first.copy()
        for column in others:
            side = sides.get(column.table, "")
            if side == "FULL":
                found = exp.Anonymous(this="coalesce", expressions=[found, column.copy()])
            elif side == "RIGHT":
                found = column.copy()
        node.replace(found)


def without_nested_aggregates(tree: exp.Query) -> None:
    """Resolve a name within an aggregate of HAVING as a column if sqlglot resolved it as an alias of an aggregate."""
    for having in tree.find_all(exp.Having):
        select = having.parent
        assert isinstance(select, exp.Select)
        aliased = {each.unalias(): each.alias for each in select.expressions if each.find(exp.Anonymous)}
        for aggregate in [node for node in own_nodes(having.this) if is_aggregate(node)]:
            whole = aggregate.parent if isinstance(aggregate.parent, exp.Filter) else aggregate
            inside = [node for node in own_nodes(whole) if node not in (whole, aggregate)]
            for node in [node for node in inside if node.unnest() in aliased]:
                name = aliased[node.unnest()]
                columns = {column for column in node.find_all(exp.Column) if column.name == name}
                if len(columns) == 1:
                    node.replace(columns.pop().copy())


def group_by_all(tree: exp.Query) -> None:
    """Replace GROUP BY ALL by the expressions without aggregates. In Spark, other expressions may only use these."""
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is None or not group.args.get("all"):
            continue
        listed = []
        for each in select.expressions:
            inner = each.unalias()
            is_computed = any(is_aggregate(node) for node in own_nodes(inner))
            if not is_computed and not isinstance(inner, (exp.Literal, exp.Null, exp.Boolean)):
                listed.append(inner.copy())
        select.set("group", exp.Group(expressions=listed) if listed else None)


def own_nodes(node: exp.Expr) -> list[exp.Expr]:
    """The nodes of an expression, without those within its subqueries."""
    return list(node.walk(prune=lambda each: isinstance(each, exp.Query) and each is not node))
