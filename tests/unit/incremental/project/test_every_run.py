"""Whether a model's SQL is the same in a first build as in later runs."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.jinja import same_in_every_run

MACROS = {
    "new_only": ["{% macro new_only() %}{% if is_incremental() %}where true{% endif %}{% endmacro %}"],
    "through": ["{% macro through() %}{{ through() }}{{ shop.new_only() }}{% endmacro %}"],
    "harmless": ["{% macro harmless(column) %}{{ adapter.quote(column) }}{% endmacro %}"],
}


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("select k, count(*) from {{ ip_changes(ref('t')) }} group by k", True),
        ("select {{ harmless('k') }} from {{ ip_changes(ref('t')) }} -- is_incremental", True),
        ("select 1 {% if is_incremental() %} where true {% endif %}", False),
        ("select 1 {% if not flags.FULL_REFRESH %} where true {% endif %}", False),
        ("{% set own = load_relation(this) %} select 1", False),
        ("select 1 {{ new_only() }}", False),
        ("select 1 {{ through() }}", False),
        ("select 1 {{ adapter.dispatch('new_only', 'shop')() }}", False),
        ("select 1 {{ context['new_only']() }}", False),
        ("select 1 {% if %}", False),
    ],
)
def test_sql_that_depends_on_the_run(sql, same):
    assert same_in_every_run(sql, MACROS) is same
