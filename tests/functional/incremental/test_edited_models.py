"""Edits of a model between its runs. Each is detected, and ``on_sql_change`` sets the consequence."""

from __future__ import annotations

import json

import pytest

from iceberg_incremental.capture.logic_change import LOGIC_KEY
from iceberg_incremental.table.checkpoint import KEY

NEW = "select id, v from {{ ip_changes(source('raw', 'src')) }}"
TIMES_100 = "select id, v * 100 as v from {{ ip_changes(source('raw', 'src')) }}"
KEYED = {"incremental_strategy": "merge", "unique_key": "id"}


@pytest.fixture
def src(shop):
    src = shop.source("src", "id int, v int")
    shop.insert(src, "(1, 1)")
    return src


def checkpoint(shop, name):
    properties = dict(shop.sql(f"show tblproperties {shop.built(name)}"))
    return json.loads(properties[KEY]), properties.get(LOGIC_KEY)


def status(shop, name="m"):
    printed = shop.operation("ip_status", format="json", model=name).printed
    (model,) = json.JSONDecoder().raw_decode(printed[printed.index('{\n  "version"') :])[0]["models"]
    return model


def values(shop, name="m"):
    return sorted(shop.sql(f"select id, v from {shop.built(name)}"))


@pytest.mark.core
def test_the_policies_of_an_edit(shop, src):
    policies = {"warned": {}, "failed": "fail", "rebuilt": "full_refresh", "ignored": "ignore"}
    for name, policy in policies.items():
        shop.model(name, NEW, **({"on_sql_change": policy} if policy else {}))
    shop.run()
    assert status(shop, "warned")["logic_changed_since"] is None
    for name, policy in policies.items():
        shop.model(name, TIMES_100, **({"on_sql_change": policy} if policy else {}))
    # without new rows in the source, no row is written, but the edit is detected
    outcome = shop.dbt("run")
    assert {name: outcome.nodes[name].status for name in policies} == {
        "warned": "success", "failed": "error", "rebuilt": "success", "ignored": "success"
    }  # fmt: skip
    assert "-select id, v from" in outcome.message("failed") and "since run 1" in outcome.message("failed")
    assert "-select id, v from" in outcome.printed and "+select id, v * 100 as v from" in outcome.printed
    assert values(shop, "rebuilt") == [(1, 100)] and values(shop, "warned") == values(shop, "ignored") == [(1, 1)]
    assert {name: status(shop, name)["logic_changed_since"] for name in policies} == {
        "warned": 1, "failed": None, "rebuilt": None, "ignored": None
    }  # fmt: skip
    shop.insert(src, "(2, 2)")
    assert status(shop, "failed")["state"] == "fails"
    shop.fails()
    assert values(shop, "warned") == values(shop, "ignored") == [(1, 1), (2, 200)]
    assert values(shop, "rebuilt") == [(1, 100), (2, 200)] and values(shop, "failed") == [(1, 1)]
    # the checkpoint records the mixture until it is accepted or rebuilt
    shop.insert(src, "(3, 3)")
    outcome = shop.run("--select", "warned")
    assert status(shop, "warned")["logic_changed_since"] == 1
    assert "up to run 1 were written by different logic" in outcome.printed
    for name in ("warned", "failed"):
        assert shop.operation("ip_set_checkpoint", model=name, accept_sql=True).success
    assert status(shop, "warned")["logic_changed_since"] is None
    shop.run()
    assert values(shop, "warned") == [(1, 1), (2, 200), (3, 300)]
    assert values(shop, "failed") == [(1, 1), (2, 200), (3, 300)]
    shop.run("--full-refresh", "--select", "warned")
    assert values(shop, "warned") == [(1, 100), (2, 200), (3, 300)]


def test_a_reverted_edit_does_not_count(shop, src):
    shop.model("m", NEW)
    shop.run()
    shop.model("m", TIMES_100)
    assert "has changed since run 1" in shop.run().printed
    shop.model("m", f"-- as it was\n{NEW}")
    assert "has changed" not in shop.run().printed
    assert status(shop)["logic_changed_since"] is None


@pytest.mark.parametrize(
    ("sql", "config", "said"),
    [
        ("select id, v, from {{ ip_changes(source('raw', 'src')) }}", KEYED, "PARSE_SYNTAX_ERROR"),
        ("select id, unknown as v from {{ ip_changes(source('raw', 'src')) }}", KEYED, "UNRESOLVED_COLUMN"),
        ("select id from {{ ip_changes(source('raw', 'src')) }}", KEYED, "no v"),
        (NEW, {**KEYED, "unique_key": "key"}, "unique_key names key"),
        (NEW, {"incremental_strategy": "insert_overwrite", "partition_by": "v"}, "partition"),
    ],
)
def test_an_invalid_edit_is_an_error_even_without_new_rows(shop, src, sql, config, said):
    shop.model("m", NEW, **KEYED)
    shop.run()
    shop.model("m", sql, **config)
    assert said in shop.fails()
    assert values(shop) == [(1, 1)]


def test_macros_variables_and_ephemeral_models_count(shop, src):
    shop.write("macros/cents.sql", "{% macro cents(c) %}{{ c }} * {{ var('factor', 1) }}{% endmacro %}")
    shop.write("models/base.sql", "{{ config(materialized='ephemeral') }} select 0 as nothing")
    shop.model(
        "m",
        "select id, {{ cents('v') }} as v from {{ ip_changes(source('raw', 'src')) }} cross join {{ ref('base') }}",
        on_sql_change="fail",
    )
    shop.run()
    assert shop.run("--vars", "{unused: 1}").action("m") == "nothing"
    assert "var('factor'): null → 100" in shop.fails("--vars", "{factor: 100}")
    shop.write("macros/cents.sql", "{% macro cents(c) %}{{ c }} * 100{% endmacro %}")
    assert "macro cents" in shop.fails()
    shop.write("macros/cents.sql", "{% macro cents(c) %}{{ c }} * {{ var('factor', 1) }}{% endmacro %}")
    shop.write("models/base.sql", "{{ config(materialized='ephemeral') }} select 1 as nothing")
    assert "model.shop.base" in shop.fails()


def test_indirect_dependencies_count(shop, src):
    """A dispatched macro with an underscore, a macro that is called by name, and configs of an ephemeral model."""
    macros = """
    {{% macro _cents(c) %}}{{{{ return(adapter.dispatch('_cents')(c)) }}}}{{% endmacro %}}
    {{% macro default___cents(c) %}}{{{{ c }}}} * {}{{% endmacro %}}
    {{% macro named(c) %}}{{{{ c }}}} * {}{{% endmacro %}}
    """
    base = """
    {{{{ config(materialized='ephemeral', meta={{'factor': {}}}) }}}}
    select {{{{ config.get('meta').factor }}}} as f
    """
    shop.model(
        "m",
        "select id, {{ _cents('v') }} * {{ context['named']('f') }} * {{ model.config.meta.times }}"
        " * {{ var('days')[1] }} as v"
        " from {{ ip_changes(source('raw', 'src')) }} cross join {{ ref('base') }}",
        on_sql_change="fail",
    )

    def edited(first=1, second=1, factor=1, times=1):
        shop.write("macros/cents.sql", macros.format(first, second))
        shop.write("models/base.sql", base.format(factor))
        shop.write("models/m.yml", f"models: [{{name: m, config: {{meta: {{times: {times}}}}}}}]")

    edited()
    days = ("--vars", "{days: {1: 1, last: 2}}")
    shop.run(*days)
    for edit, said in (
        ({"first": 2}, "macro _cents"),
        ({"second": 2}, "macro named"),
        ({"factor": 2}, "config.get('meta') in model.shop.base"),
        ({"times": 2}, "model.config.meta.times: 1 → 2"),
    ):
        edited(**edit)
        assert said in shop.fails(*days)
    edited()
    assert shop.run(*days).action("m") == "nothing"


def test_a_model_in_python(shop, src):
    code = """
    def model(dbt, session):
        dbt.config(materialized="iceberg_incremental_snapshot", on_sql_change="fail")
        return dbt.ip_changes(dbt.source("raw", "src")){}
    """
    shop.write("models/m.py", code.format(""))
    shop.run()
    shop.write("models/m.py", code.format("  # the new rows"))
    assert shop.run().action("m") == "nothing"
    shop.write("models/m.py", code.format('.filter("v > 1")'))
    assert '.filter("v > 1")' in shop.fails()


def test_another_key_under_sequence_by_is_refused(shop, src):
    rows = "select id, v, v as at from {{ ip_changes(source('raw', 'src')) }}"
    shop.model("m", rows, **KEYED, sequence_by="at")
    shop.run()
    shop.model("m", rows, **{**KEYED, "unique_key": ["id", "v"]}, sequence_by="at", on_sql_change="ignore")
    shop.insert(src, "(1, 2)")
    assert "The unique_key of model.shop.m, which has sequence_by, has changed." in shop.fails()
    shop.run("--full-refresh")
    assert values(shop) == [(1, 1), (1, 2)]


def test_a_checkpoint_without_a_fingerprint_is_accepted_once(shop, src):
    shop.model("m", NEW, on_sql_change="fail")
    shop.run()
    text, _ = checkpoint(shop, "m")
    assert text.pop("logic")["fingerprint"]
    shop.sql(f"alter table {shop.built('m')} unset tblproperties ('{LOGIC_KEY}')")
    # as set manually with an earlier version of the package: it is newer than the checkpoint in the snapshot
    before = json.dumps({**text, "epoch": text["epoch"] + 1})
    shop.sql(f"alter table {shop.built('m')} set tblproperties ('{KEY}' = '{before}')")
    shop.model("m", TIMES_100, on_sql_change="fail")
    shop.insert(src, "(2, 2)")
    shop.run()
    assert values(shop) == [(1, 1), (2, 200)]
    shop.model("m", NEW, on_sql_change="fail")
    assert "has changed since run 3" in shop.fails()
