"""What docs/benchmarks.md shows of each result: an introduction, and some columns of some tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .results import Result, Table

_MIRROR = "`ip_changelog`, apply_changes"
_UPSERTS = "`ip_changes` with `upserts`, merge"
_GROUPS = "`ip_changed_groups`: count and sum, merge"
_DISTINCT = "`ip_changed_groups`: distinct count, merge"
_SMALL = (
    "rebuild, `table`",
    f"mirror: {_MIRROR}",
    "plain SQL, auto",
    "hand-written MERGE of exactly the changes",
    "`ip_changed_groups`, merge",
    "plain SQL of groups, auto",
    "`ip_changes`, append",
    "plain SQL of the feed, auto",
)
_COMPARED = (
    "rebuild by CTAS",
    "floor: MERGE of exactly the changes",
    _MIRROR,
    _UPSERTS,
    "MERGE of `updated_at > max(updated_at)`",
    "MERGE of the whole source",
    "Iceberg's changelog view, MERGE",
    "rebuild by CTAS: count and sum",
    _GROUPS,
    "`ip_signed_changes` added to the sums, apply_changes",
)
_OURS = ("rebuild by CTAS", _MIRROR, _UPSERTS, _GROUPS, _DISTINCT)


@dataclass(frozen=True)
class Shown:
    """A table by its place in the result. ``columns``: by place, all by default. ``rows``: by their first cell.

    ``by_method``: the columns of a method and a ratio, instead of ``columns``. The rows of each method become one row.
    """

    table: int
    columns: Sequence[int] | None = None
    rows: Sequence[str] | None = None
    by_method: tuple[int, int] | None = None


@dataclass(frozen=True)
class Section:
    """The introduction of a result, and its tables on the page."""

    text: str
    tables: Sequence[Shown] = ()


HIDDEN = ("audit", "capture", "cold_start", "files_read", "listing", "model_run", "net_changes", "seeds")
"""Results that the page only names. They tell nothing about the choice between a run and a rebuild."""

SECTIONS: Mapping[str, Section] = {
    "maintenance": Section(
        "Three stages, day by day, with 2,000 new events and about 50 late corrections per day. A writer expires all "
        "snapshots of the source that Iceberg can expire. `first` and `last` are means of 10 days. Without "
        "`hold_source`, the first expiry breaks the pipeline.",
        [
            Shown(
                0,
                (0, 1, 2),
                (
                    "files, first",
                    "files, last",
                    "duration of the models, first",
                    "duration of the models, last",
                    "duration of `ip_maintain`, last",
                ),
            )
        ],
    ),
    "merged": Section(
        "A source of 4,000,000 rows in 64 files, some of which are updated, deleted and inserted in each round, either "
        "scattered over the table or in one range of keys. Rebuilds are in seconds of executor CPU time. The other "
        "figures are shares of the rebuild of the same table. After each case, all tables equal their rebuilds, except "
        "that `upserts` and `updated_at` do not see deletes. Through a server, `ip_changed_groups` costs about 1.5 "
        "times as much, and the other methods up to twice as much. A compaction of the source in every range makes "
        "little difference.",
        [Shown(0, (0, 1, 2, 3, 7), _COMPARED), Shown(1, (0, 1, 2, 3, 6), _OURS)],
    ),
    "new_project": Section(
        "A new user's project: staging, intermediate and mart models over three small tables. Each `dbt run` is a "
        "process of its own, as from a scheduler.",
        [Shown(0)],
    ),
    "nothing_new": Section(
        "The `incremental` models append with `where id > (select max(id) from this)`.",
        [Shown(0, None, ("all models", "whole `dbt run`", "statements that dbt sent for the models"))],
    ),
    "plain_sql_pipeline": Section(
        "One row in twenty arrives up to two weeks late. After each day, all tables equal their rebuilds.",
        [Shown(0, (0, 1, 2, 3)), Shown(1, by_method=(1, 8))],
    ),
    "plain_sql_tpch": Section(
        "TPC-H at scale 1 with `incremental_strategy='auto'`, compared with `materialized='table'`. The changes are "
        "spread over all files. After each round, all tables equal their rebuilds.",
        [Shown(0, by_method=(2, 8)), Shown(2, by_method=(2, 8))],
    ),
    "playback": Section(
        "2,000,000 events land each day, 3% of them up to 13 days late. Each stage is compared with a lookback of 14 "
        "days that computes the same rows. Figures are means of 3 daily runs. At the end, every "
        "table except the watermark's equals the table of the lookback.",
        [Shown(table, (0, 1, 2, 6, 11)) for table in range(4)],
    ),
    "small_runs": Section(
        "Ratios are relative to a `table` model of the same rows. The feed is a source that only receives new rows.",
        [Shown(0, (0, 1, 2), _SMALL), Shown(1, (0, 1, 2), _SMALL)],
    ),
    "snapshots": Section(
        "`dbt snapshot` of one table, and `dbt run` of a `history` model. CPU is that of all processes.",
        [Shown(0, (0, 1, 2, 3, 5))],
    ),
    "tpc_di": Section(
        "49 plain SQL models in four layers over 17 sources of a brokerage, modelled on TPC-DI, compared with "
        "`materialized='table'`. Batches 2 and 3 append 0.05% and 0.1% of the rows of the initial load, and one day of "
        "prices. Batch 4 updates and deletes 0.1% of the rows of each source. After each batch, all tables equal their "
        "rebuilds. Results are not comparable with published results of TPC-DI.",
        [
            *(Shown(table, (0, 1, 2, 3, 5, 6, 7)) for table in (0, 5)),
            *(Shown(table, by_method=(1, 7)) for table in (8, 9)),
        ],
    ),
    "verify": Section(
        "`rows` copies a table, and `groups` aggregates it. A sample has 5% of the keys.",
        [Shown(0, (0, 1, 10, 11, 12))],
    ),
    "watch": Section("Commits of one row arrive 5 to 25 s apart.", [Shown(0), Shown(1)]),
}
"""By the name of the result. A result without an entry is shown in full, unless it is hidden."""


ANSWERING = frozenset(
    ("merged", "nothing_new", "plain_sql_pipeline", "plain_sql_tpch", "playback", "small_runs", "snapshots")
)
"""The results that ``answers`` needs."""


def answers(found: Mapping[str, Result]) -> Iterator[str]:
    """From which size and share of changes a run pays, in one line each, with the measured figures."""
    small, large, many = found["small_runs"].tables
    layout, share = found["merged"].tables[:2]
    scattered, adjacent = found["merged"].tables[-2:]
    events, days, titles, _ = (found["playback"].tables[place] for place in range(4))
    pipeline, changed = found["plain_sql_pipeline"].tables[0], found["plain_sql_tpch"].tables[0]
    nothing, snapshots = found["nothing_new"].tables[0], found["snapshots"].tables[0]
    append, auto, mirror = "`ip_changes`, append", "plain SQL, auto", f"mirror: {_MIRROR}"
    rebuilt = [float(row[8]) for row in changed.rows if row[2] == "rebuild"]
    percent = large.title.rpartition(", ")[2].partition(" ")[0]
    yield (
        f"**New rows only: always.** A run costs {_of(small, append, 2)} of a rebuild with 20,000 rows in the table, "
        f"and {_of(large, append, 2)} with 1,500,000 ({percent} new)."
    )
    yield (
        f"**Updates and deletes: from about a million rows.** A mirror costs {_of(small, mirror, 2)} of a rebuild with "
        f"20,000 rows, and {_of(large, mirror, 2)} with 1,500,000 ({percent} changed)."
    )
    yield (
        "**Up to a few percent of changed rows.** With 4,000,000 rows and changes in all files, a mirror takes "
        f"{_of(share, _MIRROR, 1)}, {_of(share, _MIRROR, 2)} and {_of(share, _MIRROR, 3)} of a rebuild's executor CPU "
        "if 0.1%, 0.5% and 5% change."
    )
    yield (
        f"**More if the changes are adjacent.** At 0.5%, the whole CPU is {_of(scattered, _MIRROR, 14)} of a rebuild "
        f"with scattered keys, and {_of(adjacent, _MIRROR, 14)} with adjacent keys."
    )
    yield (
        "**Groups: from several million rows, or if a group is expensive.** `ip_changed_groups` costs "
        f"{_of(large, '`ip_changed_groups`, merge', 2)} with 1,500,000 rows. With 4,000,000, a sum costs "
        f"{_of(scattered, _GROUPS, 14)} (scattered) or {_of(adjacent, _GROUPS, 14)} (adjacent), and a distinct count "
        f"{_of(scattered, _DISTINCT, 14)}."
    )
    yield (
        f"**`auto` replaces all rows where that is cheaper.** It costs {_of(small, auto, 2)} of `table` with 20,000 "
        f"rows. A pipeline of 12 models on 20,000,000 rows, 0.2% changed, costs {_of(pipeline, 'whole CPU', 3)}. "
        f"TPC-H with changes in all files costs {min(rebuilt):.2f} to {max(rebuilt):.2f}."
    )
    yield (
        f"**Many tiny models: rebuild them.** 50 models of 20,000 rows cost {_of(many, 'whole CPU', 3)} of their "
        f"rebuilds with macros, and {_of(many, 'whole CPU', 6)} with `auto`."
    )
    yield (
        "**Copy-on-write sources of format v2: never with scattered changes.** A mirror costs "
        f"{_of(layout, _MIRROR, 7)} of a rebuild, and {_of(layout, _MIRROR, 1)} from a v3 merge-on-read source."
    )
    yield (
        "**Late rows.** At 2,000,000 events a day, a run takes "
        f"{_of(events, append, 2)} (rows), {_of(days, '`ip_changed_groups`, merge', 2)} (sums) or "
        f"{_of(titles, '`ip_changed_groups`, merge', 2)} (distinct counts) of the executor time of a 14-day lookback."
    )
    yield (
        f"**No new commits.** 100 models take {_cell(nothing, 'all models', 1)}, and "
        f"{_cell(nothing, 'all models', 2)} with dbt-spark's `incremental`. A dbt snapshot of 5,000,000 rows, 0.5% "
        f"changed, costs {_of(snapshots, 'check', 3)} of a comparison of whole tables."
    )


def _of(table: Table, row: str, column: int) -> str:
    """A ratio, without its aim."""
    return _cell(table, row, column).partition(" ")[0]


def _cell(table: Table, row: str, column: int) -> str:
    (found,) = [each for each in table.rows if each[0].partition(";")[0] == row]
    return found[column]
