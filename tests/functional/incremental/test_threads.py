"""Many concurrent models on the embedded lakehouse, whose catalog is one SQLite file."""

from __future__ import annotations

import pytest

from .shop import Shop

MODELS, THREADS = 24, 8


@pytest.mark.thorough
def test_eight_threads_write_to_one_catalog_file(shop: Shop):
    """Each model commits to the file several times per run: tables, merges, views and new columns."""
    events = shop.source("events", "id int, v string")
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    changes = "select *{{ var('more', '') }} from {{ ip_changes(source('raw', 'events')) }}"
    for number in range(MODELS):
        name = f"m{number}"
        if number % 4 == 0:
            shop.model(name, changes, incremental_strategy="merge", unique_key="id")
        elif number % 4 == 1:
            shop.model(name, changes, on_schema_change="append_new_columns")
        else:
            kind = "table" if number % 4 == 2 else "view"
            shop.model(name, "select * from {{ source('raw', 'events') }}", materialized=kind)

    shop.run("--threads", str(THREADS))
    for run in range(3, 6):
        shop.insert(events, f"({run}, 'c')")
        shop.run("--threads", str(THREADS), "--vars", f"{{more: ', 0 as c{run}'}}")

    for number in range(MODELS):
        assert set(shop.rows(shop.built(f"m{number}"), "id")) == {(n,) for n in (1, 2, 3, 4, 5)}, number
