"""Which columns a statement writes and joins on."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dbt.adapters.spark_iceberg.incremental.columns import key_columns, updated_columns, written_columns
from dbt.adapters.spark_iceberg.incremental.errors import ConfigError


@dataclass(frozen=True)
class Column:
    name: str


ID, V, W = Column("Id"), Column("v"), Column("w`x")


def test_written_are_the_columns_that_both_have():
    assert written_columns([Column("V"), Column("id"), Column("_change_type")], [ID, V, W]) == [ID, V]


def test_updated_are_all_or_the_chosen():
    assert updated_columns([ID, V, W], None, None) == [ID, V, W]
    assert updated_columns([ID, V, W], ["`w``x`"], None) == [W]
    assert updated_columns([ID, V, W], None, "ID") == [V, W]


def test_keys_are_named_as_the_target_names_them():
    assert key_columns([ID, V, W], "ID") == ["Id"]
    assert key_columns([ID, V, W], ["`w``x`", "V"]) == ["w`x", "v"]


@pytest.mark.parametrize("call", [lambda: updated_columns([ID], "v", None), lambda: key_columns([ID], ["id", "v"])])
def test_a_column_that_is_none_is_said(call):
    with pytest.raises(ConfigError, match=r"names v\.[^:]*: columns of the model: Id"):
        call()
