"""Compares dbt runs of a model with the same hand-written statement, in one Spark: large and tiny builds.

After each run, both tables are rolled back, including the model's checkpoint. Every run therefore applies the same rows
to the same table.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from dbt.adapters.spark_iceberg.spark.in_process import session
from iceberg_incremental.metadata.pyiceberg_reader import PyIcebergReader

from . import results
from .lake import CATALOG, RAW, Invocation, Lake, Project, open_lake, timing
from .results import Result, Table

NAME = "model_run"
_SCHEMA = "models"
_COLUMNS = "id, account, at, amount, digest"
_SELECT = "select id, account, at, amount, sha2(concat(note, account), 512) as digest from {source}"
_CONFIG = {"append": {}, "merge": {"unique_key": "id"}}
_HAND = {
    "append": "insert into {hand} ({columns}) {select}",
    "merge": (
        "merge into {hand} as t using ({select}) as s on t.id = s.id "
        "when matched then update set account = s.account, at = s.at, amount = s.amount, digest = s.digest "
        "when not matched then insert (id, account, at, amount, digest) "
        "values (s.id, s.account, s.at, s.amount, s.digest)"
    ),
}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_KINDS = ("create or replace temporary view", "describe", "insert", "merge", "call", "reset", "set")
_PROPERTIES, _BRANCH = "alter table … set tblproperties", "alter table … drop branch"


@dataclass
class Case:
    """A model, the table for the hand-written statement, and the snapshots to which both are rolled back."""

    strategy: str
    source: str
    model: str
    statement: str
    tables: dict[str, int]

    @property
    def hand(self) -> str:
        """The table for the hand-written statement."""
        return f"{CATALOG}.{_SCHEMA}.hand_{self.model}"


@dataclass
class Pairs:
    """The durations of a case in s, pair by pair. ``parts``: the durations in s of the parts of dbt's runs."""

    model: list[float] = field(default_factory=list)
    hand: list[float] = field(default_factory=list)
    invocation: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def make_source(lake: Lake, name: str, rows: int) -> tuple[int, int]:
    """Create a source with two commits. Returns their snapshots.

    The second commit has ``rows`` rows. A quarter of them have keys of the first commit.
    """
    table = f"{CATALOG}.{RAW}.{name}"
    lake.sql(
        f"create table {table} (id bigint, account bigint, at timestamp, amount decimal(12, 2), note string)"
        " using iceberg"
    )
    heads = []
    for first, count in ((0, rows // 2), (rows // 4, rows)):
        lake.sql(
            f"insert into {table} select id, id % 9973, timestamp_seconds(1767225600 + id),"
            f" cast(id % 100000 / 100 as decimal(12, 2)), md5(cast(id as string)) from range({first}, {first + count})"
        )
        heads.append(lake.head(table))
    return heads[0], heads[1]


def make_case(lake: Lake, project: Project, source: str, snapshots: tuple[int, int], strategy: str) -> Case:
    """Build the model and the table for the hand-written statement from the source's first commit."""
    model = f"{strategy}_{source}"
    start, end = snapshots
    table = f"{CATALOG}.{RAW}.{source}"
    lake.sql(f"call {CATALOG}.system.rollback_to_snapshot('{RAW}.{source}', {start})")
    project.run("--select", model)
    hand = f"{CATALOG}.{_SCHEMA}.hand_{model}"
    lake.sql(f"create table {hand} using iceberg as {_SELECT.format(source=table)}")
    lake.sql(f"call {CATALOG}.system.set_current_snapshot('{RAW}.{source}', {end})")
    new_rows = f"{table} with (`start-snapshot-id` = '{start}', `end-snapshot-id` = '{end}')"
    statement = _HAND[strategy].format(hand=hand, columns=_COLUMNS, select=_SELECT.format(source=new_rows))
    heads = {name: lake.head(name) for name in (f"{CATALOG}.{_SCHEMA}.{model}", hand)}
    return Case(strategy, source, model, statement, heads)


def roll_back(lake: Lake, case: Case) -> None:
    """Undo the last run in both tables, and delete its files."""
    for table, snapshot in case.tables.items():
        name = table.removeprefix(f"{CATALOG}.")
        lake.sql(f"call {CATALOG}.system.rollback_to_snapshot('{name}', {snapshot})")
        lake.sql(
            f"call {CATALOG}.system.expire_snapshots(table => '{name}', older_than => timestamp '2999-01-01',"
            " retain_last => 1)"
        )


def check(lake: Lake, case: Case) -> None:
    """Raise ValueError unless both tables have the same rows."""
    sums = {
        tuple(lake.sql(f"select count(*), sum(cast(xxhash64({_COLUMNS}) as decimal(38))) from {table}")[0])
        for table in case.tables
    }
    if len(sums) != 1:
        raise ValueError(f"{case.model} and its twin differ: {sums}")


def run_pairs(lake: Lake, project: Project, case: Case, repetitions: int) -> Pairs:
    """Run the model and the statement in turn. The first pair is a warm-up."""
    pairs = Pairs()
    for number in range(repetitions + 1):
        found = Pairs() if number == 0 else pairs
        for turn in ("model", "hand") if number % 2 else ("hand", "model"):
            if turn == "hand":
                found.hand.append(lake.timed(case.statement))
            else:
                run_model(project, case.model, found)
        if number == repetitions:
            check(lake, case)
        roll_back(lake, case)
    return pairs


def run_model(project: Project, model: str, pairs: Pairs) -> None:
    """Run the model once, and record the durations of its parts."""
    with (
        timing(PyIcebergReader, "load") as loads,
        timing(session, "open_session") as opened,
        timing(session.SessionConnection, "close") as closed,
    ):
        invocation = project.run("--select", model)
    pairs.model.append(invocation.models[model])
    pairs.invocation.append(invocation.seconds)
    for part, duration in parts(invocation).items():
        pairs.parts[part].append(duration)
    pairs.parts["load metadata"].append(sum(loads))
    # dbt also opens and closes a session for its own queries. The model's session is the last one.
    pairs.parts["open the model's session"].append(opened[-1])
    pairs.parts["close the model's session (after the model)"].append(closed[-1])


def parts(invocation: Invocation) -> dict[str, float]:
    """The total duration in s of each kind of the model's statements."""
    found: dict[str, float] = defaultdict(float)
    for statement in invocation.for_models:
        found[kind(statement.sql)] += statement.seconds
    return found


def kind(sql: str) -> str:
    """The kind of a statement, without its names and values."""
    words = " ".join(_COMMENT.sub(" ", sql).split()).lower()
    if words.startswith("alter table"):
        return _BRANCH if " drop branch " in words else _PROPERTIES
    return next((each for each in _KINDS if words.startswith(each)), " ".join(words.split()[:3]))


def measure(lake: Lake, sizes: dict[str, tuple[int, int]], result: Result) -> None:
    """Measure each size, given as (rows, repetitions), with each strategy."""
    project = lake.project(_SCHEMA)
    project.sources(*sizes, database=CATALOG)
    for size in sizes:
        for strategy, config in _CONFIG.items():
            source = f"{{{{ ip_changes(source('{RAW}', '{size}')) }}}}"
            project.model(
                f"{strategy}_{size}",
                _SELECT.format(source=source),
                materialized="iceberg_incremental_snapshot",
                incremental_strategy=strategy,
                **config,
            )
    overall = Table(
        "A run of a model compared with its hand-written statement",
        ["build", "rows", "pairs", "by hand", "the model", "ratio", "difference", "rest of `dbt run`"],
        note="`the model` is the time that dbt takes to compile and execute the model. Aims: a ratio ≤ 1.10 for "
        "builds of 10 s or more, and a difference ≤ 0.5 s for a tiny build.",
    )
    result.tables.append(overall)
    for size, (rows, repetitions) in sizes.items():
        snapshots = make_source(lake, size, rows)
        for strategy in _CONFIG:
            case = make_case(lake, project, size, snapshots, strategy)
            pairs = run_pairs(lake, project, case, repetitions)
            rest = [whole - model for whole, model in zip(pairs.invocation, pairs.model, strict=True)]
            overall.add(
                f"{size}, {strategy}",
                f"{rows:,}",
                str(repetitions),
                results.seconds(pairs.hand),
                results.seconds(pairs.model),
                f"{results.paired_ratio(pairs.model, pairs.hand):.2f}",
                f"{results.paired_difference(pairs.model, pairs.hand):+.2f} s",
                results.seconds(rest),
            )
            print(results.render(overall).splitlines()[-1], flush=True)
            result.measured |= {f"{case.model}.model": pairs.model, f"{case.model}.hand": pairs.hand}
            if size == "tiny":
                result.tables.append(breakdown(strategy, pairs))


def breakdown(strategy: str, pairs: Pairs) -> Table:
    """The parts of a tiny run, as a table."""
    table = Table(f"Parts of a tiny {strategy}: medians", ["part", "duration"])
    for part, durations in sorted(pairs.parts.items(), key=lambda item: -statistics.median(item[1])):
        table.add(f"`{part}`" if part.startswith((*_KINDS, "alter")) else part, results.milliseconds(durations))
    table.add("the whole model", results.milliseconds(pairs.model))
    table.add("the statement by hand", results.milliseconds(pairs.hand))
    return table


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and save the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=9_000_000, help="new rows of the large build")
    parser.add_argument(
        "--pairs", type=int, default=5, help="pairs of the large build; the tiny build has four times as many"
    )
    parser.add_argument("--sizes", nargs="*", default=["tiny", "large"], choices=["tiny", "large"])
    options = parser.parse_args(argv)
    sizes = {"tiny": (1_000, 4 * options.pairs), "large": (options.rows, options.pairs)}
    result = results.begin(NAME)
    with open_lake() as lake:
        measure(lake, {size: sizes[size] for size in options.sizes}, result)
    result.save()


if __name__ == "__main__":
    main()
