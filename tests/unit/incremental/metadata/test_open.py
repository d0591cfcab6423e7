"""Which metadata reader is used for a catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from iceberg_incremental.errors import ConfigError, MetadataAccessError
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.metadata.spark_reader import SparkReader
from iceberg_incremental.table.history import TableName

SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
UUID = "of the file"


@pytest.fixture(autouse=True)
def no_configuration_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("PYICEBERG_HOME", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A hadoop warehouse with the table ``ops.flights``, which has no snapshot."""
    folder = tmp_path / "warehouse" / "ops" / "flights" / "metadata"
    folder.mkdir(parents=True)
    document = {"format-version": 2, "table-uuid": UUID, "schemas": [{"schema-id": 0, "fields": []}]}
    (folder / "v1.metadata.json").write_text(json.dumps(document))
    return str(tmp_path / "warehouse")


class RecordedSpark:
    """Responds like Spark for ``ops.flights``, a table without a snapshot, in any catalog, and records the SQL."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self.statements: list[str] = []
        self.asked_for_settings = 0

    def settings(self) -> Mapping[str, str]:
        self.asked_for_settings += 1
        return self._settings

    def run(self, sql: str) -> Sequence[Sequence[Any]]:
        self.statements.append(sql)
        shown = {"format": "iceberg/parquet", "format-version": "2", "current-snapshot-id": "none"}
        return list(shown.items()) if sql.startswith("show") else []


def hadoop(name: str, warehouse: str) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{name}"
    return {prefix: SPARK_CATALOG, f"{prefix}.type": "hadoop", f"{prefix}.warehouse": warehouse}


def uuid_read(mode: str, spark: RecordedSpark, block: Mapping[str, Mapping[str, Any]], catalog: str) -> str | None:
    history = open_reader(mode, spark.settings, block, spark.run).load(TableName(catalog, "ops", "flights"))
    assert history is not None
    return history.table_uuid


@pytest.mark.parametrize("mode", ["auto", "pyiceberg"])
def test_pyiceberg_uses_sparks_settings(mode: str, warehouse: str):
    spark = RecordedSpark(hadoop("lake", warehouse))

    assert uuid_read(mode, spark, {}, "lake") == UUID
    assert spark.statements == []


@pytest.mark.parametrize("mode", ["auto", "pyiceberg"])
def test_the_profiles_block_overrides_sparks_settings(mode: str, warehouse: str):
    spark = RecordedSpark(hadoop("lake", "/elsewhere"))

    assert uuid_read(mode, spark, {"lake": {"type": "hadoop", "warehouse": warehouse}}, "lake") == UUID
    assert spark.asked_for_settings == 0


@pytest.mark.parametrize("mode", ["auto", "pyiceberg"])
def test_pyicebergs_own_configuration_is_used_last(mode: str, warehouse: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "hadoop")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", warehouse)

    assert uuid_read(mode, RecordedSpark({}), {}, "lake") == UUID


def test_sparks_settings_override_pyicebergs_own_configuration(warehouse: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "hadoop")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", "/elsewhere")

    assert uuid_read("pyiceberg", RecordedSpark(hadoop("lake", warehouse)), {}, "lake") == UUID


def test_spark_reads_a_catalog_that_pyiceberg_does_not_know():
    spark = RecordedSpark({})

    assert uuid_read("auto", spark, {}, "lake") is None
    assert spark.statements[0] == "show tblproperties `lake`.`ops`.`flights`"


def test_spark_reads_everything_if_the_profile_says_so(warehouse: str):
    spark = RecordedSpark(hadoop("lake", warehouse))

    assert uuid_read("spark", spark, {}, "lake") is None
    assert spark.asked_for_settings == 0


def test_without_a_fallback_the_error_contains_a_fix():
    spark = RecordedSpark({"spark.sql.catalog.lake": SPARK_CATALOG, "spark.sql.catalog.lake.type": "nessie"})
    reader = open_reader("pyiceberg", spark.settings, {}, spark.run)

    with pytest.raises(MetadataAccessError) as caught:
        reader.load(TableName("lake", "ops", "flights"))

    assert caught.value.msg == (
        "PyIceberg has no configuration for catalog lake, because PyIceberg does not support nessie.\n"
        "  To fix: set PyIceberg's properties under pyiceberg: lake: in the profile, or set metadata_reader: spark.\n"
        "  More: dbt-spark-iceberg explain no-configuration"
    )
    assert spark.statements == []


def test_a_catalog_that_pyiceberg_has_never_read_falls_back_to_spark(tmp_path: Path, warehouse: str):
    spark = RecordedSpark(hadoop("lake", str(tmp_path / "not yet")) | hadoop("other", warehouse))
    reader = open_reader("auto", spark.settings, {}, spark.run)

    def uuid(catalog: str) -> str | None:
        history = reader.load(TableName(catalog, "ops", "flights"))
        assert history is not None
        return history.table_uuid

    assert uuid("lake") is None
    Path(warehouse).rename(tmp_path / "not yet")
    assert uuid("lake") is None
    (tmp_path / "not yet").rename(warehouse)
    assert uuid("other") == UUID


def test_a_table_that_pyiceberg_cannot_read_falls_back_to_spark(warehouse: str):
    spark = RecordedSpark(hadoop("lake", warehouse))
    reader = open_reader("auto", spark.settings, {}, spark.run)
    good, bad = (TableName("lake", "ops", name) for name in ("flights", "broken"))
    folder = Path(warehouse, "ops", "broken", "metadata")
    folder.mkdir(parents=True)
    (folder / "v1.metadata.json").write_text("not JSON")

    assert [(history.table_uuid if (history := reader.load(table)) else "none") for table in (good, bad, good)] == [
        UUID,
        None,
        UUID,
    ]
    broken = reader.load(bad)
    assert broken is not None
    assert list(reader.older(broken)) == []


def test_an_unknown_mode():
    with pytest.raises(ConfigError, match=r"metadata_reader is 'java'\.\n  Expected: auto, pyiceberg, spark\."):
        open_reader("java", dict, {}, lambda sql: [])


def test_values_in_the_profile_are_passed_to_pyiceberg_as_text(warehouse: str):
    spark = RecordedSpark({})
    block = {"lake": {"type": "hadoop", "warehouse": warehouse, "a-number": 5, "a-switch": True, "nested": {"x": 1}}}

    assert uuid_read("pyiceberg", spark, block, "lake") == UUID


def test_a_table_that_spark_does_not_find():
    def run(sql: str) -> Sequence[Sequence[Any]]:
        raise RuntimeError("Error: [TABLE_OR_VIEW_NOT_FOUND] The table or view cannot be found. SQLSTATE: 42P01")

    assert SparkReader(run).load(TableName("lake", "ops", "missing")) is None


def test_an_error_of_spark():
    def run(sql: str) -> Sequence[Sequence[Any]]:
        raise RuntimeError("connection lost")

    with pytest.raises(MetadataAccessError, match=r"Spark cannot read the metadata of lake\.ops\.t: connection lost"):
        SparkReader(run).load(TableName("lake", "ops", "t"))


FLIGHTS = TableName("lake", "ops", "flights")


@pytest.mark.parametrize(
    ("mode", "beside_spark", "seen"),
    [("auto", True, True), ("auto", False, False), ("pyiceberg", False, True), ("spark", True, False)],
)
def test_load_without_statement_sends_no_statement(mode: str, beside_spark: bool, seen: bool, warehouse: str):
    spark = RecordedSpark(hadoop("lake", warehouse))
    reader = open_reader(mode, spark.settings, {}, spark.run, beside_spark=beside_spark)
    assert (reader.load_without_statement(FLIGHTS) is not None) is seen
    assert (reader.layout_without_statement(FLIGHTS) is not None) is seen
    assert spark.statements == []
    if mode == "auto":
        reader.load(FLIGHTS)
        assert reader.load_without_statement(FLIGHTS) is not None


@pytest.mark.parametrize("mode", ["auto", "pyiceberg"])
def test_load_without_statement_of_an_unknown_catalog(mode: str):
    spark = RecordedSpark({})
    reader = open_reader(mode, spark.settings, {}, spark.run, beside_spark=True)
    assert reader.load_without_statement(FLIGHTS) is None
    assert reader.layout_without_statement(FLIGHTS) is None
    assert spark.statements == []
