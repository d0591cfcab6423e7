from __future__ import annotations

from types import SimpleNamespace

from dbt.adapters.spark_iceberg.impl import search_adapter


def test_the_adapter_is_searched_between_the_project_and_the_package() -> None:
    config = SimpleNamespace(project_name="shop", dispatch=[])
    search_adapter(config)
    orders = {order["macro_namespace"]: order["search_order"] for order in config.dispatch}
    assert orders["dbt_utils"] == ["shop", "dbt", "dbt_utils"]
    assert orders.keys() == {"audit_helper", "dbt_artifacts", "dbt_utils"}


def test_the_projects_own_search_order_is_kept() -> None:
    own = {"macro_namespace": "dbt_utils", "search_order": ["spark_utils", "dbt_utils"]}
    config = SimpleNamespace(project_name="shop", dispatch=[own])
    search_adapter(config)
    search_adapter(config)
    assert [order["macro_namespace"] for order in config.dispatch] == ["dbt_utils", "audit_helper", "dbt_artifacts"]
    assert own["search_order"] == ["spark_utils", "dbt_utils"]


def test_dbt_debug_has_no_project() -> None:
    search_adapter(SimpleNamespace())
