from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.hooks.model import takes_changes_for_rows
from iceberg_incremental.plan.policy import Strategy

READ = "from {{ ip_changelog(source('raw', 't'), unique_key='id') }}"


@pytest.mark.parametrize(
    ("sql", "strategy", "takes"),
    [
        (f"select id, v {READ}", Strategy.MERGE, True),
        (f"select id, v {READ}", Strategy.APPEND, True),
        (f"select id, v {READ}", Strategy.APPLY_CHANGES, False),
        (f"select id, v, _CHANGE_TYPE as op {READ}", Strategy.APPEND, False),
        (f"select id, v {READ} where _change_type = 'INSERT'", Strategy.MERGE, False),
        (f"select * {READ}", Strategy.APPEND, False),
        ("select id from {{ ip_changes(source('raw', 't')) }}", Strategy.MERGE, False),
    ],
)
def test_changes_that_are_treated_as_rows(sql, strategy, takes):
    assert takes_changes_for_rows(sql, strategy) is takes
