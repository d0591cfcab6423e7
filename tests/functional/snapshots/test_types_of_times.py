"""Snapshots whose ``updated_at`` has any type, with every treatment of deleted rows. The versions are dbt's own."""

from __future__ import annotations

from collections import Counter

import pytest

pytestmark = pytest.mark.thorough

TIMES = {
    "date": "date '2026-01-0{}'",
    "timestamp": "timestamp '2026-01-0{} 10:00:00'",
    "timestamp_ntz": "timestamp_ntz '2026-01-0{} 10:00:00'",
    "string": "'2026-01-0{}'",
    "bigint": "{}",
    "decimal(10, 2)": "{}.50",
}
DELETED = ("ignore", "invalidate", "new_record")
WHOLE = "_whole"
CHANGES = [
    ["update {table} set name = 'z', at = {at[3]} where id = 1", "delete from {table} where id = 2"],
    [
        "insert into {table} values (2, 'b', {at[1]}), (5, 'e', {at[1]})",
        "update {table} set name = 'y', at = {at[4]} where id = 3",
    ],
    ["update {table} set name = 'a', at = {at[1]} where id = 1", "delete from {table} where id in (2, 5)"],
]


@pytest.mark.parametrize("type_", TIMES)
def test_updated_at_of_any_type(shop, type_):
    at = [TIMES[type_].format(number) for number in range(5)]
    table = shop.source("orders", f"id int, name string, at {type_}")
    rows = [f"({number}, 'a', {at[1]})" for number in (1, 2, 3, 4)]
    shop.insert(table, *rows)
    for deleted in DELETED:
        for name, more in ((deleted, {}), (deleted + WHOLE, {"ip_incremental": False})):
            config = {"unique_key": "id", "strategy": "timestamp", "updated_at": "at", "hard_deletes": deleted, **more}
            listed = ", ".join(f"{key}={value!r}" for key, value in config.items())
            text = f"{{{{ config({listed}) }}}}\nselect * from {{{{ source('raw', 'orders') }}}}"
            shop.write(f"snapshots/{name}.sql", f"{{% snapshot {name} %}}\n{text}\n{{% endsnapshot %}}\n")
    numeric = type_ in ("bigint", "decimal(10, 2)")
    works = DELETED[:1] if numeric else DELETED
    for statements in ([], *CHANGES):
        for each in statements:
            shop.sql(each.format(table=table, at=at))
        found = shop.dbt("snapshot")
        for deleted in DELETED:
            results = [found.nodes[name] for name in (deleted, deleted + WHOLE)]
            if deleted not in works:  # plain dbt fails from the second run on, with Spark's error about UNION
                assert all("cannot record when a row was deleted" in each.message for each in results)
                continue
            assert [str(each.status) for each in results] == ["success", "success"], found.printed[-3000:]
            assert versions(shop, deleted) == versions(shop, deleted + WHOLE)
            is_text = type_ == "string" and deleted != "ignore"
            if statements:  # a first run compares nothing
                assert is_text == (f".{deleted}: compares whole tables" in found.printed)


def versions(shop, name):
    """The versions of a table. Times of a run are replaced, because each snapshot has its own."""
    names = ["dbt_valid_from", "dbt_updated_at", "dbt_valid_to"]
    times = ", ".join(
        f"if(string({each}) like '2026-01-%', string({each}), string({each} is null)) as {each}" for each in names
    )
    more = ", dbt_is_deleted" if name.startswith("new_record") else ""
    found = Counter(shop.sql(f"select id, name, at, {times}{more} from {shop.built(name)}"))
    assert found
    return found
