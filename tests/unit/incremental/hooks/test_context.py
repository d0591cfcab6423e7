from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.hooks.invocation import ModelContext


def context(command="run", resource_type="model"):
    node = {"unique_id": "model.shop.daily", "resource_type": resource_type}
    return ModelContext(node, None, False, False, command, {}, [])


@pytest.mark.parametrize(
    ("command", "shows", "documents"),
    [("run", False, False), ("build", False, False), ("compile", True, False), ("generate", True, True)],
)
def test_whether_a_command_only_shows_or_documents_a_model(command, shows, documents):
    assert (context(command).only_shows_sql, context(command).only_documents) == (shows, documents)


def test_a_unit_test_is_recognized_by_its_node():
    assert context(resource_type="unit_test").is_unit_test
    assert not context().is_unit_test
    assert context().unique_id == "model.shop.daily"
