"""``ip_status`` and the next run agree on pending changes, the action of the run, and the text of errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from .shop import ANNOUNCED, CATALOG, Shop

pytestmark = pytest.mark.core

CHANGES = "select id, v from {{{{ ip_changes(source('raw', '{0}')) }}}}"
SEEN = "select id, v from {{{{ ip_changes(source('raw', 'seen')) }}}}"
CHANGELOG = "select * from {{{{ ip_changelog(source('raw', '{0}'), unique_key='id') }}}}"
SIGNED = """
    select id, if(sum(_change_sign) = 0, 'DELETE', 'UPDATE_AFTER') as _change_type
    from {{{{ ip_signed_changes(source('raw', '{0}')) }}}} group by id
"""
AS_OF = "select id, v from {{{{ ip_as_of(source('raw', '{0}')) }}}}"
BOTH_WAYS = f"{CHANGES} where id in (select id from ({AS_OF}))"
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
MIRROR = {"incremental_strategy": "apply_changes", "unique_key": "id"}
EXPIRE = f"call {CATALOG}.system.expire_snapshots(table => '{{t}}', older_than => now(), retain_last => 1)"
COMPACT = f"call {CATALOG}.system.rewrite_data_files(table => '{{t}}', options => map('rewrite-all', 'true'))"
ROLL_BACK = f"call {CATALOG}.system.rollback_to_snapshot('{{t}}', {{first}})"
INSERT = "insert into {t} (id, v) values (3, 'c')"
DELETE = "delete from {t} where id = 1"
REPLACE = "create or replace table {t} using iceberg as select 7 as id, 'new' as v"
MOR = "tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read')"
ADD_A_DAY = "insert overwrite {t} partition (day = 8) values (8, 'd')"
DAYS = "id int, v string, day int"


@dataclass(frozen=True)
class Case:
    """A model, changes to its source ``{t}`` after its first run, and the action of the next run."""

    action: str
    then: tuple[str, ...] = ()
    sql: str = CHANGES
    config: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ("id int, v string",)
    then_sql: str | None = None


CASES = {
    "appended": Case("apply", (INSERT,)),
    "untouched": Case("nothing"),
    "compacted": Case("advance", (COMPACT,)),
    "rewritten": Case("fails", (DELETE,)),
    "rewritten_upserts": Case("apply", (DELETE, INSERT), config={"on_source_rewrite": "upserts", **MERGE}),
    "rewritten_ignored": Case("advance", (DELETE,), config={"on_source_rewrite": "ignore"}),
    "rewritten_rebuilt": Case("rebuild", (DELETE,), config={"on_source_rewrite": "full_refresh"}),
    "mirrored": Case("apply", (DELETE, INSERT), CHANGELOG, MIRROR),
    "summed": Case("apply", (DELETE, INSERT), SIGNED, {**MIRROR, "aggregates_of_changes": "allow"}),
    "written_again": Case("apply", ("update {t} set v = v",), CHANGELOG, MIRROR),
    "replaced": Case("rebuild", (REPLACE,)),
    "replaced_kept": Case("fails", (REPLACE,), config={"on_history_break": {"rebuilt": "fail"}}),
    "rolled_back": Case("fails", (INSERT, ROLL_BACK)),
    "expired": Case("fails", (INSERT, DELETE, INSERT, EXPIRE)),
    "expired_made_up_for": Case("apply", (INSERT, INSERT, EXPIRE)),
    "limited": Case("apply", (INSERT, INSERT, INSERT), config={"max_snapshots_per_run": 1}),
    "limited_before_a_rewrite": Case("apply", (INSERT, DELETE), config={"max_snapshots_per_run": 1}),
    "not_comparable": Case(
        "fails",
        (DELETE,),
        config={"on_source_rewrite": "upserts", **MERGE},
        columns=("id int, v string, w variant", "tblproperties ('format-version'='3')"),
    ),
    "added_beside_deletes": Case(
        "apply",
        (ADD_A_DAY,),
        columns=(DAYS, "partitioned by (day)", MOR),
    ),
    "added_beside_deletes_and_altered": Case(
        "fails",
        (ADD_A_DAY, "alter table {t} add column w int"),
        columns=(DAYS, "partitioned by (day)", MOR),
    ),
    "read_both_ways": Case("apply", (DELETE,), BOTH_WAYS, {"on_source_rewrite": "ignore"}),
    "pinned": Case("apply", (REPLACE,), AS_OF, MERGE),
    "no_longer_read": Case("check_only", (REPLACE,), f"{CHANGES} union all {SEEN}", then_sql=SEEN),
    "read_beside_another": Case("fails", (INSERT,), then_sql=f"{CHANGES} union all {SEEN}"),
    "dropped": Case("fails", ("drop table {t}",)),
}


@pytest.fixture(scope="module")
def seen(module_shop: Shop) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """For each model, its status before a run, and the outcome of the run."""
    shop = module_shop
    shop.source("seen")
    shop.insert(shop.raw("seen"), "(1, 'a')")
    for name, case in CASES.items():
        table = shop.source(name, *case.columns)
        shop.model(name, case.sql.format(name), **case.config)
        if case.columns[0] == DAYS:
            shop.insert(table, "(1, 'a', 1), (2, 'b', 1)")  # in one file, from which a row is deleted
        else:
            for row in ("1, 'a'", "2, 'b'"):
                shop.sql(f"insert into {table} (id, v) values ({row})")
        if MOR in case.columns:
            shop.sql(f"delete from {table} where id = 2")
    assert shop.run().success
    for name, case in CASES.items():
        table = shop.raw(name)
        first = shop.snapshots(table)[0][0]
        for statement in case.then:
            shop.sql(statement.format(t=table, first=first))
        if case.then_sql is not None:
            shop.model(name, case.then_sql.format(name), **case.config)
    shop.model("new_one", SEEN.format())
    statuses = shop.statuses()
    return {name: (statuses[name], result) for name, result in _results(shop).items()}


def _results(shop: Shop) -> dict[str, dict[str, Any]]:
    nodes = shop.dbt("run").nodes
    return {name: {"message": node.message, **node.adapter_response} for name, node in nodes.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_status_says_what_the_run_does(seen, name):
    status, result = seen[name]
    action = CASES[name].action
    assert result.get("code", "fails") == action
    assert status["action"] == action
    assert status["next_run"].startswith(ANNOUNCED[action])


def of(action: str) -> list[str]:
    return [name for name, case in CASES.items() if case.action == action]


@pytest.mark.parametrize("name", of("fails"))
def test_the_status_has_the_error_of_the_run(seen, name):
    status, result = seen[name]
    assert status["error"] is not None
    assert " ".join(status["error"].split()) in " ".join(result["message"].split())


# for read_both_ways, a run reports the changes, but the status reports the whole table
@pytest.mark.parametrize("name", sorted({*of("apply")} - {"read_both_ways"}))
def test_the_status_counts_what_the_run_reads(seen, name):
    status, result = seen[name]
    for source in status["sources"]:
        read = result["ip"]["sources"][source["source"]]
        if source["pending"] != "nothing":
            counted = ("snapshots", "files", "records", "bytes")
            assert {key: source[key] for key in counted} == {key: read[key] for key in counted}
            assert source["pending"] == read["kind"]
            assert source["waiting_snapshots"] == read.get("waiting_snapshots", 0)


def test_the_status_of_a_model_that_was_never_built(seen):
    status, result = seen["new_one"]
    assert (status["next_run"], result["code"]) == ("builds the whole table (first build)", "rebuild")


def test_the_status_has_the_dates_of_expiry(shop):
    table = shop.source("pending", "id int, v string", "tblproperties ('history.expire.max-snapshot-age-ms'='1')")
    shop.model("late", CHANGES.format("pending"))
    shop.sql(INSERT.format(t=table))
    shop.run()
    shop.sql(INSERT.format(t=table))
    (source,) = shop.statuses()["late"]["sources"]
    assert source["expiry_risk"] == "due"
    assert source["expires_at_ms"] == source["position_timestamp_ms"] + 1
    assert "unread snapshots may expire at any time (since 20" in shop.operation("ip_status").printed
    shop.run()
    (source,) = shop.statuses()["late"]["sources"]
    assert (source["expiry_risk"], source["expires_at_ms"]) == ("none", None)
