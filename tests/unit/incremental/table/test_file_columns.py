import pytest

from iceberg_incremental.command.documents import readable_by_name
from iceberg_incremental.table.files import TableColumn

ID, V = TableColumn(1, "id", "long"), TableColumn(2, "v", "string")


@pytest.mark.parametrize(
    ("schemas", "columns", "expected"),
    [
        ([[ID, V]], [ID, V], True),
        ([[ID], [ID, V]], [ID, V], True),  # added
        ([[ID, V], [ID]], [ID], True),  # dropped
        ([[ID, V], [ID, TableColumn(2, "w", "string")]], [ID, TableColumn(2, "w", "string")], False),  # renamed
        ([[ID, V], [ID, TableColumn(3, "v", "string")]], [ID, TableColumn(3, "v", "string")], False),  # re-created
        ([[ID, V], [ID, TableColumn(3, "V", "string")]], [ID, TableColumn(3, "V", "string")], False),
        ([[TableColumn(1, "id", "int"), V], [ID, V]], [ID, V], False),  # promoted
        ([[ID], [ID, TableColumn(2, "v", "string", "x")]], [ID, TableColumn(2, "v", "string", "x")], False),
        ([[ID, TableColumn(2, "ID", "long")]], [ID, TableColumn(2, "ID", "long")], False),
    ],
)
def test_names_of_columns_in_files(schemas, columns, expected):
    assert readable_by_name(dict(enumerate(schemas)), columns) is expected


def test_an_unknown_schema():
    assert not readable_by_name({1: [ID, V]}, [ID, V])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("größe", True),
        ("_id2", True),
        ("flight id", False),
        ("a-b", False),
        ("2x", False),
        ("m²", False),
        ("a.b", False),
    ],
)
def test_names_that_writers_replace_in_files(name, expected):
    column = TableColumn(1, name, "long")
    struct = {"type": "struct", "fields": [{"id": 3, "name": name, "type": "long", "required": False}]}
    listed = {"type": "list", "element-id": 4, "element": struct, "element-required": False}
    for found in (column, TableColumn(2, "s", struct), TableColumn(2, "s", listed)):
        assert readable_by_name({0: [found]}, [found]) is expected


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ('[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["v"]}, {"field-id": 9, "names": ["x"]}]', True),
        ('[{"field-id": 1, "names": ["id", "number"]}]', False),
        ('[{"field-id": 2, "names": ["text"]}]', False),
        ("[1]", False),
        ("{", False),
    ],
)
def test_names_of_imported_files(mapping, expected):
    assert readable_by_name({0: [ID, V]}, [ID, V], mapping) is expected
