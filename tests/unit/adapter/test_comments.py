from __future__ import annotations

from dbt.adapters.spark_iceberg.relations.comments import statements, view_columns
from iceberg_incremental.metadata.describe import Description
from iceberg_incremental.table.layout import DescribedColumn

NOW = Description((DescribedColumn("Id", "int", "the key"), DescribedColumn("v", "string", None)), {"Comment": "old"})


def test_the_columns_of_a_view_have_the_models_comments():
    described = {"ID": {"description": "it's the key"}, "v": {}, "gone": {"description": "no column"}}
    assert view_columns(["id", "v"], described) == ["`id` comment 'it\\'s the key'", "`v`"]


def test_only_changed_comments_are_written():
    columns = {"id": {"description": "the key"}, "V": {"description": "a value"}}
    assert statements("`t`", NOW, "new", columns) == [
        "comment on table `t` is 'new'",
        "alter table `t` alter column `v` comment 'a value'",
    ]
    assert statements("`t`", NOW, "old", {"id": {"description": "the key"}}) == []


def test_a_column_without_a_description_may_be_missing():
    assert statements("`t`", NOW, None, {"gone": {"description": ""}}) == []
