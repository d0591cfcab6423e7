"""A project with every kind of node that dbt has, and an oracle that computes its tables from the current sources.

The writer's source is ``events`` with the columns ``id`` and ``v``, and one row for each ``id``.
"""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import Any

import yaml

from tests.functional.incremental.shop import Shop

HAS_FUNCTIONS = tuple(map(int, version("dbt-core").split(".")[:2])) >= (1, 11)

CHANGES = "select id, v from {{ ip_changes(source('raw', 'events')) }}"
MIRROR = "select id, v, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
LATEST = "select id, v from {{ ip_changes(ref('staged')) }}"
NAMED = """
    select latest.id, latest.v, kinds.label from {{ ref('latest') }} as latest
    join {{ ref('kinds') }} as kinds on kinds.kind = latest.id % 2
"""
PYTHON = """
    def model(dbt, session):
        dbt.config(materialized="iceberg_incremental_snapshot", on_source_rewrite="full_refresh")
        return dbt.ip_changes(dbt.source("raw", "events")).select("id", "v")
"""
SNAPSHOT = """
    {% snapshot history %}
    {{ config(unique_key='id', strategy='check', check_cols=['v'], hard_deletes='invalidate') }}
    select id, v from {{ ref('latest') }}
    {% endsnapshot %}
"""
FRESH = "select id, v from {{ ref('filtered') }} where {{ is_kept('id') }}"
PLAIN = """
    {{ config(materialized='incremental', unique_key='id', incremental_strategy='merge', file_format='iceberg') }}
    select id, v from {{ ref('latest') }}
"""

TESTS: dict[str, Any] = {
    "version": 2,
    "groups": [{"name": "shop_team", "owner": {"name": "shop", "email": "shop@example.com"}}],
    "models": [
        {
            "name": "staged",
            "config": {"group": "shop_team"},
            "columns": [{"name": "id", "data_tests": ["not_null"]}],
        },
        {
            "name": "latest",
            "columns": [
                {
                    "name": "id",
                    "data_tests": [
                        "unique",
                        {"relationships": {"arguments": {"to": "ref('staged')", "field": "id"}}},
                    ],
                }
            ],
        },
    ],
    "unit_tests": [
        {
            "name": "labels",
            "model": "named",
            "given": [
                {"input": "ref('latest')", "rows": [{"id": 3, "v": "a"}]},
                {"input": "ref('kinds')", "rows": [{"kind": 1, "label": "odd"}]},
            ],
            "expect": {"rows": [{"id": 3, "v": "a", "label": "odd"}]},
        }
    ],
    "exposures": [
        {
            "name": "dashboard",
            "type": "dashboard",
            "owner": {"name": "shop", "email": "shop@example.com"},
            "depends_on": ["ref('named')", "ref('kinds')"],
        }
    ],
}
METRICS: dict[str, Any] = {
    "version": 2,
    "semantic_models": [
        {
            "name": "named_rows",
            "model": "ref('named')",
            "defaults": {"agg_time_dimension": "at"},
            "entities": [{"name": "id", "type": "primary"}],
            "dimensions": [
                {"name": "at", "type": "time", "expr": "current_date", "type_params": {"time_granularity": "day"}}
            ],
            "measures": [{"name": "row_count", "agg": "count", "expr": "id"}],
        }
    ],
    "metrics": [
        {"name": "rows_named", "label": "rows", "type": "simple", "type_params": {"measure": {"name": "row_count"}}}
    ],
    "saved_queries": [
        {
            "name": "rows_by_day",
            "query_params": {"metrics": ["rows_named"], "group_by": ["TimeDimension('id__at', 'day')"]},
        }
    ],
}
SPINE: dict[str, Any] = {
    "version": 2,
    "models": [
        {
            "name": "days",
            "time_spine": {"standard_granularity_column": "day"},
            "columns": [{"name": "day", "granularity": "day"}],
        }
    ],
}
FUNCTION: dict[str, Any] = {
    "version": 2,
    "functions": [
        {
            "name": "doubled",
            "arguments": [{"name": "x", "data_type": "int"}],
            "returns": {"data_type": "int"},
        }
    ],
}


def every_kind(shop: Shop) -> str:
    """Write the project; returns the name of its source in Spark."""
    source = shop.source("events")
    project: dict[str, Any] = {
        "name": "shop",
        "version": "1.0",
        "profile": "shop",
        "on-run-start": ["select 1 as started"],
        "on-run-end": ["select 1 as ended"],
    }
    if HAS_FUNCTIONS:
        project["functions"] = {"+database": "spark_catalog"}  # no build by watch creates one
        shop.write("functions/doubled.sql", "select x * 2")
        shop.write("functions/functions.yml", yaml.safe_dump(FUNCTION))
    shop.write("dbt_project.yml", yaml.safe_dump(project))
    shop.write("selectors.yml", yaml.safe_dump({"selectors": [{"name": "all", "definition": "*"}]}))
    shop.write("seeds/kinds.csv", "kind,label\n0,even\n1,odd\n")
    shop.write("snapshots/history.sql", SNAPSHOT)
    shop.write("macros/is_kept.sql", "{% macro is_kept(column) %}{{ column }} >= 0{% endmacro %}")
    shop.model("staged", CHANGES, audit=True, on_source_rewrite="full_refresh")
    shop.model("latest", LATEST, incremental_strategy="merge", unique_key="id", on_source_rewrite="full_refresh")
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id")
    shop.write("models/python_copy.py", PYTHON)
    shop.model("filtered", "select * from {{ ref('staged') }} where id > 0", materialized="ephemeral")
    shop.model("shown", FRESH, materialized="view")
    shop.model("named", NAMED, materialized="table")
    shop.model("days", "select date '2026-01-01' as day", materialized="table")
    shop.model("off", "select * from {{ ref('staged') }}", enabled=False)
    shop.write("models/plain.sql", PLAIN)
    shop.write("analyses/looked_at.sql", "select count(*) from {{ ref('latest') }}")
    shop.write("tests/named_is_complete.sql", "select * from {{ ref('named') }} where label is null")
    for name, text in (("tests", TESTS), ("metrics", METRICS), ("spine", SPINE)):
        shop.write(f"models/{name}.yml", yaml.safe_dump(text))
    return source


def differing(shop: Shop) -> list[str]:
    """The tables that differ from the result of their SQL for the current source."""
    events = shop.rows(shop.raw("events"))
    labels = dict(line.split(",") for line in (shop.folder / "seeds/kinds.csv").read_text().split()[1:])
    expected: dict[str, Counter[tuple[Any, ...]]] = {
        **dict.fromkeys(("staged", "latest", "mirror", "python_copy"), events),
        "shown": Counter({row: count for row, count in events.items() if row[0] > 0}),
        "named": Counter({(*row, labels[str(row[0] % 2)]): count for row, count in events.items()}),
        "history where dbt_valid_to is null": events,
        "kinds": Counter({(int(kind), label): 1 for kind, label in labels.items()}),
    }
    columns = {"history where dbt_valid_to is null": "id, v"}
    found = [name for name, rows in expected.items() if _rows(shop, name, columns.get(name, "*")) != rows]
    plain = _rows(shop, "plain", "*")  # only merges rows, and deletes none
    return found if events <= plain else [*found, "plain"]


def _rows(shop: Shop, name: str, columns: str) -> Counter[tuple[Any, ...]]:
    table, _, condition = name.partition(" ")
    return shop.rows(f"{shop.built(table)} {condition}", columns)
