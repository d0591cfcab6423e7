"""Other kinds of models, seeds and clones replace the versions of a history only on request."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.functional.incremental.test_clones import Dev
from tests.functional.incremental.test_history import DROP, HISTORY, SOURCE

ROWS = "select 9 as id, 'z' as v"
VERSIONS = Counter([(1, "a"), (1, "b"), (2, "a")])


@pytest.fixture
def kept(shop):
    """A history of three versions; returns its table."""
    table = shop.source("customers")
    shop.model("kept", SOURCE, **HISTORY)
    shop.insert(table, "(1, 'a')", "(2, 'a')")
    shop.run()
    shop.sql(f"update {table} set v = 'b' where id = 1")
    shop.run()
    return shop.built("kept")


@pytest.mark.core("table")
@pytest.mark.parametrize("materialized", ["table", "view", "incremental"])
def test_another_materialization(shop, kept, materialized):
    shop.model("kept", ROWS, materialized=materialized)
    for options in [(), ("--full-refresh",)]:
        said = shop.fails(*options)
        assert "is a history table, and" in said
        assert f"Found: materialized: {materialized}" in said
    if materialized == "incremental":  # it would add its rows to the versions
        assert "is a history table, and" in shop.fails(*DROP)
    assert shop.rows(kept, "id, v") == VERSIONS
    found = shop.run("--full-refresh", *DROP)
    assert "3 versions of" in found.printed
    assert shop.rows(kept) == Counter([(9, "z")])
    shop.run()  # the table is no longer a history


def test_another_strategy(shop, kept):
    shop.model("kept", "select * from {{ ip_changes(source('raw', 'customers')) }}", on_source_rewrite="ignore")
    assert "Found: incremental_strategy: append" in shop.fails("--full-refresh")
    assert shop.rows(kept, "id, v") == VERSIONS
    assert "3 versions of" in shop.run("--full-refresh", *DROP).printed
    assert shop.rows(kept) == Counter([(1, "b"), (2, "a")])


def test_a_seed(shop, kept):
    (shop.folder / "models" / "kept.sql").unlink()
    shop.write("seeds/kept.csv", "id,v\n9,z\n")
    found = shop.dbt("seed")
    assert "is a history table, and" in found.message("kept")
    assert "`dbt seed --full-refresh --select kept --vars" in found.message("kept")
    assert shop.rows(kept, "id, v") == VERSIONS
    found = shop.dbt("seed", *DROP)
    assert found.success
    assert "3 versions of" in found.printed
    assert shop.rows(kept) == Counter([(9, "z")])


def test_an_expired_checkpoint_is_found_in_older_metadata(shop, kept):
    """Another writer has deleted rows from the history since."""
    shop.sql(f"delete from {kept} where id = 2")
    shop.sql(f"call {shop.catalog}.system.expire_snapshots('{shop.schema}.kept', timestamp '2999-01-01', 1)")
    shop.model("kept", ROWS, materialized="table")
    assert "is a history table, and" in shop.fails()


def test_a_clone_replaces_a_clone_but_no_history(shop, kept, tmp_path):
    dev = Dev(shop, tmp_path / "state")
    dev.clone()
    dev.clone("--full-refresh")
    assert shop.rows(dev.table("kept"), "id, v") == VERSIONS
    shop.sql(f"drop table {dev.table('kept')}")
    assert dev.dbt("run").success  # creates this environment's own history
    dev.clone()
    found = dev.dbt("clone", "--full-refresh", "--state", dev.state)
    assert "is a history table, and" in found.message("kept")
    assert "`dbt clone --full-refresh --select kept --vars" in found.message("kept")
    assert "2 versions of" in dev.clone("--full-refresh", *DROP).printed
    assert shop.rows(dev.table("kept"), "id, v") == VERSIONS
