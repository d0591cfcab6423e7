"""Strings with bytes that are not UTF-8, as casts from binary return them.

Spark compares their bytes. Iceberg reads U+FFFD for bytes that it cannot decode, both in bounds and in filters.
"""

from __future__ import annotations

from typing import Any

import pytest

SOURCE = "source('raw', 'events')"
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "merged": (f"select * from {{{{ ip_changes({SOURCE}) }}}}", {"incremental_strategy": "merge"}),
    "mirror": (f"select * from {{{{ ip_changelog({SOURCE}, 'k') }}}}", {"incremental_strategy": "apply_changes"}),
    "groups": (
        f"select k, max(v) as v from {{{{ ip_changed_groups({SOURCE}, 'k') }}}} group by k",
        {"incremental_strategy": "merge"},
    ),
    "ranged": (
        f"{{% set r = ip_range({SOURCE}, 'k') %}}"
        f"select k, v from {{{{ ip_as_of({SOURCE}) }}}} where k between {{{{ r.min }}}} and {{{{ r.max }}}}",
        {"incremental_strategy": "merge"},
    ),
}
KEYS = {
    "cut": "6180",
    "letter": "61",
    "umlaut": "C3BC",
    "below U+FFFD": "80",
    "above U+FFFD": "F09F",
    "half": "C3",
    "smile": "F09F9880",
    "long": "7A" * 15 + "80" + "7A" * 9,
}


def text(name: str) -> str:
    return f"cast(X'{KEYS[name]}' as string)"


@pytest.fixture
def events(shop):
    table = shop.source("events", "k string, v int")
    shop.insert(table, *(f"({text(name)}, 0)" for name in KEYS))
    for name, (sql, config) in MODELS.items():
        shop.model(name, sql, unique_key="k", on_source_rewrite="upserts", **config)
    shop.run()
    return table


def assert_rebuilt(shop: Any, events: str) -> None:
    for name in MODELS:
        assert shop.rows(shop.built(name), "hex(k), v") == shop.rows(events, "hex(k), v"), name


@pytest.mark.thorough
def test_rows_of_keys_that_are_not_utf8_are_found(shop, events):
    """Each step rewrites a few keys, so that they are in separate files with separate bounds."""
    steps = [["below U+FFFD", "umlaut"], ["umlaut"], ["below U+FFFD", "smile"], ["above U+FFFD", "letter"]]
    for number, names in enumerate([*steps, ["half", "cut"], ["long", "smile"]], start=1):
        keys = ", ".join(text(name) for name in names)
        shop.sql(
            f"merge into {events} t using (select explode(array({keys})) as k) n on t.k = n.k "
            f"when matched then update set v = {number}"
        )
        shop.run()
        assert_rebuilt(shop, events)


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_versions_of_keys_that_are_not_utf8_are_told_apart(shop, mode):
    """JSON has the same text for both keys."""
    one, other = (f"cast(X'{each}' as string)" for each in ("80", "81"))
    config = {
        "incremental_strategy": "history",
        "unique_key": "k",
        "tblproperties": {f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")},
    }
    table = shop.source("customers", "k string, v int")
    log = shop.source("log", "k string, v int, s string")
    shop.model("of_table", "select * from {{ ip_changelog(source('raw', 'customers')) }}", **config)
    shop.model("of_log", "select * from {{ ip_changes(source('raw', 'log')) }}", **config, sequence_by="s")
    shop.insert(table, f"({one}, 0)", f"({other}, 0)")
    shop.insert(log, f"({one}, 0, {one})", f"({other}, 0, {one})")
    shop.run()
    shop.sql(f"update {table} set v = 1 where k = {one}")
    shop.insert(log, f"({one}, 1, {other})")
    shop.run()
    expected = {("80", 0, False): 1, ("80", 1, True): 1, ("81", 0, True): 1}
    for name in ("of_table", "of_log"):
        assert shop.rows(shop.built(name), "hex(k), v, dbt_valid_to is null") == expected, name
        assert shop.sql(f"select count(distinct dbt_scd_id) from {shop.built(name)}") == [(3,)], name


MAPS = "select id, s, map('x', t) as m from"
OF_BYTES = {
    "of_table": (f"{MAPS} {{{{ ip_changelog(source('raw', 'events'), 'id') }}}}", {"incremental_strategy": "history"}),
    "newest": (
        f"{MAPS} {{{{ ip_changes(source('raw', 'events')) }}}}",
        {"incremental_strategy": "merge", "sequence_by": "s", "on_source_rewrite": "upserts"},
    ),
}


def test_maps_of_text_that_is_not_utf8_are_told_apart(shop):
    """JSON has the same text for both values."""
    one, other = (f"cast(X'{each}' as string)" for each in ("80", "81"))
    events = shop.source("events", "id int, s int, t string")
    for name, (sql, config) in OF_BYTES.items():
        returned = sql.replace("as m from", "as m, _change_type, _commit_order from") if name == "of_table" else sql
        shop.model(name, returned, unique_key="id", **config)
    shop.insert(events, f"(1, 1, {one})", f"(2, 1, {one})")
    shop.run()
    shop.sql(f"update {events} set t = {other} where id = 1")
    found = shop.dbt("run")
    versions = shop.rows(shop.built("of_table"), "id, hex(m['x']), dbt_valid_to is null")
    assert versions == {(1, "80", False): 1, (1, "81", True): 1, (2, "80", True): 1}
    assert "new rows have the same unique_key (id) and the same sequence_by (s)" in found.message("newest")


def test_a_range_that_no_text_bounds_is_refused(shop, events):
    shop.insert(events, "(cast(X'FF00' as string), 1)")
    message = shop.fails()
    assert "ip_range() was called with k, which has bytes that are not UTF-8" in message
    assert "starts with the bytes ff 00" in message
    for name in ("merged", "mirror", "groups"):
        assert shop.rows(shop.built(name), "hex(k), v") == shop.rows(events, "hex(k), v"), name
