"""Which way of updating an ``auto`` model's table has the lower estimated cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.plan.learned import KEY, Learned, learned
from iceberg_incremental.plan.rebuild_cost import (
    MOST_REWRITTEN,
    Reads,
    choose,
    choose_to_continue,
    gains_from_order,
    is_worth_measuring,
    rebuild_at_once,
)

SMALL = Reads(target_rows=20_000, sources=(20_000,), searched=20_000, scans=(0,))
LARGE = Reads(target_rows=50_000_000, sources=(50_000_000, 1_000_000), searched=500_000, scans=(0, 1))


def test_a_few_keys_are_replaced_and_many_cause_a_rebuild():
    assert not choose(LARGE, 25_000).rebuilds
    assert choose(LARGE, 49_000_000).rebuilds
    assert "25,000 keys of a table of 50,000,000 rows are affected" in choose(LARGE, 25_000).reason


def test_the_keys_of_small_tables_are_not_counted():
    found = rebuild_at_once(SMALL)
    assert found is not None
    assert found.rebuilds
    assert "finding the affected keys would cost more" in found.reason
    assert rebuild_at_once(LARGE) is None


def test_groups_are_updated_if_a_large_source_has_few_new_rows():
    daily = Reads(target_rows=2_000, sources=(50_000_000,), searched=100_000, scans=(0,))
    found = choose_to_continue(daily, 3)
    assert not found.rebuilds
    assert "3 keys of a table of 2,000 rows are affected" in found.reason
    assert choose_to_continue(SMALL, 0).rebuilds


def test_a_large_table_is_not_rewritten_to_update_a_few_groups():
    small, large = (
        Reads(target_rows=rows, sources=(10**9,), searched=1_000, scans=(0,))
        for rows in (MOST_REWRITTEN, 50 * MOST_REWRITTEN)
    )
    (of_small, _), (of_large, _) = (choose_to_continue(each, 1).estimated for each in (small, large))
    assert of_large < 50 * of_small


def test_measured_costs_correct_the_estimates_of_their_method():
    reads = replace(LARGE, learned=Learned(kept=10))
    assert not choose(LARGE, 25_000).rebuilds
    assert choose(reads, 25_000).rebuilds
    assert not choose(replace(reads, learned=Learned(kept=10, rebuilt=10)), 25_000).rebuilds
    assert choose(reads, 25_000).by_rows == choose(LARGE, 25_000).by_rows


def test_affected_rows_cost_what_the_build_has_shown_that_all_rows_cost():
    expensive = replace(LARGE, learned=Learned(rebuilt=8))
    assert not choose(expensive, 25_000).rebuilds
    assert choose(expensive, LARGE.target_rows).rebuilds


def test_a_run_does_not_search_if_an_earlier_one_found_most_rows_affected():
    assert rebuild_at_once(LARGE) is None
    found = rebuild_at_once(replace(LARGE, learned=Learned(affected=(0.95, LARGE.searched))))
    assert found is not None
    assert "95% of the rows were affected in an earlier run" in found.reason
    assert rebuild_at_once(replace(LARGE, learned=Learned(affected=(0.1, LARGE.searched)))) is None
    known, runs = Learned(affected=(1.0, LARGE.searched)), 0
    while rebuild_at_once(replace(LARGE, learned=known)) is not None:
        known, runs = known.without_search(), runs + 1
    assert 5 < runs < 50  # then one run searches again


def test_a_correction_of_most_rows_says_nothing_about_a_day():
    corrected = Learned(affected=(1.0, LARGE.target_rows))
    assert rebuild_at_once(replace(LARGE, learned=corrected)) is None
    assert rebuild_at_once(replace(LARGE, searched=LARGE.target_rows, learned=corrected)) is not None
    assert learned({KEY: corrected.to_json()}) == corrected


def test_what_a_search_has_cost_corrects_the_next_estimate():
    assert rebuild_at_once(LARGE) is None
    slow = Learned().after_search(1.0, 100.0)
    found = rebuild_at_once(replace(LARGE, searched=200_000_000, learned=slow))
    assert rebuild_at_once(replace(LARGE, searched=200_000_000)) is None
    assert found is not None
    assert "finding the affected keys would cost more" in found.reason
    assert learned({KEY: slow.to_json()}).found == pytest.approx(slow.found, rel=0.01)


def test_rows_that_were_written_again_are_compared_at_a_price():
    rewritten = replace(LARGE, searched=100_000_000, compared=100_000_000)
    assert rebuild_at_once(replace(rewritten, compared=0)) is None
    assert rebuild_at_once(rewritten) is not None


def test_only_large_tables_are_measured():
    assert is_worth_measuring(LARGE)
    assert not is_worth_measuring(SMALL)


def test_only_tables_of_millions_of_rows_are_ordered_and_only_if_that_is_cheap():
    assert gains_from_order(LARGE)
    assert not gains_from_order(SMALL)
    assert not gains_from_order(replace(LARGE, sorted_rows=1))


def test_keys_with_many_rows_affect_a_larger_share_of_the_table():
    few, many = (choose(replace(LARGE, learned=Learned(rows_per_key=rows)), 2_400) for rows in (1, 20_000))
    assert not few.rebuilds
    assert many.rebuilds
