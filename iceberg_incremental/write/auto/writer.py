"""Keeping a table equal to its SQL: the plan of a run, and the statements that replace the affected rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from ...capture.run import Run
from ...errors import StatementError
from ...expose.groups import broadcast
from ...expose.same_key import same_key
from ...expose.source_states import Source
from ...metadata import MetadataReader
from ...plan.learned import NOTHING, REPLACE_ALL, Learned, learned
from ...plan.rebuild_cost import (
    BELOW_LIMIT,
    ONLY_GAINED,
    Choice,
    Reads,
    choose,
    choose_to_continue,
    cost_of_keys,
    cost_of_search,
    gains_from_order,
    is_worth_measuring,
    rebuild_at_once,
    rebuild_is_cheaper_than_finding,
    share_of,
)
from ...publish.publisher import Check, Published, Publisher
from ...query.plan import IncrementalQuery, Scans
from ...query.rules.changed import Changes
from ...query.states import Keys, KeyView, OldSnapshotExpiredError
from ...query.text.clock import ClockStates
from ...spark.port import Spark, holding
from ...sql import sql_name, sql_names
from ...table.checkpoint_state import is_as_written
from ...table.commits import total, written
from ...table.history import Snapshot, TableName
from ...table.row_counts import rows_at
from ...table.types import compares_alike
from ..columns.table_columns import Typed
from ..listed_files import files_at
from ..run_cost import note_cost
from ..strategies.changelog import Bound, all_ends_sql, bounded, bounds_of, files_within, useful
from ..strategies.merge import TARGET
from .update_plan import (
    Affected,
    Continued,
    Summary,
    UpdatePlan,
    can_continue,
    is_rewritten,
    old_groups_sql,
    selective,
)


class SourceChanges:
    """The changes of some sources. ``prefix``: the prefix of the names of the views. ``clock``: if the SQL reads it."""

    def __init__(
        self, sources: Mapping[TableName, Source], spark: Spark, prefix: str, clock: ClockStates | None = None
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._spark = spark
        self._prefix = prefix

    def of(self, kept: IncrementalQuery, sql: Callable[[Source], str]) -> Changes:
        """The changes of a query's blocks. ``sql``: returns the relation of a source's changes."""
        states = {
            table: source.states(sql(source) if source.has_changed else "") for table, source in self._sources.items()
        }
        return kept.changes(states, self._prefix, broadcast, self._clock)

    def affected(self, kept: IncrementalQuery, held: ExitStack) -> tuple[Changes, list[KeyView]]:
        """The views of the affected keys. The last view has the keys of the result.

        If changes must be found by comparing rows, and the views read them more than once, Spark holds the changes.
        """
        name, exact = f"{self._prefix}_keys", self._spark.scans
        changed = [source for source in self._sources.values() if source.has_changed]
        # The first changed row decides how many rows are affected. It must not be one that was rewritten unchanged.
        compares = kept.looks_back
        touched = {source.table: None if compares else source.touched_sql(exact) for source in changed}
        rows = {source.table: touched[source.table] or source.changes_sql(exact) for source in changed}
        changes = self.of(kept, lambda source: rows[source.table])
        views = kept.affected(changes, name)
        texts = "".join(view.sql for view in views)
        compared = [table for table, sql in rows.items() if touched[table] is None and texts.count(sql) > 1]
        if not compared:
            return changes, views
        for number, table in enumerate(compared):
            view = f"{self._prefix}_changes_{number}"
            held.enter_context(holding(self._spark, view, f"select * from {rows[table]}"))
            rows[table] = view
        changes = self.of(kept, lambda source: rows[source.table])
        return changes, kept.affected(changes, name)


_KEY = "DBT_INTERNAL_KEY"


def summarized(spark: Spark, view: str, key: Sequence[str], types: Sequence[str]) -> Summary:
    """Count and bound the keys of a view. ``types``: the Spark types of the key's columns."""
    columns = [f"count(*) as {_KEY}"]
    columns += [f"count({sql_name(name)})" for name in key]
    with_ends = bounded(key, types)
    columns += all_ends_sql(with_ends)
    ((count, *rest),) = spark.rows(f"select {', '.join(columns)} from {view}")
    keys = int(str(count))
    nulls = {name: keys - int(str(each)) for name, each in zip(key, rest[: len(key)], strict=True)}
    return Summary(view, keys, any(nulls.values()), tuple(types), bounds_of(with_ends, rest[len(key) :], nulls))


def is_of_own_sql(error: StatementError) -> bool:
    """Whether a statement failed with an error that the model's SQL itself may not raise.

    Such an error is caused by a value under ``spark.sql.ansi.enabled``, for example by text that is not a number or by
    an overflow, or is internal to Spark's optimizer.
    """
    return any(sign in str(error) for sign in ("SQLSTATE: 22", "SQLSTATE: XX", "key not found: "))


_Columns = Sequence[Typed]
_STATIC = {"spark.sql.sources.partitionOverwriteMode": "static"}


class AutoWriter:
    """Writes one run of a table that is kept equal to its SQL.

    ``check``: raises IncrementalError if the staged rows must not be published. ``checked``: returns a query for the
    rows of a relation, which fails for a row that the table must not contain. ``clock``: if the SQL reads it.
    """

    def __init__(
        self,
        run: Run,
        spark: Spark,
        reader: MetadataReader,
        sources: Mapping[TableName, Source],
        check: Check,
        checked: Callable[[str], str] = "select * from {}".format,
        clock: ClockStates | None = None,
    ) -> None:
        self._checked = checked
        self._clock = clock
        self._run = run
        self._plan = run.plan
        self._spark = spark
        self._reader = reader
        self._sources = sources
        self._check = check
        self._publisher = Publisher(spark, reader)
        self._changes = SourceChanges(sources, spark, run.plan.branch, clock)

    def apply(self, plan: UpdatePlan, query: str, columns: _Columns) -> Published:
        """Execute a plan. If its SQL fails for a value or in Spark's optimizer, replace all rows instead.

        ``query``: the query for all rows. ``columns``: the columns of the table for which the query returns values.
        """
        if plan.choice.rebuilds:
            began = None if plan.began is None else self._spark.executor_seconds()  # after the search for keys
            return self._rebuild(query, columns, self._measured(replace(plan, began=began)))
        try:
            return self._apply(plan, columns)
        except StatementError as error:
            if not is_of_own_sql(error):
                raise
            return self._rebuild(query, columns, self._check)

    def _apply(self, plan: UpdatePlan, columns: _Columns) -> Published:
        target = self._plan.target
        self._run.state.way = plan.way
        if plan.continued is None and target is not None and not is_as_written(target):
            self._run.state.others = True  # recorded, because the snapshots that show it may expire
        if plan.added is not None:
            sql = self._insert_sql("into", f"select * from {plan.added}", columns)
            return self._publisher.apply(self._run, sql, {}, None, self._check)
        if plan.keys is None or not plan.keys.keys:
            return self._publisher.advance(self._run)
        if plan.continued is not None:
            return self._continue(plan.continued, columns, self._measured(plan))
        assert plan.affected is not None
        return self._replace_affected(plan.affected, columns, self._measured(plan))

    def _rebuild(self, query: str, columns: _Columns, check: Check) -> Published:
        """Replace all rows by those of the query, with one statement and within the same table."""
        self._run.plan = self._plan = replace(self._plan, reads_all=True)
        self._run.state.others, self._run.state.way = False, REPLACE_ALL
        listed = sql_names([column.name for column in columns])
        sql = f"insert overwrite {self._staged} ({listed})\nselect {listed} from (\n{query}\n)"
        return self._publisher.apply(self._run, sql, _STATIC, None, check)

    def _measured(self, plan: UpdatePlan) -> Check:
        """The function that checks the staged rows, and notes their cost if it was estimated."""
        by_rows, known = plan.choice.by_rows, self._learned  # the function is called again if publishing is retried

        def check() -> None:
            if by_rows is not None:
                note_cost(self._run, self._spark, plan.began, plan.way, by_rows[plan.choice.rebuilds], known)
            self._check()

        return check

    @contextmanager
    def planned(self, kept: IncrementalQuery, columns: _Columns, *, counts_keys: bool = False) -> Iterator[UpdatePlan]:
        """Find the rows that the sources' changes affect, and choose whether to replace them or all rows.

        Spark holds the affected keys until the context ends. Nothing is written. ``columns``: as in ``apply``.
        ``counts_keys``: for a plan that is not executed. Counts the affected keys even if their number cannot change
        the choice, and measures no cost.
        """
        with ExitStack() as held:
            yield replace(self._planned(kept, columns, held, count=counts_keys), kept=kept)

    def _planned(self, kept: IncrementalQuery, columns: _Columns, held: ExitStack, *, count: bool) -> UpdatePlan:
        if self._plan.policy.rebuild_above == 0:
            return UpdatePlan(Choice(True, "rebuild_above is 0"))
        try:
            added = self._added(kept)
            if added is not None:
                return added
            by_cost = self._plan.policy.rebuild_above is None
            measures = by_cost and not count and is_worth_measuring(self._fewest_reads(kept))
            began = self._spark.executor_seconds() if measures else None
            found = (
                self._left_alone(kept, columns, held)
                or self._continued(kept, columns, held)
                or self._replaced(kept, columns, held, count=count, began=began)
            )
            return found if found.began is not None else replace(found, began=began)
        except OldSnapshotExpiredError:
            return UpdatePlan(Choice(True, "the state at the checkpoint has expired"))
        except StatementError as error:
            # This SQL also joins changed rows with rows of the other state, so it may fail although the query does not.
            if not is_of_own_sql(error):
                raise
            return UpdatePlan(Choice(True, "the SQL that finds the affected keys fails, for a value or in Spark"))

    def _added(self, kept: IncrementalQuery) -> UpdatePlan | None:
        """The plan that only inserts rows. None unless the changes only add rows to the result."""
        # A source that lost rows excludes this plan, and even preparing to read its changes has a cost.
        if not all(self._changed.values()) or self._plan.clock_moved:
            return None
        exact = self._spark.scans
        added = kept.added(self._changes.of(kept, lambda source: source.changes_sql(exact)))
        if added is None:
            return None
        return UpdatePlan(ONLY_GAINED, added)

    def _left_alone(self, kept: IncrementalQuery, columns: _Columns, held: ExitStack) -> UpdatePlan | None:
        """The plan that changes no row, because all changes come after the last row of a LIMIT. None otherwise."""
        scans = kept.scans_of_first_rows(self._changed, self._clock)
        if scans is None:
            return None
        if self._plan.policy.rebuild_above is None and rebuild_is_cheaper_than_finding(self._reads(kept, scans)):
            return None
        types = {column.name: column.dtype for column in columns}
        changes = self._changes.of(kept, lambda source: source.changes_sql(self._spark.scans))
        found = kept.first_rows(changes, self._plan.name.sql, types)
        if found is None:
            return None
        for view in found.views:
            held.enter_context(holding(self._spark, view.name, view.sql))
        ((may_alter,),) = self._spark.rows(found.sql)
        return None if may_alter in (None, True, "true") else UpdatePlan(Choice(False, BELOW_LIMIT), is_left_alone=True)

    def _continued(self, kept: IncrementalQuery, columns: _Columns, held: ExitStack) -> UpdatePlan | None:
        """The plan that updates the table's groups. None if that is impossible, or if replacing all rows is cheaper."""
        summary, target, by_cost = kept.summary, self._plan.target, self._plan.policy.rebuild_above is None
        if summary is None or target is None or not can_continue(summary, columns, target):
            return None
        if by_cost and choose_to_continue(self._fewest_reads(kept), 0).rebuilds:
            return None
        scans = kept.scans_to_continue(self._changed, self._clock)
        if scans is None:
            return None
        reads = self._reads(kept, scans)
        if by_cost and choose_to_continue(reads, 0).rebuilds:
            return None
        exact = self._spark.scans
        try:
            delta = summary.delta_sql(self._changes.of(kept, lambda source: source.signed_sql(exact)))
        except OldSnapshotExpiredError:  # finding the affected keys may not need this snapshot
            return None
        if delta is None:
            return None
        view = f"{self._plan.branch}_deltas"
        held.enter_context(holding(self._spark, view, delta))
        found = summarized(self._spark, view, tuple(summary.keys), summary.key_types)
        doubtful = summary.doubtful_sql(old_groups_sql(summary, found, target), view)
        if doubtful is not None and self._spark.rows(doubtful):
            return None
        choice = self._choice(tuple(summary.keys), found, choose_to_continue(reads, found.keys))
        return UpdatePlan(choice, continued=Continued(summary, found))

    def _replaced(
        self, kept: IncrementalQuery, columns: _Columns, held: ExitStack, *, count: bool, began: float | None
    ) -> UpdatePlan:
        """The plan that replaces the rows with affected keys, or all rows. ``began``: as in ``note_cost``."""
        by_cost = self._plan.policy.rebuild_above is None
        # Even deriving the SQL that finds the keys costs as much as writing a small table.
        at_once = rebuild_at_once(self._fewest_reads(kept)) if by_cost else None
        if at_once is not None and not count:
            return self._rebuilt_at_once(at_once)
        if not kept.finds_keys(self._changed, self._clock):
            return UpdatePlan(Choice(True, "each change affects all rows"))
        at_once = at_once or (rebuild_at_once(self._least_reads(kept)) if by_cost else None)
        if at_once is not None and not count:
            return self._rebuilt_at_once(at_once)
        types = {column.name.lower(): column.dtype for column in columns}
        kept = self._selective(kept, types)
        reads = self._reads(kept, kept.scans(self._changed, self._clock))
        at_once = at_once or (rebuild_at_once(reads) if by_cost else None)
        if at_once is not None and not count:
            return self._rebuilt_at_once(at_once)
        changes, views = self._changes.affected(kept, held)
        for view in views:
            held.enter_context(holding(self._spark, view.name, view.sql))
        found = summarized(self._spark, views[-1].name, kept.key, [types[name.lower()] for name in kept.key])
        now = None if began is None else self._spark.executor_seconds()
        if began is not None and now is not None:
            self._run.state.learned = self._learned.after_search(cost_of_search(reads), now - began)
            reads = replace(reads, learned=self._learned)
        if at_once is None and by_cost:
            reads = replace(reads, learned=self._with_rows_per_key(reads, kept.key, found))
            if is_worth_measuring(reads):
                self._run.state.learned = replace(reads.learned, affected=(share_of(reads, found.keys), reads.searched))
        choice = at_once or self._choice(kept.key, found, choose(reads, found.keys))
        return UpdatePlan(choice, affected=Affected(kept, changes, found), began=now)

    def _rebuilt_at_once(self, choice: Choice) -> UpdatePlan:
        """The plan that replaces all rows without finding the affected keys."""
        if self._learned != self._learned.without_search():
            self._run.state.learned = self._learned.without_search()
        return UpdatePlan(choice)

    def _selective(self, kept: IncrementalQuery, types: Mapping[str, str]) -> IncrementalQuery:
        """The query with its cheapest key, which is determined once for a table."""
        learned_before = self._learned
        known = kept.by(learned_before.key)
        if known is not None:
            return known
        rows = self._fewest_reads(kept).target_rows
        found = selective(kept, types, self._plan.name.sql, rows, self._spark)
        if kept.narrower():
            self._run.state.learned = replace(learned_before, key=found.key)
        return found

    def _with_rows_per_key(self, reads: Reads, key: tuple[str, ...], found: Summary) -> Learned:
        """What is known about the model, with the rows for each key if these may change the choice.

        A scan of the key determines them once for a table. Without them, the window functions of a few large
        partitions seem to be cheap.
        """
        known = self._learned if self._learned.key == key else replace(self._learned, key=key, rows_per_key=0)
        all_affected = replace(reads, learned=replace(known, rows_per_key=reads.target_rows))
        if known.rows_per_key or not found.keys or not choose(all_affected, found.keys).rebuilds:
            return known
        listed = ", ".join(map(sql_name, key))
        ((keys,),) = self._spark.rows(f"select approx_count_distinct(struct({listed})) from {self._plan.name.sql}")
        self._run.state.learned = replace(known, rows_per_key=reads.target_rows / max(int(str(keys)), 1))
        return self._run.state.learned

    @property
    def _learned(self) -> Learned:
        """What runs have learned about the model, including this one."""
        target = self._plan.target
        return self._run.state.learned or (NOTHING if target is None else learned(target.properties))

    def begin_build(self, kept: IncrementalQuery) -> bool:
        """Whether a build should order its rows by key. If not, it is measured, because later rebuilds cost as much."""
        reads = self._fewest_reads(kept)
        orders = gains_from_order(reads)
        if not orders and is_worth_measuring(replace(reads, target_rows=sum(reads.sources))):
            self._run.state.rebuild = reads
        return orders

    def _fewest_reads(self, kept: IncrementalQuery) -> Reads:
        """The reads and writes of both alternatives, if finding the affected keys had no cost."""
        target, tables = self._plan.target, kept.reading.tables.values()
        rows = tuple(_rows(self._sources[table].planned.end) for table in tables)
        written = 0 if target is None or target.current is None else rows_at(target, target.current).rows
        sorted_rows = sum(times * _rows(self._sources[table].planned.end) for table, times in kept.sorts.items())
        return Reads(written, rows, 0, (0,) * len(rows), sorted_rows, learned=self._learned)

    def _least_reads(self, kept: IncrementalQuery) -> Reads:
        """The reads and writes of both alternatives, with the key that is cheapest to find."""
        possible = [kept, *kept.narrower()]
        return min((self._reads(each, each.scans(self._changed, self._clock)) for each in possible), key=cost_of_keys)

    def files_affected(self, found: Summary) -> tuple[int, int] | None:
        """The number of data files of the table that may contain rows with the found keys, and that of all files.

        None if there are too many files to examine, or if they are unknown.
        """
        target = self._plan.target
        files = None if target is None else files_at(self._reader, target, target.current_snapshot_id)
        if files is None or files.files is None:
            return None
        return len(files_within(found.bounds, files)), len(files.files.all)

    @property
    def _staged(self) -> str:
        return self._plan.name.branch_sql(self._plan.branch)

    @property
    def _changed(self) -> dict[TableName, bool]:
        """The changed sources, each with whether it only gained rows."""
        return {table: source.only_adds_rows for table, source in self._sources.items() if source.has_changed}

    def _choice(self, key: Sequence[str], found: Summary, estimated: Choice) -> Choice:
        """The choice, given the affected keys. ``estimated``: the choice by cost."""
        above = self._plan.policy.rebuild_above
        if not found.keys:
            return Choice(False, "no row is affected")
        if above is not None and above < 1 and key:
            listed = sql_names(key)
            ((keys,),) = self._spark.rows(f"select count(*) from (select distinct {listed} from {self._plan.name.sql})")
            share = found.keys / max(int(str(keys)), 1)
            text = f"{found.keys:,} of {int(str(keys)):,} keys are affected, and rebuild_above is {above:g}"
            return Choice(share > above, text)
        return estimated if above is None else replace(estimated, rebuilds=False)

    def _reads(self, kept: IncrementalQuery, scans: Scans) -> Reads:
        """The reads and writes of both alternatives."""
        return replace(
            self._fewest_reads(kept),
            searched=sum(self._sources[table].rows_searched for table in self._changed),
            compared=sum(self._sources[table].rows_compared for table in self._changed),
            scans=tuple(scans[table] for table in kept.reading.tables.values()),
        )

    def _continue(self, continued: Continued, columns: _Columns, check: Check) -> Published:
        """Update the affected groups from their old values and their changes. A small table is rewritten as a whole."""
        summary, found, target = continued.summary, continued.keys, self._plan.target
        assert target is not None
        rows = summary.rows_sql(old_groups_sql(summary, found, target), found.view)
        if is_rewritten(summary, target):
            sql = self._insert_sql("overwrite", rows, columns)
            return self._publisher.apply(self._run, sql, _STATIC, None, check)
        return self._replace(tuple(summary.keys), found, rows, columns, check)

    def _replace_affected(self, affected: Affected, columns: _Columns, check: Check) -> Published:
        """Replace the rows with affected keys by the rows that the query returns for these keys."""
        kept, found = affected.kept, affected.keys
        hint = broadcast("ip_keys", found.keys, found.types)
        keys = Keys(found.view, (), found.nulls, self._bounds(kept, found), hint)
        return self._replace(kept.key, found, kept.rows_sql(affected.changes, keys), columns, check)

    def _replace(self, key: Sequence[str], found: Summary, rows: str, columns: _Columns, check: Check) -> Published:
        """Delete the rows with affected keys, and insert the rows of a query."""
        insert = self._insert_sql("into", rows, columns)
        published = self._publisher.apply(
            self._run, self._delete_sql(key, found), {}, lambda target, commit: insert, check
        )
        return replace(published, rows=0 if published.snapshot is None else written(published.snapshot))

    def _insert_sql(self, mode: str, rows: str, columns: _Columns) -> str:
        """The statement that inserts the checked rows of a query. ``mode``: ``into`` or ``overwrite``."""
        listed, checked = sql_names([column.name for column in columns]), self._checked(f"(\n{rows}\n)")
        return f"insert {mode} {self._staged} ({listed})\nselect {listed} from (\n{checked}\n)"

    def _delete_sql(self, key: Sequence[str], found: Summary) -> str:
        target = self._plan.target
        files = None if target is None else files_at(self._reader, target, target.current_snapshot_id)
        alias = "ip_keys"
        same = same_key(TARGET, alias, key, found.types, nulls=found.nulls)
        bounds = [bound.sql for bound in useful(found.bounds, files)]
        hint = broadcast(alias, found.keys, found.types)
        exists = f"exists (select {hint}1 from {found.view} as {alias} where {same})"
        return f"delete from {self._staged} as {TARGET} where {' and '.join([*bounds, exists])}"

    def _bounds(self, kept: IncrementalQuery, found: Summary) -> Any:
        """The function ``Keys.bound``, which returns conditions by which Iceberg can skip files of a source."""
        known = {bound.column.lower(): bound for bound in found.bounds}
        types = {name.lower(): type_ for name, type_ in zip(kept.key, found.types, strict=True)}

        def bound(key: str, source: str, column: str) -> str | None:
            table, mine = kept.reading.tables.get(source), known.get(key.lower())
            if table is None or mine is None:
                return None
            if not compares_alike(types[key.lower()], kept.types[source][column.lower()]):
                return None  # as text, '10' is less than '9'
            end = self._sources[table].planned.end
            files = files_at(self._reader, self._sources[table].history, None if end is None else end.snapshot_id)
            here = Bound(column, mine.sql, mine.interval)
            return mine.of_column(column) if files is not None and useful([here], files) else None

        return bound


def _rows(snapshot: Snapshot | None) -> int:
    return 0 if snapshot is None else total(snapshot)[1]
