"""Steps of the update of plain SQL, to be disabled one at a time. Without them, some tables are silently wrong."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from sqlglot import exp

_RULES = "iceberg_incremental.query.rules"


def _rule(name: str) -> Any:
    return import_module(f"{_RULES}.{name}")


def _changes() -> Any:
    return _rule("changed").Changes


def optional_sides_are_not_followed(monkeypatch):
    """A changed row of the right side of a LEFT JOIN affects nothing, and no relation is left out."""
    monkeypatch.setattr(_changes(), "_met_by", lambda *_: None)
    monkeypatch.setattr(_rule("keys")._Fewer, "leave_out_one", lambda _: False)


def subqueries_are_not_followed(monkeypatch):
    """A change of the rows that EXISTS, IN or a scalar subquery reads affects nothing."""
    monkeypatch.setattr(_changes(), "is_changed_subquery", lambda *_: False)


def nulls_in_a_list_do_not_count(monkeypatch):
    """A changed row of the query in IN affects only rows that are equal to it."""
    module = _rule("changed")
    of_values = module.of_values
    monkeypatch.setattr(module, "of_values", lambda *args, must_be_true: of_values(*args, must_be_true=True))


def conditions_below_not_are_part_of_where(monkeypatch):
    """The parts of an AND are conditions that must be true, also if NOT contains the AND."""
    module = import_module("iceberg_incremental.query.algebra.nodes")
    conjuncts = module.conjuncts

    def careless(condition: Any) -> Any:
        inner = condition.unnest() if isinstance(condition, exp.Expr) else condition
        return conjuncts(inner.this) if isinstance(inner, exp.Not) else conjuncts(condition)

    monkeypatch.setattr(module, "conjuncts", careless)


def groups_are_made_of_changed_rows(monkeypatch):
    """A group or partition in a derived table is computed from its changed rows alone."""

    def careless(changes: Any, node: Any, state: Any) -> Any:
        return [(at, replace(node, child=each)) for at, each in changes.variants(node.child, state)]

    monkeypatch.setattr(_changes(), "_group", careless)
    monkeypatch.setattr(_rule("changed"), "affected_of_windows", careless)


def rows_of_the_old_state_do_not_count(monkeypatch):
    """A row that was deleted, or had another key, affects nothing."""
    state, variants = import_module("iceberg_incremental.query.states").State, _changes().variants

    def careless(changes: Any, *rows: Any) -> Any:
        return [each for each in variants(changes, *rows) if each[0] is not state.OLD]

    monkeypatch.setattr(_changes(), "variants", careless)


def rows_of_the_new_state_do_not_count(monkeypatch):
    """A row that was added, or now has another key, affects nothing."""
    state, variants = import_module("iceberg_incremental.query.states").State, _changes().variants

    def careless(changes: Any, *rows: Any) -> Any:
        return [each for each in variants(changes, *rows) if each[0] is not state.NEW]

    monkeypatch.setattr(_changes(), "variants", careless)


def one_side_of_an_inner_join_does_not_count(monkeypatch):
    """A changed row of the right side of an inner join affects nothing, and no relation is left out."""
    variants = _changes().variants

    def careless(changes: Any, node: Any, state: Any, own: Any) -> Any:
        return [(at, replace(node, left=each)) for at, each in variants(changes, node.left, state, own)]

    monkeypatch.setattr(_changes(), "_inner_join", careless)
    monkeypatch.setattr(_rule("keys")._Fewer, "leave_out_one", lambda _: False)


def a_later_branch_does_not_count(monkeypatch):
    """A changed row of a later branch of UNION ALL affects nothing."""
    monkeypatch.setattr(_changes(), "_branches", lambda changes, node, state: changes.changed(node.children[0], state))


def groups_in_doubt_are_updated(monkeypatch):
    """A group that lost rows and whose sums are 0 keeps its row, and a sum that lost all its values is 0."""
    monkeypatch.setattr(_rule("summary").SummaryDelta, "doubtful_sql", lambda *_: None)


def joins_read_one_state_only(monkeypatch):
    """The changes of each relation of a join are joined with the new state of all others, so some count twice."""
    state = _rule("delta").State
    careless = SimpleNamespace(NEW=state.NEW, OLD=state.NEW, ADDED=state.ADDED, REMOVED=state.REMOVED)
    monkeypatch.setattr(_rule("delta"), "State", careless)


def relations_that_are_left_out_are_not_followed(monkeypatch):
    """A changed row of a relation that the keys do not need affects nothing."""
    monkeypatch.setattr(_rule("matching"), "matched", lambda *_: None)


def where_is_part_of_an_optional_join(monkeypatch):
    """A changed row of the right side of a LEFT JOIN affects nothing if WHERE does not hold for it."""
    module = _rule("keys")
    match = module._Fewer._match

    def careless(fewer: Any, item: Any) -> Any:
        found = match(fewer, item)
        mine = tuple(each for each in fewer._conditions() if module._read(each, fewer._subqueries) == item.aliases)
        return found if found is None else replace(found, filters=mine)

    monkeypatch.setattr(module._Fewer, "_match", careless)


def values_of_the_right_side_do_not_count(monkeypatch):
    """A changed row of the right side of EXCEPT or INTERSECT affects nothing."""
    values_of = _changes().values_of
    monkeypatch.setattr(_changes(), "values_of", lambda changes, sides, names: values_of(changes, sides[:1], names))


def rows_are_in_one_partition(monkeypatch):
    """Windows with different PARTITION BYs have the partitions of the first one."""
    module = _rule("windows")
    partitions = module.partitions
    monkeypatch.setattr(module, "partitions", lambda node: partitions(node)[:1])


def limits_are_of_single_rows(monkeypatch):
    """The rows of a LIMIT do not affect each other."""
    limit, changed = _rule("changed").op.Limit, _changes()._changed_result

    def careless(changes: Any, node: Any, state: Any) -> Any:
        return changed(changes, node.child if isinstance(node, limit) else node, state)

    monkeypatch.setattr(_changes(), "_changed_result", careless)


def rows_without_partners_do_not_count(monkeypatch):
    """The right rows of a full join always have a partner."""
    outer_join = _changes()._outer_join

    def careless(changes: Any, node: Any, *rest: Any) -> Any:
        return outer_join(changes, replace(node, kind="left"), *rest)

    monkeypatch.setattr(_changes(), "_full_join", careless)


def totals_of_grouping_sets_do_not_change(monkeypatch):
    """Only the groups of the first grouping set are affected."""
    group = _changes()._group

    def careless(changes: Any, node: Any, state: Any) -> Any:
        return group(changes, node if node.sets is None else replace(node, sets=node.sets[:1]), state)

    monkeypatch.setattr(_changes(), "_group", careless)


def the_clock_affects_nothing(monkeypatch):
    """Rows do not change if only the clock has moved."""
    monkeypatch.setattr(_rule("changed"), "compared_parts", lambda *_: iter(()))


def expressions_read_the_present_time(monkeypatch):
    """The old state is computed with the present time."""
    monkeypatch.setattr(_changes(), "_at_checkpoint", lambda _, node: node)


def lateral_rows_are_not_followed(monkeypatch):
    """A changed row of the right side of JOIN LATERAL affects nothing."""

    def careless(changes: Any, node: Any, state: Any, own: Any) -> Any:
        return [(at, replace(node, child=each)) for at, each in changes.variants(node.child, state, own)]

    monkeypatch.setattr(_changes(), "_generate", careless)


def parts_that_no_rule_knows_do_not_change(monkeypatch):
    """PIVOT, UNPIVOT and WITH RECURSIVE return the same rows after any change."""
    opaque, changed = _rule("changed").op.Opaque, _changes().changed

    def careless(changes: Any, node: Any, state: Any) -> Any:
        return None if isinstance(node, opaque) else changed(changes, node, state)

    monkeypatch.setattr(_changes(), "changed", careless)


def values_of_rows_that_have_not_changed_are_new(monkeypatch):
    """Of a row that has not changed, only the new value of a subquery in the SELECT list counts."""
    shifted = _changes()._shifted

    def careless(changes: Any, node: Any, parts: Any, state: Any, **options: Any) -> Any:
        old = _rule("changed").State.OLD
        return [] if state is old and not options else shifted(changes, node, parts, state, **options)

    monkeypatch.setattr(_changes(), "_shifted", careless)


SHOWN_BY = {
    optional_sides_are_not_followed: r"(left|right) join",
    subqueries_are_not_followed: r"exists \(|in \(select|\(select (count|max)|(semi|anti) join",
    nulls_in_a_list_do_not_count: r"not in \(select",
    conditions_below_not_are_part_of_where: r"not \(.*(exists \(|in \(select).* and ",
    groups_are_made_of_changed_rows: r"\(select .*(group by|over \().*\)",
    rows_of_the_old_state_do_not_count: r" join ",
    rows_of_the_new_state_do_not_count: r" join ",
    one_side_of_an_inner_join_does_not_count: r"(?<!left )(?<!right )(?<!full ) join ",
    a_later_branch_does_not_count: r" union ",
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
    lateral_rows_are_not_followed: r"lateral \(",
    parts_that_no_rule_knows_do_not_change: r" (pivot|unpivot) |recursive ",
    values_of_rows_that_have_not_changed_are_new: r"select .*\(select ",
}
"""The bugs, each with a pattern for SQL that can show it."""
