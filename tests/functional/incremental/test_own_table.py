"""Models that read their own table, while another writer changes it during a run.

Their rows are computed before they are staged, and not again if the staging is repeated.
"""

from __future__ import annotations

from collections import Counter

import pytest

from iceberg_incremental.publish.publisher import Publisher

from .shop import CATALOG

SUMS = """
with summands as (
    select v, true as is_new, _change_sign as n from {{ ip_signed_changes(source('raw', 'events')) }}
    {% if is_incremental() %} union all select v, false, n from {{ this }} {% endif %}
)
select v, sum(n) as n, if(sum(n) = 0, 'DELETE', 'UPDATE_AFTER') as _change_type
from summands group by v having any(is_new)
"""
IN_PYTHON = """
def model(dbt, session):
    dbt.config(materialized="iceberg_incremental_snapshot", incremental_strategy="merge", unique_key="v")
    new = dbt.ip_changes(dbt.source("raw", "events")).groupBy("v").count().toDF("v", "n")
    if dbt.is_incremental:
        new = new.union(session.table(str(dbt.this)).join(new, "v", "left_semi")).groupBy("v").sum("n").toDF("v", "n")
    return new
"""
COMPACTION = f"call {CATALOG}.system.rewrite_data_files(table => '{{}}', options => map('rewrite-all', 'true'))"


@pytest.fixture(params=["sql", "python"])
def sums(shop, request):
    """The table of a model that counts the events of each ``v``, with a pending event."""
    events = shop.source("events")
    shop.insert(events, "(1, 'a')", "(2, 'a')", "(3, 'b')")
    if request.param == "sql":
        shop.model("sums", SUMS, incremental_strategy="apply_changes", unique_key="v")
    else:
        shop.write("models/sums.py", IN_PYTHON)
    shop.run()
    shop.insert(events, "(4, 'a')")
    return shop.built("sums")


@pytest.fixture
def in_the_middle(shop, monkeypatch):
    """Runs a statement once, after the rows have been computed and before they are staged."""
    apply, waiting = Publisher.apply, []

    def interrupted(*args):
        if waiting:
            shop.sql(waiting.pop())
        return apply(*args)

    monkeypatch.setattr(Publisher, "apply", interrupted)
    return waiting.append


@pytest.mark.core("sql")
def test_what_another_writer_changed_is_not_undone(shop, sums, in_the_middle):
    in_the_middle(f"update {sums} set n = 100 where v = 'a'")
    said = shop.fails()
    assert "computes its rows from its own table, which another writer has changed during the run" in said
    assert shop.rows(sums) == Counter([("a", 100), ("b", 1)])
    shop.run()
    assert shop.rows(sums) == Counter([("a", 101), ("b", 1)])


def test_a_compaction_is_ignored(shop, sums, in_the_middle):
    in_the_middle(COMPACTION.format(sums))
    shop.run()
    assert shop.rows(sums) == Counter([("a", 3), ("b", 1)])
