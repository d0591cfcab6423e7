"""The PyIceberg reader, with a catalog in SQLite and without Spark."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from iceberg_incremental.errors import MetadataAccessError, NotIcebergError
from iceberg_incremental.metadata.catalog_properties import sqlalchemy_uri
from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader
from iceberg_incremental.metadata.views import View
from iceberg_incremental.table.history import TableName
from tests.unit.incremental.metadata.catalogs import TABLE, metadata, reader_of

COLUMNS = "catalog_name, table_namespace, table_name, metadata_location"
A_VIEW = {
    "format-version": 1,
    "current-version-id": 1,
    "versions": [
        {
            "version-id": 1,
            "schema-id": 0,
            "representations": [{"type": "sql", "sql": "select 1 as id", "dialect": "spark"}],
            "default-namespace": ["raw"],
        }
    ],
    "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "type": "int"}]}],
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "catalog.db"


def sqlite_reader(database: Path) -> PyIcebergReader:
    return reader_of(type="sql", uri=f"sqlite:///file:{database}?mode=rw&uri=true")


def register(database: Path, location: str, *, kind: str | None = None) -> None:
    """Register a metadata file in a catalog of schema V1 as a ``kind``, or in schema V0 if ``kind`` is None."""
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("drop table if exists iceberg_tables")
        if kind is None:
            connection.execute(f"create table iceberg_tables ({COLUMNS})")
            connection.execute("insert into iceberg_tables values ('lake', 'ops', 'flights', ?)", [location])
        else:
            connection.execute(f"create table iceberg_tables ({COLUMNS}, iceberg_type)")
            connection.execute("insert into iceberg_tables values ('lake', 'ops', 'flights', ?, ?)", [location, kind])
    connection.close()


@pytest.mark.parametrize("kind", [None, "TABLE"])
@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_table_in_a_catalog_of_either_schema(database: Path, tmp_path: Path, kind: str | None, scheme: str):
    file = tmp_path / "100% #1? metadata.json"
    file.write_text(metadata(snapshots=3))
    register(database, f"{scheme}{file}", kind=kind)

    history = sqlite_reader(database).load(TABLE)

    assert history is not None
    assert [each.snapshot_id for each in history.ancestors(history.current_snapshot_id)] == [3, 2, 1]


def test_a_catalog_file_with_special_characters_is_read_without_sqlalchemy(tmp_path: Path):
    folder = tmp_path / "a b%20 50% #1? +é"
    folder.mkdir()
    database, file = folder / "catalog.db", tmp_path / "metadata.json"
    file.write_text(metadata(snapshots=3))
    register(database, str(file), kind="TABLE")
    uri = sqlalchemy_uri(f"jdbc:sqlite:file:{quote(str(database))}", {})
    assert reader_of(type="sql", uri=uri).locations([TABLE]) == {TABLE: str(file)}
    program = f"""
import sys
from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader
from iceberg_incremental.table.history import TableName
reader = PyIcebergReader(lambda name: {{"type": "sql", "uri": {uri!r}}})
print(len(reader.load(TableName("lake", "ops", "flights")).snapshots), "sqlalchemy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "3 False\n"


def test_names_must_match_exactly(database: Path, tmp_path: Path):
    register(database, "nowhere", kind="TABLE")
    reader = sqlite_reader(database)

    for other in (
        TableName("lak", "ops", "flights"),
        TableName("lake", "op", "flights"),
        TableName("lake", "ops", "FLIGHTS"),
    ):
        assert reader.load(other) is None


def test_a_view(database: Path):
    register(database, "nowhere", kind="VIEW")

    with pytest.raises(NotIcebergError, match=r"lake\.ops\.flights is a view; expected an Iceberg table"):
        sqlite_reader(database).load(TABLE)


@pytest.mark.parametrize("kind", ["VIEW", "TABLE", None])
def test_the_definition_of_a_view(database: Path, tmp_path: Path, kind: str | None):
    (tmp_path / "view.gz.metadata.json").write_bytes(gzip.compress(json.dumps(A_VIEW).encode()))
    register(database, str(tmp_path / "view.gz.metadata.json"), kind=kind)

    found = sqlite_reader(database).view(TABLE)

    assert found == (View("select 1 as id", {"id": "int"}, "lake", "raw") if kind == "VIEW" else None)
    assert sqlite_reader(database).view(TableName("lake", "ops", "missing")) is None


def test_each_load_is_fresh_even_if_the_database_is_replaced(database: Path, tmp_path: Path):
    (tmp_path / "a").write_text(metadata(snapshots=1))
    (tmp_path / "b").write_text(metadata(snapshots=2))
    reader = sqlite_reader(database)
    seen = []
    for name in ("a", "b", "a"):
        database.unlink(missing_ok=True)
        register(database, str(tmp_path / name), kind="TABLE")
        history = reader.load(TABLE)
        assert history is not None
        seen.append(len(history.snapshots))

    assert seen == [1, 2, 1]


def test_a_missing_database_is_not_created(database: Path):
    with pytest.raises(MetadataAccessError, match=r"PyIceberg cannot reach the metadata of lake\.ops\.flights"):
        sqlite_reader(database).load(TABLE)

    assert not database.exists()


def test_a_missing_metadata_file(database: Path):
    register(database, "/no/such/metadata.json", kind="TABLE")

    with pytest.raises(MetadataAccessError, match=r"No such file .*/no/such/metadata\.json"):
        sqlite_reader(database).load(TABLE)


def test_older_histories_are_returned_newest_first_without_missing_files(database: Path, tmp_path: Path):
    for count in (1, 3):
        (tmp_path / f"{count}").write_text(metadata(snapshots=count))
    (tmp_path / "now").write_text(metadata(snapshots=4, log=tuple(str(tmp_path / f"{count}") for count in (1, 2, 3))))
    register(database, str(tmp_path / "now"), kind="TABLE")
    reader = sqlite_reader(database)
    history = reader.load(TABLE)
    assert history is not None

    assert [len(each.snapshots) for each in reader.older(history)] == [3, 1]


def test_many_threads_read_one_catalog(database: Path, tmp_path: Path):
    file = tmp_path / "metadata.json"
    file.write_text(metadata(snapshots=5))
    register(database, str(file), kind="TABLE")
    asked: list[str] = []

    def properties_of(name: str) -> dict[str, str]:
        asked.append(name)
        return {"type": "sql", "uri": f"sqlite:///{database}"}

    reader = PyIcebergReader(properties_of)
    with ThreadPoolExecutor(8) as threads:
        histories = list(threads.map(lambda _: reader.load(TABLE), range(200)))

    assert {len(each.snapshots) for each in histories if each is not None} == {5}
    assert None not in histories
    assert asked == ["lake"]


def test_a_password_is_not_shown():
    properties = {"type": "sql", "uri": "postgresql+psycopg2://me:hunter2@127.0.0.1:1/ice?connect_timeout=2"}
    reader = PyIcebergReader(lambda name: properties)

    with pytest.raises(MetadataAccessError, match="refused") as caught:
        reader.load(TABLE)
    assert "hunter2" not in str(caught.value)


def test_an_unreachable_catalog_server():
    with pytest.raises(MetadataAccessError, match="PyIceberg cannot reach catalog lake: ConnectionError"):
        reader_of(type="rest", uri="http://127.0.0.1:1").load(TABLE)


def test_locations_are_read_from_the_catalog_without_reading_files(database: Path):
    register(database, "nowhere/00002.metadata.json", kind="TABLE")
    others = [TableName("lake", "ops", "FLIGHTS"), TableName("lake", "other", "flights"), TableName("lak", "ops", "f")]

    assert sqlite_reader(database).locations([TABLE, *others]) == {TABLE: "nowhere/00002.metadata.json"}


def test_an_unreachable_catalog_has_no_locations(tmp_path: Path):
    assert sqlite_reader(tmp_path / "missing" / "catalog.db").locations([TABLE]) == {}
