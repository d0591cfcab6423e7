"""What earlier runs cost, compared with their estimates."""

from __future__ import annotations

import pytest

from iceberg_incremental.plan.learned import KEY, NOTHING, Learned, Outcome, learned


def test_a_run_that_costs_more_than_estimated_raises_the_factor_of_its_method():
    found = NOTHING.after(Outcome("replace_all", 2.0, 8.0))
    assert 2.5 < found.rebuilt < 4
    assert found.kept == 1
    for _ in range(5):
        found = found.after(Outcome("replace_all", 2.0, 8.0))
    assert found.rebuilt == pytest.approx(4, rel=0.01)


def test_the_factor_of_the_other_method_is_forgotten():
    found = Learned(kept=8)
    for _ in range(30):
        found = found.after(Outcome("replace_all", 1.0, 1.0))
    assert found.kept < 1.1
    assert found.rebuilt == pytest.approx(1)


@pytest.mark.parametrize("spent", [0.0, 1e-9, 1e9])
def test_one_run_changes_a_factor_at_most_tenfold(spent):
    found = NOTHING.after(Outcome("replace_keys", 1.0, spent))
    assert 0.1 <= found.kept <= 10
    assert found.rebuilt == 1


def test_a_table_property_keeps_the_costs():
    found = Learned(0.25, 3.125, Outcome("update_groups", 1.5, 2.25), ("id", "line"), 12.5)
    assert learned({KEY: found.to_json()}) == found
    assert learned({}) == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "[]", "7", "null", "[" * 10_000),
        *('{"kept":"a lot"}', '{"last":[1]}', '{"last":7}', '{"key":7}'),
        *('{"kept":NaN}', '{"rebuilt":Infinity}', '{"last":["replace_all",1,-Infinity]}', '{"rows_per_key":1e999}'),
        f'{{"kept":{10**400}}}',
    ],
    ids=lambda text: text[:40],
)
def test_text_of_others_counts_as_no_costs(text):
    assert learned({KEY: text}) == NOTHING
