"""Error messages as users read them. Each error is provoked, states a fix, and its commands work when pasted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from .shop import CATALOG, Shop

pytestmark = pytest.mark.core

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
BOTH = f"{CHANGES} union all select * from {{{{ ip_changes(source('raw', 'other')) }}}}"
COMPACT = f"call {CATALOG}.system.rewrite_data_files(table => '{{t}}', options => map('rewrite-all', 'true'))"
EXPIRE = f"call {CATALOG}.system.expire_snapshots(table => '{{t}}', older_than => now(), retain_last => 1)"
CREATE = "create table {t} (id int, v string) using iceberg"

NOISE = ("Traceback", "\tat ", "org.apache", "java.", "py4j", "dbt.adapters", " object at 0x", "None", "Error:")
SNAPSHOT = re.compile(r"snapshot \d{15,} \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, sequence number \d+\)")
COMMAND = re.compile(r"`(dbt [^`]+)`")


def commands(message: str) -> list[list[str]]:
    """The commands in a message, split as in a shell, without those that contain placeholders."""
    return [shlex.split(each)[1:] for each in COMMAND.findall(message) if "<" not in each]


def check(message: str, *said: str) -> None:
    for noise in NOISE:
        assert noise not in message, message
    for each in said:
        assert each in message, message
    assert "To fix" in message, message
    for command in commands(message):
        if command[0] == "run-operation":
            assert set(yaml.safe_load(command[-1])) <= {"model", "source", "snapshot_id"}
        else:
            assert command[-2] == "--select"  # pasted unchanged, the command must not rebuild the whole project


def sql(*statements: str) -> Callable[[Shop, str], None]:
    def go(shop: Shop, table: str) -> None:
        for statement in statements:
            shop.sql(statement.format(t=table))

    return go


def rolled_back(shop: Shop, table: str) -> None:
    first = shop.snapshots(table)[0][0]
    shop.sql(f"call {CATALOG}.system.rollback_to_snapshot('{table}', {first})")
    shop.insert(table, "(3, 'c')")


def other_source(shop: Shop, table: str) -> None:
    shop.insert(shop.source("other"), "(5, 'other')")
    shop.model("staged", BOTH)


def built_another_way(shop: Shop, table: str) -> None:
    shop.sql(f"create or replace table {shop.built('staged')} using iceberg as select * from {table}")


def changed_by_hand(shop: Shop, table: str) -> None:
    shop.sql(f"alter table {shop.built('staged')} set tblproperties ('ip.checkpoint' = '[1]')")


def limited_to_no_rebuild(shop: Shop, table: str) -> None:
    shop.model("staged", CHANGES, full_refresh=False)
    sql("drop table {t}", CREATE, "insert into {t} values (1, 'a')")(shop, table)


def wrong_config(shop: Shop, table: str) -> None:
    config = {"incremental_strategy": "merge", "on_source_rewrite": "nope", "on_history_break": {"x": "y"}}
    shop.model("staged", CHANGES, **config)


CASES: dict[str, tuple[Callable[[Shop, str], None], list[str], bool]] = {
    # the cause, words in the message, and whether the message names snapshots
    "rewritten": (
        sql("delete from {t} where id = 1"),
        ["1 commit changed or deleted rows", "Found: delete snapshot", "on_source_rewrite: upserts"],
        True,
    ),
    "rolled back": (rolled_back, ["(rolled_back)", "undone by a rollback; the common ancestor is snapshot"], True),
    "replaced": (
        sql("create or replace table {t} (id int, v string) using iceberg", "insert into {t} values (1, 'a')"),
        ["(rebuilt)", "the table was replaced: its history begins after the checkpoint"],
        True,
    ),
    "created again, and empty": (
        sql("drop table {t}", CREATE),
        ["(rebuilt)", "in its history", "was dropped and created again"],
        True,
    ),
    "expired": (
        sql("insert into {t} values (3, 'c')", COMPACT, "insert into {t} values (4, 'd')", EXPIRE),
        [
            "(expired)",
            "snapshots after the checkpoint have expired, and the rows have no lineage",
            "known snapshot is",
        ],
        True,
    ),
    "must not be rebuilt": (limited_to_no_rebuild, ["full_refresh: false", "dropped and created again"], False),
    "new source": (other_source, ["its checkpoint has no position for this source", "events"], False),
    "built another way": (built_another_way, ["it has no checkpoint", "on_missing_checkpoint"], False),
    "changed by hand": (changed_by_hand, ["property 'ip.checkpoint'", "a JSON list"], False),
    "source dropped": (sql("drop table {t}"), ["does not exist", f"in catalog '{CATALOG}'"], False),
    "a view": (sql("drop table {t}", "create view {t} as select 1 as id, 'a' as v"), ["is a view"], False),
}


@pytest.mark.parametrize("case", list(CASES))
def test_messages(shop, case):
    happen, said, names_snapshots = CASES[case]
    table = shop.source("events", "id int, v string", "tblproperties ('write.delete.mode'='copy-on-write')")
    shop.model("staged", CHANGES, on_history_break="fail")
    shop.insert(table, "(1, 'a')")
    shop.insert(table, "(2, 'b')")
    shop.run()
    happen(shop, table)
    message = shop.fails()
    check(message, *said)
    source = shop.built("staged") if case in ("built another way", "changed by hand") else table
    assert source.replace("`", "") in message
    if names_snapshots:
        assert SNAPSHOT.search(message), message
    rebuilds = [command for command in commands(message) if command[:2] == ["run", "--full-refresh"]]
    if rebuilds and case != "must not be rebuilt":
        assert shop.dbt(*rebuilds[0]).success
        assert shop.run().message("staged") == "NOTHING NEW"


def test_the_alternative_fix_is_a_command_too(shop):
    """After a rollback: continue from the common ancestor, and keep the rows of the undone snapshot."""
    table = shop.source("events")
    shop.model("staged", CHANGES)
    shop.insert(table, "(1, 'a')")
    shop.insert(table, "(2, 'b')")
    shop.run()
    rolled_back(shop, table)
    (command,) = [command for command in commands(shop.fails()) if command[0] == "run-operation"]
    assert shop.dbt(*command).success
    assert shop.run().action("staged") == "apply"
    assert shop.rows(shop.built("staged"), "id").keys() == {(1,), (2,), (3,)}


def test_all_that_is_wrong_with_a_config_is_said_at_once(shop):
    shop.source("events")
    wrong_config(shop, "")
    message = shop.fails()
    assert [line.split()[1] for line in message.splitlines() if line.lstrip().startswith("- ")] == [
        "on_source_rewrite",
        "on_history_break",
        "incremental_strategy",
    ]


def test_no_password_is_shown(tmp_path, embedded_target: dict[str, Any], outside, shop):
    """Neither the error nor dbt's log contains it."""
    catalog = {"type": "sql", "uri": "postgresql+psycopg2://ann:ge%40heim@127.0.0.1:1/db"}
    target = {**embedded_target, "metadata_reader": "pyiceberg", "pyiceberg": {CATALOG: catalog}}
    locked = Shop(tmp_path / "locked", target, f"{shop.schema}_locked", outside.session)
    locked.source("events")
    locked.model("staged", CHANGES)
    found = locked.dbt("run", "--debug")
    assert not found.success
    assert "PyIceberg cannot reach the metadata of" in found.message("staged")
    assert "Background" not in found.message("staged")
    logged = "".join(file.read_text(encoding="utf-8") for file in (locked.folder / "logs").glob("*.log*"))
    for text in (found.printed, logged):
        assert "ge%40heim" not in text and "ge@heim" not in text
