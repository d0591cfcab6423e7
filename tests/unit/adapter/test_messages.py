from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.spark.messages import clean, describe

NOT_FOUND = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`b` cannot be found. SQLSTATE: 42P01; line 1 pos 14"
PLAN = "'Project [*]\n+- 'UnresolvedRelation [a, b], [], false\n"
STACK = "\tat org.apache.spark.sql.X.y(X.scala:7)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\t... 21 more"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("short", "short"),
        (f"{NOT_FOUND};\n{PLAN}", NOT_FOUND),
        (f"{NOT_FOUND};\n{PLAN}\n{STACK}", NOT_FOUND),
        (f"{NOT_FOUND};\nReplaceTableAsSelect TableSpec(Map(),None), true\n:- ResolvedIdentifier x\n", NOT_FOUND),
        (f"java.lang.IllegalState: no\n{STACK}", "java.lang.IllegalState: no"),
        (f"org.apache.hive.service.cli.HiveSQLException: Error running query: boom\n{STACK}", "boom"),
        ("[USER_RAISED_EXCEPTION] One:\n  two. SQLSTATE: P0001", "One:\n  two."),
        ("[PARSE] near 'x'.\n== SQL ==\nselect x\n-------^^^\n", "[PARSE] near 'x'.\n== SQL ==\nselect x\n-------^^^"),
    ],
)
def test_stack_traces_and_plans_are_left_out(text, message):
    assert clean(text) == message


def test_the_fix_for_a_missing_runtime_is_added_once():
    message = clean("Cannot find catalog plugin class for catalog 'lake': org.apache.iceberg.spark.SparkCatalog")
    assert "spark.driver.extraClassPath" in message
    assert clean(message) == message


class Response:
    class Status:
        errorMessage = f"boom\n{STACK}"  # noqa: N815

    status = Status()


def test_the_message_of_a_thrift_response():
    assert describe(Exception(Response())) == "boom"


def test_an_error_without_a_message_shows_its_class():
    assert describe(ValueError()) == "ValueError"


def test_the_fix_for_a_catalog_without_views_is_added_once():
    said = clean(clean("Replacing a view is not supported by catalog: lake"))
    assert said.count("does not support views: materialize the model as a table. For `dbt clone`,") == 1


def test_an_unknown_partition_field_names_its_config():
    tree = "Couldn't find column nope in:\nroot\n |-- id: integer (nullable = false)"
    assert clean(clean(tree)).count("This concerns partition_by") == 1
    assert "|-- id: integer" in clean(tree)


@pytest.mark.parametrize(
    ("suggested", "named"),
    [
        (
            "`lakehouse`.`ops`.`flights`.`snapshot_id_5523`.`id`, `lakehouse`.`ops`.`flights`.`snapshot_id_5523`.`v`",
            True,
        ),
        ("`lakehouse`.`ops`.`flights`.`branch_main`.`id`", True),
        ("`id`, `v`", True),
        ("`f`.`v`, `f`.`w`", False),
    ],
)
def test_the_fix_for_a_column_qualified_by_a_macros_table_is_added_once(suggested, named):
    said = clean(
        clean(
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `flights`.`id` "
            f"cannot be resolved. Did you mean one of the following? [{suggested}]. SQLSTATE: 42703; line 1 pos 7"
        )
    )
    assert said.count("add an alias:\nfrom {{ ip_changes(…) }} as flights") == named


def test_a_predicate_that_names_the_table_otherwise_has_its_own_fix():
    said = clean(
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `target`.`g` cannot "
        "be resolved. Did you mean one of the following? [`DBT_INTERNAL_DEST`.`g`, `DBT_INTERNAL_SOURCE`.`g`]. "
        "SQLSTATE: 42703; line 1 pos 7"
    )
    assert "in incremental_predicates, write DBT_INTERNAL_DEST" in said and "ip_changes" not in said
