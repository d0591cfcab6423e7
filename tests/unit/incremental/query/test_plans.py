"""Which of Spark's plans represent the same query."""

from __future__ import annotations

import pytest

from iceberg_incremental.query.text.plans import canonical


def _explained(plan: str, filters: str = "") -> str:
    scan = f"IcebergScan(table=lake.db.a, snapshotId=7, filters={filters}, runtimeFilters=, groupedBy=)"
    return f"== Optimized Logical Plan ==\n{plan}\n\n== Physical Plan ==\nBatchScan lake.db.a[k#1] {scan}\n"


ALIKE = {
    "numbers": ("Filter (k#1 > 2)\n+- RelationV2[k#1] lake.db.a", "Filter (k#7 > 2)\n+- RelationV2[k#7] lake.db.a"),
    "long numbers": ("Filter (k#1L > 2)\n+- RelationV2[k#1L] lake.db.a",
        "Filter (k#7L > 2)\n+- RelationV2[k#7L] lake.db.a"),
    "names of expressions": ("Project [(k#1 + 1) AS (k + 1)#2]\n+- RelationV2[k#1] lake.db.a",
        "Project [(k#1 + 1) AS n#3]\n+- RelationV2[k#1] lake.db.a"),
    "names with spaces": ("Project [(order id#1 + 1) AS a#2]\n+- RelationV2[order id#1] a",
        "Project [(Order id#1 + 1) AS b#2]\n+- RelationV2[order id#1] a"),
    "the name of a lateral view": (
        "Generate explode(s#1), [0], true, t, [x#2]\n+- RelationV2[s#1] a",
        "Generate explode(s#1), true, ip_t1, [x#2]\n+- RelationV2[s#1] a",
    ),
    "the order of columns that are only passed on": (
        "Aggregate [k#1], [k#1, sum(x#2) AS n#3]\n+- Project [k#1, x#2]\n   +- RelationV2[k#1, x#2, s#4] a",
        "Aggregate [k#1], [k#1, sum(x#2) AS n#3]\n+- Project [x#2, k#1]\n   +- RelationV2[k#1, x#2, s#4] a",
    ),
    "another number": (
        "Aggregate [k#5], [k#5, sum(x#2) AS n#3]\n+- Project [k#1 AS k#5, x#2]\n   +- RelationV2[k#1, x#2] a",
        "Aggregate [k#1], [k#1, sum(x#2) AS n#3]\n+- RelationV2[k#1, x#2] a",
    ),
    "another number of a group": (
        "Project [(c#5 + 1) AS z#6]\n+- Aggregate [k#1L], [k#1L AS c#5L]\n   +- RelationV2[k#1L, x#2] a",
        "Project [(k#1 + 1) AS z#6]\n+- Aggregate [k#1L], [k#1L]\n   +- RelationV2[k#1L, x#2] a",
    ),
    "all columns of a branch": (
        "Union false, false\n:- Project [k#1, x#2]\n:  +- Filter (k#1 > 2)\n:     +- RelationV2[k#1, x#2] a\n"
        "+- RelationV2[k#3, x#4] b",
        "Union false, false\n:- Filter (k#1 > 2)\n:  +- RelationV2[k#1, x#2] a\n+- RelationV2[k#3, x#4] b",
    ),
    "the case of a field": (
        "Project [s#1.A AS x#2]\n+- RelationV2[s#1] a",
        "Project [s#1.a AS x#2]\n+- RelationV2[s#1] a",
    ),
    "the case of names in tuples that are compared": (
        "Filter (named_struct(K, k#1, col2, A) = named_struct(X, x#2, col2, b))\n+- RelationV2[k#1, x#2] a",
        "Filter (named_struct(k, k#1, col2, A) = named_struct(x, x#2, col2, b))\n+- RelationV2[k#1, x#2] a",
    ),
    "other names in tuples that are compared": (
        "Filter (named_struct(c0, k#1, col2, A) = named_struct(x, x#2, col2, b))\n+- RelationV2[k#1, x#2] a",
        "Filter (named_struct(k, k#1, col2, A) = named_struct(k, x#2, col2, b))\n+- RelationV2[k#1, x#2] a",
    ),
    "names with commas for distinct values": (
        "Aggregate [k#2], [k#2, count(coalesce(a.s, 'x, y')#3) AS n#4]\n"
        "+- Expand [[k#0, null], [k#0, coalesce(s#1, x, y)]], [k#2, coalesce(a.s, 'x, y')#3]\n   "
        "+- RelationV2[k#0, s#1] a",
        "Aggregate [k#2], [k#2, count(coalesce(b.s, 'x, y')#3) AS n#4]\n"
        "+- Expand [[k#0, null], [k#0, coalesce(s#1, x, y)]], [k#2, coalesce(b.s, 'x, y')#3]\n   "
        "+- RelationV2[k#0, s#1] a",
    ),
    "synonyms": (
        "Project [substr(s#1, 1, position(a, s#1, 1)) AS x#2]\n+- RelationV2[s#1] a",
        "Project [substring(s#1, 1, locate(a, s#1, 1)) AS x#2]\n+- RelationV2[s#1] a",
    ),
    "names of expressions for distinct values": (
        "Aggregate [k#2, x#3], [k#2, x#3, max((a.x > 1)#4) AS m#5]\n"
        "+- Expand [[k#0, x#1, (x#1 > 1)], [k#0, null, null]], [k#2, x#3, (a.x > 1)#4]\n   +- RelationV2[k#0, x#1] a",
        "Aggregate [k#2, x#3], [k#2, x#3, max((b.x > 1)#4) AS m#5]\n"
        "+- Expand [[k#0, x#1, (x#1 > 1)], [k#0, null, null]], [k#2, x#3, (b.x > 1)#4]\n   +- RelationV2[k#0, x#1] a",
    ),
    "names with AS in them": (
        "Filter (k#1 = CAST(03 AS INT)#2)\n+- Project [k#1, 3 AS CAST(03 AS INT)#2]\n   +- RelationV2[k#1] a",
        "Filter (k#1 = a#2)\n+- Project [k#1, 3 AS a#2]\n   +- RelationV2[k#1] a",
    ),
    "a column that is passed on twice": (
        "Aggregate [k#1], [sum(n#2) AS s#3]\n+- Project [k#1, coalesce(x#4, k#1, k#1) AS n#2, k#1]\n"
            "   +- RelationV2[k#1, x#4] a",
        "Aggregate [k#1], [sum(n#2) AS s#3]\n+- Project [k#1, coalesce(x#4, k#1, k#1) AS n#2]\n"
            "   +- RelationV2[k#1, x#4] a",
    ),
    "a relation without rows": ("LocalRelation <empty>, [length(B )#1]", "LocalRelation <empty>, [_col_0#1]"),
    "a lambda that is written twice": (
        "Project [filter(s#1, lambdafunction((lambda e#2 > 1), lambda e#2, false)) AS a#3, filter(s#1, "
            "lambdafunction((lambda e#2 > 1), lambda e#2, false)) AS b#4]\n+- RelationV2[s#1] a",
        "Project [filter(s#1, lambdafunction((lambda e#2 > 1), lambda e#2, false)) AS a#3, filter(s#1, "
            "lambdafunction((lambda e#5 > 1), lambda e#5, false)) AS b#4]\n+- RelationV2[s#1] a",
    ),
    "a comma and a cross join": ("Join Inner\n:- RelationV2[k#1] a\n+- RelationV2[k#2] b",
        "Join Cross\n:- RelationV2[k#1] a\n+- RelationV2[k#2] b"),
}  # fmt: skip

DIFFERENT = {
    "the variable of the outer lambda": (
        "Project [transform(s#1, lambdafunction(filter(lambda x#2, lambdafunction((lambda x#2 > lambda y#3), "
            "lambda y#3, false)), lambda x#2, false)) AS a#4]\n+- RelationV2[s#1] a",
        "Project [transform(s#1, lambdafunction(filter(lambda x#2, lambdafunction((lambda y#3 > lambda y#3), "
            "lambda y#3, false)), lambda x#2, false)) AS a#4]\n+- RelationV2[s#1] a",
    ),
    "the other variable of a lambda": (
        "Project [aggregate(s#1, 0, lambdafunction((lambda x#2 - lambda y#3), lambda x#2, lambda y#3, false)) AS a#4]"
            "\n+- RelationV2[s#1] a",
        "Project [aggregate(s#1, 0, lambdafunction((lambda y#3 - lambda x#2), lambda x#2, lambda y#3, false)) AS a#4]"
            "\n+- RelationV2[s#1] a",
    ),
    "how often a column is an argument": (
        "Aggregate [k#1], [sum(n#2) AS s#3]\n+- Project [k#1, hash(k#1, k#1) AS n#2]\n   +- RelationV2[k#1] a",
        "Aggregate [k#1], [sum(n#2) AS s#3]\n+- Project [k#1, hash(k#1) AS n#2]\n   +- RelationV2[k#1] a",
    ),
    "how often the result has a column": (
        "Project [k#1, k#1]\n+- RelationV2[k#1, x#2] a", "Project [k#1]\n+- RelationV2[k#1, x#2] a",
    ),
    "another column": ("RelationV2[k#1] lake.db.a", "RelationV2[x#1] lake.db.a"),
    "another table": ("RelationV2[k#1] lake.db.a", "RelationV2[k#1] lake.db.b"),
    "another literal": ("Filter (k#1 > 2)\n+- RelationV2[k#1] a", "Filter (k#1 > 3)\n+- RelationV2[k#1] a"),
    "another field": ("Project [s#1.a AS x#2]\n+- RelationV2[s#1] a", "Project [s#1.b AS x#2]\n+- RelationV2[s#1] a"),
    "the order of the result's columns": (
        "Project [k#1, x#2]\n+- RelationV2[k#1, x#2, s#3] a",
        "Project [x#2, k#1]\n+- RelationV2[k#1, x#2, s#3] a",
    ),
    "the order of a branch's columns": (
        "Union false, false\n:- Project [k#1, x#2]\n:  +- RelationV2[k#1, x#2] a\n+- RelationV2[k#3, x#4] b",
        "Union false, false\n:- Project [x#2, k#1]\n:  +- RelationV2[k#1, x#2] a\n+- RelationV2[k#3, x#4] b",
    ),
    "the column of a scalar": (
        "Filter (k#1 > scalar-subquery#5 [])\n:  +- Project [x#2]\n:     +- Filter (s#3 = p)\n:        +- "
            "RelationV2[x#2, s#3] b\n+- RelationV2[k#1] a",
        "Filter (k#1 > scalar-subquery#5 [])\n:  +- Project [s#3]\n:     +- Filter (s#3 = p)\n:        +- "
            "RelationV2[x#2, s#3] b\n+- RelationV2[k#1] a",
    ),
    "the sides of a self-join": (
        "Project [k#1, x#4]\n+- Join Inner, (k#1 = k#3)\n   :- RelationV2[k#1, x#2] a\n   +- RelationV2[k#3, x#4] a",
        "Project [k#1, x#2]\n+- Join Inner, (k#1 = k#3)\n   :- RelationV2[k#1, x#2] a\n   +- RelationV2[k#3, x#4] a",
    ),
    "the sides of a self-join under other numbers": (
        "Project [k#5, x#4]\n+- Join Inner, (k#5 = k#3)\n   :- Project [k#1 AS k#5]\n   :  +- RelationV2[k#1, x#2] a\n"
        "   +- RelationV2[k#3, x#4] a",
        "Project [k#5, x#4]\n+- Join Inner, (k#5 = x#4)\n   :- Project [k#1 AS k#5]\n   :  +- RelationV2[k#1, x#2] a\n"
        "   +- RelationV2[k#3, x#4] a",
    ),
    "columns under each other's names": (
        "Aggregate [k#5], [k#5, sum(x#6) AS n#7]\n+- Project [k#1 AS k#5, x#2 AS x#6]\n   +- RelationV2[k#1, x#2] a",
        "Aggregate [k#5], [k#5, sum(x#6) AS n#7]\n+- Project [x#2 AS k#5, k#1 AS x#6]\n   +- RelationV2[k#1, x#2] a",
    ),
    "a number that the other side of a self-join has": (
        "Filter (x#2 = 1)\n+- Join Inner, (k#5 = k#3)\n   :- Project [k#1 AS k#5, x#4 AS x#6]\n"
        "   :  +- RelationV2[k#1, x#4] a\n   +- RelationV2[k#3, x#2] a",
        "Filter (x#6 = 1)\n+- Join Inner, (k#5 = k#3)\n   :- Project [k#1 AS k#5, x#4 AS x#6]\n"
        "   :  +- RelationV2[k#1, x#4] a\n   +- RelationV2[k#3, x#2] a",
    ),
    "a number that both sides of a self-join have": (
        "Filter (k#5 = x#2)\n+- Join Inner\n   :- Project [k#1 AS k#5]\n   :  +- RelationV2[k#1, x#4] a\n"
        "   +- RelationV2[k#1, x#2] a",
        "Filter (k#1 = x#2)\n+- Join Inner\n   :- Project [k#1 AS k#5]\n   :  +- RelationV2[k#1, x#4] a\n"
        "   +- RelationV2[k#1, x#2] a",
    ),
    "a column twice": (
        "Filter (k#5 = k#6)\n+- Project [k#1 AS k#5, k#1 AS k#6]\n   +- RelationV2[k#1, x#2] a",
        "Filter (k#5 = k#6)\n+- Project [k#1 AS k#5, x#2 AS k#6]\n   +- RelationV2[k#1, x#2] a",
    ),
    "the case of a literal": (
        "Filter (named_struct(k, k#1, col2, A) = named_struct(x, x#2, col2, b))\n+- RelationV2[k#1, x#2] a",
        "Filter (named_struct(k, k#1, col2, a) = named_struct(x, x#2, col2, b))\n+- RelationV2[k#1, x#2] a",
    ),
    "the case of a name in a value": (
        "Project [named_struct(K, k#1) AS s#2]\n+- RelationV2[k#1] a",
        "Project [named_struct(k, k#1) AS s#2]\n+- RelationV2[k#1] a",
    ),
    "outer": ("Generate explode(s#1), true, t, [x#2]\n+- RelationV2[s#1] a",
        "Generate explode(s#1), false, t, [x#2]\n+- RelationV2[s#1] a"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_alike(name: str) -> None:
    first, second = (canonical(_explained(each)) for each in ALIKE[name])
    assert first == second is not None


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str) -> None:
    first, second = (canonical(_explained(each)) for each in DIFFERENT[name])
    assert first != second


def test_the_case_of_a_field_if_names_are_case_sensitive() -> None:
    texts = [_explained(f"Project [s#1.{name} AS x#2]\n+- RelationV2[s#1] a") for name in "Aa"]
    assert canonical(texts[0], case_sensitive=True) != canonical(texts[1], case_sensitive=True)


def test_filters_that_iceberg_evaluates_are_compared() -> None:
    plan = "RelationV2[k#1] lake.db.a"
    assert canonical(_explained(plan, "k = 1")) != canonical(_explained(plan, "k = 2"))


def test_the_types_of_the_result_are_compared() -> None:
    analyzed, plan = "== Analyzed Logical Plan ==\nip_0: {}\nProject\n\n", _explained("Project [null AS ip_0#1]\n+- R")
    first, second = (canonical(analyzed.format(type_) + plan) for type_ in ("time(6)", "timestamp"))
    assert first != second


def test_a_name_with_a_comma() -> None:
    plan = "Project [f(a#1) AS (f(a, b)#2]\n+- Relation [(f(a, b)#1, c#3] t"
    assert canonical(_explained(plan)) is not None


def test_no_plan() -> None:
    assert canonical("== Parsed Logical Plan ==\nx") is None


DISTINCT = (
    "Aggregate [k#1], [k#1, count(a.x#5) FILTER (WHERE ((gid#4 = {x}) AND (s > 0)#7)) AS m#8, "
    "count((s + 1)#6) FILTER (WHERE (gid#4 = {s})) AS n#9]\n"
    "+- Aggregate [k#1, {columns}, gid#4], [k#1, {columns}, gid#4, max((s > 0)#10) AS (s > 0)#7]\n"
    "   +- Expand [{rows}], [k#1, {columns}, gid#4, (s > 0)#10]\n"
    "      +- RelationV2[k#1, x#2, s#3] a"
)
X_FIRST = DISTINCT.format(
    x=1, s=2, columns="a.x#5, (s + 1)#6", rows="[k#1, x#2, null, 1, (s#3 > 0)], [k#1, null, (s#3 + 1), 2, null]"
)
S_FIRST = DISTINCT.format(
    x=2, s=1, columns="(s + 1)#6, a.x#5", rows="[k#1, (s#3 + 1), null, 1, null], [k#1, null, x#2, 2, (s#3 > 0)]"
)


def test_groups_of_distinct_columns_in_another_order() -> None:
    """Spark orders and numbers the groups by hashes."""
    assert canonical(_explained(X_FIRST)) == canonical(_explained(S_FIRST))


def test_another_group_of_distinct_columns() -> None:
    other = (
        S_FIRST.replace("gid#4 = 2", "gid#4 = 3").replace("gid#4 = 1", "gid#4 = 2").replace("gid#4 = 3", "gid#4 = 1")
    )
    assert canonical(_explained(other)) != canonical(_explained(X_FIRST))
