from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.hooks.spelling import misspelt
from dbt.adapters.spark_iceberg.operations.arguments import ARGUMENTS


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select * from {{ ip_chagnes(ref('a')) }}", {"ip_chagnes": "ip_changes"}),
        ("{% set r = ip_ranges(ref('a'), 'id') %} select 1", {"ip_ranges": "ip_range"}),
        ("select * from {{ ip_changed_group (ref('a'), 'k') }}", {"ip_changed_group": "ip_changed_groups"}),
        ("select * from {{ ip_changes(ref('a')) }}", {}),
        ("select ip_chagnes(address) from {{ ref('a') }}", {}),
        ("select {{ ip_address('a') }}, {{ adapter.ip_chagnes() }}", {}),
        ("select {{ ip_change('a') }}", {}),
    ],
    ids=[
        "transposed",
        "in a statement",
        "a space",
        "right",
        "a function of SQL",
        "the user's own",
        "a macro that exists",
    ],
)
def test_misspelled_names_of_macros(sql, found):
    assert misspelt(sql, ARGUMENTS, ["ip_change"]) == found
