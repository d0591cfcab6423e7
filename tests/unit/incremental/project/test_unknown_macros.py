from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_iceberg.hooks.macros import ARGUMENTS
from dbt.adapters.spark_iceberg.hooks.spelling import misspelt, warnings


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


def node(materialized: str, resource_type: str = "model", **extra: object) -> SimpleNamespace:
    """A node of dbt. ``extra``: its configs that dbt does not know."""
    config = SimpleNamespace(materialized=materialized, extra=extra, get=extra.get)
    return SimpleNamespace(unique_id="m", resource_type=resource_type, raw_code="", config=config)


MACROS = [
    "materialization_table_spark_iceberg",
    "materialization_view_default",
    "materialization_materialized_view_default",
    "materialization_incremental_spark_iceberg",
    "materialization_iceberg_incremental_snapshot_spark_iceberg",
    "materialization_insert_by_period_default",
]


@pytest.mark.parametrize(
    ("materialized", "meant"),
    [
        ("iceberg_incremental", "iceberg_incremental_snapshot"),
        ("incremental_snapshot", "iceberg_incremental_snapshot"),
        ("iceberg", "iceberg_incremental_snapshot"),
        ("iceberg-incremental-snapshot", "iceberg_incremental_snapshot"),
        ("materialised_view", "materialized_view"),
        ("incremantal", "incremental"),
    ],
)
def test_a_materialization_that_does_not_exist(materialized, meant):
    (said,) = warnings([node(materialized)], MACROS)
    assert said == f"m has materialized='{materialized}', which does not exist: did you mean '{meant}'?"


@pytest.mark.parametrize("materialized", ["table", "insert_by_period", "iceberg_incremental_snapshot", "parquet"])
def test_other_materializations(materialized):
    """dbt's own error follows for one that does not exist."""
    assert list(warnings([node(materialized), node("seed", "seed"), node("iceberg", "snapshot")], MACROS)) == []


def test_misspelled_configs_of_other_materializations():
    said = list(warnings([node("incremental", on_source_rewrites="x", owner="me", unique_id=1)], MACROS))
    assert said == ["m sets on_source_rewrites, which has no effect: did you mean on_source_rewrite?"]
    ours = node("iceberg_incremental_snapshot", on_source_rewrites="x", clone_retetion="x")
    assert list(warnings([ours], MACROS)) == [
        "m sets clone_retetion, which has no effect: did you mean clone_retention?"
    ]


def test_a_macro_that_hides_a_variable_of_dbt():
    (said,) = warnings([node("view")], ["sql", "model", *MACROS], own=["sql", "query"])
    assert said.startswith("The macro sql hides dbt's variable with this name, which views and data tests read")
