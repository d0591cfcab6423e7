"""Compares incremental snapshots and histories with dbt's own comparison of whole tables, in one long-lived Spark.

In each round, 0.5% of the source's rows, scattered over all keys, are updated, deleted or new. Incremental snapshots
and snapshots of whole tables run one after the other, and must have the same versions at the end. A model with the
strategy ``history`` is compared with the whole-table snapshot ``check``, and must have the same valid versions.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from iceberg_incremental.plan.policy import MATERIALIZATION, Strategy
from iceberg_incremental.quantities import counted

from . import results
from .lake import CATALOG, RAW, Lake, Project
from .meter import Meter, open_metered_lake
from .results import Result, Table

NAME = "snapshots"
SCRATCH = results.scratch(NAME)
_SOURCE = f"{CATALOG}.{RAW}.customers"
_SHARE = 0.005
_WARM_UP = 4
"""The number of rounds before the measured ones, in which Java still compiles much of Spark's planner."""

_AIM, _HISTORY_AIM, _VERSIONS_AIM = 0.15, 0.25, 1.3
HISTORY = "history"
"""The case of a model with the strategy ``history``. All other cases are snapshots."""

_TWIN = "check"
"""The case whose whole-table snapshot is compared with the history."""

VERSIONS = (1, 10, 50)
"""The numbers of versions per key. The newest version of a key is valid."""

_PROPERTIES = Strategy.AUTO.table_defaults
CASES: Mapping[str, Mapping[str, object]] = {
    "check": {"strategy": "check", "check_cols": "all", "hard_deletes": "invalidate"},
    "timestamp": {"strategy": "timestamp", "updated_at": "updated_at", "hard_deletes": "invalidate"},
    "new_record": {"strategy": "timestamp", "updated_at": "updated_at", "hard_deletes": "new_record"},
}


@dataclass
class Measured:
    """The costs of a case in s, round by round: of incremental runs and of runs that compare whole tables.

    ``changes``, ``whole``: the CPU time of all processes. ``wall_…``: the durations. ``first``: the CPU time of the
    first incremental run, in the warm-up.
    """

    changes: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    wall_changes: list[float] = field(default_factory=list)
    wall_whole: list[float] = field(default_factory=list)
    first: float = 0.0


class Snapshots:
    """A source with a number of rows, and a project with snapshots of it."""

    def __init__(self, lake: Lake, meter: Meter, rows: int) -> None:
        self._lake, self._meter, self._rows = lake, meter, rows
        self.project: Project = lake.project(NAME)
        self.project.sources("customers", database=CATALOG)
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in _PROPERTIES.items())
        columns = self._columns("id", "0")
        lake.sql(
            f"create or replace table {_SOURCE} using iceberg tblproperties ({listed}) as select {columns}"
            f" from (select /*+ repartition_by_range(8, id) */ id from range(0, {rows}))"
        )
        self._round = 0

    def declare(self, name: str, **config: object) -> None:
        """Write a snapshot of the source to the project."""
        config = {"unique_key": "id", "tblproperties": _PROPERTIES, **config}
        listed = ", ".join(f"{key}={value!r}" for key, value in config.items())
        sql = f"select * from {{{{ source('{RAW}', 'customers') }}}}"
        text = f"{{% snapshot {name} %}}\n{{{{ config({listed}) }}}}\n{sql}\n{{% endsnapshot %}}\n"
        self.project._write(f"snapshots/{name}.sql", text)

    def declare_history(self, name: str) -> None:
        """Write a model that keeps the history of the source."""
        sql = f"select * from {{{{ ip_changelog(source('{RAW}', 'customers')) }}}}"
        self.project.model(
            name,
            sql,
            materialized=MATERIALIZATION,
            incremental_strategy=Strategy.HISTORY.value,
            unique_key="id",
        )

    def take(self, name: str) -> tuple[float, float]:
        """Run a snapshot or a model. Returns the CPU time and the duration in s."""
        with self._meter.measuring() as spent:
            self.project.run("--select", name, command="run" if name.startswith(HISTORY) else "snapshot")
        return spent.whole, spent.wall

    def change(self) -> None:
        """Commit the changes of a round: 0.4% of the rows are updated, 0.05% are deleted, and 0.05% are inserted."""
        self._round += 1
        self._lake.sql(
            f"update {_SOURCE} set amount = amount + 1, updated_at = timestampadd(day, {self._round},"
            f" timestamp '2026-01-01') where {self._chance('updates')} < {_SHARE * 0.8}"
        )
        self._lake.sql(f"delete from {_SOURCE} where {self._chance('goes')} < {_SHARE * 0.1}")
        first, count = self._rows * (100 + self._round), max(1, int(self._rows * _SHARE * 0.1))
        self._lake.sql(
            f"insert into {_SOURCE} select {self._columns('id', str(self._round))} from range({first}, {first + count})"
        )

    def add_versions(self, name: str, versions: int) -> None:
        """Add ended versions to each key of a snapshot, until it has ``versions`` versions.

        As after real runs, each file contains the versions of a few days, and ids are derived from the times.
        """
        table = f"{CATALOG}.{NAME}.{name}"
        if versions > 1:
            self._lake.sql(
                f"insert into {table} by name select /*+ repartition_by_range(16, dbt_updated_at) */ * from ("
                "select t.* except (dbt_valid_from, dbt_valid_to, dbt_updated_at, dbt_scd_id),"
                " timestampadd(day, -n, dbt_valid_from) as dbt_valid_from,"
                " timestampadd(day, 1 - n, dbt_valid_from) as dbt_valid_to,"
                " timestampadd(day, -n, dbt_updated_at) as dbt_updated_at,"
                " md5(concat(id, '|', timestampadd(day, -n, dbt_updated_at))) as dbt_scd_id"
                f" from {table} t lateral view explode(sequence(1, {versions - 1})) as n)"
            )

    def require_same(self, name: str, other: str, condition: str = "true") -> None:
        """Raise ValueError unless two tables have the same versions. The times of their runs may differ.

        ``condition``: a SQL condition for the versions that are compared.
        """
        columns = "id, name, city, amount, updated_at, dbt_valid_to is null"
        found = [
            self._lake.sql(
                f"select count(*), sum(cast(xxhash64({columns}) as decimal(38))) from {CATALOG}.{NAME}.{each}"
                f" where {condition}"
            )
            for each in (name, other)
        ]
        if found[0] != found[1]:
            raise ValueError(f"{name} and {other} differ: {found}")

    def _chance(self, salt: str) -> str:
        """SQL of a number in [0, 1) that depends on the key, the salt and the round."""
        return f"pmod(xxhash64(id, '{salt} {self._round}'), 1000000) / 1000000"

    @staticmethod
    def _columns(number: str, again: str) -> str:
        return (
            f"{number} as id, concat('customer ', {number}, ' {again}') as name,"
            f" concat('city ', {number} % 1000) as city, cast({number} % 100000 / 100 as decimal(12, 2)) as amount,"
            " timestamp '2026-01-01' as updated_at"
        )


def measure_cases(lake: Lake, meter: Meter, rows: int, rounds: int, names: Sequence[str]) -> dict[str, Measured]:
    """Run each case and its whole-table snapshot in each round, after a warm-up."""
    taken = Snapshots(lake, meter, rows)
    twins = {name: f"{_TWIN if name == HISTORY else name}_whole" for name in names}
    for name in names:
        if name == HISTORY:
            taken.declare_history(name)
        else:
            taken.declare(name, **CASES[name])
    for twin in sorted(set(twins.values())):
        taken.declare(twin, **CASES[twin.removesuffix("_whole")], ip_incremental=False)
    for each in (*names, *sorted(set(twins.values()))):
        taken.take(each)
    found: dict[str, Measured] = defaultdict(Measured)
    for number in range(_WARM_UP + rounds):
        taken.change()
        spent: dict[str, tuple[float, float]] = {}
        for name in names:
            twin = twins[name]
            changes = taken.take(name)
            whole = spent[twin] = spent.get(twin) or taken.take(twin)
            print(f"{name}: {changes[0]:.1f} s, {whole[0]:.1f} s of CPU", flush=True)
            measured = found[name]
            if not number:
                measured.first = changes[0]
            if number >= _WARM_UP:
                measured.changes.append(changes[0])
                measured.whole.append(whole[0])
                measured.wall_changes.append(changes[1])
                measured.wall_whole.append(whole[1])
    for name in names:
        taken.require_same(name, twins[name], "dbt_valid_to is null" if name == HISTORY else "true")
    return found


def measure_versions(
    lake: Lake, meter: Meter, keys: int, rounds: int, names: Sequence[str]
) -> dict[str, dict[int, list[float]]]:
    """The CPU times in s of incremental runs, by case and number of versions per key."""
    taken = Snapshots(lake, meter, keys)
    for name in names:
        for versions in VERSIONS:
            if name == HISTORY:
                taken.declare_history(f"{name}_{versions}")
            else:
                taken.declare(f"{name}_{versions}", **CASES[name])
            taken.take(f"{name}_{versions}")
            taken.add_versions(f"{name}_{versions}", versions)
    for _ in range(2):  # the first run compares whole tables, because another writer has added versions
        taken.change()
        for name in names:
            for versions in VERSIONS:
                taken.take(f"{name}_{versions}")
    found: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in names}
    for _ in range(rounds):
        taken.change()
        for name in names:
            for versions in VERSIONS:
                found[name][versions].append(taken.take(f"{name}_{versions}")[0])
            print(f"{name}: {', '.join(f'{found[name][each][-1]:.1f} s' for each in VERSIONS)} of CPU", flush=True)
    return found


def cases_table(found: Mapping[str, Measured], rows: int) -> Table:
    """The cost of incremental runs, relative to snapshots of whole tables."""
    table = Table(
        f"Snapshots of {rows:,} rows, 0.5% of which change in each round",
        ["case", "incremental, CPU", "whole tables, CPU", "ratio", "aim", "wall, ratio", "first run, CPU"],
        note=f"Medians of `dbt snapshot` with one snapshot, in one long-lived Spark process, after {_WARM_UP} rounds "
        "of warm-up. `first run` is the first incremental run, when Java had compiled little of Spark's planner. CPU "
        f"is the CPU time of all processes. All tables are merge-on-read. `{HISTORY}` is `dbt run` of a model with "
        f"this strategy, compared with the snapshot `{_TWIN}` of whole tables.",
    )
    for name, each in found.items():
        ratio = results.paired_ratio(each.changes, each.whole)
        table.add(
            name,
            results.seconds(each.changes),
            results.seconds(each.whole),
            f"{ratio:.2f}",
            results.at_most(_HISTORY_AIM if name == HISTORY else _AIM, ratio),
            f"{results.paired_ratio(each.wall_changes, each.wall_whole):.2f}",
            results.seconds([each.first]),
        )
    return table


def versions_table(found: Mapping[str, Mapping[int, Sequence[float]]], keys: int) -> Table:
    """The cost of incremental runs, by the number of versions per key."""
    table = Table(
        f"Snapshots of {keys:,} rows by the number of versions of each key",
        ["case", *(counted(versions, "version") for versions in VERSIONS), "most to fewest", "aim"],
        note="Medians of the CPU time of all processes. Ended versions are in separate files that are ordered by "
        "time, as runs write them.",
    )
    for name, each in found.items():
        ratio = results.paired_ratio(each[VERSIONS[-1]], each[VERSIONS[0]])
        cells = [results.seconds(each[versions]) for versions in VERSIONS]
        table.add(name, *cells, f"{ratio:.2f}", results.at_most(_VERSIONS_AIM, ratio))
    return table


def publish(
    result: Result,
    cases: Mapping[str, Measured],
    versions: Mapping[str, Mapping[int, Sequence[float]]],
    rows: int,
    keys: int,
) -> None:
    """Add all tables to a result."""
    result.tables = [cases_table(cases, rows)] if cases else []
    result.tables += [versions_table(versions, keys)] if versions else []
    result.measured = {
        **{f"{name}.{kind}": getattr(each, kind) for name, each in cases.items() for kind in ("changes", "whole")},
        **{f"{name}.{count}": list(each) for name, by in versions.items() for count, each in by.items()},
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure. Without options, also save the figures. Raises ValueError if the two tables of a case differ."""
    arguments = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{NAME}", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the source (default: %(default)s)")
    parser.add_argument("--keys", type=int, default=500_000, help="keys of the tables with many versions")
    parser.add_argument("--rounds", type=int, default=3, help="rounds after the warm-up (default: %(default)s)")
    parser.add_argument("--cases", nargs="*", default=[*CASES, HISTORY], choices=[*CASES, HISTORY])
    parser.add_argument("--versions", nargs="*", default=["check", "timestamp", HISTORY], choices=[*CASES, HISTORY])
    parser.add_argument("--save", action="store_true", help="save the figures even if other options are set")
    options = parser.parse_args(arguments)
    cases: dict[str, Measured] = {}
    versions: dict[str, dict[int, list[float]]] = {}
    result = results.begin(NAME)
    with open_metered_lake(SCRATCH / "cases") as (lake, meter):
        if options.rows:
            cases = measure_cases(lake, meter, options.rows, options.rounds, options.cases)
        if options.keys:
            versions = measure_versions(lake, meter, options.keys, options.rounds, options.versions)
    publish(result, cases, versions, options.rows, options.keys)
    if options.save or not arguments:
        result.save()
    else:
        result.show()


if __name__ == "__main__":
    main()
