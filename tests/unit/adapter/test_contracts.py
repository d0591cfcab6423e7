from __future__ import annotations

from dbt.adapters.spark_iceberg.relations.contracts import select_list


def test_only_columns_declared_not_null_are_checked():
    model = {
        "columns": {
            "id": {"constraints": [{"type": "not_null"}]},
            "name": {"constraints": [{"type": "unique"}]},
            "Day": {},
        },
        "constraints": [{"type": "not_null", "columns": ["day"]}],
    }
    key, name, day = select_list(model)
    assert key == (
        "coalesce(`id`, raise_error('NULL in column id, which the model\\'s contract declares not_null')) as `id`"
    )
    assert name == "`name`"
    assert day.startswith("coalesce(`Day`, raise_error(")
