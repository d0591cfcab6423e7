"""The start and the checkpoint of a history model's run, and when a rebuild keeps existing versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.capture.open import open_run
from iceberg_incremental.capture.run_plan import Action, Read, RunPlan
from iceberg_incremental.capture.versions_run import CommitTime, commits_of, next_history, recorded, source_of
from iceberg_incremental.errors import ConcurrentRunError, ConfigError, StagingError
from iceberg_incremental.plan.policy import OnBreak, Policy, Strategy
from iceberg_incremental.plan.ranges import ColumnsAt, CommitChanges, Counts, NetRange, PerCommit
from iceberg_incremental.plan.versions_config import HardDeletes, HistoryConfig, MetaColumns
from iceberg_incremental.publish.fence import Fence
from iceberg_incremental.table.checkpoint import Place, parse
from iceberg_incremental.table.commits import PART_KEY
from iceberg_incremental.table.files import ChangedFiles
from iceberg_incremental.table.recorded_history import RecordedHistory
from tests.unit.incremental.runs import ADDED, MODEL, OTHER, SOURCE, TARGET, Reader, carrying, cp, hist, snap

CONFIG = HistoryConfig(("id",))
POLICY = Policy(Strategy.HISTORY, ("id",), history=CONFIG)


def plan(*times, config=CONFIG, **fields):
    """A run that reads commits with these times in epoch ms."""
    commits = [replace(snap(n, n - 1), timestamp_ms=time) for n, time in enumerate(times, 2)]
    nets = [NetRange(SOURCE, n - 1, n, ChangedFiles((), ())) for n, _ in enumerate(times, 2)]
    changes = tuple(CommitChanges(each, (each.snapshot_id,), net) for each, net in zip(commits, nets, strict=True))
    read = PerCommit(
        table=SOURCE,
        table_uuid="u",
        start=cp(1, 1).sources[str(SOURCE)],
        end=commits[-1],
        counts=Counts(),
        shown_as=ColumnsAt(commits[-1].snapshot_id, ()),
        commits=changes,
    )
    known = replace(cp(1, 1), history=recorded(config, 1000))
    policy = replace(POLICY, history=config)
    run = RunPlan(MODEL, TARGET, policy, "one", None, known, "", 1).with_capture(Read.PER_COMMIT, SOURCE, read)
    return replace(run, **fields)


def test_commits_have_their_times():
    assert commits_of(plan(2000, 3000)) == (CommitTime(2, 2000), CommitTime(3, 3000))


def test_times_never_go_backwards():
    assert [each.time_ms for each in commits_of(plan(3000, 2000, 4000))] == [3000, 3000, 4000]


def test_no_commit_is_earlier_than_those_of_earlier_runs():
    assert [each.time_ms for each in commits_of(plan(500, 900))] == [1000, 1000]
    assert [each.time_ms for each in commits_of(plan(500), clock_ms=7000)] == [7000]


def test_a_checkpoint_records_the_latest_time():
    found = next_history(plan(3000, 2000), 0)
    assert found is not None
    assert (found.latest_ms, found.key, found.check_cols) == (3000, ("id",), ())
    checkpoint = replace(cp(2, 3), history=found)
    assert parse(checkpoint.to_json(), Place(TARGET)).history == found


def test_other_models_record_none():
    assert next_history(replace(plan(3000), policy=Policy()), 0) is None


@pytest.mark.parametrize(
    "other", [None, (Read.CHANGES, OTHER), (Read.CHANGELOG, OTHER), (Read.SIGNED, OTHER), (Read.NET, SOURCE)]
)
def test_a_history_reads_one_changelog(other):
    run = plan(2000)
    planned = run.captured[SOURCE]
    run = replace(run, captures={}) if other is None else run.with_capture(*other, planned)
    with pytest.raises(ConfigError, match="does not read exactly one changelog"):
        source_of(run)


def opened(target, policy=POLICY, **options):
    reader = Reader(s=hist(SOURCE, snap(1, None)), t=target)
    return open_run(
        reader,
        Cuts(lambda: reader),
        model=MODEL,
        target=TARGET,
        policy=policy,
        invocation_id="two",
        **{"full_refresh": False, **options},
    )


def kept(config=CONFIG, epoch=5):
    return replace(cp(epoch, 1, changelog=True, per_commit=True), history=recorded(config, 1000))


def test_a_full_refresh_keeps_the_versions():
    run = opened(hist(TARGET, carrying(100, None, kept())), full_refresh=True)
    assert (run.is_rebuild, run.keeps_versions, run.last_epoch) == (True, True, 5)
    assert run.replaced == kept()


def test_versions_are_dropped_if_requested():
    run = opened(hist(TARGET, carrying(100, None, kept())), full_refresh=True, drops_history=True)
    assert (run.is_rebuild, run.keeps_versions) == (True, False)


def test_a_table_of_another_tool_is_kept_by_policy():
    policy = replace(POLICY, on_missing_checkpoint=OnBreak.FULL_REFRESH)
    run = opened(hist(TARGET, snap(100, None)), policy)
    assert (run.keeps_versions, run.replaced, run.by_policy) == (True, None, True)


def test_a_part_of_a_run_is_an_error():
    half = snap(101, 100, {**ADDED, PART_KEY: "6"})
    with pytest.raises(StagingError):
        opened(hist(TARGET, carrying(100, None, kept()), half), full_refresh=True)


OTHERS = {
    "unique_key": HistoryConfig(("id", "day")),
    "dbt_valid_to_current": HistoryConfig(("id",), valid_to_current="to_date('9999-12-31')"),
    "hard_deletes": HistoryConfig(("id",), hard_deletes=HardDeletes.NEW_RECORD),
    "dbt_valid_from": HistoryConfig(("id",), names=MetaColumns(dbt_valid_from="began")),
}


@pytest.mark.parametrize("full_refresh", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_changed_configs_are_an_error(name, full_refresh):
    with pytest.raises(ConfigError, match=f"{name} is .*, but was .*"):
        opened(
            hist(TARGET, carrying(100, None, kept(OTHERS[name]))),
            full_refresh=full_refresh,
        )


def test_changed_check_cols_require_a_full_refresh():
    target = hist(TARGET, carrying(100, None, kept(HistoryConfig(("id",), check_cols=("a",)))))
    with pytest.raises(ConfigError, match="check_cols is all, but was a"):
        opened(target)
    assert opened(target, full_refresh=True).keeps_versions


def test_hard_deletes_may_be_turned_on_later():
    ignored = HistoryConfig(("id",), hard_deletes=HardDeletes.IGNORE)
    assert not opened(hist(TARGET, carrying(100, None, kept(ignored)))).is_rebuild


def test_two_rebuilds_that_keep_versions_do_not_both_publish():
    run = opened(hist(TARGET, carrying(100, None, kept())), full_refresh=True)
    other = hist(TARGET, carrying(100, None, kept()), carrying(101, 100, kept(epoch=6)))
    with pytest.raises(ConcurrentRunError):
        Fence(Reader(t=other)).require_captured_checkpoint(run, other, 101)
    Fence(Reader(t=other)).require_captured_checkpoint(run, other, 100)


def test_an_invalid_record_is_ignored():
    document = '{"version":1,"model":"m","epoch":1,"invocation_id":"i","sources":{},"history":{"key":"id"}}'
    assert parse(document, Place(TARGET)).history is None
    assert isinstance(recorded(CONFIG, 1), RecordedHistory)


def test_a_rebuild_under_sample_does_not_replace_a_history():
    run = replace(opened(hist(TARGET, carrying(100, None, kept())), full_refresh=True), passes_through=True)
    assert run.action is Action.CHECK_ONLY


def test_another_strategy_does_not_replace_a_history():
    target = hist(TARGET, carrying(100, None, kept()))
    with pytest.raises(ConfigError, match="is a history table, and"):
        opened(target, Policy(), full_refresh=True)
    with pytest.raises(ConfigError, match="is a history table, and"):
        opened(target, Policy())
    assert opened(target, Policy(), full_refresh=True, drops_history=True).is_rebuild
