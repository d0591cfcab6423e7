"""Both readers on every catalog: what each must read from a table, and that both return the same."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from iceberg_incremental.errors import NotIcebergError
from iceberg_incremental.maintenance.compaction import deleted_rows
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.describe import describe
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.metadata.views import View
from iceberg_incremental.table.files import Content, LiveFiles
from iceberg_incremental.table.history import History, TableName

from . import servers
from .conftest import Spark

SCHEMA = "told"
RESERVED = {"owner", "comment", "location", "provider", "external"}  # properties that Spark reserves

CREATE = "create table {t} (id int, part int) using iceberg"
APPEND = "insert into {t} values ({n}, 1), ({n} + 1, 2)"


@dataclass(frozen=True)
class Case:
    """The statements that create a table, and the history that the table must have.

    ``operations``: those of the ancestors of main, oldest first. ``{s[0]}`` in a statement stands for the id of the
    first snapshot.
    """

    statements: tuple[str, ...]
    operations: tuple[str, ...]
    snapshots: int
    refs: frozenset[str] = frozenset({"main"})
    format_version: int = 2


def appends(count: int) -> tuple[str, ...]:
    return tuple(APPEND.replace("{n}", str(2 * each)) for each in range(count))


CASES = {
    "empty": Case((CREATE,), (), 0, refs=frozenset()),
    "appended": Case((CREATE, *appends(3)), ("append",) * 3, 3),
    "rewritten": Case(
        (
            f"{CREATE} partitioned by (part)",
            *appends(2),
            "insert overwrite {t} values (9, 9)",
            "delete from {t} where part = 9",
            "insert into {t} values (1, 1)",
            "update {t} set id = 2 where part = 1",
        ),
        ("append", "append", "overwrite", "delete", "append", "overwrite"),
        6,
    ),
    "nothing_inserted": Case((CREATE, "insert into {t} select 1, 1 where false"), ("append",), 1),
    "merge_on_read": Case(
        (
            f"{CREATE} tblproperties ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')",
            "insert into {t} select id, 1 from range(100)",
            "delete from {t} where id = 7",
            "update {t} set part = 2 where id = 8",
        ),
        ("append", "delete", "overwrite"),
        3,
    ),
    "format_1": Case(
        (f"{CREATE} tblproperties ('format-version'='1')", *appends(2)), ("append",) * 2, 2, format_version=1
    ),
    "format_3": Case(
        (
            f"{CREATE} tblproperties ('format-version'='3', 'write.delete.mode'='merge-on-read')",
            "insert into {t} select id, 1 from range(100)",
            "delete from {t} where id = 7",
        ),
        ("append", "delete"),
        2,
        format_version=3,
    ),
    "upgraded": Case(
        (CREATE, *appends(1), "alter table {t} set tblproperties ('format-version'='3')", *appends(1)),
        ("append",) * 2,
        2,
        format_version=3,
    ),
    "branched": Case(
        (
            CREATE,
            *appends(1),
            "alter table {t} create tag `v 1.0 é`",
            "alter table {t} create branch `Side-Way`",
            "insert into {t}.`branch_Side-Way` values (5, 5)",
            *appends(1),
        ),
        ("append",) * 2,
        3,
        refs=frozenset({"main", "v 1.0 é", "Side-Way"}),
    ),
    "only_on_a_branch": Case(
        (
            f"{CREATE} tblproperties ('write.wap.enabled'='true')",
            "set spark.wap.branch = ip_staged",
            *appends(1),
            "reset spark.wap.branch",
        ),
        (),
        1,
        refs=frozenset({"ip_staged"}),
    ),
    "rolled_back": Case(
        (CREATE, *appends(3), "call {catalog}.system.rollback_to_snapshot('{call}', {s[0]})", *appends(1)),
        ("append",) * 2,
        4,
    ),
    "replaced": Case(
        (
            CREATE,
            *appends(2),
            "create or replace table {t} using iceberg as select 1 as id",
            "insert into {t} values (2)",
        ),
        ("overwrite", "append"),
        4,
    ),
    "expired": Case(
        (
            CREATE,
            *appends(4),
            "call {catalog}.system.expire_snapshots(table => '{call}', older_than => timestamp '2999-01-01',"
            " retain_last => 2)",
        ),
        ("append",) * 2,
        2,
    ),
    "compressed": Case(
        (f"{CREATE} tblproperties ('write.metadata.compression-codec'='gzip')", *appends(2)), ("append",) * 2, 2
    ),
    "noted": Case(
        (
            f"{CREATE} tblproperties ('ip.checkpoint'='{{{{\"a\": \"ü\\\\\"}}}}')",
            'set `spark.sql.iceberg.snapshot-property.ip.checkpoint` = `{{"a": "é \' \\\\" \U0001f600"}}`',
            *appends(1),
            "reset `spark.sql.iceberg.snapshot-property.ip.checkpoint`",
        ),
        ("append",),
        1,
    ),
}
ODD_NAMES = [("Told \"é' x", "T ab\"'`é"), (SCHEMA, "dot.ted"), (SCHEMA, "100% #1?"), (SCHEMA, "UPPER")]

CATALOGS = ["sqlite", "postgres", "rest", "hive", "spark_catalog", "hadoop"]
IN_METASTORE = {"hive", "spark_catalog"}
READERS = ["pyiceberg", "spark"]
# All cases run on a catalog whose metadata files the package reads, and on one that PyIceberg reads; others run a few.
MADE = [
    (catalog, case)
    for catalog in CATALOGS
    for case in CASES
    if catalog in {"sqlite", "rest"} or case in {"empty", "appended", "branched", "replaced", "compressed"}
]


def prepared(catalog: str, spark: Spark) -> str:
    """Create the namespace of the tests in a catalog; returns the catalog's name."""
    if catalog == "postgres" and servers.postgresql_programs() is None:
        pytest.skip("PostgreSQL's initdb is not installed (Debian: apt-get install postgresql)")
    spark.run(f"create namespace if not exists {catalog}.{SCHEMA}")
    return catalog


@pytest.fixture(scope="module", params=CATALOGS)
def catalog(request: pytest.FixtureRequest, spark: Spark) -> str:
    return prepared(request.param, spark)


@pytest.fixture(scope="module", params=MADE, ids="-".join)
def made(request: pytest.FixtureRequest, spark: Spark) -> Iterator[tuple[TableName, Case]]:
    """One case's table in one catalog."""
    catalog, name = request.param
    # catalogs on one metastore share its tables
    table = TableName(prepared(catalog, spark), SCHEMA, f"{name}_{catalog}")
    make(table, CASES[name], spark)
    yield table, CASES[name]
    spark.run(f"drop table {table.sql}")


def make(table: TableName, case: Case, spark: Spark) -> None:
    for statement in case.statements:
        committed = []
        if "{s[" in statement:
            rows = spark.run(f"select snapshot_id from {table.sql}.snapshots order by committed_at")
            committed = [row[0] for row in rows]
        spark.run(
            statement.format(t=table.sql, catalog=table.catalog, call=f"{table.namespace}.{table.name}", s=committed)
        )


@pytest.fixture(scope="module")
def readers(spark: Spark) -> dict[str, MetadataReader]:
    return {mode: open_reader(mode, lambda: spark.settings, {}, spark.run) for mode in READERS}


@pytest.fixture(params=READERS)
def load(request: pytest.FixtureRequest, readers: dict[str, MetadataReader]) -> Callable[[TableName], History | None]:
    return readers[request.param].load


def loaded(load: Callable[[TableName], History | None], table: TableName) -> History:
    history = load(table)
    assert history is not None
    return history


def comparable(history: History) -> History:
    """The part of a history that every reader must return."""
    return dataclasses.replace(
        history,
        table_uuid=None,
        location=None,
        rolled_back_ms=None,
        created_ms=None,
        snapshots={
            key: dataclasses.replace(each, sequence_number=None, has_row_ids=False)
            for key, each in history.snapshots.items()
        },
        properties={key: value for key, value in history.properties.items() if key not in RESERVED},
    )


def test_reads_what_was_done(load: Callable[[TableName], History | None], made: tuple[TableName, Case], spark: Spark):
    table, case = made
    history = loaded(load, table)

    ancestors = list(history.ancestors(history.current_snapshot_id))[::-1]
    assert history.table == table
    assert tuple(each.operation for each in ancestors) == case.operations
    assert len(history.snapshots) == case.snapshots
    assert set(history.refs) == case.refs
    assert history.refs.get("main") == history.current_snapshot_id
    assert history.format_version == case.format_version
    assert all("operation" not in each.summary for each in history.snapshots.values())
    assert [each.timestamp_ms for each in ancestors] == sorted(each.timestamp_ms for each in ancestors)


@pytest.mark.core(
    "sqlite-rewritten",
    "postgres-appended",
    "rest-rewritten",
    "hive-appended",
    "spark_catalog-appended",
    "hadoop-appended",
)
def test_both_readers_tell_the_same(readers: dict[str, MetadataReader], made: tuple[TableName, Case]):
    table, _ = made
    by_pyiceberg, by_spark = (loaded(readers[mode].load, table) for mode in READERS)

    assert comparable(by_spark) == comparable(by_pyiceberg)
    assert by_pyiceberg.table_uuid is not None
    for snapshot in by_spark.snapshots.values():
        assert snapshot.sequence_number in (None, by_pyiceberg.snapshots[snapshot.snapshot_id].sequence_number)
    if by_spark.current is not None:
        assert by_spark.current.sequence_number is not None


def test_a_layout_contains_the_same_history(
    readers: dict[str, MetadataReader], made: tuple[TableName, Case], spark: Spark
):
    table, _ = made
    found = readers["pyiceberg"].load_with_layout(table)
    assert found is not None
    history, layout = found

    assert history == loaded(readers["pyiceberg"].load, table)
    described = describe(spark.run(f"describe table {table.sql}")).columns
    assert layout is not None
    assert [(each.name, each.type) for each in layout.columns] == [(each.name, each.type) for each in described]


def test_the_partition_specs_of_live_files(readers: dict[str, MetadataReader], catalog: str, spark: Spark):
    table = TableName(catalog, SCHEMA, f"evolved_{catalog}")
    for statement in (
        CREATE,
        "insert into {t} values (1, 1)",
        "alter table {t} add partition field part",
        "insert into {t} values (2, 2), (3, 3)",
        "alter table {t} create branch side",
        "alter table {t} replace partition field part with bucket(2, part)",
        "insert into {t}.branch_side values (5, 5)",
        "delete from {t}.branch_side where part = 3",
    ):
        spark.run(statement.format(t=table.sql))
    for reader in readers.values():
        history = reader.load(table)
        assert history is not None
        for ref, specs in (("main", {0: 1, 1: 2}), ("side", {0: 1, 1: 1, 2: 1})):
            found = reader.live_specs(history, history.refs[ref])
            assert {spec.spec_id: spec.files for spec in found} == specs
            assert {spec.fields for spec in found} <= {None, (), ("part",), ("bucket(2,part)",)}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("partitioned", ["", "partitioned by (part)"])
def test_both_readers_list_the_same_files(
    readers: dict[str, MetadataReader], catalog: str, version: int, partitioned: str, spark: Spark
):
    table = TableName(catalog, SCHEMA, f"live_{version}_{bool(partitioned)}_{catalog}".lower())
    modes = "'write.delete.mode'='merge-on-read'"
    for statement in (
        f"{CREATE} {partitioned} tblproperties ('format-version'='{version}', {modes})",
        *appends(3),
        "insert into {t} select /*+ coalesce(1) */ * from values (7, 7), (8, 7)",  # one file, which stays
        "delete from {t} where id = 8",
    ):
        spark.run(statement.format(t=table.sql))
    known: list[LiveFiles] = []
    for reader in readers.values():
        live = reader.live_files(loaded(reader.load, table))
        assert live is not None
        known.append(live)
    by_pyiceberg, by_spark = known

    def facts(live: LiveFiles) -> set[tuple[object, ...]]:
        return {(each.content, each.path, each.spec_id, each.records, each.size, each.of) for each in live.files}

    def partitions(live: LiveFiles) -> list[int]:
        return sorted(Counter(each.partition for each in live.files).values())

    assert facts(by_spark) == facts(by_pyiceberg)
    assert partitions(by_spark) == partitions(by_pyiceberg)
    assert by_spark.manifests == by_pyiceberg.manifests and by_spark.spec_id == by_pyiceberg.spec_id
    (deleted,) = by_pyiceberg.deletes
    assert deleted.content is (Content.DELETION_VECTOR if version == 3 else Content.POSITION_DELETES)
    assert deleted_rows(by_spark) == {deleted.of: 1}


@pytest.mark.parametrize("version", [2, 3])
def test_the_data_files_that_differ(readers: dict[str, MetadataReader], catalog: str, version: int, spark: Spark):
    table = TableName(catalog, SCHEMA, f"differs_{version}_{catalog}")
    for statement in (
        f"{CREATE} partitioned by (part) tblproperties ('format-version'='{version}')",
        *appends(3),
        "delete from {t} where part = 2",
    ):
        spark.run(statement.format(t=table.sql))
    history = loaded(readers["pyiceberg"].load, table)
    last, *_, first = (each.snapshot_id for each in history.ancestors(history.current_snapshot_id))

    found = readers["pyiceberg"].changed_files(history, first, last).files

    def paths(snapshot: int) -> set[str]:
        return {row[0] for row in spark.run(f"select file_path from {table.sql}.data_files version as of {snapshot}")}

    assert found is not None
    assert {file.path for file in found.at_end} == paths(last) - paths(first)
    assert {file.path for file in found.at_start} == paths(first) - paths(last)
    assert [len(found.at_end), len(found.at_start), found.with_other_deletes] == [2, 1, ()]
    spark.run(f"drop table {table.sql}")


def test_the_metadata_log_leads_to_expired_snapshots(readers: dict[str, MetadataReader], catalog: str, spark: Spark):
    table = TableName(catalog, SCHEMA, f"logged_{catalog}")
    make(table, CASES["expired"], spark)
    history = loaded(readers["pyiceberg"].load, table)

    earlier = list(readers["pyiceberg"].older(history))

    assert [len(each.snapshots) for each in earlier] == [4, 3, 2, 1, 0]
    assert {each.table_uuid for each in earlier} == {history.table_uuid}
    assert len(list(earlier[0].ancestors(history.current_snapshot_id))) == 4
    assert list(readers["spark"].older(loaded(readers["spark"].load, table))) == []
    spark.run(f"drop table {table.sql}")


@pytest.mark.parametrize(("namespace", "name"), ODD_NAMES)
def test_names_with_odd_characters(
    load: Callable[[TableName], History | None], catalog: str, spark: Spark, namespace: str, name: str
):
    if catalog in IN_METASTORE and name != "UPPER":
        pytest.skip("a Hive metastore takes letters, digits and underscores only")
    if catalog == "rest" and "%" in name:
        pytest.skip("the server of the tests refuses an encoded percent sign")
    table = TableName(catalog, namespace, name)
    spark.run(f"create namespace if not exists {catalog}.`{namespace}`")
    spark.run(f"create table if not exists {table.sql} (id int) using iceberg")
    spark.run(f"insert into {table.sql} values (1)")

    assert loaded(load, table).current is not None


@pytest.mark.parametrize("name", [(SCHEMA, "missing"), ("no_such_namespace", "missing")])
def test_a_table_that_is_not_there(load: Callable[[TableName], History | None], catalog: str, name: tuple[str, str]):
    assert load(TableName(catalog, *name)) is None


def test_a_view(load: Callable[[TableName], History | None], catalog: str, spark: Spark):
    if catalog == "hadoop":
        pytest.skip("a hadoop catalog has no views")
    view = TableName(catalog, SCHEMA, f"a_view_{catalog}")
    spark.run(f"create or replace view {view.sql} as select 1 as id")

    with pytest.raises(NotIcebergError, match=f"{view} is a view; expected an Iceberg table"):
        load(view)


def test_the_definition_of_a_view(readers: dict[str, MetadataReader], catalog: str, spark: Spark):
    if catalog == "hadoop":
        pytest.skip("a hadoop catalog has no views")
    view = TableName(catalog, SCHEMA, f"defined_{catalog}")
    query = "select 1 as id, array(named_struct('a', timestamp '2026-01-01')) as `x y` from other.t"
    if catalog == "spark_catalog":
        query = query.removesuffix(" from other.t")
    else:
        spark.run(f"create namespace if not exists {catalog}.other")
        spark.run(f"create table if not exists {catalog}.other.t (id int) using iceberg")
        spark.run(f"use {catalog}.other")
    spark.run(f"create or replace view {view.sql} comment 'one\nAS\ntwo' as {query}")
    spark.run("use spark_catalog.default")
    found = [reader.view(view) for reader in readers.values()]
    if catalog in IN_METASTORE:
        assert found == [None, None]
    else:
        columns = {"id": "int", "x y": "array<struct<a:timestamp>>"}
        assert found == [View(query, columns, catalog, "other"), None]


@pytest.mark.parametrize("catalog", ["spark_catalog"], indirect=True)
def test_a_table_of_another_format(load: Callable[[TableName], History | None], catalog: str, spark: Spark):
    table = TableName(catalog, SCHEMA, "plain")
    spark.run(f"create table if not exists {table.sql} (id int) using parquet")

    with pytest.raises(NotIcebergError, match=rf"{table} is a .*table of .*format.*; expected an Iceberg table"):
        load(table)


def test_a_column_type_that_pyiceberg_does_not_know(catalog: str, spark: Spark):
    if catalog in IN_METASTORE:
        pytest.skip("a Hive metastore does not know it either")
    table = TableName(catalog, SCHEMA, f"variant_{catalog}")
    spark.run(f"create table {table.sql} (v variant) using iceberg tblproperties ('format-version'='3')")
    spark.run(f"insert into {table.sql} select parse_json('{{}}')")

    assert loaded(open_reader("auto", lambda: spark.settings, {}, spark.run).load, table).current is not None
    if catalog != "rest":
        assert loaded(open_reader("pyiceberg", lambda: spark.settings, {}, spark.run).load, table).current is not None


def test_loads_are_never_cached(load: Callable[[TableName], History | None], catalog: str, spark: Spark):
    table = TableName(catalog, SCHEMA, f"watched_{catalog}")
    spark.run(f"create table if not exists {table.sql} (id int) using iceberg")
    before = len(loaded(load, table).snapshots)

    spark.run(f"insert into {table.sql} values (1)")

    assert len(loaded(load, table).snapshots) == before + 1


def test_the_location_of_a_table_changes_with_each_commit(
    readers: dict[str, MetadataReader], catalog: str, spark: Spark
):
    table = TableName(catalog, SCHEMA, f"located_{catalog}")
    missing = TableName(catalog, SCHEMA, f"nowhere_{catalog}")
    seen: list[str] = []
    for statement in (CREATE, *appends(2)):
        spark.run(statement.format(t=table.sql))
        found = [reader.locations([table, missing]) for reader in readers.values()]
        assert all(each.keys() == {table} for each in found)
        (location,) = {each[table].removeprefix("file:").replace("//", "/") for each in found}
        seen.append(location)

    assert len(set(seen)) == 3


@pytest.mark.parametrize("catalog", ["sqlite", "rest"], indirect=True)
def test_the_location_of_a_view_changes_with_its_definition(
    readers: dict[str, MetadataReader], catalog: str, spark: Spark
):
    view = TableName(catalog, SCHEMA, f"shown_{catalog}")
    seen = []
    for number in range(2):
        spark.run(f"create or replace view {view.sql} as select {number} as n")
        seen.append(readers["pyiceberg"].locations([view])[view])
        assert readers["pyiceberg"].locations([view])[view] == seen[-1]

    assert len(set(seen)) == 2
    assert readers["spark"].locations([view]) == {}
