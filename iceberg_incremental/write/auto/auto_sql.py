"""The SQL of a table that is kept equal to it, and the relations that it names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...expose.relations import as_of_sql
from ...expose.source_states import Source
from ...metadata.views import View
from ...query.complete import complete_text, with_marks_of_texts
from ...query.text.clauses import has_limit
from ...query.text.clock import (
    ClockStates,
    has_clock,
    parts_of,
    require_clear,
    require_names,
    with_marks,
)
from ...query.text.dialect import PlainSpark
from ...query.text.parsing import (
    Mention,
    mentions,
    parsed,
    replaced,
    spark_text,
    without_end,
)
from ...query.text.refusal import OtherRelation, Refusal, other_relation
from ...query.text.supported import called, require_function
from ...sql import sql_names
from ...table.history import TableName

_MOST_LEVELS = 20


@dataclass
class AutoSql:
    """The SQL of a table, with views replaced by their queries. ``sources``: the captures of its tables.

    ``refusal``: why it cannot be updated incrementally; None if it can. ``mentions``: the places where it names tables;
    empty if it cannot be parsed and is executed unchanged. ``views``: the queries of its views, by name.
    ``clock``: the time of the run, if the SQL reads it.
    ``functions``: the deterministic functions of the user's that it calls, with their definitions.
    ``reads_others``: whether it names a relation that is neither its own table nor one of ref() and source().
    """

    sql: str
    mentions: Sequence[Mention] = ()
    refusal: Refusal | None = None
    sources: Mapping[TableName, Source] = field(default_factory=dict)
    views: Mapping[TableName, tuple[View, str]] = field(default_factory=dict)
    reads_others: bool = False
    clock: ClockStates | None = None
    functions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def text_digest(self) -> str:
        """A digest of the SQL, its views and functions. Comments and the names of tables do not count."""
        others = [f"{name} {view}" for name, (view, _) in self.views.items()]
        others += [f"{name}() {text}" for name, text in self.functions.items()]
        return hashlib.sha256("\n".join([self._text(), *sorted(others)]).encode()).hexdigest()[:32]

    @property
    def definitions(self) -> Mapping[str, str]:
        """The digests of its views, by name."""
        return {str(name): view.digest for name, (view, _) in self.views.items()}

    def complete(self, columns: Callable[[TableName], Mapping[str, str]], catalog: str) -> None:
        """Complete the orders of LIMIT, and mark the places that read the clock.

        ``columns``: returns those of a table. ``catalog``: the default for names. Sets ``refusal`` if that is
        impossible.
        """
        try:
            if self.has_limit or (self.refusal is None and has_clock(self.sql)):
                known = {each.relation: columns(each.relation) for each in self.mentions}
                require_clear(self.sql, known.values())
                sql = with_marks(self.sql)
                sql = complete_text(with_marks_of_texts(sql, known, catalog), known, catalog)
                self.sql, self.mentions = sql, mentions(sql, catalog)
                require_names(parsed(sql))
        except Refusal as refusal:
            self.refusal = refusal

    @property
    def has_limit(self) -> bool:
        """Whether the SQL has LIMIT or OFFSET."""
        return self.refusal is None and has_limit(self.sql)

    @property
    def clock_parts(self) -> frozenset[str]:
        """The parts of the clock that the SQL reads, as in ``table.clock``."""
        return parts_of(self.sql)

    @property
    def executable(self) -> str:
        """The SQL that Spark can execute, with the tables in their current state."""
        return self.sql if self.clock is None else self.clock.sql(self.sql)

    def _text(self) -> str:
        """The normal form of the SQL. Tables have numbers, because they have other names in another environment."""
        tables = sorted({each.relation for each in self.mentions})
        numbers = {table: f"ip_table_{number}" for number, table in enumerate(tables)}
        try:
            numbered = replaced(self.sql, self.mentions, [numbers[each.relation] for each in self.mentions])
            return parsed(numbered).sql(PlainSpark, comments=False)
        except Refusal:
            return self.sql

    def relation(self, table: TableName) -> str:
        """The relation of a table in the run. The current table if the run has not captured it."""
        source = self.sources.get(table)
        return table.sql if source is None else as_of_sql(source.planned)

    @property
    def renamed(self) -> Mapping[TableName, str]:
        """The relations of the tables whose present columns have other names than those that the run reads."""
        ends = {table: source.planned.end for table, source in self.sources.items()}
        return {table: self.relation(table) for table, end in ends.items() if end is not None and end.has_other_names}

    def pinned(self, relation: Callable[[TableName], str]) -> str:
        """The SQL for Spark with each table replaced by the result of ``relation``."""
        sql = replaced(self.sql, self.mentions, [relation(each.relation) for each in self.mentions])
        return sql if self.clock is None else self.clock.sql(sql)


def auto_sql(
    sql: str,
    catalog: str,
    parents: Collection[TableName] | None,
    view: Callable[[TableName], View | None],
    functions: Collection[str] = (),
    definition: Callable[[str], str] = str,
) -> AutoSql:
    """Parse SQL. The result contains a refusal if the SQL cannot be updated incrementally.

    ``catalog``: the default catalog for names. ``parents``: the relations that the SQL itself may name. In a model,
    these are its refs and sources. If it is None, the SQL may name any relation. ``view``: returns the definition of a
    relation that is a view, and None for any other relation.
    ``functions``: the names of deterministic functions of the user's. ``definition``: returns the definition of one of
    them.
    """
    inliner = _Inliner(parents, view)
    sql = without_end(sql)
    try:
        sql = spark_text(sql)
        sql = inliner.inlined(sql, catalog, None)
        found = AutoSql(sql, mentions(sql, catalog), views=inliner.views)
    except Refusal as refusal:
        return AutoSql(sql, refusal=refusal)
    try:
        tree = parsed(with_marks(sql))
        found.functions = {name: definition(name) for name in sorted(called(tree, functions))}
        require_function(tree, found.functions)
    except Refusal as refusal:
        found.refusal = refusal
    return found


class _Inliner:
    """Replaces views with their queries, and names with full names."""

    def __init__(self, parents: Collection[TableName] | None, view: Callable[[TableName], View | None]) -> None:
        self._parents = parents
        self._view = view
        self.views: dict[TableName, tuple[View, str]] = {}

    def inlined(self, sql: str, catalog: str | None, namespace: str | None, level: int = 0) -> str:
        found = [replace(each, relation=self._known(each, sql, level)) for each in mentions(sql, catalog, namespace)]
        return replaced(sql, found, [self._text(each.relation, level) for each in found])

    def _known(self, mention: Mention, sql: str, level: int) -> TableName:
        """The relation of a name. In the SQL itself, it must be one of the parents."""
        if level or self._parents is None:
            return mention.relation
        exact = [each for each in self._parents if each == mention.relation]
        alike = exact or [each for each in self._parents if str(each).lower() == str(mention.relation).lower()]
        if len(alike) != 1:
            line = sql.count("\n", 0, mention.start) + 1
            raise other_relation(mention.relation, line)
        return alike[0]

    def _text(self, relation: TableName, level: int) -> str:
        view = self._view(relation)
        if view is None:
            return relation.sql
        if level == _MOST_LEVELS:
            raise Refusal(f"the view {relation}, which is nested in more than {_MOST_LEVELS} other views")
        try:
            query = self.inlined(spark_text(view.sql), view.catalog, view.namespace, level + 1)
        except OtherRelation as unknown:
            raise Refusal(
                f"the view {relation}, whose query names tables without a catalog or schema that is known",
                None,
                "create the view again, with names such as catalog.schema.table in its query",
            ) from unknown
        text = f"(select * from (\n{query}\n) as ip_view({sql_names(list(view.columns))}))"
        self.views[relation] = (view, text)
        return text
