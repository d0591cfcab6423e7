"""Mistakes of users: each is one clear error, and no data is lost."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from .shop import CATALOG

pytestmark = pytest.mark.core

MERGE_BY_VV = {"incremental_strategy": "merge", "unique_key": "vv"}
CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"incremental_strategy": "upsert"}, "incremental_strategy is 'upsert': expected one of"),
        ({"incremental_strategy": "merge"}, "'merge' needs a unique_key"),
        ({"incremental_strategy": "insert_overwrite"}, "needs partition_by"),
        ({"on_source_rewrite": "skip"}, "on_source_rewrite is 'skip': expected one of"),
        ({"incremental_strategy": "merge", "unique_key": "id", "on_schema_change": "x"}, "on_schema_change is 'x'"),
    ],
)
def test_a_wrong_config(shop, config, said):
    shop.source("events")
    shop.model("staged", CHANGES, **config)
    message = shop.fails()
    assert said in message and "model.shop.staged" in message


def test_columns_of_a_merge_that_the_model_does_not_return_stop_its_first_build(shop):
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    for config in ("merge_update_columns", "merge_exclude_columns", "merge_fixed_columns"):
        shop.model("staged", CHANGES, incremental_strategy="merge", unique_key="id", **{config: ["vv"]})
        message = shop.fails()
        assert config in message and "names vv" in message
    assert not shop.sql(f"show tables in {CATALOG}.{shop.schema} like 'staged'")


def test_names_of_metadata_columns_stop_the_first_build(shop):
    """Iceberg would create the table, and no run could read it."""
    events = shop.source("events")
    shop.insert(events, "(1, 'a')")
    configs = {
        "appended": {},
        "merged": {"incremental_strategy": "merge", "unique_key": "id"},
        "equal": {"incremental_strategy": "auto"},
    }
    for name, config in configs.items():
        read = CHANGES if name != "equal" else "select * from {{ source('raw', 'events') }}"
        shop.model(name, read.replace("*", "id, v as _file"), **config)
    for result in shop.dbt("run").nodes.values():
        assert "has columns with the names of Iceberg's metadata columns" in result.message
        assert "Found: _file." in result.message
    assert not shop.sql(f"show tables in {CATALOG}.{shop.schema}")
    shop.model("appended", CHANGES.replace("*", "id, v as _FILE"))  # which Iceberg can read
    shop.run("--select", "appended")
    shop.run("--select", "appended")


def test_wrong_sql_and_keys_under_auto(shop):
    """The error of wrong SQL is Spark's own, as for dbt's materializations. No setting of this package could fix it."""
    shop.source("events")
    sink = shop.source("sink")
    read = "select * from {{ source('raw', 'events') }}"
    insert = f"insert into {sink} values (1, 'a')"
    expected = {
        "keyword": (read.replace("select", "selct"), "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selct'"),
        "function": (read.replace("*", "lenght(v) as n"), "[UNRESOLVED_ROUTINE] Cannot resolve routine `lenght`"),
        "column": (read.replace("*", "idd"), "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        "relation": (f"select id from {shop.source_schema}.evnts", "[TABLE_OR_VIEW_NOT_FOUND]"),
        "nothing": ("-- to do", "[PARSE_SYNTAX_ERROR] Syntax error at or near end of input"),
        "inserting": (insert, "[PARSE_SYNTAX_ERROR] Syntax error at or near 'insert'"),
        "two": (f"{read}; {insert}", "[PARSE_SYNTAX_ERROR] Syntax error at or near 'insert'"),
        "random": (
            f"{read} qualify row_number() over (partition by id order by v) = 1 and rand() < 2",
            "Found: rand()",
        ),
        "of_hook": ("select * from made", "Found: the relation made"),
        "one_text": (read, "unique_key names 'id, v', which the model does not have."),
        "unknown": (read, "unique_key names idd, which the model does not have."),
        "expression": (read, "return the value of the expression as a column"),
        "constant": ("select 1 as id", "has incremental_strategy 'auto', but its SQL reads no ref() or source()."),
        "of_dbt": (read, "which materialized='incremental' does not support."),
        "kept": (read, ""),
    }
    more = {
        "of_hook": {"pre_hook": "create or replace temporary view made as select 1 as id"},
        "one_text": {"unique_key": "id, v"},
        "unknown": {"unique_key": "idd"},
        "expression": {"unique_key": "concat(id, v)"},
        "of_dbt": {"materialized": "incremental"},
        "kept": {"on_not_incremental": "full_refresh"},
    }
    for name, (sql, _) in expected.items():
        shop.model(name, sql, incremental_strategy="auto", **more.get(name, {}))
    found = {name: str(result.message) for name, result in shop.dbt("run").nodes.items()}
    for name, (_, said) in expected.items():
        assert said in found[name], found[name]
        if said.startswith("["):
            assert found[name].startswith(f"Database Error in model {name} (models/{name}.sql)")
    assert "write a list: unique_key=['id', 'v']." in found["one_text"]
    assert "set materialized='iceberg_incremental_snapshot', which supports 'auto'" in found["of_dbt"]
    shop.model("kept", insert, incremental_strategy="auto", on_not_incremental="full_refresh")
    assert "[PARSE_SYNTAX_ERROR] Syntax error at or near 'insert'" in shop.fails("--select", "kept")
    assert not shop.rows(sink)


def test_a_column_to_update_that_the_model_no_longer_returns(shop):
    events = shop.source("events")
    config = {"incremental_strategy": "merge", "unique_key": "id"}
    shop.model("staged", CHANGES, **config)
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.model("staged", CHANGES, **config, merge_update_columns=["vv"])
    shop.insert(events, "(1, 'b')")
    assert "names vv" in shop.fails()
    assert shop.rows(shop.built("staged")) == Counter([(1, "a")])


def test_a_changelog_s_key_that_the_source_does_not_have_stops_the_first_build(shop):
    shop.insert(shop.source("events"), "(1, 'a')")
    shop.model("staged", "select * from {{ ip_changelog(source('raw', 'events'), unique_key='ident') }}")
    assert f"with ident, which {CATALOG}.{shop.source_schema}.events does not have" in shop.fails()


def test_keys_of_changed_groups_that_the_source_does_not_have_stop_the_first_build(shop):
    shop.insert(shop.source("events"), "(1, 'a')")
    groups = "select vv, count(*) as n from {{ ip_changed_groups(source('raw', 'events'), 'vv') }} group by vv"
    shop.model("counts", groups.replace("select vv", "select v as vv").replace("by vv", "by v"), **MERGE_BY_VV)
    message = shop.fails()
    assert f"ip_changed_groups() was called in model.shop.counts with vv, which {CATALOG}." in message
    assert "id, v." in message


def test_table_properties_that_are_a_list_are_refused_by_every_materialization(shop):
    shop.source("events")
    shop.model("staged", CHANGES, tblproperties=["a"])
    shop.model("plain", "select 1 as id", materialized="table", tblproperties=["a"])
    outcome = shop.dbt("run")
    assert "tblproperties is ['a']: expected a mapping" in outcome.message("staged")
    assert "The config tblproperties is not a mapping." in outcome.message("plain")


def test_a_misspelt_macro_and_a_bound_that_does_not_exist(shop):
    shop.source("events")
    shop.model("staged", "select * from {{ ip_chagnes(source('raw', 'events')) }}")
    outcome = shop.dbt("run")
    assert not outcome.success
    assert "calls ip_chagnes(), a macro that does not exist: did you mean ip_changes()?" in outcome.printed
    shop.model("staged", CHANGES + " where id > {{ ip_range(source('raw', 'events'), 'id').minimum }}")
    found = shop.dbt("parse")
    assert "To fix: write ip_range(…).min." in str(found.exception)
    assert "model staged (models/staged.sql)" in str(found.exception)


def test_the_error_of_a_column_qualified_by_the_source_s_name_contains_the_alias_to_add(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES.replace("*", "events.id"))
    shop.insert(events, "(1, 'a')")
    message = shop.fails()
    assert "add an alias:" in message and "from {{ ip_changes(…) }} as events" in message


def test_a_misspelt_argument_names_the_model(shop):
    """The error occurs while dbt parses. No run of the model could name it."""
    shop.source("events")
    shop.model("staged", "select * from {{ ip_changelog(source('raw', 'events'), uniquekey='id') }}")
    found = shop.dbt("parse")
    said = str(found.exception)
    assert "write unique_key instead of uniquekey" in said and "model staged (models/staged.sql)" in said


def test_a_view_and_a_source_that_does_not_exist(shop):
    shop.sql(f"create view {shop.raw('seen')} as select 1 as id")
    shop.declare("seen", "absent")
    shop.model("of_view", "select * from {{ ip_changes(source('raw', 'seen')) }}")
    message = shop.fails()
    assert f"{CATALOG}.{shop.source_schema}.seen" in message and "view" in message and "Iceberg table" in message
    (shop.folder / "models" / "of_view.sql").unlink()
    shop.model("of_absent", "select * from {{ ip_changes(source('raw', 'absent')) }}")
    message = shop.fails()
    assert f"{CATALOG}.{shop.source_schema}.absent of model.shop.of_absent does not exist" in message


def test_a_table_of_another_format(shop, tmp_path):
    name = f"parquet_{shop.schema}"
    shop.sql(f"create table spark_catalog.default.{name} using parquet location '{tmp_path}/p' as select 1 as id")
    shop.write(
        "models/other.yml",
        f"""
        version: 2
        sources:
          - {{name: other, database: spark_catalog, schema: default, tables: [{{name: {name}}}]}}
        """,
    )
    shop.model("of_parquet", f"select * from {{{{ ip_changes(source('other', '{name}')) }}}}")
    message = shop.fails()
    assert f"spark_catalog.default.{name}" in message and "parquet" in message.lower()


def test_a_table_of_another_format_in_the_target_s_place_is_not_dropped(shop, tmp_path):
    events = shop.source("events")
    name = f"old_{shop.schema}"
    shop.sql(f"create table spark_catalog.default.{name} using parquet location '{tmp_path}/p' as select 7 as id")
    shop.model(name, CHANGES, database="spark_catalog", schema="default")
    shop.write(
        "macros/generate_schema_name.sql",
        "{% macro generate_schema_name(name, node) %}{{ name or target.schema }}{% endmacro %}",
    )
    shop.insert(events, "(1, 'a')")
    message = shop.fails()
    assert f"spark_catalog.default.{name} already exists as a table of format parquet" in message
    assert shop.sql(f"select id from spark_catalog.default.{name}") == [(7,)]


def test_insert_overwrite_into_a_table_with_other_partitions(shop):
    """Dynamic overwrite uses the table's own partitions. Here it would replace all rows with the new rows."""
    events = shop.source("events", "id int, at timestamp")
    shop.model("daily", CHANGES)
    shop.insert(events, "(1, timestamp'2026-01-01')")
    shop.run()
    shop.insert(events, "(2, timestamp'2026-01-02')")
    shop.model("daily", CHANGES, incremental_strategy="insert_overwrite", partition_by="days(at)")
    message = shop.fails()
    assert "Expected: partition_by days(at)" in message and "Found: no partitions" in message
    assert shop.rows(shop.built("daily"), "id") == Counter([(1,)])
    shop.run("--full-refresh")
    shop.insert(events, "(3, timestamp'2026-01-03')")
    shop.run()
    assert shop.rows(shop.built("daily"), "id") == Counter([(1,), (2,), (3,)])


def test_a_model_that_captures_itself(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.model("staged", CHANGES + " where id not in (select id from {{ ip_as_of(this) }})")
    assert "on the model's own table" in shop.fails()


def test_a_model_that_captures_nothing(shop):
    shop.model("staged", "select 1 as id")
    assert "its SQL captures no source" in shop.fails()


def test_a_model_that_captures_only_in_later_runs(shop):
    events, more = shop.source("events"), shop.source("more")
    shop.insert(events, "(1, 'a')")
    shop.insert(more, "(2, 'b')")
    later = "{% if is_incremental() %} {{ ip_changes(source('raw', 'events')) }}"
    shop.model("staged", "select * from " + later + "{% else %} {{ source('raw', 'events') }} {% endif %}")
    message = shop.fails()
    assert "only under is_incremental()" in message and "this run, which builds its whole table" in message
    assert "move the macro out of the condition" in message
    joined = " join {{ ip_changes(source('raw', 'more')) }} m using (id)"
    shop.model("staged", "select * from " + later + "{% else %} {{ source('raw', 'events') }} {% endif %}" + joined)
    message = shop.fails()
    assert f"reads the changes of {CATALOG}.{shop.source_schema}.events only under is_incremental()" in message


def test_a_macro_outside_of_the_materialization(shop):
    shop.source("events")
    shop.model("plain", CHANGES, materialized="table")
    message = shop.fails()
    assert "ip_changes() was called in model.shop.plain, which is materialized as 'table'" in message


def test_an_ephemeral_model(shop):
    shop.source("events")
    shop.model("passing", "select * from {{ source('raw', 'events') }}", materialized="ephemeral")
    shop.model("staged", "select * from {{ ip_changes(ref('passing')) }}")
    assert "is an ephemeral model" in shop.fails()


@pytest.mark.parametrize(
    ("call", "expected", "found"),
    [
        ("ip_changes(source('raw', 'events'), 'id')", "ip_changes(relation)", "1 extra argument"),
        ("ip_changelog(source('raw', 'events'), key='id')", "ip_changelog(relation, unique_key, per)", "'key'"),
        (
            "ip_changed_groups(source('raw', 'events'), key='id')",
            "(relation, keys, changes_of)",
            "write keys instead of key",
        ),
        (
            "ip_changes(source('raw', 'events'), on_source_rewrite='ignore')",
            "ip_changes(relation)",
            "To fix: set on_source_rewrite in the model's config(), since it is a config.",
        ),
    ],
)
def test_a_macro_with_an_argument_that_it_does_not_take(shop, call, expected, found):
    shop.source("events")
    shop.model("staged", f"select * from {{{{ {call} }}}}")
    outcome = shop.dbt("run")
    assert not outcome.success
    assert f"Expected: {expected}" in outcome.printed or expected in str(outcome.exception)
    assert found in outcome.printed or found in str(outcome.exception)


def test_an_operation_with_an_argument_that_it_does_not_take(shop):
    found = shop.operation("ip_status", models="staged")
    assert not found.success
    assert (
        "Expected: ip_status(format, model, select, output)" in found.printed
        and "write model instead of models" in found.printed
    )


def test_an_argument_that_is_not_a_relation(shop):
    shop.source("events")
    shop.model("staged", "select * from {{ ip_changes('events') }}")
    assert "expects a relation" in shop.fails()


def test_a_source_that_the_checkpoint_does_not_know(shop):
    events, more = shop.source("events"), shop.source("more")
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.insert(more, "(2, 'b')")
    shop.run()
    shop.model("staged", CHANGES + " union all select * from {{ ip_changes(source('raw', 'more')) }}")
    message = shop.fails()
    assert f"{CATALOG}.{shop.source_schema}.more, but its checkpoint has no position for this source" in message
    command = message.split("start after one of its snapshots: `", 1)[1].split("`")[0]
    assert command.startswith("dbt run-operation ip_set_checkpoint")
    source = f"{CATALOG}.{shop.source_schema}.more"
    assert shop.operation("ip_set_checkpoint", model="staged", source=source, snapshot_id=shop.head(more)).success
    shop.insert(more, "(3, 'c')")
    shop.run()
    assert shop.rows(shop.built("staged")) == Counter([(1, "a"), (3, "c")])


def test_setting_a_checkpoint_checks_every_argument(shop):
    events, more = shop.source("events"), shop.source("more")
    shop.model("staged", CHANGES)
    for n in (1, 2, 3):
        shop.insert(events, f"({n}, 'a')")
    shop.insert(more, "(1, 'x')")
    shop.run()
    source = f"{CATALOG}.{shop.source_schema}.events"
    ids = [row[0] for row in shop.sql(f"select snapshot_id from {events}.snapshots order by committed_at")]
    before = shop.properties(shop.built("staged"))
    for arguments, said in [
        ({}, "ip_set_checkpoint was called without a model."),
        ({"model": "nobody"}, "matches no model"),
        ({"model": "staged", "source": "x.y.z", "snapshot_id": 1}, "none of the model's sources"),
        ({"model": "staged", "source": f"{CATALOG}.{shop.source_schema}.more", "snapshot_id": 1}, "none of the model"),
        ({"model": "staged", "source": source}, "either snapshot_id or timestamp"),
        ({"model": "staged", "source": source, "snapshot_id": shop.head(more)}, "not in the table's metadata"),
        ({"model": "staged", "source": source, "snapshot_id": "x"}, "Expected: an integer"),
        ({"model": "staged", "source": source, "timestamp": "yesterday"}, "Expected: ISO 8601"),
        ({"model": "staged", "source": source, "timestamp": "2001-01-01"}, "before the known history"),
        ({"model": "staged", "snapshot_id": ids[0]}, "but no source"),
    ]:
        found = shop.operation("ip_set_checkpoint", **arguments)
        assert not found.success
        assert said in found.printed
    assert shop.properties(shop.built("staged")) == before
    found = shop.operation("ip_set_checkpoint", model="staged", source="events", snapshot_id=ids[1])
    assert found.success and f"snapshot {ids[1]}" in found.printed
    assert "appends them, so delete them from the table first" in found.printed
    shop.run()
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,), (3,), (3,)])


def test_values_cannot_inject_sql(shop):
    """Quotes, newlines, braces and variables in configs reach the table unchanged."""
    events = shop.source("events")
    odd = 'it\'s "x" `y` ${spark.app.name} }} \\ \n; drop table x -- ✈'
    shop.write(
        "models/staged.yml",
        "version: 2\nmodels:\n  - name: staged\n    config:\n      tblproperties: {odd: " + json.dumps(odd) + "}\n",
    )
    shop.model("staged", CHANGES)
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(2, 'b')")
    shop.run()
    assert shop.properties(shop.built("staged"))["odd"] == odd
    assert shop.rows(shop.built("staged"), "id") == Counter([(1,), (2,)])


def test_configs_that_another_materialization_ignores(shop):
    for name in ("audited", "ordered", "plain"):
        shop.model(
            name,
            "select 1 as id",
            materialized="table",
            **{"audited": {"audit": True, "hold_source": "3 days"}}.get(name, {}),
        )
    shop.model("ordered", "select 1 as id", materialized="incremental", sequence_by="id", on_source_rewrites="ignore")
    shop.model("similar", "select 1 as id", materialized="iceberg_incremental")
    shop.write("macros/sql.sql", "{% macro sql(query) %}{{ query }}{% endmacro %}")
    printed = shop.dbt("run").printed
    assert "The macro sql hides dbt's variable with this name" in printed
    meant = "did you mean 'iceberg_incremental_snapshot'?"
    assert f"model.shop.similar has materialized='iceberg_incremental', which does not exist: {meant}" in printed
    assert "model.shop.ordered sets on_source_rewrites, which has no effect: did you mean on_source_rewrite?" in printed
    assert "audit has no effect on model.shop.audited: only" in printed
    assert "hold_source has no effect on model.shop.audited: only" in printed
    assert "sequence_by has no effect on model.shop.ordered: only" in printed
