"""SQL that is correct in a first build, but would lose or duplicate rows from the second run on, is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .shop import Shop

DAYS = "select day, count(*) as n from {{ ip_changes(source('raw', 'events')) }} as e group by day"
NAMED = """
    select p.name, count(*) as n
    from {{ ip_changes(source('raw', 'events')) }} as e
    join {{ ref('names') }} as p on p.id = e.id
    group by p.name
"""
LATER = """
    {% if is_incremental() %}
    select day, count(*) as n from {{ ip_changes(source('raw', 'events')) }} group by day
    {% else %}
    select day, count(*) as n from {{ ip_changed_groups(source('raw', 'events'), 'day') }} group by day
    {% endif %}
"""
ADDED = """
    with new as ({{ days }})
    select day, sum(n) as n
    from (select * from new {% if is_incremental() %} union all select * from {{ this }} {% endif %})
    group by day
"""
GROUPS = DAYS.replace("ip_changes(source('raw', 'events'))", "ip_changed_groups(source('raw', 'events'), 'day')")
BY_DAY = {"incremental_strategy": "merge", "unique_key": "day"}
REFUSED = {
    "overwritten": (DAYS, {"incremental_strategy": "insert_overwrite", "partition_by": "day"}),
    "merged": (DAYS, BY_DAY),
    "named": (NAMED, {**BY_DAY, "unique_key": "name"}),
    "unsigned": ("select id, day from {{ ip_signed_changes(source('raw', 'events')) }}", {}),
}
BUILT = {
    "later": (LATER, BY_DAY),
    "added": (ADDED.replace("{{ days }}", DAYS), BY_DAY),
    "grouped": (GROUPS, BY_DAY),
    "appended": (DAYS, {}),
    "allowed": (DAYS, {**BY_DAY, "aggregates_of_changes": "allow"}),
    "signed": ("select * from {{ ip_signed_changes(source('raw', 'events')) }}", {}),
}


@pytest.mark.core
def test_aggregates_of_the_new_rows_alone_and_signs_that_are_ignored(shop: Shop):
    events = shop.source("events", "id int, day int")
    shop.insert(events, *(f"({n}, {n % 2})" for n in range(200)))
    shop.write("models/names.sql", "{{ config(materialized='ephemeral') }} select 1 as id, 'one' as name")
    for name, (sql, config) in {**REFUSED, **BUILT}.items():
        shop.model(name, sql, **config)
    found = shop.dbt("run")
    assert {name for name, node in found.nodes.items() if node.status == "error"} == REFUSED.keys()
    for name in ("overwritten", "merged", "named"):
        assert f"count(*) over ip_changes({shop.raw('events').replace('`', '')})" in found.message(name)
        assert "ip_changed_groups" in found.message(name) and "aggregates_of_changes='allow'" in found.message(name)
    assert "ignores the sign" in found.message("unsigned")

    for name in REFUSED:
        (shop.folder / f"models/{name}.sql").unlink()
    shop.insert(events, *(f"({n}, 0)" for n in range(200, 210)))
    before = shop.rows(shop.built("later"))
    assert "later aggregates captured changes" in shop.fails()
    assert shop.rows(shop.built("later")) == before
    rebuilt = shop.rows(f"(select day, count(*) from {events} group by day)")
    assert shop.rows(shop.built("added")) == shop.rows(shop.built("grouped")) == rebuilt
    assert shop.rows(shop.built("appended")) == {(0, 100): 1, (1, 100): 1, (0, 10): 1}
    assert shop.rows(shop.built("allowed")) == {(0, 10): 1, (1, 100): 1}


JOINED = """
    select f.carrier, f.flight_id, c.carrier_name
    from {rows} as f
    left join {{{{ ip_as_of(ref('carriers')) }}}} as c on f.carrier = c.carrier
"""
FOLLOWS = (
    "{{ ip_changed_groups(ref('flights_staged'), 'carrier', changes_of=[ref('flights_staged'), ref('carriers')]) }}"
)
RECIPE = Path(__file__).parents[3] / "docs" / "patterns.md"


def test_rows_that_were_joined_with_a_dimension_and_rows_that_follow_it(shop: Shop):
    """The recipe in docs/patterns.md, compared with a join of the new rows alone."""
    (recipe,) = (
        text for text in re.findall(r"```sql\n(.*?)```", RECIPE.read_text("utf-8"), re.DOTALL) if FOLLOWS in text
    )
    flights = shop.source("flights", "carrier string, flight_id int, arr_delay int")
    names = shop.source("names", "carrier string, carrier_name string")
    shop.model("flights_staged", "select * from {{ ip_changes(source('raw', 'flights')) }}")
    mirror = {"incremental_strategy": "apply_changes", "unique_key": "carrier"}
    shop.model("carriers", "select * from {{ ip_changelog(source('raw', 'names'), unique_key='carrier') }}", **mirror)
    shop.write("models/follows.sql", recipe)
    shop.model("joined", JOINED.format(rows="{{ ip_changes(ref('flights_staged')) }}"))
    shop.insert(names, "('UA', 'United')", "('AA', 'American')")
    shop.insert(flights, "('UA', 1, 5)", "('AA', 2, 0)", "('XX', 3, 0)")
    shop.run()
    shop.sql(f"update {names} set carrier_name = 'United Airlines' where carrier = 'UA'")
    shop.insert(names, "('XX', 'Extra')")
    shop.insert(flights, "('UA', 4, 1)")
    shop.run()
    now = {("UA", 1): "United Airlines", ("AA", 2): "American", ("XX", 3): "Extra", ("UA", 4): "United Airlines"}

    def found(name: str) -> dict[tuple[str, int], str]:
        return {
            (carrier, flight): is_now
            for carrier, flight, is_now in shop.rows(shop.built(name), "carrier, flight_id, carrier_name").elements()
        }

    assert found("follows") == now
    assert found("joined") == {**now, ("UA", 1): "United", ("XX", 3): None}
