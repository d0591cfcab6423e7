from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.spark.in_process import catalog_file

OLD = "create table iceberg_tables (catalog_name, table_namespace, table_name)"
NEW = "alter table iceberg_tables add column iceberg_type"
PROPERTIES = "create table iceberg_namespace_properties (catalog_name, namespace)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cat#log.db"


def execute(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statements", "made"),
    [((), False), ((OLD,), False), ((OLD, PROPERTIES), False), ((OLD, NEW), False), ((OLD, NEW, PROPERTIES), True)],
)
def test_a_file_is_complete_when_it_needs_no_upgrade(file, statements, made):
    assert not catalog_file.is_made(file)
    execute(file, *statements)
    assert catalog_file.is_made(file) is made


def test_the_names_are_those_of_one_catalog(file):
    execute(file, OLD, NEW, PROPERTIES)
    tables = ("'lake', 'raw', 'a', 'TABLE'", "'lake', 'raw', 'v', 'VIEW'", "'lake', 'raw', 'old', null")
    for row in (*tables, "'lake', 'Raw', 'b', 'TABLE'", "'lake', 'x.y', 'c', 'TABLE'", "'other', 'raw', 'd', 'TABLE'"):
        execute(file, f"insert into iceberg_tables values ({row})")
    execute(file, "insert into iceberg_namespace_properties values ('lake', 'raw'), ('lake', 'new'), ('other', 'z')")
    assert sorted(catalog_file.schemas(file, "lake")) == ["Raw", "new", "raw", "x", "x.y"]
    assert catalog_file.relations(file, "lake", "raw") == {"a": False, "old": False, "v": True}
    assert catalog_file.relations(file, "lake", "new") == catalog_file.relations(file, "lake", "none") == {}


def test_a_catalog_name_that_the_file_lacks_is_refused(file):
    execute(file, OLD, PROPERTIES)
    catalog_file.require_name(file, "any")
    execute(file, "insert into iceberg_namespace_properties values ('lake', 'raw')")
    catalog_file.require_name(file, "lake")
    with pytest.raises(DbtRuntimeError, match=r"contains the catalog `lake`, but not `lakee`.*`catalog: lake`"):
        catalog_file.require_name(file, "lakee")


def test_only_a_new_lakehouse_is_announced(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(catalog_file.logger, "info", said.append)
    monkeypatch.setattr(catalog_file.logger, "warning", said.append)
    started, project = tmp_path / "started", tmp_path / "shop"
    (started / "lakehouse").mkdir(parents=True)
    monkeypatch.chdir(started)
    new = project / "lakehouse" / "catalog.db"
    new.parent.mkdir(parents=True)

    catalog_file.begin_new(new, "./lakehouse")
    assert said == [f"Creating a new lakehouse in {new.parent}"]

    (started / "lakehouse" / "catalog.db").touch()
    catalog_file.begin_new(new, "./lakehouse")
    assert f"There is also a lakehouse in {started / 'lakehouse'}" in said[2]

    del said[:]
    catalog_file.begin_new(started / "lakehouse" / "catalog.db", "./lakehouse")
    assert said == []


@pytest.mark.parametrize(("beside", "ignored"), [("start.lock", True), ("dbt_project.yml", False)])
def test_git_ignores_a_new_lakehouse_in_its_own_folder(tmp_path, beside, ignored):
    (tmp_path / beside).touch()
    catalog_file.begin_new(tmp_path / "catalog.db", str(tmp_path))
    assert (tmp_path / ".gitignore").exists() is ignored


def test_a_file_of_another_format_is_an_error(file):
    file.write_text("no database at all")
    found = r"is damaged: .*cat#log\.db\n(.*\n)* *Found: file is not a database\.\n(.*\n)*.*register_table"
    for look in (catalog_file.is_made, catalog_file.require_sound):
        with pytest.raises(DbtRuntimeError, match=found):
            look(file)


def test_a_file_with_a_damaged_page_is_an_error(file):
    catalog_file.require_sound(file)
    execute(file, OLD, NEW, PROPERTIES)
    named = ", ".join(f"('lake', 'raw', 'table_{number}', null)" for number in range(2_000))
    execute(file, f"insert into iceberg_tables values {named}")
    catalog_file.require_sound(file)
    content = bytearray(file.read_bytes())
    content[8_192:12_288] = b"\xff" * 4_096
    file.write_bytes(content)
    assert catalog_file.is_made(file)  # the tables still exist
    with pytest.raises(DbtRuntimeError, match=r"is damaged: .*cat#log\.db"):
        catalog_file.require_sound(file)


def test_a_file_that_cannot_be_opened_is_not_called_damaged(file):
    file.mkdir()
    with pytest.raises(DbtRuntimeError, match=r"cannot be read: .*cat#log\.db\n(.*\n)* *Found: disk I/O error"):
        catalog_file.require_sound(file)


def test_a_second_process_waits(tmp_path):
    entered = []

    def second() -> None:
        with catalog_file.alone(tmp_path):
            entered.append("second")

    with catalog_file.alone(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(timeout=0.3)
        entered.append("first")
    thread.join(timeout=30)
    assert entered == ["first", "second"]
