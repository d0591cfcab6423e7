"""What belongs to a model's logic, and what does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_iceberg.project.jinja import JinjaScope, own_macros
from dbt.adapters.spark_iceberg.project.model_logic import decoded, differences, logic_of

SQL = "select id, v from {{ ip_changes(ref('src')) }} -- the new rows"
NAME = "model.shop.staged"
GRAPH: dict[str, dict[str, object]] = {"nodes": {}}
SCOPE = JinjaScope(
    macros={
        "cents": ["{% macro cents(c) %} {{ c }} * 100 {{ rounding() }} {% endmacro %}"],
        "rounding": ["{% macro rounding() %} + {{ var('half') }} {% endmacro %}"],
        "not_called": ["{% macro not_called() %} 1 {% endmacro %}"],
    },
    variables=lambda package: {"half": 0.5, "region": "eu", "other": 1},
    target={"name": "prod", "schema": "shop", "threads": 4},
    environment={"STAGE": "live", "OTHER": "x"},
)


def logic(sql=SQL, scope=SCOPE, graph=GRAPH, language="sql", parents=(), name=NAME, **config):
    node = {
        "unique_id": name,
        "raw_code": sql,
        "language": language,
        "package_name": "shop",
        "config": {"materialized": "iceberg_incremental_snapshot", **config},
        "depends_on": {"nodes": list(parents)},
    }
    return logic_of(node, graph, scope)


def same(one, other):
    return one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    "sql",
    [
        "select id,v\n\tfrom {{ip_changes(ref('src'))}}",
        '/* a /* nested */ comment */ select id, v from {{ ip_changes( ref("src") ) -}}',
        "select id, v /* no hint: /*+ broadcast(src) */ from {{ ip_changes(ref('src')) }}",
        "{# Jinja's #}{{ config(tags=['a'], schema=var('other')) }}\n"
        "select id, v -- {# more #}\nfrom {{ ip_changes(ref('src')) }}",
    ],
)
def test_layout_comments_and_config_calls_are_ignored(sql):
    assert same(logic(sql), logic())


@pytest.mark.parametrize(
    "sql",
    [
        "select id, v * 100 as v from {{ ip_changes(ref('src')) }}",
        "select id, v from {{ ip_as_of(ref('src')) }}",
        "select id, v from {{ ip_changes(ref('other')) }}",
        "select id, v from {{ ip_changes(ref('src')) }} {% if is_incremental() %} where v > 0 {% endif %}",
        "select id, v from {{ ip_changes(ref('src')) }} where v <> '-- no comment'",
        "select id, `v ` as v from {{ ip_changes(ref('src')) }}",
        "select id, v:Price from {{ ip_changes(ref('src')) }}",
        "select idv from {{ ip_changes(ref('src')) }}",
    ],
)
def test_sql_belongs_to_the_logic(sql):
    assert not same(logic(sql), logic())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a {% if x %}, b{% endif %}", "a\n{%- if x %}\n  , b\n{%- endif %}"),
        ("{% if x %}a{% else %}b{% endif %}", "{% if x %} a {% else %} b {% endif %}"),
        ("{% for c in cs %}{{ c }}_eur{% if not loop.last %},{% endif %}{% endfor %}",
         "{% for c in cs %}\n{{ c }}_eur {%- if not loop.last -%} , {%- endif -%}\n{% endfor %}"),
        ("{{ a }}.b, {{ c }}", "{{a}} . b,{{ c }}"),
        ("'{{ a }}', b", "'{{a}}' ,b"),
    ],
)  # fmt: skip
def test_layout_around_jinja_is_ignored(one, other):
    assert same(logic(f"select {one}"), logic(f"select {other}"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("'a  b'", "'a b'"),
        ("'--1'", "'--2'"),
        ("'/* 1 */'", "'/* 2 */'"),
        (r"'\'--1'", r"'\'--2'"),
        (r"r'\' || '--1'", r"r'\' || '--2'"),
        ('"--1"', '"--2"'),
        ("`--1`", "`--2`"),
        ("'{{ f(1) }}--1'", "'{{ f(1) }}--2'"),
        ("-- {{ f(1) }}\n1", "-- {{ f(2) }}\n1"),
        ("v:a", "v:A"),
        ("/*+ broadcast(a) */ 1", "/*+ broadcast(b) */ 1"),
        ("/* not now: /*+ broadcast(a) */ 1", "/* not now: /*+ broadcast(a) */ 2"),
        ("{% raw %}{{ a }}{% endraw %}", "{% raw %}{{ b }}{% endraw %}"),
        ("'it''s'", "'it' 's'"),
        ('"it""s"', '"it" "s"'),
        ("`a``b`", "`a` `b`"),
        ("{% set f %}yyyy-MM{% endset %}'{{ f }}'", "{% set f %}yyyy - MM{% endset %}'{{ f }}'"),
        ("{{ name }}_usd", "{{ name }} _usd"),
        ("{{ a }}{{ b }}", "{{ a }} {{ b }}"),
        ("sum_{% if eur %}eur{% endif %}", "sum_ {% if eur %}eur{% endif %}"),
        ("1 -- {{ columns() }}, 2\n", "1 -- {{ columns() }}, 3\n"),
        ("1 {% if dev %}--{% endif %} + 2\n", "1 {% if dev %}--{% endif %} + 3\n"),
        (
            "1 {% if dev %}/*{% endif %} + 2 {% if dev %}*/{% endif %}",
            "1 {% if dev %}/*{% endif %} + 3 {% if dev %}*/{% endif %}",
        ),
    ],
)
def test_apparent_layout_that_changes_the_sql_is_not_ignored(one, other):
    assert not same(logic(f"select {one}"), logic(f"select {other}"))


def test_macros_and_the_macros_that_they_call_belong_to_the_logic():
    sql = "select {{ cents('v') }}"
    for macro, text in (("cents", "{{ c }} * 1000 {{ rounding() }}"), ("rounding", "- {{ var('half') }}")):
        macros = {**SCOPE.macros, macro: ["{% macro " + macro + "(c) %} " + text + " {% endmacro %}"]}
        assert not same(logic(sql, replace(SCOPE, macros=macros)), logic(sql))
        assert same(logic(scope=replace(SCOPE, macros=macros)), logic())
    spaced = {**SCOPE.macros, "rounding": ["{% macro rounding() %}+{{ var('half') }} -- half\n{% endmacro %}"]}
    assert same(logic(sql, replace(SCOPE, macros=spaced)), logic(sql))


@pytest.mark.parametrize("sql", ["'{{ form() }}'", '"a{{ f(form()) }}"', "'{{ outer() }}'"])
def test_layout_of_macros_within_quotes_is_not_ignored(sql):
    def built(text, sql=sql):
        outer = ["{% macro outer() %}{{ form() }}{% endmacro %}"]
        macros = {"form": ["{% macro form() %}" + text + "{% endmacro %}"], "outer": outer}
        return logic(f"select {sql}", replace(SCOPE, macros=macros))

    assert not same(built("yyyy - MM"), built("yyyy-MM")) and not same(built("a--b"), built("a--c"))
    assert same(built("yyyy - MM", "{{ form() }}"), built("yyyy-MM", "{{ form() }}"))
    assert any(line.startswith("macro form") for line in differences(built("yyyy - MM"), built("yyyy-MM")))


@pytest.mark.parametrize(
    "call",
    [
        "adapter.dispatch('cents', 'shop')('v')",
        "adapter.dispatch(macro_namespace='shop', macro_name='cents')('v')",
        "context['cents']('v')",
        "context.get('cents')('v')",
        "shop.cents('v')",
        "(cents)('v')",
    ],
)
def test_a_macro_belongs_to_the_logic_regardless_of_how_it_is_called(call):
    macros = {**SCOPE.macros, "cents": ["{% macro cents(c) %} 1 {% endmacro %}"]}
    sql = f"select {{{{ {call} }}}}"
    assert not same(logic(sql, replace(SCOPE, macros=macros)), logic(sql))


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        ("var('region')", {"variables": lambda package: {"region": "us", "other": 1}}),
        ("var(name)", {"variables": lambda package: {"half": 0.5, "region": "eu", "other": 2}}),
        ("cents('v')", {"variables": lambda package: {"half": 0.4, "region": "eu", "other": 1}}),
        ("env_var('STAGE')", {"environment": {"STAGE": "test"}}),
        ("target.name", {"target": {"name": "dev", "schema": "shop", "threads": 4}}),
        ("target['schema']", {"target": {"name": "prod", "schema": "dev", "threads": 4}}),
        ("target.get('schema')", {"target": {"name": "prod", "schema": "dev", "threads": 4}}),
        ("f(target)", {"target": {"name": "prod", "schema": "dev", "threads": 4}}),
    ],
)
def test_values_that_the_sql_reads_belong_to_the_logic(expression, changed):
    sql, scope = f"select {{{{ {expression} }}}}", replace(SCOPE, **changed)
    assert not same(logic(sql, scope), logic(sql))
    assert same(logic(scope=scope), logic())


@pytest.mark.parametrize(
    ("expression", "config"),
    [
        ("config.get(name)", {"meta": {"least": 2}}),
        ("model.config.meta.least", {"meta": {"least": 2}}),
        ("model['config'].get('meta')['least']", {"meta": {"least": 2}}),
        ("model.config.meta.items()", {"meta": {"least": 2}}),
    ],
)
def test_configs_that_the_sql_reads_belong_to_the_logic(expression, config):
    sql = f"select {{{{ {expression} }}}}"
    assert not same(logic(sql, **config), logic(sql, meta={"least": 1}))
    assert same(logic(**config), logic(meta={"least": 1}))


def test_unread_attributes_of_the_model_are_ignored():
    sql = "select {{ model.config.meta.least }}, '{{ model.name }}'"
    assert same(
        logic(sql, meta={"least": 1}, tags=["a"]), logic(sql, meta={"least": 1, "more": 2}, name="model.shop.b")
    )


def test_keys_of_a_variable_may_have_any_yaml_type():
    def values(holidays):
        return logic("{{ var('x') }}", replace(SCOPE, variables=lambda package: {"x": [{"days": holidays}]}))

    mixed = {date(2026, 1, 1): "New Year", True: 1, "no": 2}
    assert same(values(mixed), values(dict(reversed(mixed.items())))) and not same(values(mixed), values({}))


def test_values_that_differ_in_each_run_are_ignored():
    sql = "select '{{ run_started_at }}', '{{ invocation_id }}', {{ f(target) }}"
    threads = replace(SCOPE, target={**SCOPE.target, "threads": 8})
    assert same(logic(sql, threads), logic(sql))


def test_a_renamed_model_has_the_same_logic():
    assert same(logic(name="model.shop.renamed"), logic())


def test_ephemeral_models_and_their_parents_belong_to_the_logic():
    def graph(text):
        inner = {"config": {"materialized": "ephemeral"}, "depends_on": {"nodes": []}, "raw_code": text}
        outer = {**inner, "depends_on": {"nodes": ["model.shop.inner"]}, "raw_code": "select * from {{ ref('inner') }}"}
        return {"nodes": {"model.shop.inner": inner, "model.shop.outer": outer}}

    def built(text):
        return logic(graph=graph(text), parents=["model.shop.outer", "source.shop.raw.src"])

    assert not same(built("select 1"), built("select 2"))
    assert same(built("select 1"), built("select  1 -- one"))


def test_an_ephemeral_model_reads_its_own_values():
    def built(variable=1, **config):
        inner = {"package_name": "pkg", "config": {"materialized": "ephemeral", **config}, "depends_on": {"nodes": []}}
        text = "select {{ least() }}, {{ config.get('factor') }}"
        scope = replace(
            SCOPE,
            macros={"least": ["{% macro least() %}{{ var('least') }}{% endmacro %}"]},
            variables=lambda package: {"least": variable} if package == "pkg" else {"least": 0},
        )
        graph = {"nodes": {"model.pkg.inner": {**inner, "raw_code": text}}}
        return logic(scope=scope, graph=graph, parents=["model.pkg.inner"], factor=0)

    assert not same(built(variable=2), built())
    assert not same(built(factor=2), built())
    assert same(built(tags=["x"]), built())


def test_macros_are_found_by_the_names_that_dispatch_uses():
    def scope(*macros):
        listed = (SimpleNamespace(package_name="shop", name=name, macro_sql=name) for name in macros)
        return own_macros(listed)

    assert scope("default___cents")["_cents"] == ["default___cents"]
    assert scope("spark_iceberg__my__cents")["my__cents"] == ["spark_iceberg__my__cents"]
    assert scope("cents", "default__cents") == scope("default__cents", "cents")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({}, {"incremental_strategy": "append"}, True),
        ({}, {"tags": ["x"], "hold_source": "2 days", "on_sql_change": "fail", "audit": True}, True),
        ({"unique_key": "`Id`"}, {"unique_key": ["id"]}, True),
        ({"unique_key": ["a", "b"]}, {"unique_key": ["b", "a"]}, True),
        ({"partition_by": "a"}, {"partition_by": "b"}, True),
        (
            {"incremental_strategy": "insert_overwrite", "partition_by": "a"},
            {"incremental_strategy": "insert_overwrite", "partition_by": ["a"]},
            True,
        ),
        ({"incremental_predicates": "x > 1"}, {"incremental_predicates": ["x > 1"]}, True),
        ({}, {"incremental_strategy": "merge", "unique_key": "id"}, False),
        ({"incremental_strategy": "auto"}, {}, False),
        ({"unique_key": "a"}, {"unique_key": "b"}, False),
        ({"sequence_by": ["a", "b"]}, {"sequence_by": ["b", "a"]}, False),
        ({"merge_update_columns": ["a"]}, {"merge_update_columns": ["a", "b"]}, False),
        ({"incremental_predicates": ["x > 1"]}, {"incremental_predicates": ["x > 2"]}, False),
        (
            {"incremental_strategy": "insert_overwrite", "partition_by": "a"},
            {"incremental_strategy": "insert_overwrite", "partition_by": "b"},
            False,
        ),
    ],
)
def test_configs_that_affect_rows_belong_to_the_logic(one, other, alike):
    assert same(logic(**one), logic(**other)) is alike


def test_a_custom_config_that_the_sql_reads_belongs_to_the_logic():
    sql = "select {{ config.get('threshold') }}, {{ config.require('factor') }}"
    assert not same(logic(sql, threshold=1, factor=2), logic(sql, threshold=1, factor=3))
    assert not same(logic(sql, meta={"threshold": 1}), logic(sql, meta={"threshold": 2}))


PYTHON = """
def model(dbt, session):
    dbt.config(materialized="iceberg_incremental_snapshot", tags=["a"])  # dbt has resolved it
    return dbt.ip_changes(dbt.ref("src")).filter(f"v > {dbt.config.get('least')}")
"""


def test_a_python_model():
    built = logic(PYTHON, language="python", least=1)
    edited = PYTHON.replace("v >", "v >=")
    laid_out = (
        PYTHON.replace('tags=["a"]', 'tags=["b"]').replace("# dbt", "# dbt itself").replace(", session", ",session")
    )
    assert same(logic(laid_out, language="python", least=1), built)
    assert not same(logic(edited, language="python", least=1), built)
    assert not same(logic(PYTHON, language="python", least=2), built)
    computed = PYTHON.replace("'least'", "name")
    assert not same(logic(computed, language="python", least=2), logic(computed, language="python", least=1))


def test_an_empty_string_in_python_is_not_ignored():
    one, other = (
        logic(f"def model(dbt, session):\n    return f({given})", language="python") for given in ("'', 1", "1")
    )
    assert not same(one, other)


def test_invalid_jinja_is_compared_as_text():
    assert not same(logic("select {{ 1"), logic("select {{ 2"))


def test_the_logic_is_stored_in_a_property():
    built = logic("select {{ cents('v') }}", unique_key="id")
    assert built.is_comparable(built.fingerprint) and not built.is_comparable("0:abc")
    text = built.encoded()
    assert decoded(text, built.fingerprint) == built
    assert decoded(text, logic().fingerprint) is None
    for broken in (None, "", "no base64", "aGVsbG8=", text[:-40]):
        assert decoded(broken, built.fingerprint) is None


def test_a_long_logic_is_not_stored():
    words = " ".join(str(hash((n, "x"))) for n in range(20_000))
    assert logic(f"select {words}").encoded() is None


def test_differences_are_shown_by_part():
    before = logic("select a,\n  v as amount\nfrom {{ ref('x') }} -- old", unique_key="a")
    now = logic("select a,\n  v * 100 as amount\nfrom {{ ref('x') }} -- {{ cents('v') }}", unique_key=["a", "b"])
    assert differences(before, now)[:3] == ["SQL:", "  -  v as amount", "  -from {{ ref('x') }} -- old"]
    shown = "\n".join(differences(before, now))
    assert "macro cents: added" in shown
    assert "var('half'): not set → 0.5" in shown
    assert 'unique_key: ["a"] → ["a", "b"]' in shown


def test_long_differences_are_truncated():
    before, now = (logic("\n".join(f"{which}{n}" for n in range(30))) for which in "ab")
    shown = differences(before, now)
    assert len(shown) == 13 and shown[-1] == "… and 49 more lines"


def test_variables_are_looked_up_as_dbt_does():
    class Vars:
        def __init__(self, values):
            self.values = values

        def vars_for(self, node, adapter_type):
            return {**self.values, **self.values.get(node.package_name, {})}

    config = SimpleNamespace(
        cli_vars={"a": "cli"},
        project_name="shop",
        vars=Vars({"a": "project", "b": "project", "pkg": {"c": "project for pkg"}}),
        load_dependencies=lambda: {"pkg": SimpleNamespace(vars=Vars({"c": "package", "d": "package"}))},
        to_target_dict=lambda: {"name": "dev"},
    )
    scope = JinjaScope.of(config, [])
    found = {name: scope.variables("pkg").get(name) for name in "abcd"}
    assert found == {"a": "cli", "b": "project", "c": "project for pkg", "d": "package"}
    assert "d" not in scope.variables("shop")


def test_the_order_of_macros_is_ignored():
    macros = [
        SimpleNamespace(package_name="shop", name=name, macro_sql=f"{{% macro {name}(c) %}} {name} {{% endmacro %}}")
        for name in ("cents", "default__cents", "spark_iceberg__cents")
    ]
    sql = "select {{ cents('v') }} as v from {{ ip_changes(ref('src')) }}"
    one, other = (logic(sql, scope=replace(SCOPE, macros=own_macros(order))) for order in (macros, macros[::-1]))
    assert "spark_iceberg__cents" in one.code["macro cents"]
    assert same(one, other)
