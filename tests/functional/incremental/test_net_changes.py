"""Ranges that change and delete rows, read as the exact difference between their two ends.

The oracle computes the difference of two multisets of rows in Python, and shares nothing with the SQL under test.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from iceberg_incremental.capture.source_policy import by_segments, segments_of
from iceberg_incremental.errors import MetadataAccessError
from iceberg_incremental.expose import parts
from iceberg_incremental.expose import relations as expose
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader
from iceberg_incremental.metadata.spark_reader import SparkReader
from iceberg_incremental.plan import net_changes
from iceberg_incremental.plan.changes import Rewritten, plan_changes
from iceberg_incremental.plan.net_changes import plan_net
from iceberg_incremental.plan.ranges import Kind, NetChanges, Nothing, Range, position_at
from iceberg_incremental.spark import staged_scans
from iceberg_incremental.spark.staged_scans import StagedScans
from iceberg_incremental.table.history import TableName
from tests.functional.fuzz.library import delete_equal

from .shop import CATALOG, HAS_ROW_LINEAGE, ICEBERG

COLUMNS = "id int, d date, v string, x double, s struct<a:int,b:array<string>>, m map<string,int>"


def row(id_: int | str, day: int | None, v: str, x: str = "1.5D", s: str = "null", m: str = "null") -> str:
    date = "null" if day is None else f"date'2026-01-{day:02}'"
    return f"({id_}, {date}, {v}, {x}, {s}, {m})"


NESTED = "named_struct('a', 1, 'b', array('p', null))", "map('k', 1, 'l', null)"
BASE = [
    row(1, 1, "'a'"),
    row(2, 1, "'b'", "double('NaN')", *NESTED),
    row(3, 2, "null", "0.0D"),
    row(4, 2, "'it''s'", "null", *NESTED),
    row(5, 3, "'dup'"),
    row(5, 3, "'dup'"),
    row(5, 3, "'dup'"),
    row(6, 3, "'f'", "1e300D"),
    row("null", None, "null", "null"),
    row("null", None, "null", "null"),
    row(7, 4, "'g'"),
    row(8, 5, "'untouched'"),
    row(9, 5, "'untouched'"),
]
STEPS = [
    [f"insert into {{t}} values {', '.join(BASE)}"],
    [  # rows are added, changed and deleted; one duplicate less, one NULL more, 0.0 to -0.0, a map and a struct change
        f"insert into {{t}} values {row(10, 1, repr('new'))}, {row(11, 9, repr('new'), '2D', *NESTED)}",
        "update {t} set v = 'B', m = map('k', 2) where id = 2",
        "update {t} set x = double('-0.0') where id = 3",
        "delete from {t} where id = 4",
        f"merge into {{t}} t using (select * from values {row(6, 3, repr('merged'))}, {row(12, 3, repr('merged'))} "
        "as c(id, d, v, x, s, m)) c on t.id = c.id when matched then update set * when not matched then insert *",
        f"insert into {{t}} values {row('null', None, 'null', 'null')}, {row(5, 3, repr('dup'))}",
        "update {t} set s = named_struct('a', 2, 'b', array('q')) where id = 1",
    ],
    [  # no net change: an added and deleted row, a value set to itself, a compaction
        f"insert into {{t}} values {row(13, 4, repr('gone'))}",
        "delete from {t} where id = 13",
        "update {t} set v = v where id in (1, 5, 7)",
        "call {c}.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
    ],
    [  # changed columns: one added, one renamed, one widened, one in a struct; an overwritten partition
        "alter table {t} add column n string after id",
        "alter table {t} rename column v to w",
        "alter table {t} alter column id type bigint",
        "alter table {t} add column s.c double",
        # Spark 4.0 fills in no column that an INSERT leaves out
        "insert into {t} (id, d, w, n, x, s, m) values (5000000000, date'2026-01-02', 'big', 'n', null, null, null)",
        "update {t} set n = 'set' where id = 7",
        "delete from {t} where id = 5",
        "insert overwrite {t} (id, d, w, n, x, s, m) values (14, date'2026-01-03', 'over', null, null, null, null)",
    ],
    [  # whole files are deleted, and the partitions change
        "alter table {t} add partition field bucket(2, id)",
        "update {t} set w = 'moved' where id = 8",
        "delete from {t} where d = date'2026-01-02'",
        "delete from {t} where d is null",
        "call {c}.system.rewrite_manifests('{t}')",
        "insert into {t} (id, d, w, n, x, s, m) values (15, null, 'last', null, null, null, null)",
    ],
]


def plain(value: Any) -> Any:
    """A value that can be hashed and compared. NaN equals NaN, and 0.0 differs from -0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, dict):
        return frozenset((key, plain(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(plain(each) for each in value)
    return value


class Source:
    """A source table. Its state after each step is recorded."""

    def __init__(self, shop: Any, warehouse: Path, name: str, clauses: str, columns: str = COLUMNS) -> None:
        self.shop = shop
        self.table = shop.source(name, columns, clauses)
        self.name = TableName(CATALOG, shop.source_schema, name)
        properties = {"type": "sql", "uri": f"sqlite:///file:{warehouse / 'catalog.db'}?mode=rw&uri=true"}
        self.reader: MetadataReader = PyIcebergReader(lambda _: properties)
        self.scans = StagedScans(shop.session)
        self.ends: list[int] = []
        self.states: dict[tuple[int, int | None], Counter[Any]] = {}

    def step(self, statements: list[str]) -> None:
        for statement in statements:
            self.shop.sql(statement.format(t=self.table, c=CATALOG))
        self.ends.append(self.shop.head(self.table))

    def state(self, snapshot: int, like: int | None = None) -> Counter[Any]:
        """The rows at a snapshot, with the columns of another snapshot, considering added and renamed columns."""
        if (snapshot, like) in self.states:
            return self.states[snapshot, like]

        def frame(of: int) -> Any:
            return self.shop.frame(f"select * from {self.table} version as of {of}")

        rows, names = frame(snapshot), frame(like or snapshot).columns
        self.states[snapshot, like] = Counter(
            tuple(self.cell(each.asDict(), name, names) for name in names) for each in rows.collect()
        )
        return self.states[snapshot, like]

    @staticmethod
    def cell(values: dict[str, Any], name: str, names: list[str]) -> Any:
        value = values.get("v") if name == "w" and "w" not in values else values.get(name)
        if name == "s" and "w" in names and value is not None:
            value = (value["a"], value["b"], value.asDict().get("c"))
        return plain(value)

    def plan(self, start: int, end: int) -> Range:
        history = self.reader.load(self.name)
        assert history is not None
        position = position_at(history.table_uuid, history.snapshots[start])
        found = plan_changes(history, position, history.snapshots[end])
        if isinstance(found, Rewritten):
            planned = self.plan_net(found)
            segments = [self.plan_net(each) for each in segments_of(found)]
            return by_segments(planned, segments) if isinstance(planned, NetChanges) else planned
        assert isinstance(found, Range)
        return found

    def plan_net(self, found: Rewritten) -> NetChanges | Nothing:
        start, end = found.position.snapshot_id, found.end.snapshot_id
        assert start is not None
        return plan_net(found, self.reader.changed_files(found.history, start, end))

    def rows(self, sql: str) -> Counter[Any]:
        return Counter(tuple(plain(value) for value in each) for each in self.shop.sql(f"select * from {sql}"))

    def check(self, start: int, end: int) -> Range:
        planned = self.plan(start, end)
        before, after = self.state(start, like=end), self.state(end)
        came, went = after - before, before - after
        for exact in (None, self.scans):
            assert self.rows(expose.changes_sql(planned, exact)) == came
        changelog = Counter({(*each, "INSERT"): n for each, n in came.items()})
        changelog += Counter({(*each, "DELETE"): n for each, n in went.items()})
        keys = {each[0] for each in came} & {each[0] for each in went}
        paired: Counter[Any] = Counter()
        for each, n in changelog.items():
            updated = {"INSERT": "UPDATE_AFTER", "DELETE": "UPDATE_BEFORE"}[each[-1]]
            paired[(*each[:-1], updated if each[0] in keys else each[-1])] = n
        for exact in (None, self.scans):
            changelog_sql = expose.changelog_sql(planned, ["ID"], exact)
            assert self.rows(changelog_sql) == paired
            changed_keys = self.shop.sql(f"select distinct id from {expose.changed_keys_sql(planned, ['ID'], exact)}")
            assert {each[0] for each in (*came, *went)} <= {plain(each[0]) for each in changed_keys}
            if isinstance(planned, NetChanges):
                assert (staged_scans.CATALOG in changelog_sql) is (
                    exact is not None and planned.net.changed.files is not None
                )
        return planned


LAYOUTS = pytest.mark.parametrize(
    ("version", "mode", "partitioned"),
    [
        pytest.param(2, "copy-on-write", True, marks=pytest.mark.thorough),
        pytest.param(2, "merge-on-read", False, marks=pytest.mark.thorough),
        pytest.param(3, "copy-on-write", False, marks=pytest.mark.thorough),
        (3, "merge-on-read", True),
    ],
)


@pytest.mark.core
@LAYOUTS
def test_every_kind_of_range(shop, warehouse, version, mode, partitioned):
    modes = ", ".join(f"'write.{statement}.mode'='{mode}'" for statement in ("delete", "update", "merge"))
    clauses = f"{'partitioned by (d)' if partitioned else ''} tblproperties ('format-version'='{version}', {modes})"
    source = Source(shop, warehouse, "events", clauses)
    with shop.dynamic_overwrites():
        for statements in STEPS:
            source.step(statements)
    ends = source.ends
    for start, end in ((0, 1), (1, 2), (0, 4)):
        planned = source.check(ends[start], ends[end])
        assert planned.kind is Kind.NET
        asks_lineage = version == 3 and HAS_ROW_LINEAGE and bool(planned.net.changed.files.at_start)
        assert (planned.net.untouched_since is not None) is asks_lineage
        assert not planned.net.has_log


@pytest.mark.thorough
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_only_changes_between_compactions_are_read(shop, warehouse, version, mode):
    modes = MERGE_ON_READ.replace("merge-on-read", mode)
    source = Source(shop, warehouse, "events", f"tblproperties ('format-version'='{version}', {modes})")
    compaction = (
        "call {c}.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true',"
        " 'remove-dangling-deletes', 'true'))"
    )
    rows = ", ".join(row(id_, 1, "'a'") for id_ in range(100))
    source.step([f"insert into {{t}} values {rows}", "delete from {t} where id = 99"])
    source.step(
        [
            "update {t} set v = 'b' where id in (1, 2, 3)",
            f"insert into {{t}} values {row(101, 1, repr('n'))}, {row(102, 1, repr('n'))}, {row(7, 1, repr('a'))}",
            compaction,
            "delete from {t} where id in (2, 4, 101)",
            "update {t} set v = 'a' where id = 3",  # the original value
            compaction,
            f"insert into {{t}} values {row(2, 1, repr('again'))}",
            "delete from {t} where id = 7 and v = 'a'",
        ]
    )
    planned = source.check(*source.ends)
    # a copied file's rows are compared in each segment, so that segments save nothing
    assert len(planned.net.segments) == (3 if mode == "merge-on-read" else 0)
    assert planned.net.changed.files is not None


def test_the_changelog_scan_reads_several_segments_in_one_statement(shop, warehouse):
    """Spark resolves a name once per statement, even if options differ."""
    source = Source(shop, warehouse, "events", "tblproperties ('format-version'='2')")
    for id_ in range(4):
        source.step([f"insert into {{t}} values {row(id_, 1, repr('a'))}, {row(id_, 1, repr('b'))}"])
    compaction = "call {c}.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))"
    source.step(
        [
            "delete from {t} where id = 1",
            compaction,
            f"insert into {{t}} values {row(5, 1, repr('new'))}",
            compaction,
            f"insert into {{t}} values {row(6, 1, repr('newer'))}",
        ]
    )
    planned = source.check(*source.ends[-2:])
    assert [each.has_log for each in planned.net.segments] == [True] * 3


@pytest.mark.thorough
def test_files_that_were_rewritten_once_are_read_by_their_names(shop, warehouse):
    """Iceberg's changelog scan reads two distant files, and no file between them."""
    source = Source(shop, warehouse, "events", "tblproperties ('format-version'='2')")
    for id_ in range(8):
        source.step([f"insert into {{t}} values {row(id_, 1, repr('a'))}, {row(id_, 1, repr('b'))}"])
    source.step(
        [
            f"merge into {{t}} t using (select * from values {row(0, 1, repr('c'))}, {row(7, 1, repr('c'))}, "
            f"{row(9, 1, repr('c'))} as c(id, d, v, x, s, m)) c on t.id = c.id and t.v = 'b' "
            "when matched then update set * when not matched then insert *",
        ]
    )
    source.step(["call {c}.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))"])
    source.step(["delete from {t} where id = 3 and v = 'a'"])
    start, merged, _, deleted = source.ends[-4:]
    assert source.check(start, merged).net.has_log
    source.check(start, deleted)
    shop.sql(f"alter table {source.table} rename column v to w")  # the scan would read the column by its new name
    assert not source.plan(start, merged).net.has_log


@pytest.mark.thorough
def test_a_table_upgraded_to_v3_is_read_by_its_two_ends(shop, warehouse):
    modes = "'write.update.mode'='copy-on-write', 'write.delete.mode'='merge-on-read'"
    source = Source(shop, warehouse, "events", f"tblproperties ('format-version'='2', {modes})")
    source.step(STEPS[0])
    source.step(["alter table {t} set tblproperties ('format-version'='3')", "update {t} set v = 'v3' where id = 1"])
    source.step(["delete from {t} where id = 6", "update {t} set v = 'again' where id = 2"])
    first, second, third = source.ends
    assert source.check(first, third).net.untouched_since is None
    assert (source.check(second, third).net.untouched_since is not None) is HAS_ROW_LINEAGE


WRITTEN_TO_A_NEW_BRANCH = [  # the totals in the summaries of the branch start at zero
    "set spark.wap.branch = staged",
    "insert into {t} values (4, 'd')",
    "reset spark.wap.branch",
    "call {c}.system.fast_forward('{t}', 'main', 'staged')",
]


@pytest.mark.skipif(ICEBERG < "1.12", reason="Iceberg before 1.12 cannot read such a table")
@pytest.mark.parametrize("insert", [["insert into {t} values (4, 'd')"], WRITTEN_TO_A_NEW_BRANCH])
def test_an_equality_delete_of_a_column_that_was_dropped_since(shop, warehouse, insert):
    """Another writer's delete file still exists. It compares a column that the end of the range lacks."""
    properties = "tblproperties ('format-version'='2', 'write.wap.enabled'='true')"
    source = Source(shop, warehouse, "events", properties, columns="id int, v string, w int")
    source.step(["insert into {t} values (1, 'a', null), (2, 'b', null), (3, 'c', null)"])
    delete_equal(shop.session, source.table.replace("`", ""), [2], columns=("id", "w"))
    source.step(["alter table {t} drop column w", *insert])
    source.step(["delete from {t} where id = 3"])
    first, second, third = source.ends
    for exact in (None, source.scans):
        all_changes, last = (expose.signed_sql(source.plan(start, third), exact) for start in (first, second))
        assert source.rows(all_changes) == Counter([(4, "d", 1), (2, "b", -1), (3, "c", -1)])
        assert source.rows(last) == Counter([(3, "c", -1)])


MERGE_ON_READ = ", ".join(f"'write.{statement}.mode'='merge-on-read'" for statement in ("delete", "update", "merge"))


@pytest.mark.thorough
def test_rows_deleted_from_partitions_of_nan_and_zero(shop, warehouse):
    """The delete files name partitions. One of them is NaN, which does not equal itself in Python."""
    properties = f"'format-version'='2', 'write.delete.granularity'='partition', {MERGE_ON_READ}"
    source = Source(
        shop, warehouse, "events", f"partitioned by (x) tblproperties ({properties})", columns="id int, x double"
    )
    rows = ", ".join(
        f"({{}}, {value})" for value in ("double('NaN')", "double('-0.0')", "0.0D", "double('Infinity')", "null") * 2
    )
    for first in (0, 10):
        source.step([f"insert into {{t}} values {rows.format(*range(first, first + 10))}"])
    source.step(["delete from {t} where id in (0, 10, 1, 12, 3, 14)"])
    source.step(["insert into {t} values (20, double('NaN'))", "delete from {t} where id in (4, 20)"])
    for start, end in ((1, 2), (0, 3), (2, 3)):
        source.check(source.ends[start], source.ends[end])


def parquet(shop: Any, folder: Path, rows: str) -> str:
    """Write rows to a Parquet file that belongs to no table, for add_files."""
    shop.frame(f"select * from values {rows} as r(id, v)").coalesce(1).write.parquet(str(folder))
    call = "call {c}.system.add_files(table => '{t}', source_table => '`parquet`.`FOLDER`', CHECK)"
    return call.replace("FOLDER", str(folder)).replace("CHECK", "check_duplicate_files => false")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("version", "mode"), [(1, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]
)
def test_a_file_that_a_table_has_twice(shop, warehouse, tmp_path, version, mode):
    modes = MERGE_ON_READ.replace("merge-on-read", mode)
    clauses = f"tblproperties ('format-version'='{version}', {modes})"
    source = Source(shop, warehouse, "events", clauses, columns="id int, v string")
    add = parquet(shop, tmp_path / "files", "(1, 'x'), (2, 'y'), (2, 'y')")
    source.step(["insert into {t} select /*+ coalesce(1) */ * from values (3, 'a'), (4, 'b'), (5, 'c')", add])
    source.step([add, "update {t} set v = 'z' where id = 3"])
    source.step([add, "insert into {t} values (6, 'd')", "delete from {t} where id = 4"])
    source.step(["delete from {t} where id = 1", "update {t} set v = 'w' where id = 5"])
    # Iceberg cannot read a table with a file that is newer than its own deletion vector
    again = [] if (version, mode) == (3, "merge-on-read") else [add]
    source.step([*again, "delete from {t} where id > 2"])
    for start, end in ((0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (2, 4), (3, 4)):
        source.check(source.ends[start], source.ends[end])


def moved_file(shop: Any, folder: Path) -> str:
    """The statement that adds a file of another v3 table, which contains that table's row ids and sequence numbers."""
    other = shop.source("others", "id int, v string", f"tblproperties ('format-version'='3', {MERGE_ON_READ})")
    for id_ in range(3):
        shop.insert(other, f"({id_}, 'other')", f"({id_ + 10}, 'other')")
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{other}', options => map('rewrite-all', 'true'))")
    ((path,),) = shop.sql(f"select distinct _file from {other}")
    folder.mkdir()
    shutil.copy(path.removeprefix("file:"), folder / "moved.parquet")
    return f"call {{c}}.system.add_files(table => '{{t}}', source_table => '`parquet`.`{folder}`')"


def test_files_of_another_table_are_not_told_by_their_row_ids(shop, warehouse, tmp_path):
    add = moved_file(shop, tmp_path / "files")
    clauses = f"tblproperties ('format-version'='3', {MERGE_ON_READ})"
    source = Source(shop, warehouse, "events", clauses, columns="id int, v string")
    for id_ in range(20, 25):
        source.step([f"insert into {{t}} values ({id_}, 'a'), ({id_ + 10}, 'a')"])
    source.step([add, "delete from {t} where id = 22", "delete from {t} where id in (20, 30)"])
    assert source.check(*source.ends[-2:]).net.untouched_since is None


def test_a_deleted_row_whose_id_another_row_has(shop, warehouse, tmp_path, monkeypatch):
    """A MERGE deletes a row, and moves an unchanged row of a file of another table that has the same row id."""
    add = moved_file(shop, tmp_path / "files")
    source = Source(shop, warehouse, "events", "tblproperties ('format-version'='3')", columns="id int, v string")
    own = ", ".join(f"({id_}, 'own')" for id_ in range(20, 26))
    source.step([f"insert into {{t}} select /*+ coalesce(1) */ * from values {own}", add])
    changes = "values (20, 'gone'), (10, 'new') as c(id, v)"
    source.step(
        [
            f"merge into {{t}} t using (select * from {changes}) c on t.id = c.id"
            " when matched and c.v = 'gone' then delete when matched then update set v = c.v"
        ]
    )
    assert source.check(*source.ends).net.untouched_since is None
    if HAS_ROW_LINEAGE:  # the same change, as if the commit that added the file had expired
        monkeypatch.setattr(net_changes, "has_only_own_files", lambda history, snapshot_id: True)
        planned = source.plan(*source.ends)
        assert planned.net.untouched_since is not None
        with pytest.raises(Exception, match="rows with the same row id or without one"):
            shop.sql(f"select * from {expose.changelog_sql(planned)}")


def files_planned(shop: Any, sql: str) -> list[int]:
    """The number of data files that each scan of a query planned, according to Iceberg's own metrics."""
    shop.sql("set spark.sql.adaptive.enabled = false")  # otherwise, stages hide the executed plan
    try:
        frame = shop.frame(sql)
        frame.collect()
        leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
        metrics = [leaves.apply(n).metrics() for n in range(leaves.size())]
        return [each.apply("resultDataFiles").value() for each in metrics if each.contains("resultDataFiles")]
    finally:
        shop.sql("reset spark.sql.adaptive.enabled")


@pytest.mark.parametrize(
    ("version", "clauses", "updated"),
    # without partitions, one file replaces all rewritten ones, and its bounds span all values in between
    [(2, "partitioned by (d)", "7, 130"), (3, "partitioned by (d)", "7, 130"), (2, "", "7, 9")],
)
def test_files_read_grow_with_the_change(shop, warehouse, monkeypatch, version, clauses, updated):
    """Of 60 files, two are rewritten, and rows are deleted from a third. No scan plans any other file."""
    properties = f"tblproperties ('format-version'='{version}', 'write.delete.mode'='merge-on-read')"
    source = Source(shop, warehouse, "events", f"{clauses} {properties}")
    rows = "select int(id), date_add(date'2026-01-01', int(id / 4)), 'a', 1.0D, null, null from range(0, 240, 1, 60)"
    source.step([f"insert into {{t}} {rows}"])
    source.step([f"update {{t}} set v = 'b' where id in ({updated})", "delete from {t} where id = 45"])
    planned = source.check(*source.ends)
    assert max(files_planned(shop, f"select * from {expose.changes_sql(planned)}")) <= 3
    exactly, files = expose.changes_sql(planned, source.scans), planned.net.changed.files
    assert exactly.count("ip_files.") == (5 if version == 3 and HAS_ROW_LINEAGE else 3)
    read = [count for relation, count in source.scans.files.items() if relation in exactly]
    assert read == [len(files.at_end), len(files.with_other_deletes), len(files.at_start)]
    # as if too many files had changed to list them
    monkeypatch.setattr(parts, "_LONGEST_FILE_LIST", 0)
    scans = files_planned(shop, f"select * from {expose.changes_sql(source.check(*source.ends))}")
    assert max(scans) <= 3


# Models


MIRROR = "select id, v, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"


@pytest.mark.core
def test_models_follow_a_source_that_is_rewritten(shop):
    events = shop.source("events", "id int, v string", "tblproperties ('write.delete.mode'='merge-on-read')")
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id")
    shop.model(
        "by_rows",
        "select *, upper(v) as u from {{ ip_changelog(source('raw', 'events')) }}",
        incremental_strategy="apply_changes",
        unique_key=["ID"],
        on_source_rewrite="full_refresh",
    )
    shop.model("upserts", "select * from {{ ip_changes(source('raw', 'events')) }}", on_source_rewrite="upserts")
    shop.insert(events, "(1, 'a')", "(2, 'b')", "(3, 'c')", "(null, 'n')")
    found = shop.run()
    assert {found.action(name) for name in ("mirror", "by_rows", "upserts")} == {"rebuild"}
    assert shop.rows(shop.built("mirror")) == shop.rows(events)
    assert shop.rows(shop.built("by_rows"), "id, v, u") == shop.rows(events, "*, upper(v)")
    shop.sql(f"update {events} set v = 'B' where id = 2")
    shop.sql(f"delete from {events} where id = 3")
    shop.sql(f"delete from {events} where id is null")
    shop.insert(events, "(4, 'd')")
    shop.sql(f"update {events} set id = 5 where id = 1")
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{events}', options => map('rewrite-all', 'true'))")
    status = shop.operation("ip_status")
    assert status.success and "pending (net)" in status.printed and "fails" not in status.printed
    found = shop.run()
    for name in ("mirror", "by_rows", "upserts"):
        assert found.action(name) == "apply"
        assert found.ip(name)["sources"][f"{CATALOG}.{shop.source_schema}.events"]["kind"] == "net"
    assert shop.rows(shop.built("mirror")) == shop.rows(events) == Counter([(2, "B"), (4, "d"), (5, "a")])
    assert shop.rows(shop.built("by_rows")) == shop.rows(events, "*, upper(v)")
    first = [(1, "a"), (2, "b"), (3, "c"), (None, "n")]
    assert shop.rows(shop.built("upserts")) == Counter([*first, (2, "B"), (4, "d"), (5, "a")])
    shop.insert(events, "(6, 'f')")
    found = shop.run()
    assert found.ip("mirror")["sources"][f"{CATALOG}.{shop.source_schema}.events"]["kind"] == "append"
    assert shop.rows(shop.built("mirror")) == shop.rows(events)
    assert shop.rows(shop.built("by_rows")) == shop.rows(events, "*, upper(v)")
    assert shop.run("--full-refresh", "--select", "mirror").action("mirror") == "rebuild"
    assert shop.rows(shop.built("mirror")) == shop.rows(events)


@pytest.mark.core
def test_rewrites_that_come_to_nothing_only_move_the_checkpoint(shop):
    events = shop.source("events", "id int, v string", "partitioned by (v)")
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.sql(f"delete from {events} where v = 'b'")
    assert shop.run().action("mirror") == "advance"
    assert shop.run().message("mirror") == "NOTHING NEW"


def test_net_changes_need_the_snapshot_of_the_checkpoint(shop):
    events = shop.source("events")
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.sql(f"delete from {events} where id = 1")
    shop.sql(f"call {CATALOG}.system.expire_snapshots(table => '{events}', older_than => now(), retain_last => 1)")
    message = shop.fails()
    assert "(expired)" in message and "the snapshot of the checkpoint has expired" in message


def test_changes_that_cannot_be_applied(shop):
    events = shop.source("events", "id int, v string, k string")
    changelog = "select id, v, {} as _change_type from {{{{ ip_changelog(source('raw', 'events')) }}}}"
    config = {"incremental_strategy": "apply_changes", "unique_key": "id"}
    shop.model("mirror", "select id, v from {{ ip_changelog(source('raw', 'events')) }}", **config)
    shop.insert(events, "(1, 'a', 'INSERT')", "(2, 'b', 'DELETE')")
    message = shop.fails()
    assert "Expected: a column _change_type" in message and "Found: id, v" in message
    shop.model("mirror", changelog.format("k"), **config)
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter([(1, "a")])
    before = shop.head(shop.built("mirror"))
    shop.insert(events, "(3, 'x', 'INSERT')", "(3, 'y', 'UPDATE_AFTER')", "(1, 'a', 'DELETE')")
    assert "More than one new row of model.shop.mirror has the same unique_key (id)" in shop.fails()
    shop.insert(events, "(4, 'z', 'insert')")
    assert "_change_type is insert, expected INSERT" in shop.fails("--full-refresh")
    assert shop.head(shop.built("mirror")) == before
    shop.model("mirror", "select * from {{ ip_changelog(source('raw', 'events'), unique_key=['nope']) }}", **config)
    shop.sql(f"delete from {events} where id > 2")
    assert "with nope" in shop.fails()


@pytest.mark.core
def test_a_changelog_under_empty_and_in_a_contract(shop):
    events = shop.source("events", "id int, v string")
    shop.model(
        "mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id", on_schema_change="sync_all_columns"
    )
    shop.write(
        "models/mirror.yml",
        """
        version: 2
        models:
          - name: mirror
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: int, constraints: [{type: not_null}]}
              - {name: v, data_type: string}
        """,
    )
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    assert shop.run("--empty").action("mirror") == "partial_build"
    assert shop.run().action("mirror") == "rebuild"
    shop.sql(f"delete from {events} where id = 1")
    assert shop.run("--empty").action("mirror") == "check_only"
    assert shop.run().action("mirror") == "apply"
    assert shop.rows(shop.built("mirror")) == Counter([(2, "b")])
    shop.sql(f"update {events} set id = null where id = 2")
    assert "declares not_null" in shop.fails()


def test_without_pyiceberg_the_two_ends_are_read_as_a_whole(shop, warehouse):
    source = Source(shop, warehouse, "plain", "", columns="id int, x array<double>")
    source.reader = SparkReader(shop.sql)
    source.step(["insert into {t} values (1, array(0.0D)), (2, null), (2, null)"])
    source.step(["update {t} set x = array(double('-0.0')) where id = 1", "delete from {t} where id = 2"])
    assert source.check(*source.ends).net.changed.files is None
    shop.sql(f"alter table {source.table} add column n int")  # the end of the range lacks this column
    source.check(*source.ends)
    source.step(["update {t} set n = 1"])
    with pytest.raises(MetadataAccessError, match="cannot be read, because its schema changed"):
        source.plan(source.ends[0], source.ends[2])


NET_MODELS = {
    "mirror": (
        "select id, k, v, _change_type from {{ ip_changelog(source('raw', 'a'), 'id') }}",
        {"incremental_strategy": "apply_changes", "unique_key": "id"},
    ),
    "grouped": (
        "select k, sum(v) as v from {{ ip_changed_groups(source('raw', 'a'), 'k') }} group by k",
        {"incremental_strategy": "merge", "unique_key": "k"},
    ),
    "upserted": (
        "select * from {{ ip_changes(source('raw', 'a')) }}",
        {"incremental_strategy": "merge", "unique_key": "id", "on_source_rewrite": "upserts"},
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", NET_MODELS)
def test_a_model_of_net_changes_is_not_set_back(shop, name):
    """A value that changed and changed back is no net change, but the table contains the value in between."""
    a = shop.source("a", "id int, k string, v int")
    shop.insert(a, "(1, 'x', 1)", "(2, 'y', 1)")
    first = shop.head(a)
    sql, config = NET_MODELS[name]
    shop.model(name, sql, **config)
    shop.run()
    shop.sql(f"update {a} set v = 2 where id = 1")
    shop.run()
    refused = shop.operation("ip_set_checkpoint", model=name, source="a", snapshot_id=first)
    assert not refused.success
    assert "net changes" in refused.printed and f"--full-refresh --select {name}" in refused.printed
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{a}', {first})")
    message = shop.fails()
    assert "rolled_back" in message and "--full-refresh" in message and "ip_set_checkpoint" not in message


@pytest.mark.core
def test_rows_whose_ids_a_compaction_has_lost_are_not_missed(shop):
    """Iceberg 1.12 gives all rows of a file one id if it reads ORC by columns for a compaction."""
    properties = "'format-version' = '3', 'read.orc.vectorization.enabled' = 'true'"
    table = shop.source("events", "id int, v string", f"tblproperties ({properties})")
    shop.sql(f"insert into {table} select /*+ coalesce(1) */ int(id), 'a' from range(20)")
    shop.model("mirror", MIRROR, incremental_strategy="apply_changes", unique_key="id")
    assert shop.run().success
    for file_format in ("orc", "parquet"):
        shop.sql(f"alter table {table} set tblproperties ('write.format.default' = '{file_format}')")
        options = "options => map('rewrite-all', 'true')"
        shop.sql(f"call {shop.catalog}.system.rewrite_data_files(table => '{table}', {options})")
    shop.sql(f"delete from {table} where id = 3")
    assert "The rows that were deleted from" in shop.fails()
    assert len(shop.rows(shop.built("mirror"))) == 20
