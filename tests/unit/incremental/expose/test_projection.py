"""Expressions that return older rows with newer columns."""

from __future__ import annotations

import pytest

from iceberg_incremental.expose.projection import projected, sortable
from iceberg_incremental.table.files import TableColumn
from tests.unit.incremental.histories import array, fields, mapping

POINT = fields((10, "x", "int"), (11, "y", "int"))
RENAMED = fields((10, "a", "int"), (12, "z", "int"))
AS_RENAMED = "if({0} is null, null, named_struct('a', {0}.`x`, 'z', null))"


@pytest.mark.parametrize(
    ("older", "newer", "expression"),
    [
        (TableColumn(1, "v", "int"), TableColumn(1, "v", "int"), "`v`"),
        (TableColumn(1, "v", "int"), TableColumn(1, "w`", "long"), "`v`"),
        (TableColumn(1, "v", "int"), TableColumn(2, "v", "int"), "null"),
        (TableColumn(1, "v", "int"), TableColumn(2, "n", "string", "it's"), "cast('it\\'s' as string)"),
        (TableColumn(1, "v", "int"), TableColumn(2, "n", "boolean", True), "cast('true' as boolean)"),
        (TableColumn(1, "v", "int"), TableColumn(2, "n", "decimal(9,2)", "1.50"), "cast('1.50' as decimal(9, 2))"),
        (TableColumn(1, "v", "int"), TableColumn(2, "n", "binary", "00ff"), "unhex('00ff')"),
        (TableColumn(1, "p", POINT), TableColumn(1, "q", POINT), "`p`"),
        (TableColumn(1, "p", POINT), TableColumn(1, "p", RENAMED), AS_RENAMED.format("`p`")),
        (
            TableColumn(1, "p", array(POINT)),
            TableColumn(1, "p", array(RENAMED)),
            f"transform(`p`, `_ip_0` -> {AS_RENAMED.format('`_ip_0`')})",
        ),
        (
            TableColumn(1, "p", mapping("string", POINT)),
            TableColumn(1, "p", mapping("string", RENAMED)),
            "transform_keys(transform_values(`p`, (`_ip_key_0`, `_ip_value_0`) -> "
            f"{AS_RENAMED.format('`_ip_value_0`')}), (`_ip_key_0`, `_ip_value_0`) -> `_ip_key_0`)",
        ),
    ],
)
def test_columns_are_matched_by_id(older, newer, expression):
    assert projected([older], [newer]) == [expression]


@pytest.mark.parametrize(
    ("type_", "key"),
    [
        ("int", "`c`"),
        (array(POINT), "`c`"),
        (
            mapping("string", "int"),
            "array_sort(transform(map_entries(`c`), `_ip_0` -> "
            "named_struct('key', `_ip_0`.key, 'value', `_ip_0`.value)))",
        ),
        (
            fields((5, "m", mapping("string", "int"))),
            "if(`c` is null, null, named_struct('m', array_sort(transform(map_entries(`c`.`m`), `_ip_0` -> "
            "named_struct('key', `_ip_0`.key, 'value', `_ip_0`.value)))))",
        ),
    ],
)
def test_maps_are_compared_by_their_entries(type_, key):
    assert sortable("`c`", type_) == key
