"""Subqueries, stars and special text in places where a change of a source could be overlooked."""

from __future__ import annotations

from ..incremental.conftest import shop  # noqa: F401 (a fixture)

QUERIES = {
    "listed": "select k, x from {a} where x in (7, (select max(y) from {b} b where b.k = a.k))",
    "within": "select k, x from {a} a where exists (select 1 from {b} b right join {a} t on b.k = t.k "
    "where t.x = a.x and b.y > 1)",
    "named": "select k, max(x) over w as m from {a} a where x in (select max(y) over w from {b} b "
    "window w as (partition by b.s)) window w as (partition by a.k)",
    "hashed": "select a.k, xxhash64(*) as h from {b} b right join {a} a on a.k = b.k",
    "texts": "select a.k, to_json(struct(*)) as j, rank() over (partition by k order by x) as r, "
    "max(x) over (partition by s) as m from {a} a",
    "fields": "select a.k, to_json(struct(b.y, b.s)) as j from {b} b right join {a} a on a.k = b.k",
    "pairs": "select a.k, to_json((b.y, (b.s))) as j from {b} b right join {a} a on a.k = b.k",
    "ranked_pairs": "select k, to_json((x, s)) as j, rank() over (partition by k order by x) as r, "
    "max(x) over (partition by s) as m from {a} a",
    "grouped_pairs": "select to_json((b.y, b.s)) as j, count(*) as n from {b} b right join {a} a on a.k = b.k "
    "group by (b.y, b.s)",
    "hinted": "select /*+ broadcast(b), repartition(2) */ a.k, b.y from {a} a left join {b} b on a.k = b.k",
    "exploded": "select t.k, e from (select k, max(x) as m from {a} a group by k) t "
    "lateral view explode(array(m, 7)) u as e",
}
CHANGES = [
    "insert into {b} values (1, 2, 'p'), (3, 1, 'q')",
    "update {b} set y = 1 where k = 2",
    "update {a} set x = 1 where k = 1",
    "delete from {b} where k = 1",
]


def test_changes_in_any_place_are_found(shop):  # noqa: F811
    names = {"a": "{{ source('raw', 'a') }}", "b": "{{ source('raw', 'b') }}"}
    tables = {"a": shop.source("a", "k int, x int, s string"), "b": shop.source("b", "k int, y int, s string")}
    shop.insert(tables["a"], "(1, 2, 'p')", "(2, 3, 'p')", "(3, 1, 'q')", "(4, 1, null)")
    shop.insert(tables["b"], "(1, 1, 'p')", "(2, 3, 'q')")
    for name, sql in QUERIES.items():
        text = sql.format(**names)
        shop.model(name, text, incremental_strategy="auto", rebuild_above=1)
    assert shop.run().success
    for statement in CHANGES:
        shop.sql(statement.format(**tables))
        found = shop.run()
        assert found.success and "all rows are replaced" not in found.printed, found.printed
        for name, sql in QUERIES.items():
            rows = f"({sql.format(**tables)})"
            assert shop.rows(shop.built(name)) == shop.rows(rows), (name, statement)


def test_text_that_spark_casts_to_the_time_of_the_run_is_refused(shop):  # noqa: F811
    days = shop.source("days", "day date, name string")
    shop.insert(days, "(date '2026-01-01', 'today')")
    for name, condition in {"recent": "day >= 'yesterday'", "dated": "day < to_date('today')"}.items():
        shop.model(
            name, f"select day from {{{{ source('raw', 'days') }}}} where {condition}", incremental_strategy="auto"
        )
    shop.model("named", "select day from {{ source('raw', 'days') }} where name = 'today'", incremental_strategy="auto")
    shop.model(
        "hidden",
        "select day from {{ source('raw', 'days') }} where day < 'tomorrow'",
        incremental_strategy="auto",
        sql_header="set `spark.sql.redaction.string.regex` = [a-z]+",
    )
    found = shop.dbt("run")
    assert "'yesterday', which Spark interprets as the time of the run" in found.message("recent")
    assert "'today', which Spark interprets as the time of the run" in found.message("dated")
    assert "'tomorrow', which Spark interprets as the time of the run" in found.message("hidden")
    assert len(shop.rows(shop.built("named"))) == 1
