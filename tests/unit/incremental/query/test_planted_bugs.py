"""Each planted bug omits a step of incremental updates. The tests must then find a wrong result in DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.functional.fuzz import plain_holes as holes

from . import test_summary_delta
from .kept_tables import require_exact
from .random_joins import random_join
from .test_exact import QUERIES

Check = Callable[[], None]
ROUNDS = 4


def joins() -> Iterator[Check]:
    """Random joins."""
    return (partial(require_exact, random_join(seed), seed, ROUNDS) for seed in range(100))


def query(name: str) -> Iterator[Check]:
    """A query with many random tables."""
    return (partial(require_exact, QUERIES[name], seed, ROUNDS) for seed in range(100))


def continued_groups() -> Iterator[Check]:
    """Groups that are updated by added and removed rows."""
    names = (name for name in test_summary_delta.GROUPS if name != "extremes")
    return (partial(test_summary_delta.test_groups_continue, name, test_summary_delta.Signed) for name in names)


SHOWN_BY: dict[Callable[[Any], None], Callable[[], Iterator[Check]]] = {
    holes.optional_sides_are_not_followed: joins,
    holes.subqueries_are_not_followed: partial(query, "not in, with nulls"),
    holes.nulls_in_a_list_do_not_count: partial(query, "not in, with nulls"),
    holes.conditions_below_not_are_part_of_where: partial(query, "in below not"),
    holes.groups_are_made_of_changed_rows: partial(query, "groups of groups"),
    holes.rows_of_the_old_state_do_not_count: joins,
    holes.rows_of_the_new_state_do_not_count: joins,
    holes.one_side_of_an_inner_join_does_not_count: joins,
    holes.a_later_branch_does_not_count: partial(query, "union all"),
    holes.groups_in_doubt_are_updated: continued_groups,
    holes.joins_read_one_state_only: continued_groups,
    holes.relations_that_are_left_out_are_not_followed: joins,
    holes.where_is_part_of_an_optional_join: partial(query, "an anti-join"),
    holes.values_of_the_right_side_do_not_count: partial(query, "except"),
    holes.rows_are_in_one_partition: partial(query, "windows of two partitions"),
    holes.limits_are_of_single_rows: partial(query, "a limit in a join"),
    holes.rows_without_partners_do_not_count: partial(query, "full join"),
    holes.totals_of_grouping_sets_do_not_change: partial(query, "rollup"),
    holes.the_clock_affects_nothing: partial(query, "since a day"),
    holes.expressions_read_the_present_time: partial(query, "groups by age"),
    holes.lateral_rows_are_not_followed: partial(query, "a left lateral join"),
    holes.parts_that_no_rule_knows_do_not_change: partial(query, "pivot"),
    holes.values_of_rows_that_have_not_changed_are_new: partial(query, "distinct values of a subquery"),
}


def test_every_bug_is_planted() -> None:
    assert SHOWN_BY.keys() == holes.SHOWN_BY.keys()


@pytest.mark.parametrize("plant", SHOWN_BY, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, plant: Callable[[Any], None]) -> None:
    plant(monkeypatch)
    for check in SHOWN_BY[plant]():
        try:
            check()
        except AssertionError:
            return
    pytest.fail("no result is wrong")
