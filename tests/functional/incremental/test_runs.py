"""The main task: each run processes the commits since the last run, and commits its position with the rows."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from .shop import CATALOG

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"


@pytest.mark.core
def test_a_pipeline_of_two_stages(shop):
    events = shop.source("events")
    shop.model("staged", "select id, upper(v) as v from {{ ip_changes(source('raw', 'events')) }}")
    shop.model(
        "latest",
        "select id, max(v) as v, count(*) as n from {{ ip_changes(ref('staged')) }} as s group by id",
        incremental_strategy="merge",
        unique_key="id",
        aggregates_of_changes="allow",
    )
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    first = shop.run()
    assert first.action("staged") == first.action("latest") == "rebuild"
    assert first.ip("staged")["sources"][f"{CATALOG}.{shop.source_schema}.events"]["kind"] == "full"

    shop.insert(events, "(3, 'c')")
    shop.insert(events, "(1, 'd')")
    second = shop.run()
    source = second.ip("staged")["sources"][f"{CATALOG}.{shop.source_schema}.events"]
    assert (source["kind"], source["snapshots"], source["records"]) == ("append", 2, 2)
    assert shop.rows(shop.built("staged")) == Counter([(1, "A"), (2, "B"), (3, "C"), (1, "D")])
    assert shop.rows(shop.built("latest")) == Counter([(1, "D", 1), (2, "B", 1), (3, "C", 1)])

    heads = [shop.head(shop.built(name)) for name in ("staged", "latest")]
    third = shop.run()
    assert third.message("staged") == third.message("latest") == "NOTHING NEW"
    assert [shop.head(shop.built(name)) for name in ("staged", "latest")] == heads


@pytest.mark.core
def test_the_checkpoint_is_in_the_commit_of_the_rows(shop):
    events = shop.source("events")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    found = shop.run()
    snapshot_id, operation, summary = shop.snapshots(shop.built("staged"))[-1]
    assert (operation, summary["added-records"]) == ("append", "1")
    carried = json.loads(summary["ip.checkpoint"])
    (position,) = carried["sources"].values()
    assert position["snapshot_id"] == shop.head(events)
    assert (carried["model"], carried["epoch"]) == ("model.shop.staged", 2)
    assert found.ip("staged")["committed_snapshot_id"] == snapshot_id
    mirrored = json.loads(shop.properties(shop.built("staged"))["ip.checkpoint"])
    assert mirrored == {**carried, "target_snapshot_id": snapshot_id}
    assert shop.branches(shop.built("staged")) == {"main"}


@pytest.mark.core
def test_exactly_the_committed_files_are_read(shop):
    events = shop.source("events")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}")
    for n in range(3):
        shop.insert(events, f"({n}, 'x')")
    shop.run()
    shop.insert(events, "(7, 'x')")
    shop.insert(events, "(8, 'x')")
    found = shop.run()
    (source,) = found.ip("staged")["sources"].values()
    scan = shop.compiled("staged").split("from ", 1)[1]
    assert "`branch_main` WITH" in scan
    files = {row[0] for row in shop.sql(f"select distinct _file from {scan}")}
    added = {
        row[0]
        for row in shop.sql(
            f"select data_file.file_path from {events}.entries e join {events}.snapshots s using (snapshot_id) "
            f"where s.snapshot_id in (select snapshot_id from {events}.snapshots order by committed_at desc limit 2)"
        )
    }
    assert files == added
    assert source["files"] == len(files) == 2


@pytest.mark.core
def test_late_rows_are_seen_whatever_their_time(shop):
    events = shop.source("events", "id int, at timestamp", "partitioned by (days(at))")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}", partition_by="days(at)")
    shop.insert(events, "(1, timestamp'2026-01-02 10:00:00')")
    shop.run()
    shop.insert(events, "(2, timestamp'2025-12-20 10:00:00')")
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,)])


@pytest.mark.core
def test_full_refresh_replaces_atomically_and_keeps_the_history(shop):
    events = shop.source("events")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    shop.run()
    before = shop.head(shop.built("staged"))
    shop.insert(events, "(2, 'b')")
    assert shop.run("--full-refresh").action("staged") == "rebuild"
    assert shop.rows(shop.built("staged")) == Counter([(1, "a"), (2, "b")])
    assert shop.rows(f"{shop.built('staged')} version as of {before}") == Counter([(1, "a")])
    assert shop.checkpoint(shop.built("staged"))["epoch"] == 2
    assert shop.run().message("staged") == "NOTHING NEW"


@pytest.mark.core
def test_commits_without_rows_move_the_checkpoint_only(shop):
    events = shop.source("events")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    shop.insert(events, "(2, 'b')")
    shop.run()
    head = shop.head(shop.built("staged"))
    shop.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{events}', options => map('rewrite-all', 'true'))")
    found = shop.run()
    assert found.action("staged") == "advance"
    assert shop.head(shop.built("staged")) == head
    mirrored = json.loads(shop.properties(shop.built("staged"))["ip.checkpoint"])
    assert mirrored["epoch"] == 2
    assert shop.run().message("staged") == "NOTHING NEW"
    shop.insert(events, "(3, 'c')")
    assert shop.run().ip("staged")["epoch"] == 3
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,)])


def test_an_insert_overwrite_of_an_empty_partition_belongs_to_the_changes(shop):
    events = shop.source("events", "id int, v string", "partitioned by (v)")
    shop.model("staged", "select * from {{ ip_changes(source('raw', 'events')) }} as e")
    shop.insert(events, "(1, 'a')")
    shop.run()
    with shop.dynamic_overwrites():
        shop.sql(f"insert overwrite {events} values (2, 'b')")
    shop.insert(events, "(3, 'c')")
    shop.run()
    assert shop.rows(shop.built("staged")) == Counter([(1, "a"), (2, "b"), (3, "c")])


@pytest.mark.core
def test_several_sources_and_one_of_them_twice(shop):
    left, right = shop.source("lefts"), shop.source("rights", "id int, w string")
    shop.model(
        "joined",
        """
        select l.id, l.v, r.w, o.n
        from {{ ip_changes(source('raw', 'lefts')) }} as l
        left join {{ ip_as_of(source('raw', 'rights')) }} as r on l.id = r.id
        cross join (select count(*) as n from {{ ip_as_of(source('raw', 'lefts')) }}) as o
        """,
    )
    shop.insert(left, "(1, 'a')")
    shop.insert(right, "(1, 'x')", "(2, 'y')")
    shop.run()
    shop.insert(left, "(2, 'b')", "(3, 'c')")
    shop.run()
    assert shop.rows(shop.built("joined")) == Counter([(1, "a", "x", 1), (2, "b", "y", 3), (3, "c", None, 3)])
    shop.insert(right, "(9, 'z')")
    assert shop.run().action("joined") == "apply"
    assert len(shop.sql(f"select * from {shop.built('joined')}")) == 3


@pytest.mark.parametrize("plain_first", [True, False])
def test_a_source_that_is_also_read_plainly_or_through_a_view(shop, plain_first):
    """Spark resolves a name once per statement. A range under the table's own name would read the rows of others."""
    events = shop.source("events")
    shop.sql(f"create view {shop.raw('seen')} as select id from {events}")
    shop.declare("seen")
    reads = [
        "select 'new' as how, id from {{ ip_changes(source('raw', 'events')) }} as n",
        "select 'plain' as how, id from {{ source('raw', 'events') }} as p",
        "select 'view' as how, id from {{ source('raw', 'seen') }} as v",
        "select 'pinned' as how, id from {{ ip_as_of(source('raw', 'events')) }} as q",
    ]
    ordered = reads[1:] + reads[:1] if plain_first else reads
    shop.model("both", "select how, count(*) as n from (" + " union all ".join(ordered) + ") group by how")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')", "(3, 'c')")
    shop.run()
    first = [("new", 1), ("plain", 1), ("view", 1), ("pinned", 1)]
    assert shop.rows(shop.built("both")) == Counter([*first, ("new", 2), ("plain", 3), ("view", 3), ("pinned", 3)])


def test_additions_apart_from_each_other(shop):
    events = shop.source("events", "id int, v string", "partitioned by (v)")
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.run()
    with shop.dynamic_overwrites():
        for n in range(2, 8, 2):
            shop.sql(f"insert overwrite {events} values ({n}, 'v{n}')")
            shop.insert(events, f"({n + 1}, 'a')")
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(n,) for n in range(1, 8)])


def test_a_relation_read_as_of_may_be_rebuilt_every_day(shop):
    events, names = shop.source("events"), shop.source("names", "id int, name string")
    shop.model(
        "named",
        "select e.id, n.name from {{ ip_changes(source('raw', 'events')) }} e "
        "join {{ ip_as_of(source('raw', 'names')) }} n using (id)",
    )
    shop.insert(events, "(1, 'a')")
    shop.insert(names, "(1, 'one')")
    shop.run()
    shop.sql(f"create or replace table {names} using iceberg as select 2 as id, 'two' as name")
    shop.insert(events, "(2, 'b')")
    assert shop.run().action("named") == "apply"
    assert shop.rows(shop.built("named")) == Counter([(1, "one"), (2, "two")])


def test_values_of_a_relation_read_as_of_disappear_with_its_rows(shop):
    ids, names = shop.source("ids"), shop.source("names", "id int, name string")
    shop.model(
        "named",
        "select i.id, n.name from {{ ip_as_of(source('raw', 'ids')) }} i "
        "left join {{ ip_as_of(source('raw', 'names')) }} n using (id)",
        incremental_strategy="merge",
        unique_key="id",
    )
    shop.insert(ids, "(1, 'a')")
    shop.insert(names, "(1, 'one')")
    shop.run()
    shop.sql(f"drop table {names}")
    shop.source("names", "id int, name string")
    assert shop.run().action("named") == "apply"
    assert shop.rows(shop.built("named")) == Counter([(1, None)])
    assert shop.run().message("named") == "NOTHING NEW"


CHANGES_LATER = """
{% if is_incremental() %} select id, v from {{ ip_changes(source('raw', 'events')) }}
{% else %} select id, v from {{ ip_as_of(source('raw', 'events')) }} where id < 100 {% endif %}
"""


@pytest.mark.core
def test_a_first_build_as_of_follows_a_source_that_is_rebuilt(shop):
    """dbt users read changes under is_incremental(), so the first build captures the source only through ip_as_of."""
    events = shop.source("events")
    shop.model("staged", CHANGES_LATER)
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.sql(f"create or replace table {events} using iceberg as select 2 as id, 'b' as v")
    assert shop.run().action("staged") == "rebuild"
    assert shop.rows(shop.built("staged")) == Counter([(2, "b")])
    shop.insert(events, "(3, 'c')")
    assert shop.run().action("staged") == "apply"
    assert shop.rows(shop.built("staged")) == Counter([(2, "b"), (3, "c")])


def test_a_first_build_as_of_continues_by_changes_within_the_limits(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES_LATER, max_snapshots_per_run=1)
    shop.insert(events, "(1, 'a')")
    shop.run()
    for n in (2, 3):
        shop.insert(events, f"({n}, 'b')")
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,)])
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,)])


def test_a_checkpoint_that_says_as_of_of_a_source_read_by_changes(shop):
    """An older version wrote such checkpoints. The model follows the source's rebuild, and reads the next range."""
    events = shop.source("events")
    shop.model("staged", "select id, v from {{ ip_as_of(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    shop.run()
    (position,) = shop.checkpoint(shop.built("staged"))["sources"].values()
    assert position["as_of"]
    shop.model("staged", CHANGES_LATER)
    shop.insert(events, "(2, 'b')")
    assert shop.run().action("staged") == "apply"
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,)])
    (position,) = shop.checkpoint(shop.built("staged"))["sources"].values()
    assert "as_of" not in position


def test_changes_that_a_macro_of_the_project_hides(shop):
    events = shop.source("events")
    shop.write(
        "macros/either.sql",
        "{% macro either(r) %}{{ return(ip_changes(r) if is_incremental() else ip_as_of(r)) }}{% endmacro %}",
    )
    shop.model("staged", "select id, v from {{ either(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.sql(f"create or replace table {events} using iceberg as select 2 as id, 'b' as v")
    assert shop.run().action("staged") == "rebuild"
    assert shop.rows(shop.built("staged")) == Counter([(2, "b")])


@pytest.mark.core
def test_one_cut_for_all_models_of_an_invocation(shop):
    """The second model's hook commits to the source after the first capture. Neither model may read that commit."""
    events = shop.source("events")
    for name in ("one", "two"):
        shop.model(name, "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.model(
        "late",
        "-- depends_on: {{ ref('one') }}\nselect * from {{ ip_changes(source('raw', 'events')) }}",
    )
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.model(
        "one",
        "select * from {{ ip_changes(source('raw', 'events')) }}",
        post_hook=f"insert into {events} values (3, 'c')",
    )
    found = shop.run()
    ends = {next(iter(found.ip(name)["sources"].values()))["to_snapshot_id"] for name in ("one", "two", "late")}
    assert len(ends) == 1
    assert shop.rows(shop.built("late"), "id") == Counter([(1,), (2,)])
    shop.model("one", "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.run()
    for name in ("one", "two", "late"):
        assert shop.rows(shop.built(name), "id") == Counter([(1,), (2,), (3,)])


def test_a_source_without_a_snapshot(shop):
    events = shop.source("events")
    shop.model("staged", "select e.id, e.v from {{ ip_changes(source('raw', 'events')) }} as e")
    shop.run()
    assert shop.rows(shop.built("staged")) == Counter()
    shop.insert(events, "(1, 'a')")
    assert shop.run().action("staged") == "apply"
    assert shop.rows(shop.built("staged")) == Counter([(1, "a")])


@pytest.mark.parametrize("name", ["Upper Case", "it's", "back`tick", "täble ✈"])
def test_odd_names(shop, name):
    spark_name = f"{CATALOG}.`{shop.source_schema}`.`{name.replace('`', '``')}`"
    shop.sql(f"create table {spark_name} (`a b` int, `qu``ote` string) using iceberg")
    shop.declare("odd", identifier=name)
    shop.model(
        "staged",
        "select * from {{ ip_changes(source('raw', 'odd')) }}",
        alias=name,
        incremental_strategy="merge",
        unique_key="a b",
    )
    shop.insert(spark_name, "(1, 'a')")
    shop.run()
    shop.insert(spark_name, "(2, 'b')")
    shop.run()
    target = f"{CATALOG}.`{shop.schema}`.`{name.replace('`', '``')}`"
    assert shop.rows(target) == Counter([(1, "a"), (2, "b")])
    assert shop.run().message("staged") == "NOTHING NEW"


@pytest.mark.thorough
@pytest.mark.parametrize("column", ["_change_type", "_Commit_Snapshot_Id", "_change_ordinal"])
def test_an_insert_overwrite_of_an_empty_partition_beside_a_column_of_the_changelog_s(shop, column):
    """An append log of an ip_changelog has such columns, so Iceberg's changelog scan cannot read it."""
    events = shop.source("events", f"id int, {column} string", "partitioned by (id)")
    shop.model("copied", CHANGES)
    shop.model("merged", CHANGES, on_source_rewrite="upserts", incremental_strategy="merge", unique_key="id")
    shop.insert(events, "(1, 'a')")
    shop.run()
    with shop.dynamic_overwrites():
        shop.sql(f"insert overwrite {events} values (2, 'b'), (2, 'b')")
        shop.sql(f"insert overwrite {events} values (3, 'c')")
    shop.insert(events, "(4, 'd')")
    shop.run("--select", "copied")
    assert shop.rows(shop.built("copied")) == Counter({(1, "a"): 1, (2, "b"): 2, (3, "c"): 1, (4, "d"): 1})
    shop.sql(f"delete from {events} where id = 2")
    shop.sql(f"update {events} set {column} = 'z' where id = 3")
    shop.run("--select", "merged")
    assert shop.rows(shop.built("merged")) == Counter([(1, "a"), (3, "z"), (4, "d")])


@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["fail", "ignore"])
def test_an_insert_overwrite_of_an_empty_partition_next_to_delete_files(shop, policy):
    """Iceberg's changelog scan refuses a table with delete files, even if the range has none."""
    modes = "'format-version'='3', 'write.delete.mode'='merge-on-read'"
    events = shop.source("events", "id int, d int", f"partitioned by (d) tblproperties ({modes})")
    shop.model("copied", "select * from {{ ip_changes(source('raw', 'events')) }}", on_source_rewrite=policy)
    shop.model("logged", "select * from {{ ip_changelog(source('raw', 'events')) }}")
    shop.insert(events, "(1, 1)", "(2, 1)")
    shop.sql(f"delete from {events} where id = 2")
    shop.run()
    shop.insert(events, "(3, 1)")
    with shop.dynamic_overwrites():
        shop.sql(f"insert overwrite {events} values (4, 2), (4, 2)")
    shop.run()
    assert shop.rows(shop.built("copied")) == Counter({(1, 1): 1, (3, 1): 1, (4, 2): 2})
    assert shop.rows(shop.built("logged"), "id, d") == shop.rows(shop.built("copied"))
