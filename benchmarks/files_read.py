"""Checks that runs read exactly the committed files: compares the files of captured ranges with those of commits."""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence

from iceberg_incremental.expose.relations import changes_sql
from iceberg_incremental.metadata.open import open_reader
from iceberg_incremental.plan.changes import plan_changes
from iceberg_incremental.plan.ranges import Range, position_at
from iceberg_incremental.table.checkpoint import Position
from iceberg_incremental.table.history import History, Snapshot, TableName

from . import results
from .lake import CATALOG, RAW, Lake, open_lake
from .results import Table

NAME = "files_read"
_TABLE = TableName(CATALOG, RAW, "events")
_COMPACT_EVERY = 20


def make_table(lake: Lake, commits: int) -> None:
    """Create a table by commits of one to four files, empty commits, overwrites of empty partitions and compactions."""
    lake.sql(f"create table {_TABLE.sql} (id bigint, day int) using iceberg partitioned by (day)")
    for number in range(commits):
        match number % 10:
            case 4:
                lake.sql(f"insert into {_TABLE.sql} select id, 0 from range(0)")
            case 7:
                partitions = f"select id, {1000 + number} from range(5)"
                lake.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
                lake.sql(f"insert overwrite {_TABLE.sql} {partitions}")
            case _:
                days = f"id % {1 + number % 4}"
                lake.sql(f"insert into {_TABLE.sql} select {number} * 100 + id, {days} from range(20)")
        if number % _COMPACT_EVERY == _COMPACT_EVERY - 1:
            lake.sql(
                f"call {CATALOG}.system.rewrite_data_files(table => '{RAW}.{_TABLE.name}',"
                " options => map('min-input-files', '2'))"
            )


def added_files(lake: Lake) -> dict[int, set[str]]:
    """The data files that each snapshot added, from its manifests, including files that were removed since."""
    rows = lake.sql(
        f"select distinct snapshot_id, data_file.file_path from {_TABLE.sql}.all_entries"
        " where status = 1 and data_file.content = 0"
    )
    found: dict[int, set[str]] = defaultdict(set)
    for snapshot_id, path in rows:
        found[snapshot_id].add(path)
    return found


def capture(history: History, chain: Sequence[Snapshot], start: int, end: int) -> Range:
    """The range between two snapshots of the chain. Raises ValueError if the range cannot be read."""
    position: Position = position_at(history.table_uuid, chain[start])
    planned = plan_changes(history, position, chain[end])
    if not isinstance(planned, Range):
        raise ValueError(f"no range from {chain[start]} to {chain[end]}: {planned}")
    return planned


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result. Raises ValueError if a range does not read exactly the committed files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranges", type=int, default=50)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args(argv)
    result = results.begin(NAME)
    chance = random.Random(options.seed)
    with open_lake() as lake:
        make_table(lake, options.commits)
        settings = dict(lake.spark.conf.getAll)
        history = open_reader("pyiceberg", lambda: settings, {}, lambda sql: []).load(_TABLE)
        assert history is not None
        chain = list(history.ancestors(history.current_snapshot_id))[::-1]
        added = added_files(lake)
        equal = read_in_all = announced_in_all = 0
        for _ in range(options.ranges):
            start, end = sorted(chance.sample(range(len(chain)), 2))
            planned = capture(history, chain, start, end)
            # not by `_file`, which ranges with overwrites do not have
            read = {row[0] for row in lake.sql(f"select distinct input_file_name() from {changes_sql(planned)}")}
            # a compaction also adds files, but for existing rows
            committed = {
                path
                for snapshot in chain[start + 1 : end + 1]
                if snapshot.operation != "replace"
                for path in added[snapshot.snapshot_id]
            }
            equal += read == committed and planned.files == len(committed)
            read_in_all += len(read)
            announced_in_all += planned.files
    table = Table(
        f"{options.ranges} random ranges of a table of {len(chain)} snapshots",
        ["", "figure"],
        note="The history has commits of one to four files, commits without rows, overwrites of empty partitions "
        "and compactions. Aim: a run reads exactly the committed files.",
    )
    table.add("ranges whose planned and read files are exactly the committed files", f"{equal} of {options.ranges}")
    table.add("distinct files from which rows were read", f"{read_in_all:,}")
    table.add("files planned for the captured ranges", f"{announced_in_all:,}")
    result.tables.append(table)
    result.measured["equal"] = [equal]
    if equal != options.ranges:
        raise ValueError(results.render(table))
    result.save()


if __name__ == "__main__":
    main()
