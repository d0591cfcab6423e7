"""Rows that a macro returns although they did not change. Their groups keep all of their rows.

Such rows were added and removed between compactions, were moved or set to their own values, or are in unchanged files.
A model restricts its other reads with the package's own bounds of the changes, or with ``ip_range``. If a group were
returned but outside these bounds, it would be replaced with nothing.
"""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.spark.port import DbtSpark
from iceberg_incremental.expose import parts

from .shop import CATALOG

MERGE_ON_READ = ", ".join(f"'write.{each}.mode'='merge-on-read'" for each in ("delete", "update", "merge"))
NO_BOUNDS = "'write.metadata.metrics.column.k'='none'"
LAYOUTS = {
    "parts": f"partitioned by (p) tblproperties ('format-version'='3', {MERGE_ON_READ})",
    "parts_without_bounds": f"partitioned by (p) tblproperties ('format-version'='3', {MERGE_ON_READ}, {NO_BOUNDS})",
    "copied": f"tblproperties ('format-version'='2', {NO_BOUNDS})",
    "in_place": f"tblproperties ('format-version'='3', {MERGE_ON_READ}, {NO_BOUNDS})",
}
COMPACTION = (
    f"call {CATALOG}.system.rewrite_data_files(table => '{{t}}', where => 'p > 0',"
    " options => map('rewrite-all', 'true', 'remove-dangling-deletes', 'true'))"
)
FIRST = {
    "parts": [
        "insert into {t} values (1, 0, 'm', 1), (2, 0, 'm', 2)",
        # large enough that compactions do not read it
        "insert into {t} select /*+ coalesce(1) */ int(id), 3, 'a', 1 from range(100, 50000)",
        "insert into {t} select /*+ coalesce(1) */ int(id), 3, 'a', 1 from range(50000, 100000)",
    ],
    "copied": [
        "insert into {t} select /*+ coalesce(1) */ * from values (1, 1, 'a', 1), (2, 1, 'm', 1), (3, 1, 'z', 1)"
    ],
}
THEN = {
    "parts": [
        "insert into {t} values (200001, 1, 'm', 1), (200002, 1, 'a', 1), (200003, 2, 'b', 1)",
        COMPACTION,
        "delete from {t} where id = 200001",
        COMPACTION,
    ],
    "copied": ["update {t} set k = 'b' where id = 1"],
    "in_place": ["update {t} set k = 'b' where id = 1", "update {t} set v = v where id = 2"],
}
for each in (FIRST, THEN):
    each["parts_without_bounds"] = each["parts"]
FIRST["in_place"] = FIRST["copied"]

GROUPS = "select k, count(*) as n from {{ ip_changed_groups(source('raw', 'SOURCE'), 'k') }} BOUNDS group by k"
BOUNDED = "{% set keys = ip_range(source('raw', 'SOURCE'), 'k') %}" + GROUPS.replace(
    "BOUNDS", "{% if is_incremental() %} where k between {{ keys.min }} and {{ keys.max }} {% endif %}"
)
SUMS = """
{% set keys = ip_range(source('raw', 'SOURCE'), 'k') %}
select k, sum(n) as n, if(sum(n) = 0, 'DELETE', 'UPDATE_AFTER') as _change_type
from (
    select k, true as is_new, _change_sign as n from {{ ip_signed_changes(source('raw', 'SOURCE')) }}
    {% if is_incremental() %}
    union all
    select k, false as is_new, n from {{ this }} where k between {{ keys.min }} and {{ keys.max }}
    {% endif %}
)
group by k
having any(is_new)
"""


def define(shop, source):
    merge = {"incremental_strategy": "merge", "unique_key": "k"}
    copies = {"tblproperties": {"write.delete.mode": "copy-on-write"}}
    groups, bounded, sums = (sql.replace("SOURCE", source).replace("BOUNDS", "") for sql in (GROUPS, BOUNDED, SUMS))
    shop.model(f"{source}_groups", groups, **merge)
    shop.model(f"{source}_groups_copied", groups, **merge, **copies)
    shop.model(f"{source}_groups_bounded", bounded, **merge)
    shop.model(f"{source}_sums", sums, incremental_strategy="apply_changes", unique_key="k")


def wrong(shop, source):
    """The models of a source that differ from a rebuild, each with its extra and its missing rows."""
    expected = shop.rows(f"(select k, count(*) as n from {shop.raw(source)} group by k)")
    found = {
        kind: shop.rows(shop.built(f"{source}_{kind}"))
        for kind in ("groups", "groups_copied", "groups_bounded", "sums")
    }
    return {(source, kind): (rows - expected, expected - rows) for kind, rows in found.items() if rows != expected}


@pytest.mark.parametrize(
    "reading",
    ["exact files", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("file names", "scans of the table"))],
)
def test_a_group_of_rows_that_did_not_change_stays(shop, monkeypatch, reading):
    if reading != "exact files":
        monkeypatch.setattr(DbtSpark, "scans", None)
    if reading == "scans of the table":
        monkeypatch.setattr(parts, "_LONGEST_FILE_LIST", 0)
    for source, clauses in LAYOUTS.items():
        table = shop.source(source, "id int, p int, k string, v int", clauses)
        for statement in FIRST[source]:
            shop.sql(statement.format(t=table))
        define(shop, source)
    shop.run()
    for source, statements in THEN.items():
        for statement in statements:
            shop.sql(statement.format(t=shop.raw(source)))
    shop.run()
    assert {each: rows for source in LAYOUTS for each, rows in wrong(shop, source).items()} == {}
