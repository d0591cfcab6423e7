"""The generic tests of a model in dbt's graph."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.data_tests import (
    FAIL,
    PASS,
    WARN,
    DataTest,
    built_at_any_time,
    generic_tests_of,
    reads_elsewhere,
    rendered,
)
from iceberg_incremental.table.history import TableName

CONFIG = {"severity": "ERROR", "fail_calc": "count(*)", "warn_if": "!= 0", "error_if": "!= 0", "limit": None}
FACTS, DIM, STAGED = "model.shop.facts", "model.shop.dim", "model.shop.staged"


def model(unique_id, *parents, package="shop"):
    return {
        "unique_id": unique_id,
        "resource_type": "model",
        "name": unique_id.rpartition(".")[2],
        "package_name": package,
        "depends_on": {"nodes": list(parents)},
    }


def data_test(name, kwargs, *others, attached=FACTS, namespace=None, **config):
    return {
        "unique_id": f"test.shop.{name}",
        "resource_type": "test",
        "name": name,
        "attached_node": attached,
        "test_metadata": {"name": name.partition("_facts")[0], "kwargs": kwargs, "namespace": namespace},
        "depends_on": {"nodes": [attached, *others]},
        "config": {**CONFIG, **config},
    }


MODEL = {"model": "{{ get_where_subquery(ref('facts')) }}"}
NOT_NULL = data_test("not_null_facts_id", {**MODEL, "column_name": "id"}, severity="WARN", where="id > 1", limit=5)
RELATED = data_test("relationships_facts", {**MODEL, "to": "ref('dim')", "field": "id", "column_name": "d"}, DIM)
OTHERS = data_test("unique_dim", {"column_name": "id"}, attached=DIM)
SINGULAR = {**data_test("own", {}), "test_metadata": None, "attached_node": None}
GRAPH = {
    "nodes": {
        each["unique_id"]: each
        for each in (
            model(FACTS, STAGED),
            model(STAGED, "source.shop.raw.events"),
            model(DIM, package="other"),
            NOT_NULL,
            RELATED,
            OTHERS,
            SINGULAR,
        )
    },
    "sources": {"source.shop.raw.events": {"source_name": "raw", "name": "events"}},
}


def test_a_models_own_generic_tests():
    not_null, related = generic_tests_of(GRAPH, FACTS)
    assert (not_null.macro, not_null.package, not_null.arguments) == ("test_not_null", None, {"column_name": "id"})
    assert (not_null.severity, not_null.where, not_null.limit) == ("WARN", "id > 1", 5)
    assert related.others == {DIM}


def arguments(kwargs, *others):
    test = DataTest("test.shop.t", FACTS, "t", "test_t", None, kwargs, frozenset(others))
    return rendered(test, GRAPH, lambda unique_id: f"<{unique_id}>", lambda text: f"[1, {len(text)}]")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ref('dim')", f"<{DIM}>"),
        ("{{ ref('dim') }}", f"<{DIM}>"),
        ("ref('other', 'dim')", f"<{DIM}>"),
        ("ref('dim', v=2)", f"<{DIM}>"),
        ("source('raw', 'events')", "<source.shop.raw.events>"),
        ("ref('facts')", f"<{FACTS}>"),
        ("var('some')", [1, 17]),
        ("{% if true %}1{% endif %}", [1, 25]),
        ("plain", "plain"),
        (7, 7),
    ],
)
def test_arguments_are_rendered_like_in_dbt(text, found):
    others = (DIM, "source.shop.raw.events")
    assert arguments({"to": text}, *others) == {"to": found}
    assert arguments({"each": [text], "by": {"name": text}}, *others) == {"each": [found], "by": {"name": found}}


def test_a_column_name_is_not_rendered():
    assert arguments({"column_name": "ref('dim')"}) == {"column_name": "ref('dim')"}


@pytest.mark.parametrize("text", ["ref('gone')", "ref('shop', 'dim')", "source('raw', 'gone')"])
def test_an_unresolved_reference(text):
    with pytest.raises(ValueError, match=r"gone|dim"):
        arguments({"to": text}, DIM)


def test_nodes_that_may_be_built_after_the_model():
    assert built_at_any_time(GRAPH, FACTS, [FACTS, STAGED, DIM]) == {DIM}
    assert built_at_any_time(GRAPH, FACTS, [FACTS]) == set()


@pytest.mark.parametrize(
    ("severity", "should_warn", "should_error", "verdict"),
    [
        ("ERROR", True, True, FAIL),
        ("error", True, True, FAIL),
        ("ERROR", True, False, WARN),
        ("WARN", True, True, WARN),
        ("WARN", False, True, PASS),
        ("ERROR", False, False, PASS),
    ],
)
def test_the_verdict_is_the_same_as_dbts(severity, should_warn, should_error, verdict):
    test = DataTest("test.shop.t", FACTS, "t", "test_t", None, {}, frozenset(), severity=severity)
    assert test.verdict(should_warn=should_warn, should_error=should_error) == verdict


BRANCH = "`lake`.`shop`.`facts`.`branch_ip_1_0123456789ab`"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (f"select * from {BRANCH} where v is null", None),
        (f"select * from (select * from {BRANCH} where id > 1) a join {BRANCH} b using (id)", None),
        (f"select * from {BRANCH} join lake.shop.facts_of_old join shop.facts2 join my_shop.facts", None),
        ("select * from shop.other where v is null", "does not read"),
        ("select * from `lake`.`shop`.`facts` where v is null", "does not read"),
        (f"select * from {BRANCH} where id > (select max(id) from `lake`.`shop`.`facts`)", "by name"),
        (f"select * from {BRANCH} where id > (select max(id) from Shop.Facts)", "by name"),
        (f"select * from {BRANCH} where id > (select max(id) from shop.facts.branch_main)", "by name"),
    ],
)
def test_sql_that_reads_published_rows_is_refused(sql, reason):
    found = reads_elsewhere(sql, BRANCH, TableName("lake", "shop", "facts"))
    assert found is None if reason is None else reason in found
