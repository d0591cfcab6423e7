import pytest

from iceberg_incremental.table.changed_files import TableColumn
from iceberg_incremental.table.file_columns import readable_by_name

ID, V = TableColumn(1, "id", "long"), TableColumn(2, "v", "string")


@pytest.mark.parametrize(
    ("schemas", "columns", "expected"),
    [
        ([[ID, V]], [ID, V], True),
        ([[ID], [ID, V]], [ID, V], True),  # added
        ([[ID, V], [ID]], [ID], True),  # dropped
        ([[ID, V], [ID, TableColumn(2, "w", "string")]], [ID, TableColumn(2, "w", "string")], False),  # renamed
        ([[ID, V], [ID, TableColumn(3, "v", "string")]], [ID, TableColumn(3, "v", "string")], False),  # made again
        ([[ID, V], [ID, TableColumn(3, "V", "string")]], [ID, TableColumn(3, "V", "string")], False),
        ([[TableColumn(1, "id", "int"), V], [ID, V]], [ID, V], False),  # promoted
        ([[ID], [ID, TableColumn(2, "v", "string", "x")]], [ID, TableColumn(2, "v", "string", "x")], False),
        ([[ID, TableColumn(2, "ID", "long")]], [ID, TableColumn(2, "ID", "long")], False),
    ],
)
def test_names_of_columns_in_files(schemas, columns, expected):
    assert readable_by_name(dict(enumerate(schemas)), columns) is expected


def test_a_schema_that_is_not_known():
    assert not readable_by_name({1: [ID, V]}, [ID, V])
