"""Steps of the update of plain SQL, to be disabled one at a time. Without them, some tables are silently wrong."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from sqlglot import exp

_CHANGES = "iceberg_incremental.query.rules.changed"


def _changes() -> Any:
    return import_module(_CHANGES).Changes


def optional_sides_are_not_followed(monkeypatch):
    """A changed row of the right side of a LEFT JOIN affects nothing, and no relation is left out."""
    monkeypatch.setattr(_changes(), "_of_optional", lambda *_: iter(()))
    fewer = import_module("iceberg_incremental.query.fewer_relations")._Fewer
    monkeypatch.setattr(fewer, "leave_out_one", lambda _: False)


def subqueries_are_not_followed(monkeypatch):
    """A change of the rows that EXISTS, IN or a scalar subquery reads affects nothing."""
    monkeypatch.setattr(_changes(), "_of_subquery", lambda *_: iter(()))


def nulls_in_a_list_do_not_count(monkeypatch):
    """A changed row of the query in IN affects only rows that are equal to it."""
    module = import_module(_CHANGES)
    can_change = module.can_change
    monkeypatch.setattr(module, "can_change", lambda *args, must_be_true: can_change(*args, must_be_true=True))


def conditions_below_not_are_part_of_where(monkeypatch):
    """A subquery below AND counts as true, also if NOT, OR or CASE contains the AND."""
    module = import_module(_CHANGES)
    conjunct = module.conjunct
    monkeypatch.setattr(module, "conjunct", lambda node: node if isinstance(node.parent, exp.And) else conjunct(node))


def groups_are_made_of_changed_rows(monkeypatch):
    """A group or partition in a derived table is computed from its changed rows alone."""
    monkeypatch.setattr(import_module(_CHANGES), "kept_together", lambda _: None)


def rows_of_the_old_state_do_not_count(monkeypatch):
    """A row that was deleted, or had another key, affects nothing."""
    state, variants = import_module("iceberg_incremental.query.states").State, _changes().variants

    def careless(changes: Any, *select: Any) -> Any:
        return (each for each in variants(changes, *select) if each[0] is not state.OLD)

    monkeypatch.setattr(_changes(), "variants", careless)


def rows_of_the_new_state_do_not_count(monkeypatch):
    """A row that was added, or now has another key, affects nothing."""
    state, variants = import_module("iceberg_incremental.query.states").State, _changes().variants

    def careless(changes: Any, *select: Any) -> Any:
        return (each for each in variants(changes, *select) if each[0] is not state.NEW)

    monkeypatch.setattr(_changes(), "variants", careless)


def groups_in_doubt_are_updated(monkeypatch):
    """A group that lost rows and whose sums are 0 keeps its row, and a sum that lost all its values is 0."""
    summary = import_module("iceberg_incremental.query.rules.summary").SummaryDelta
    monkeypatch.setattr(summary, "doubtful_sql", lambda *_: None)


def joins_read_one_state_only(monkeypatch):
    """The changes of each relation of a join are joined with the new state of all others, so some count twice."""
    module = import_module("iceberg_incremental.query.differences")
    state = module.State
    careless = SimpleNamespace(NEW=state.NEW, OLD=state.NEW, ADDED=state.ADDED, REMOVED=state.REMOVED)
    monkeypatch.setattr(module, "State", careless)


def relations_that_are_left_out_are_not_followed(monkeypatch):
    """A changed row of a relation that the keys do not need affects nothing."""
    monkeypatch.setattr(import_module("iceberg_incremental.query.matching").Matching, "_matched_sql", lambda *_: None)


def where_is_part_of_an_optional_join(monkeypatch):
    """A changed row of the right side of a LEFT JOIN affects nothing if WHERE does not hold for it."""
    module = import_module("iceberg_incremental.query.fewer_relations")
    match = module._Fewer._match

    def careless(fewer: Any, alias: str, *relation: Any) -> Any:
        other, found = match(fewer, alias, *relation)
        mine = tuple(each for each in fewer._conditions() if module._aliases(each) == {alias})
        return other, found if found is None else replace(found, filters=mine)

    monkeypatch.setattr(module._Fewer, "_match", careless)


def values_of_the_right_side_do_not_count(monkeypatch):
    """A changed row of the right side of EXCEPT or INTERSECT affects nothing."""
    sides = _changes()._sides

    def careless(changes: Any, query: Any, state: Any) -> Any:
        found = sides(changes, query, state)
        return found if isinstance(query, exp.Union) else found[:1]

    monkeypatch.setattr(_changes(), "_sides", careless)


def rows_are_in_one_partition(monkeypatch):
    """Windows with different PARTITION BYs have the partitions of the first one."""
    module = import_module(_CHANGES)
    partitions = module.partitions
    monkeypatch.setattr(module, "partitions", lambda select: partitions(select)[:1])


def limits_are_of_single_rows(monkeypatch):
    """The rows of a LIMIT do not affect each other."""
    monkeypatch.setattr(import_module("iceberg_incremental.query.together"), "is_limited", lambda _: False)


def rows_without_partners_do_not_count(monkeypatch):
    """The right rows of a full join always have a partner."""
    normal = import_module("iceberg_incremental.query.normal")

    def careless(select: exp.Select, columns: Any, numbers: Any) -> None:
        for join in select.args.get("joins") or ():
            if join.side.upper() == "FULL":
                join.set("side", "LEFT")

    monkeypatch.setattr(normal, "without_full_joins", careless)


def totals_of_grouping_sets_do_not_change(monkeypatch):
    """Only the groups of the first grouping set are affected."""
    sides = _changes()._sides

    def careless(changes: Any, query: Any, state: Any) -> Any:
        return sides(changes, query, state)[:1]

    monkeypatch.setattr(_changes(), "_sides", careless)


def the_clock_affects_nothing(monkeypatch):
    """Rows do not change if only the clock has moved."""
    monkeypatch.setattr(_changes(), "_of_clock", lambda *_: iter(()))


def expressions_read_the_present_time(monkeypatch):
    """The old state is computed with the present time."""
    monkeypatch.setattr(_changes(), "at", lambda _, node, state: node.copy())


SHOWN_BY = {
    optional_sides_are_not_followed: r"(left|right) join",
    subqueries_are_not_followed: r"exists \(|in \(select|\(select (count|max)|(semi|anti) join",
    nulls_in_a_list_do_not_count: r"not in \(select",
    conditions_below_not_are_part_of_where: r"not \(.*(exists \(|in \(select).* and ",
    groups_are_made_of_changed_rows: r"\(select .*(group by|over \().*\)",
    rows_of_the_old_state_do_not_count: r" join ",
    rows_of_the_new_state_do_not_count: r" join ",
    groups_in_doubt_are_updated: r"sum\(.* group by ",
    joins_read_one_state_only: r"(sum|count)\(.* join .* group by ",
    relations_that_are_left_out_are_not_followed: r" join .* join ",
    where_is_part_of_an_optional_join: r"left join .* where ",
    values_of_the_right_side_do_not_count: r" (except|minus|intersect) ",
    rows_are_in_one_partition: r"over \(partition by (\w+).* over \(partition by (?!\1)",
    limits_are_of_single_rows: r" limit ",
    rows_without_partners_do_not_count: r" full join ",
    totals_of_grouping_sets_do_not_change: r"(rollup|cube|grouping sets) \(",
    the_clock_affects_nothing: r"current_date|now\(\)",
    expressions_read_the_present_time: r"current_date|now\(\)",
}
"""The bugs, each with a pattern for SQL that can show it."""
