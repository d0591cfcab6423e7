"""Planted bugs that fixed histories must find, as a test of the fuzz itself.

A bug is planted in this process, in which dbt also runs. ``number`` is a history that is known to find it.
``make test-all`` plants all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from iceberg_incremental.capture import open as opening
from iceberg_incremental.capture import reads, source_policy
from iceberg_incremental.capture.run_plan import RunPlan
from iceberg_incremental.expose import groups, net, relations, value_range
from iceberg_incremental.plan import changes
from iceberg_incremental.plan.ranges import Appends, position_at
from iceberg_incremental.publish import fence
from iceberg_incremental.table.checkpoint import mirrored_by
from iceberg_incremental.table.commits import Effect
from iceberg_incremental.write import writer

from . import histories as h
from . import holes, sequence_holes
from .pipeline import Pipeline, WrongResultError
from .test_fuzz import FIXED_ROUNDS, FIXED_SEED

Plant = Callable[[pytest.MonkeyPatch], None]


def the_oldest_commit_of_a_range_is_forgotten(monkeypatch):
    plan_changes = source_policy.plan_changes

    def careless(history, position, end, **options):
        commits = None
        if end is not None and position.snapshot_id is not None:
            commits = history.commits_since(position.snapshot_id, end)
        if commits and len(commits) > 1:
            position = position_at(history.table_uuid, commits[0])
        return plan_changes(history, position, end, **options)

    monkeypatch.setattr(source_policy, "plan_changes", careless)


def an_overwrite_that_only_adds_counts_for_nothing(monkeypatch):
    effect = changes.effect

    def careless(snapshot):
        found = effect(snapshot)
        return Effect.NONE if found is Effect.ADDITION else found

    monkeypatch.setattr(changes, "effect", careless)


def additions_are_not_read_beside_appends(monkeypatch):
    changes_sql = relations.changes_sql

    def careless(planned, *exact):
        beside = isinstance(planned, Appends) and planned.append_scan
        return changes_sql(replace(planned, additions=()) if beside else planned, *exact)

    monkeypatch.setattr(relations, "changes_sql", careless)


def a_changelog_has_no_deletions(monkeypatch):
    def careless(changes, unique_key, exact):
        return f"(select *, 'INSERT' as _change_type from {net.upserts_sql(changes, exact)})"

    monkeypatch.setattr(net, "changelog_sql", careless)


def the_checkpoint_stays_where_it_was(monkeypatch):
    next_checkpoint = RunPlan.next_checkpoint

    def careless(plan, *state):
        found = next_checkpoint(plan, *state)
        return found if plan.checkpoint is None else replace(found, sources=plan.checkpoint.sources)

    monkeypatch.setattr(RunPlan, "next_checkpoint", careless)


def the_checkpoint_is_ahead_of_the_rows(monkeypatch):
    """Commits that a limit leaves to the next run count as read."""
    taken, next_checkpoint, ends = reads._taken, RunPlan.next_checkpoint, {}

    def remembering(run, cuts, source):
        cut = cuts.of(source)  # None before a parent is built
        ends[str(source)] = None if cut is None else cut.end
        return taken(run, cuts, source)

    def careless(plan, *state):
        found = next_checkpoint(plan, *state)
        sources = {
            name: replace(position, snapshot_id=ends[name].snapshot_id, sequence_number=ends[name].sequence_number)
            if ends.get(name) is not None
            else position
            for name, position in found.sources.items()
        }
        return replace(found, sources=sources)

    monkeypatch.setattr(reads, "_taken", remembering)
    monkeypatch.setattr(RunPlan, "next_checkpoint", careless)


def the_checkpoint_is_only_a_property(monkeypatch):
    """The property is trusted whatever the table's history, as if it were written with the rows."""
    target_checkpoint = fence.target_checkpoint

    def careless(target, reader):
        found, mirrored = target_checkpoint(target, reader), mirrored_by(target)
        return found if mirrored is None else replace(found, checkpoint=mirrored)

    for module in (opening, fence):
        monkeypatch.setattr(module, "target_checkpoint", careless)


def emptied_groups_stay(monkeypatch):
    """Only rows that the model's SQL returns are replaced."""
    delete_sql = writer.delete_sql

    def careless(new, replacement, *exact):
        return delete_sql(new, replace(replacement, groups=None), *exact)

    monkeypatch.setattr(writer, "delete_sql", careless)


def the_last_value_of_a_range_is_left_out(monkeypatch):
    from_metadata = value_range.from_metadata

    def careless(changes, column):
        found = from_metadata(changes, column)
        return None if found is None else replace(found, max=f"{found.max} - 1")

    monkeypatch.setattr(value_range, "from_metadata", careless)


def groups_of_null_are_not_found(monkeypatch):
    monkeypatch.setattr(groups, "_may_be_null", lambda _: False)


def thorough(plant: Plant, number: int):
    return pytest.param(plant, number, marks=pytest.mark.thorough)


def nightly(plant: Plant, number: int):
    return pytest.param(plant, number, marks=pytest.mark.nightly)


@pytest.mark.parametrize(
    ("plant", "number"),
    [
        # planning
        thorough(the_oldest_commit_of_a_range_is_forgotten, 1),
        nightly(an_overwrite_that_only_adds_counts_for_nothing, 4),
        nightly(the_last_value_of_a_range_is_left_out, 10),
        # exposing
        thorough(groups_of_null_are_not_found, 24),
        nightly(additions_are_not_read_beside_appends, 94),
        nightly(a_changelog_has_no_deletions, 12),
        # committing
        thorough(the_checkpoint_stays_where_it_was, 1),
        nightly(emptied_groups_stay, 2),
        nightly(the_checkpoint_is_ahead_of_the_rows, 5),
        nightly(the_checkpoint_is_only_a_property, 80),
        nightly(holes.a_changed_key_keeps_its_old_row, 12),
        nightly(holes.no_row_of_a_changelog_is_kept, 12),
        nightly(sequence_holes.late_rows_replace_newer_ones, 9),
        nightly(sequence_holes.the_oldest_new_row_is_taken, 9),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_planted_bug_is_found(shop, monkeypatch, plant: Plant, number):
    plant(monkeypatch)
    with pytest.raises(WrongResultError, match=r"was (continued|rebuilt|committed to)|failed|says that it read"):
        Pipeline(shop, [h.history(FIXED_SEED, number, FIXED_ROUNDS)], FIXED_SEED).play()


@pytest.mark.parametrize(
    ("plant", "number"),
    [
        thorough(holes.rows_that_a_filter_removes_stay, 3),
        nightly(holes.keys_may_come_twice, 64),
        nightly(holes.keys_are_checked_in_a_join_only, 45),
        nightly(holes.files_of_older_partitions_stay, 52),
        nightly(holes.bounds_of_strings_are_trusted, 1),
        nightly(holes.rows_are_staged_on_main, 11),
        nightly(holes.partitions_of_nan_are_unequal, 166),
        nightly(holes.nan_is_left_out_of_ranges, 36),
        nightly(holes.times_of_ranges_have_no_offset, 9),
        nightly(holes.a_file_is_in_a_table_once, 374),
        nightly(holes.columns_are_the_same_in_any_case, 20),
        nightly(holes.settings_are_not_checked, 34),
        nightly(holes.reads_of_later_runs_are_not_detected, 8),
        nightly(holes.missing_columns_become_null, 24),
        nightly(holes.deleted_rows_count, 3),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_former_bug_is_found(shop, monkeypatch, plant: Plant, number):
    plant(monkeypatch)
    with pytest.raises(WrongResultError, match=r"was (continued|rebuilt|committed to)|failed|says that it read"):
        Pipeline(shop, [h.history(FIXED_SEED, number, FIXED_ROUNDS)], FIXED_SEED).play()
