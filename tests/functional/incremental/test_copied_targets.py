"""Targets whose DELETE rewrites files (copy-on-write), which is Iceberg's default for tables of other writers."""

from __future__ import annotations

from collections import Counter

import pytest

PARTITIONED = {"merge_fixed_columns": ["day"], "partition_by": "day"}


def copied(version):
    return {"format-version": version, **{f"write.{kind}.mode": "copy-on-write" for kind in ("delete", "update")}}


@pytest.mark.thorough
@pytest.mark.parametrize("version", [pytest.param("2", marks=pytest.mark.thorough), "3"])
def test_rows_within_a_file_are_replaced(shop, version):
    """Iceberg 1.12 fails to delete with bounds of the keys that match only some rows of a file."""
    events = shop.source("events", "id int, day int, v string")
    changes = "select * from {{ ip_changes(source('raw', 'events')) }}"
    changelog = "select * from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
    groups = (
        "select id, count(*) as n, max(v) as v from {{ ip_changed_groups(source('raw', 'events'), 'id') }} group by id"
    )
    shared = {"unique_key": "id", "tblproperties": copied(version)}
    merged, applied = ({**shared, "incremental_strategy": name} for name in ("merge", "apply_changes"))
    shop.model("merged", changes, **merged, on_source_rewrite="upserts")
    shop.model("merged_by_day", changes, **merged, **PARTITIONED, on_source_rewrite="upserts")
    shop.model("applied", changelog, **applied)
    shop.model("applied_by_day", changelog, **applied, **PARTITIONED)
    shop.model("grouped", groups, **merged)
    shop.insert(events, *(f"({id}, {id % 2}, 'old')" for id in range(100)))
    shop.run()
    shop.sql(f"alter table {shop.built('applied_by_day')} add partition field bucket(4, id)")
    shop.sql(f"update {events} set v = 'new' where id in (44, 46)")
    shop.insert(events, "(200, 1, 'new')")
    shop.run()
    shop.sql(f"update {events} set v = 'newer' where id in (46, 48)")
    shop.run()
    for name in ("merged", "merged_by_day", "applied", "applied_by_day"):
        assert shop.rows(shop.built(name)) == shop.rows(events)
    assert shop.rows(shop.built("grouped")) == Counter({(id, 1, v): 1 for id, _, v in shop.rows(events)})
