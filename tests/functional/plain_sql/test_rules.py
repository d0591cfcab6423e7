"""The strategy ``auto`` with other configs: refusals, policies, views, changes of columns and settings."""

from __future__ import annotations

import pytest
import yaml
from sqlglot import exp

from iceberg_incremental.query.text.dialect import PlainSpark

from .test_auto import auto  # noqa: F401 (a fixture)

pytestmark = pytest.mark.core

AUTO = {"incremental_strategy": "auto"}
LINES = "select o.id, o.amount, c.region from {orders} o left join {customers} c on o.customer_id = c.id"
ORDER = "insert into {{orders}} values ({}, 1, 10.00, null, null)"


def of_models(sent):
    """The statements other than those with which dbt lists schemas and relations."""
    return [sql for sql in sent if not sql.lstrip().lower().startswith("show ")]


def logged(found, text):
    return [line for line in found.printed.splitlines() if text in line]


def test_without_new_commits_no_statement_is_sent(auto, asked_of_spark):  # noqa: F811
    auto.model("lines", LINES)
    auto.shop.run()
    asked_of_spark.clear()
    found = auto.shop.run()
    assert found.action("lines") == "nothing" and of_models(asked_of_spark) == []


REFUSED = {
    "volatile": ("select id, current_user() as person from {orders}", "current_user()"),
    "unnamed": ("select id, current_date from {orders}", "a column that reads the clock and has no alias"),
    "without_cast": ("select id, nullif(ordered_at, 'today') as x from {orders}", "'today', which Spark may"),
    "day": ("select id, extract(day from 'tomorrow') as x from {orders}", "'tomorrow', which Spark may"),
    "folded": ("select id from {orders} where ordered_at < lower('TODAY')", "LOWER('TODAY'), which Spark may"),
    "chance": ("select id, rand() as r from {orders}", "rand()"),
    "function": ("select id, my_udf(id) as x from {orders}", "my_udf()"),
    "sampled": ("select * from {orders} tablesample (10 percent)", "TABLESAMPLE"),
    "hard_coded": ("select * from lakehouse.elsewhere.orders", "ref() or source()"),
}


def test_what_is_not_kept_up_is_named(auto):  # noqa: F811
    for name, (sql, _) in REFUSED.items():
        defined_later = name in ("function", "hard_coded")  # a hook may define names that Spark does not know
        auto.model(name, sql, **({"pre_hook": "select 1"} if defined_later else {}))
    found = auto.shop.dbt("run")
    assert not found.success
    for name, (_, construct) in REFUSED.items():
        message = found.message(name)
        assert construct in message and "on_not_incremental" in message, message


def test_texts_that_are_or_look_like_the_time_of_the_run(auto):  # noqa: F811
    rows = "select * from {{ source('raw', 'orders') }} where ordered_at < 'to' || 'day'"
    auto.shop.write("models/v_past.sql", f"{{{{ config(materialized='view') }}}}\n{rows}")
    auto.shop.model("past", "select id from {{ ref('v_past') }}", **AUTO)
    sql = "select id, name, 'now' as kind from {customers} where region in ('today', 'now') or name <> 'yesterday'"
    auto.model("named", sql)
    found = auto.shop.dbt("run")
    assert "the text 'to' || 'day', which Spark may interpret" in found.message("past")
    assert found.nodes["named"].status == "success" and auto.differs("named", sql) == [[], []]
    verified = auto.shop.verified(model="named")
    assert verified["named"]["result"] == "equal", verified


def test_sql_whose_parsed_form_spark_rejects_is_rebuilt(auto):  # noqa: F811
    span = "range between interval 1 hour 30 minutes preceding and current row"
    sql = f"select id, count(*) over (partition by customer_id order by ordered_at {span}) as n from {{orders}}"
    auto.model("recent", sql)
    assert logged(auto.shop.run(), "recent: each change of a source replaces all rows, because Spark and sqlglot")
    auto.change(ORDER.format(6))
    assert auto.shop.run().action("recent") == "apply"
    assert auto.differs("recent", sql) == [[], []]
    assert auto.shop.run().action("recent") == "nothing"


def test_sql_that_is_not_kept_up_can_be_rebuilt_when_a_source_has_changed(auto, asked_of_spark):  # noqa: F811
    sql = "select id, amount, {} as user from {{orders}}"
    auto.model("by_user", sql.format("current_user()"), on_not_incremental="full_refresh")
    first = auto.shop.run()
    assert logged(first, "current_user()")
    asked_of_spark.clear()
    assert auto.shop.run().action("by_user") == "nothing" and of_models(asked_of_spark) == []
    auto.change("delete from {orders} where id = 1")
    auto.shop.run()
    assert auto.differs("by_user", sql.format("current_user()")) == [[], []]


def test_a_query_with_qualify_that_is_read_differently(auto, monkeypatch):  # noqa: F811
    """Spark receives the text of the model, not that of the parser."""
    monkeypatch.setitem(PlainSpark.Generator.TYPE_MAPPING, exp.DType.DATE, "TIMESTAMP")
    sql = "select id, date '2026-01-01' as d from {orders} qualify rank() over (partition by id order by amount) = 1"
    auto.model("dated", sql)
    assert logged(auto.shop.run(), "dated: each change of a source replaces all rows, because Spark and sqlglot")
    assert ("d", "date", None) in auto.shop.sql(f"describe {auto.shop.built('dated')}")


def test_an_empty_build_with_qualify(auto):  # noqa: F811
    sql = "select * from {orders} qualify row_number() over (partition by customer_id order by id) = 1"
    auto.model("first_orders", sql)
    assert auto.shop.run("--empty").action("first_orders") == "partial_build"
    auto.shop.run()
    assert auto.differs("first_orders", sql) == [[], []]


def test_a_limit_applies_to_the_rows_that_qualify_keeps(auto):  # noqa: F811
    sql = "select id from {orders} qualify row_number() over (partition by customer_id order by id) = 1"
    auto.model("first_three", f"{sql} order by id limit 3")
    auto.shop.run()
    assert auto.shop.sql(f"select id from {auto.shop.built('first_three')} order by id") == [(1,), (3,), (4,)]


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("select id, amount from {} order by id limit 3", id="replaced as a whole"),
        pytest.param("select id, current_user() as person from {}", id="refused"),
    ],
)
def test_sql_that_is_not_kept_up_is_rebuilt_when_a_view_has_changed(auto, sql):  # noqa: F811
    view = "{{{{ config(materialized='view') }}}}\nselect * from {{{{ source('raw', 'orders') }}}} where id > {}"
    auto.shop.write("models/v_orders.sql", view.format(0))
    auto.shop.model("kept", sql.format("{{ ref('v_orders') }}"), **AUTO, on_not_incremental="full_refresh")
    table, rows = auto.shop.built("kept"), []
    for least in (0, 1):
        auto.shop.write("models/v_orders.sql", view.format(least))
        auto.shop.run()
        head = auto.shop.head(table)
        rows.append(auto.shop.rows(table))
        assert rows[-1] == auto.shop.rows(f"({sql.format(auto.shop.built('v_orders'))})")
        auto.shop.run()
        assert auto.shop.head(table) == head  # nothing has changed
    assert rows[0] != rows[1]


def test_a_table_without_source_is_read_in_every_run(auto):  # noqa: F811
    other = auto.shop.raw("hidden")
    auto.shop.sql(f"create table {other} using iceberg as select 100 as id")
    sql = f"select id from {{orders}} union all select id from {other}"
    auto.model("both", sql, on_not_incremental="full_refresh")
    auto.shop.run()
    auto.shop.insert(other, "(101)")
    auto.shop.run()
    assert auto.differs("both", sql) == [[], []]


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        (
            "select * from {{{{ ip_changes(source('raw', 'orders')) }}}}",
            "write {{ ref('…') }} instead of {{ ip_changes(",
        ),
        ("select 1 as x -- {{{{ is_incremental() }}}}", "remove the conditions with is_incremental()"),
    ],
)
def test_macros_of_incremental_processing_are_refused(auto, sql, instead):  # noqa: F811
    auto.model("mixed", sql)
    said = auto.shop.fails()
    assert "which incremental_strategy 'auto' does not support" in said and f"To fix: {instead}" in said


def test_models_in_python_are_refused(auto):  # noqa: F811
    auto.shop.write(
        "models/py.py",
        """
        def model(dbt, session):
            dbt.config(materialized="iceberg_incremental_snapshot", incremental_strategy="auto")
            return dbt.source("raw", "orders")
        """,
    )
    assert "is a Python model" in auto.shop.fails()


def test_views_are_read_through(auto):  # noqa: F811
    orders = "{{{{ config(materialized='view') }}}}\nselect * from {{{{ source('raw', 'orders') }}}} where amount > {}"
    auto.shop.write("models/v_orders.sql", orders.format(5))
    auto.shop.write(
        "models/v_both.sql",
        """
        {{ config(materialized='view') }}
        select o.*, c.region from {{ ref('v_orders') }} o
        left join {{ source('raw', 'customers') }} c on c.id = o.customer_id
        """,
    )
    sql = "select region, sum(amount) as amount from {{ ref('v_both') }} group by region"
    auto.shop.model("kept", sql, incremental_strategy="auto", rebuild_above=1)
    auto.shop.run()
    auto.change("update {customers} set region = 'west' where id = 1", ORDER.format(7))
    found = auto.shop.run()
    assert logged(found, "kept: affected rows are replaced")
    query = f"select region, sum(amount) as amount from {auto.shop.built('v_both')} group by region"
    rows = auto.shop.rows(auto.shop.built("kept"))
    assert rows == auto.shop.rows(f"({query})")
    # another definition of a view, without new rows in a table
    auto.shop.write("models/v_orders.sql", orders.format(25))
    auto.shop.run()
    assert auto.shop.rows(auto.shop.built("kept")) == auto.shop.rows(f"({query})") != rows


@pytest.mark.parametrize("reader", ["auto", "spark"])
def test_a_view_that_was_created_elsewhere(auto, reader):  # noqa: F811
    """Its comments have a line AS. Its query names a table of the schema that was current, which is not the view's."""
    auto.shop.read_metadata_by(reader)
    catalog, other = auto.shop.catalog, f"{auto.shop.catalog}.{auto.shop.schema}_other"
    auto.shop.sql(f"create namespace {other}")
    auto.shop.sql(f"create table {other}.orders as select 7 as id, 100.00 as amount")
    comment = "one\nAS\nselect 1 as id, it\\'s `2"
    auto.shop.sql(f"use {other}")
    query = "select id, amount from {} where amount > 15"
    for name, named in (("big", "orders"), ("full", "{orders}")):
        text = query.format(named.format(**auto.tables))
        columns = f"(id comment '{comment}', amount) comment '{comment}'"
        auto.shop.sql(f"create view {auto.shop.raw(name)} {columns} as {text}")
        auto.shop.declare(name)
        auto.shop.model(f"of_{name}", f"select id from {{{{ source('raw', '{name}') }}}}", **AUTO)
    auto.shop.sql(f"use {catalog}")
    found = auto.shop.dbt("run")
    assert auto.shop.rows(auto.shop.built("of_full")) == auto.shop.rows(auto.shop.raw("full"), "id")
    if reader == "auto":
        assert auto.shop.rows(auto.shop.built("of_big")) == {(7,): 1}
    else:  # Spark does not show the schema
        assert "whose query names tables without a catalog or schema" in found.message("of_big")


def test_a_value_that_jinja_computes_in_each_run(auto):  # noqa: F811
    """The value comes from a table that the SQL does not read, so no source has new commits."""
    limits = auto.shop.raw("limits")
    auto.shop.sql(f"create table {limits} using iceberg as select 2 as n")
    most = f"{{{{ run_query('select max(n) from {limits}').columns[0][0] | int if execute else 0 }}}}"
    auto.shop.model("few", f"select id from {{{{ source('raw', 'orders') }}}} where id <= {most}", **AUTO)
    auto.shop.run()
    auto.shop.insert(limits, "(4)")
    found = auto.shop.run()
    assert logged(found, "few: all rows are replaced")
    assert auto.differs("few", "select id from {orders} where id <= 4") == [[], []]
    head = auto.shop.head(auto.shop.built("few"))
    auto.shop.run()
    assert auto.shop.head(auto.shop.built("few")) == head


def test_an_edited_model_is_rebuilt(auto):  # noqa: F811
    auto.model("lines", LINES)
    auto.shop.run()
    edited = LINES.replace("o.amount,", "o.amount * 2 as amount,")
    auto.model("lines", edited)
    auto.shop.run()
    assert auto.differs("lines", edited) == [[], []]


def test_a_source_that_gets_a_column(auto):  # noqa: F811
    sql = "select * from {orders}"
    auto.model("copied", sql, on_schema_change="append_new_columns")
    auto.shop.run()
    auto.change("alter table {orders} add column note string", "update {orders} set note = 'x' where id = 1")
    auto.shop.run()
    assert auto.differs("copied", sql) == [[], []]
    auto.change("alter table {orders} drop column note", "alter table {orders} add column note string")
    auto.change(ORDER.format(8).replace(", null)", ", null, 'y')"))
    auto.shop.run()
    assert auto.differs("copied", sql) == [[], []]


def test_a_source_that_gets_a_column_which_the_table_does_not_get(auto):  # noqa: F811
    auto.model("copied", "select * from {orders}", rebuild_above=1)
    auto.shop.run()
    columns = "id, customer_id, amount, items, ordered_at"
    auto.change("alter table {orders} add column note string", "update {orders} set note = 'x' where id = 1")
    auto.shop.run()
    assert auto.differs("copied", f"select {columns} from {{orders}}") == [[], []]
    auto.change("update {orders} set note = 'y', amount = 11 where id = 1", "delete from {orders} where id = 2")
    found = auto.shop.run()
    assert logged(found, "affected rows are replaced")
    assert auto.differs("copied", f"select {columns} from {{orders}}") == [[], []]


def test_a_column_that_became_another_one_before_a_compaction(auto):  # noqa: F811
    sql = "select id, amount from {orders}"
    auto.model("copied", sql, rebuild_above=1)
    auto.shop.run()
    auto.change(
        "alter table {orders} drop column amount",
        "alter table {orders} add column amount decimal(10, 2)",
        "call lakehouse.system.rewrite_data_files(table => '{orders}', options => map('rewrite-all', 'true'))",
    )
    auto.shop.run()
    assert auto.differs("copied", sql) == [[], []]


@pytest.mark.parametrize(
    "alter",
    [
        ["rename column both.a to x", "rename column both.b to a", "rename column both.x to b"],
        ["alter column both.b first"],
    ],
    ids=["swapped", "reordered"],
)
def test_fields_that_were_altered_after_the_last_commit(auto, alter):  # noqa: F811
    """Appended rows are read with the table's current columns, and Spark inserts the fields of a struct by position."""
    auto.tables["pairs"] = auto.shop.source("pairs", "id int, both struct<a: int, b: int>")
    sql = "select id, both, both.a as a from {pairs}"
    auto.model("copied", sql, rebuild_above=1)
    auto.change("insert into {pairs} values (1, named_struct('a', 1, 'b', 10))")
    auto.shop.run()
    auto.change("insert into {pairs} values (2, named_struct('a', 2, 'b', 20))")
    auto.change(*(f"alter table {{pairs}} {each}" for each in alter))
    auto.shop.run()
    rows = auto.shop.sql(f"select id, both.a, both.b, a from {auto.shop.built('copied')} order by id")
    assert rows == [(1, 1, 10, 1), (2, 2, 20, 2)]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.session.timeZone", "Asia/Tokyo"),
        ("spark.sql.legacy.castComplexTypesToString.enabled", "true"),
        ("spark.sql.chunkBase64String.enabled", "false"),
    ],
)
def test_another_setting_that_affects_values_rebuilds(auto, key, value):  # noqa: F811
    sql = "select id, cast(struct(ordered_at) as string) as at, base64(repeat('x', 99 + id)) as code from {orders}"
    auto.model("texts", sql, rebuild_above=1)
    auto.shop.run()
    auto.shop.configure({key: value})
    auto.change(ORDER.format(9))
    auto.shop.run()
    auto.shop.sql(f"set {key} = {value}")
    try:
        assert auto.differs("texts", sql) == [[], []]
    finally:
        auto.shop.sql(f"reset {key}")


def test_another_time_zone_of_the_computer_rebuilds(auto, outside):  # noqa: F811
    sql = "select id, cast(ordered_at as string) as at from {orders}"
    auto.model("texts", sql, rebuild_above=1)
    auto.shop.run()
    zones = outside.session._jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone("Asia/Tokyo"))
    try:
        auto.change(ORDER.format(9))
        auto.shop.run()
        assert auto.differs("texts", sql) == [[], []]
    finally:
        zones.setDefault(before)


def test_a_model_over_a_model_stays_incremental_after_a_rebuild(auto):  # noqa: F811
    auto.model("lines", LINES, rebuild_above=0)
    sql = "select region, count(*) as n from {{ ref('lines') }} group by region"
    auto.shop.model("regions", sql, incremental_strategy="auto", rebuild_above=1)
    auto.shop.run()
    auto.change(ORDER.format(10))
    found = auto.shop.run()
    assert logged(found, "lines: all rows are replaced") and logged(found, "regions: affected groups are updated")
    assert auto.shop.rows(auto.shop.built("regions")) == auto.shop.rows(
        f"(select region, count(*) as n from {auto.shop.built('lines')} group by region)"
    )


def test_a_position_set_by_hand_rebuilds(auto):  # noqa: F811
    auto.model("lines", LINES, rebuild_above=1)
    auto.shop.run()
    auto.change(ORDER.format(11))
    head = auto.shop.head(auto.tables["orders"])
    said = auto.shop.operation("ip_set_checkpoint", model="lines", source="orders", snapshot_id=head)
    assert "The next run of lines replaces all rows" in said.printed and "Skipped" not in said.printed
    auto.change(ORDER.format(12))
    assert logged(auto.shop.run(), "lines: all rows are replaced, since the SQL that wrote its rows is unknown")
    assert auto.differs("lines", LINES) == [[], []]


def test_a_contract_may_list_the_columns_in_another_order(auto):  # noqa: F811
    sql = "select customer_id, id from {orders}"
    auto.model("swapped", sql, contract={"enforced": True}, rebuild_above=1, unique_key="id")
    columns = [{"name": name, "data_type": "int"} for name in ("id", "customer_id")]
    auto.shop.write("models/swapped.yml", yaml.safe_dump({"models": [{"name": "swapped", "columns": columns}]}))
    auto.shop.run()
    auto.change("update {orders} set amount = 1, customer_id = 3 where id = 2")
    auto.shop.run()
    assert auto.differs("swapped", "select id, customer_id from {orders}") == [[], []]


def test_a_contract_stops_null_in_the_rows_that_a_run_replaces(auto):  # noqa: F811
    auto.model("lines", "select id, customer_id from {orders}", contract={"enforced": True}, rebuild_above=1)
    auto.shop.write(
        "models/lines.yml",
        """
        version: 2
        models:
          - name: lines
            columns:
              - {name: customer_id, data_type: int}
              - {name: id, data_type: int, constraints: [{type: not_null}]}
        """,
    )
    auto.shop.run()
    auto.change("insert into {orders} values (null, 3, 10.00, null, null)")
    assert "not_null" in auto.shop.fails() or "NULL" in auto.shop.fails()
    auto.change("delete from {orders} where id is null", ORDER.format(20), "delete from {orders} where id = 1")
    auto.shop.run()
    assert auto.differs("lines", "select customer_id, id from {orders}") == [[], []]


def test_comments_and_semicolons_at_the_end(auto):  # noqa: F811
    ends = {"comment": " -- end", "semicolon": ";", "both": "; -- done\n;", "limited": " order by id limit 3 -- all;"}
    for name, end in ends.items():
        auto.model(name, f"select id, amount from {{orders}}{end}", rebuild_above=1)
    auto.model(
        "by_user", "select id, current_user() as person from {orders}; -- done", on_not_incremental="full_refresh"
    )
    assert auto.shop.run().success
    auto.change("update {orders} set amount = amount + 1 where id = 1", ORDER.format(6))
    assert auto.shop.run().success and auto.shop.run("--full-refresh").success
    for name in ends:
        limit = " order by id limit 3" if name == "limited" else ""
        assert auto.differs(name, f"select id, amount from {{orders}}{limit}") == [[], []]


def test_rows_of_another_writer_are_replaced(auto):  # noqa: F811
    """For example those of dbt's incremental materialization, if a model had it for a while."""
    sql = "select id, amount from {orders}"
    auto.model("lines", sql)
    auto.shop.run()
    auto.change(ORDER.format(6))
    text = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}\n"
    auto.shop.write("models/lines.sql", text + sql.format(orders="{{ source('raw', 'orders') }}"))
    auto.shop.run()
    auto.model("lines", sql)
    auto.shop.run()
    assert auto.differs("lines", sql) == [[], []]
    auto.shop.insert(auto.shop.built("lines"), "(99, 1.00)")
    status = auto.shop.statuses()["lines"]
    assert "another writer has changed rows of its table" in status["next_run"]
    assert logged(auto.shop.run(), "lines: all rows are replaced, since another writer has changed rows of its table")
    assert auto.differs("lines", sql) == [[], []]
    auto.change(f"call lakehouse.system.rewrite_data_files(table => '{auto.shop.schema}.lines')")
    assert auto.shop.run().action("lines") == "nothing"


def test_models_that_read_their_own_table_are_refused(auto):  # noqa: F811
    shop = auto.shop
    for name, missing in (("itself", True), ("built", False)):
        if not missing:
            auto.model(name, "select id from {orders}")
            shop.run("--select", name)
        auto.model(name, "select id from {orders} union all select id from {{{{ this }}}}")
        assert "reads its own table" in shop.fails("--select", name)
    shop.sql(f"create view {shop.raw('v_built')} as select id from {shop.built('built')}")
    shop.declare("v_built")
    shop.model("built", "select id from {{ source('raw', 'v_built') }}", incremental_strategy="auto")
    assert "reads its own table" in shop.fails("--select", "built")
