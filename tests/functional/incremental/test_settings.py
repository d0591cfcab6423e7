"""Session settings that change the meaning of SQL. Each has no effect, is set by the run, or is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from iceberg_incremental.plan.session_settings import REFUSED, Refused
from tests.session_settings import HOLDS, HOLDS_UNDER_ANSI

from .shop import Shop

COLUMNS = "id int, s string, p decimal(12,3), d date, x double, `a.b` string, aXb string, t timestamp"
FACTS = "{{ ip_changes(source('raw', 'facts')) }}"
MIRROR = "select id, s, x, _change_type from {{ ip_changelog(source('raw', 'facts'), unique_key=['id']) }}"
GROUPS = """
select s, count(*) as n, sum(p) as p, max(t) as t, max(`a.b`) as `a.b`
from {{ ip_changed_groups(source('raw', 'facts'), 's') }} group by s
"""
RANGE = """
{% set r = ip_range(source('raw', 'facts'), 's') %}
select s, max(d) as d, count(*) as n from {{ ip_as_of(source('raw', 'facts')) }}
where s between {{ r.min }} and {{ r.max }} group by s
"""


def row(id_: int, s: str, day: int) -> str:
    quoted = s.replace("\\", "\\\\").replace("'", "\\'")
    return (
        f"({id_}, '{quoted}', {day}.125, date'2026-03-{day:02}', {day}.5D, 'dotted', 'plain',"
        f" timestamp'2026-03-{day:02} 01:30:00+00:00')"
    )


def play(shop: Shop) -> dict[str, Counter[tuple[Any, ...]]]:
    """Run a model of each kind twice, over a source with values that are hard to write; returns the rows."""
    facts = shop.source("facts", COLUMNS, "partitioned by (s)", "tblproperties('format-version'='3')")
    shop.model("appended", f"select * from {FACTS}", on_source_rewrite="ignore")
    shop.model("merged", f"select * from {FACTS}", incremental_strategy="merge", unique_key=["id", "s"],
               on_source_rewrite="upserts")  # fmt: skip
    shop.model("updated", f"select id, s, `a.b` from {FACTS}", incremental_strategy="merge", unique_key="id",
               on_source_rewrite="upserts", merge_update_columns=["s"])  # fmt: skip
    shop.model("overwritten", RANGE, incremental_strategy="insert_overwrite", partition_by="s")
    shop.model("mirrored", MIRROR, incremental_strategy="apply_changes", unique_key="id")
    shop.model("grouped", GROUPS, incremental_strategy="merge", unique_key="s")
    shop.insert(facts, row(1, "it's", 1), row(2, "back\\slash", 2), row(3, "new\nline", 3), row(4, "\\'", 4))
    shop.run()
    shop.insert(facts, row(5, "it's", 5), row(6, "back\\\\slash", 6), row(7, "$x", 7))
    shop.sql(f"update {facts} set x = -x where id in (2, 4)")
    shop.sql(f"delete from {facts} where id = 3")
    shop.run()
    names = ("appended", "merged", "updated", "overwritten", "mirrored", "grouped")
    return {name: shop.rows(shop.built(name)) for name in names}


@pytest.fixture(scope="module")
def expected(tmp_path_factory, embedded_target, outside):
    """The rows under the default settings of a session."""
    return play(Shop(tmp_path_factory.mktemp("plain"), embedded_target, "settings_plain", outside.session))


def with_settings(target: dict[str, Any], settings: Mapping[str, str]) -> dict[str, Any]:
    return {**target, "server_side_parameters": {**target["server_side_parameters"], **settings}}


def legacy_switches(session: Any) -> dict[str, str]:
    """Every boolean of spark.sql.legacy that a session can set, with the opposite of its default."""
    module = getattr(session._jvm.org.apache.spark.sql.internal, "SQLConf$")
    entries = getattr(module, "MODULE$").getConfigEntries().toArray()
    defaults = {entry.key(): entry.defaultValueString() for entry in entries}
    flipped = {"true": "false", "false": "true"}
    return {
        key: flipped[value]
        for key, value in defaults.items()
        if key.startswith("spark.sql.legacy.") and value in flipped and session.conf.isModifiable(key)
    }


@pytest.mark.parametrize("under_ansi", [False, True])
def test_settings_that_hold(tmp_path, embedded_target, outside, expected, under_ansi):
    held = HOLDS_UNDER_ANSI if under_ansi else {**HOLDS, **legacy_switches(outside.session)}
    assert under_ansi or len(held) > 80
    target = with_settings(embedded_target, held)
    assert play(Shop(tmp_path, target, f"settings_{under_ansi}", outside.session)) == expected


STAGED = "select * from {{ ip_changes(source('raw', 'events')) }}"
VALUES = {"spark.sql.storeAssignmentPolicy": "LEGACY"}


def value_of(refused: Refused) -> str:
    return VALUES.get(refused.key) or (refused.values or ("x",))[0]


def test_settings_that_are_refused(shop):
    """A hook sets each setting before the model's first build, and before its next range. Nothing is written."""
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    shop.model("staged", STAGED)
    shop.run()
    before = shop.head(shop.built("staged"))
    for refused in REFUSED:
        shop.model("staged", STAGED, pre_hook=f"set `{refused.key}` = {value_of(refused)}")
        message = shop.fails("--full-refresh")
        assert f"{refused.key}: {refused.needed}" in message
        assert f"Found: {refused.key} = {value_of(refused)}" in message
        assert shop.head(shop.built("staged")) == before
    shop.insert(events, "(2, 'b')")
    shop.model("staged", STAGED, sql_header=f"set `{REFUSED[0].key}` = true;")
    assert REFUSED[0].key in shop.fails()
    assert shop.head(shop.built("staged")) == before
    shop.model("staged", STAGED)
    shop.run()
    assert shop.rows(shop.built("staged")) == Counter([(1, "a"), (2, "b")])


@pytest.mark.core
def test_a_refused_setting_of_the_profile_stops_seeds_and_operations(shop, embedded_target):
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    shop.model("staged", STAGED)
    shop.run()
    target = with_settings(embedded_target, {REFUSED[0].key: "true"})
    profile = {"target": "dev", "outputs": {"dev": {**target, "schema": shop.schema}}}
    shop.write("profiles.yml", yaml.safe_dump({"shop": profile}))
    shop.write("seeds/texts.csv", "id,v\n1,back\\slash\n")
    for found in (
        shop.dbt("seed"),
        shop.operation("ip_set_checkpoint", model="staged", source="events", snapshot_id=shop.head(events)),
    ):
        assert not found.success
        assert f"Found: {REFUSED[0].key} = true" in found.printed
