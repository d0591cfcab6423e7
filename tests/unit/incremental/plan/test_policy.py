"""The properties of strategies and policies."""

from __future__ import annotations

import pytest

from iceberg_incremental.plan.policy import Cause, OnBreak, OnRewrite, Policy, Strategy

APPEND, MERGE, INSERT_OVERWRITE, APPLY_CHANGES, AUTO, HISTORY = Strategy


def test_defaults():
    assert Policy().on_history_break == {
        Cause.REBUILT: OnBreak.FULL_REFRESH,
        Cause.ROLLED_BACK: OnBreak.FAIL,
        Cause.EXPIRED: OnBreak.FAIL,
    }


@pytest.mark.parametrize(
    ("question", "strategies"),
    [
        ("is_keyed", {MERGE, APPLY_CHANGES, HISTORY}),
        ("takes_changelog", {APPLY_CHANGES, HISTORY}),
        ("may_reprocess", {MERGE, INSERT_OVERWRITE}),
        ("replaces_partitions", {INSERT_OVERWRITE}),
        ("table_defaults", {MERGE, APPLY_CHANGES, AUTO, HISTORY}),
    ],
)
def test_properties_of_strategies(question, strategies):
    assert {strategy for strategy in Strategy if getattr(strategy, question)} == strategies


@pytest.mark.parametrize(
    ("policy", "may_rebuild", "replaces"),
    [
        (OnBreak.FULL_REFRESH, True, True),
        (OnBreak.FULL_REFRESH, False, False),
        (OnBreak.FAIL, True, False),
    ],
)
def test_an_unknown_table_is_replaced_only_if_configured(policy, may_rebuild, replaces):
    assert Policy(on_missing_checkpoint=policy, may_rebuild=may_rebuild).replaces_unknown_tables is replaces


def test_the_effect_of_on_source_rewrite():
    found = {
        each: (Policy(on_source_rewrite=each).ignores_rewrites, Policy(on_source_rewrite=each).nets_rewrites)
        for each in OnRewrite
    }
    assert found == {
        OnRewrite.FAIL: (False, False),
        OnRewrite.UPSERTS: (False, True),
        OnRewrite.IGNORE: (True, False),
        OnRewrite.FULL_REFRESH: (False, False),
    }
