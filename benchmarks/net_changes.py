"""Counts the data files that a changelog of net changes scans, by the share of rewritten files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_incremental.expose.relations import changelog_sql
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.plan.changes import Rewritten, plan_changes
from iceberg_incremental.plan.net_changes import plan_net
from iceberg_incremental.plan.ranges import Range, position_at
from iceberg_incremental.spark.staged_scans import StagedScans
from iceberg_incremental.table.history import TableName

from . import results
from .lake import CATALOG, RAW, Lake, open_lake
from .results import Table

NAME = "net_changes"
_DAYS, _FILES_A_DAY, _ROWS_A_FILE = 100, 10, 20
_FILES = _DAYS * _FILES_A_DAY
_ROWS = _FILES * _ROWS_A_FILE
_CHANGES = (1, 5, 20)
"""The percentages of files that are rewritten."""

_CHANGES_A_FILE = {"INSERT": 3, "DELETE": 3}
"""The changes in each rewritten file, in which one row is updated, one deleted, one merged and one inserted."""

_LAYOUTS = ("partitioned by day, whole days", "sorted by day, neighboring files", "sorted by day, files far apart")


@dataclass(frozen=True)
class Case:
    """A kind of table, and the choice of files that are rewritten."""

    layout: str
    version: int
    mode: str

    @property
    def title(self) -> str:
        """The case as the title of a row."""
        return f"{self.layout}; v{self.version}, {self.mode}"

    @property
    def is_partitioned(self) -> bool:
        """Whether the table is partitioned, instead of sorted."""
        return self.layout == _LAYOUTS[0]

    def files(self, percent: int) -> list[int]:
        """The numbers of the rewritten files. In a partitioned table, these are all files of evenly spread days."""
        if self.is_partitioned:
            days = [each * (_DAYS // percent) for each in range(percent)]
            return [day * _FILES_A_DAY + file for day in days for file in range(_FILES_A_DAY)]
        count = percent * _FILES // 100
        apart = _FILES // count if self.layout == _LAYOUTS[2] else 1
        return [each * apart for each in range(count)]


@dataclass(frozen=True)
class Files:
    """Numbers of data files: that ``changed``, that a session reads, and that other connections scan."""

    changed: int
    exactly: int
    by_names: int


CASES = [
    Case(layout, version, mode)
    for layout in _LAYOUTS
    for version in (2, 3)
    for mode in ("copy-on-write", "merge-on-read")
]


def make_table(lake: Lake, version: int, partitioned: bool) -> str:
    """Create a table of 1,000 files, partitioned or sorted by day. Returns the location of its metadata file."""
    table = f"{CATALOG}.{RAW}.base_v{version}_{'partitioned' if partitioned else 'sorted'}"
    clause = "partitioned by (d)" if partitioned else ""
    lake.sql(
        f"create table {table} (id bigint, d date, v string) using iceberg {clause}"
        f" tblproperties ('format-version' = '{version}')"
    )
    # each range of ids becomes one file, because the rows are written without a shuffle and without sorting
    lake.sql(f"alter table {table} set tblproperties ('write.distribution-mode' = 'none')")
    rows = f"select id, {_day('id')} as d, md5(string(id)) as v from range(0, {_ROWS}, 1, {_FILES})"
    lake.sql(f"insert into {table} {rows}")
    lake.sql(f"alter table {table} unset tblproperties ('write.distribution-mode')")
    if not partitioned:
        lake.sql(f"alter table {table} write ordered by d, id")
    return str(lake.sql(f"select file from {table}.metadata_log_entries order by timestamp desc limit 1")[0][0])


def _day(id_: str) -> str:
    return f"date_add(date'2026-01-01', int({id_} div {_FILES_A_DAY * _ROWS_A_FILE}))"


def rewrite(lake: Lake, table: str, files: Sequence[int]) -> None:
    """In each of these files, update a row, delete a row, and merge a changed and a new row."""

    def ids(row: int) -> str:
        return ", ".join(str(file * _ROWS_A_FILE + row) for file in files)

    lake.sql(f"update {table} set v = md5(v) where id in ({ids(3)})")
    lake.sql(f"delete from {table} where id in ({ids(7)})")
    rows = " union all ".join(
        f"select id + {new} as id, {_day('id')} as d, md5(string(-id)) as v from range({_ROWS})"
        f" where id in ({ids(row)})"
        for row, new in ((11, 0), (13, _ROWS))
    )
    lake.sql(
        f"merge into {table} t using ({rows}) s on t.id = s.id and t.d = s.d"
        " when matched then update set * when not matched then insert *"
    )


def capture(settings: dict[str, str], table: TableName, start: int) -> Range:
    """The plan of a table's net changes since a snapshot. Raises ValueError if no commit rewrote rows."""
    reader = open_reader("pyiceberg", lambda: settings, {}, lambda sql: [])
    history = reader.load(table)
    assert history is not None
    found = plan_changes(history, position_at(history.table_uuid, history.snapshots[start]), history.current)
    if not isinstance(found, Rewritten):
        raise ValueError(f"no rewrite since {start}: {found}")
    return plan_net(found, reader.changed_files(history, start, found.end.snapshot_id))


def read(lake: Lake, sql: str) -> tuple[int, dict[str, int]]:
    """The number of data files in all scans of a changelog, from Iceberg's metric, and its rows by change type."""
    frame = lake.spark.sql(sql)
    kinds = [row["_change_type"] for row in frame.collect()]
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    metrics = [leaves.apply(number).metrics() for number in range(leaves.size())]
    planned = [each.apply("resultDataFiles").value() for each in metrics if each.contains("resultDataFiles")]
    return sum(planned), {kind: kinds.count(kind) for kind in set(kinds)}


def measure(lake: Lake, case: Case, metadata: str, percent: int) -> Files:
    """The files that are read after some files were rewritten. Raises ValueError if the changelog is wrong."""
    table = TableName(CATALOG, RAW, f"case_{CASES.index(case)}_{percent}")
    lake.sql(f"call {CATALOG}.system.register_table(table => '{RAW}.{table.name}', metadata_file => '{metadata}')")
    modes = ", ".join(f"'write.{statement}.mode' = '{case.mode}'" for statement in ("delete", "update", "merge"))
    lake.sql(f"alter table {table.sql} set tblproperties ({modes})")
    start, files = lake.head(table.sql), case.files(percent)
    rewrite(lake, table.sql, files)
    planned = capture(dict(lake.spark.conf.getAll), table, start)
    scans = StagedScans(lake.spark)
    by_names, rows = read(lake, f"select * from {changelog_sql(planned)}")
    _, same_rows = read(lake, f"select * from {changelog_sql(planned, exact=scans)}")
    expected = {kind: each * len(files) for kind, each in _CHANGES_A_FILE.items()}
    if not rows == same_rows == expected:
        raise ValueError(f"{case.title}: found {rows} and {same_rows}, expected {expected}")
    found = Files(planned.counts.files, sum(scans.files.values()), by_names)
    scans.close()
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    result = results.begin(NAME)
    table = Table(
        f"Data files that a changelog reads from a table of {_FILES:,} files",
        ["table and rewritten files", *(f"{percent}% rewritten" for percent in _CHANGES)],
        note="In each rewritten file, one row is updated, one deleted, one merged and one inserted, by UPDATE, DELETE "
        "and MERGE. Each cell has three figures. For example, `12 of 12; 912` means that 12 files differ between the "
        "two ends of the range, and that `method: session` reads 12 files. On other connections, Spark cannot read a "
        "file by its name, and all scans of the SQL together plan 912 files. Aim: `method: session` reads "
        "only changed files. If distant files of a table without partitions are rewritten, one new file contains rows "
        "of all of them, and its bounds span all values in between.",
    )
    with open_lake() as lake:
        lake.sql("set spark.sql.adaptive.enabled = false")  # otherwise, the executed plan does not show the scans
        bases = {
            (version, partitioned): make_table(lake, version, partitioned)
            for version in (2, 3)
            for partitioned in (True, False)
        }
        for case in CASES:
            metadata = bases[case.version, case.is_partitioned]
            found = [measure(lake, case, metadata, percent) for percent in _CHANGES]
            table.add(case.title, *(f"{each.exactly:,} of {each.changed:,}; {each.by_names:,}" for each in found))
            result.measured[case.title] = [each.exactly / each.changed for each in found]
            result.measured[f"{case.title}; by names"] = [each.by_names / _FILES for each in found]
            print(" | ".join(table.rows[-1]), flush=True)
    result.tables.append(table)
    result.save()


if __name__ == "__main__":
    main()
