"""Runs that compare or combine values that a rebuild does not: keys of another type, and rows of different states."""

from __future__ import annotations

from collections import Counter

from ..incremental.conftest import shop  # noqa: F401 (a fixture)


def test_keys_of_another_type_than_the_table_has(shop):  # noqa: F811
    """A text column remains text under on_schema_change: ignore. As text, 9 is greater than 10."""
    customers = shop.source("customers", "id string, region string")
    shop.insert(customers, *(f"('{number}', 'north')" for number in range(16, 40)))
    shop.model(
        "regions",
        "select nvl(id, id) as id, nvl(region, region) as region from {{ source('raw', 'customers') }}",
        incremental_strategy="auto",
        rebuild_above=1,
    )
    assert shop.run().success
    shop.sql(f"alter table {customers} drop column id")
    shop.sql(f"alter table {customers} add column id int")
    shop.sql(f"delete from {customers} where true")
    shop.insert(customers, *(f"('north', {number})" for number in range(16, 40)))
    for region in ("east", "south", "west"):
        found = shop.run()
        assert found.success, found.printed
        assert shop.rows(shop.built("regions"), "int(id), region") == shop.rows(customers, "id, region")
        shop.sql(f"update {customers} set region = '{region}' where id in (16, 17, 32)")


def test_an_expression_that_fails_for_rows_that_never_met(shop):  # noqa: F811
    shop.configure({"spark.sql.ansi.enabled": "true"})
    facts, kinds = shop.source("facts", "id int, kind int, v string"), shop.source("kinds", "kind int, type string")
    shop.insert(facts, "(1, 1, '10')", "(2, 2, '20')", "(3, 3, 'x')")
    shop.insert(kinds, "(1, 'int')", "(2, 'int')", "(3, 'text')")
    shop.model(
        "numbers",
        """
        select f.id, f.v, k.type from {{ source('raw', 'facts') }} f join {{ source('raw', 'kinds') }} k
        on f.kind = k.kind and case when k.type = 'int' then cast(f.v as int) else 1 end > 0
        """,
        incremental_strategy="auto",
        rebuild_above=1,
    )
    assert shop.run().success
    shop.sql(f"update {facts} set v = 'ten' where id = 1")
    shop.sql(f"update {kinds} set type = 'text' where kind = 1")
    found = shop.run()
    assert found.success, found.printed
    assert shop.rows(shop.built("numbers")) == Counter([(1, "ten", "text"), (2, "20", "int"), (3, "x", "text")])


def test_text_keys_that_are_compared_with_numbers(shop):  # noqa: F811
    """As text, 10 is less than 9. Files in which the number is always NULL can be skipped."""
    codes = shop.source("codes", "code string, v string")
    sizes = shop.source("sizes", "n int, label string", "partitioned by (n)")
    shop.insert(codes, "('9', 'a')", "('10', 'b')", "('11', 'c')")
    shop.insert(sizes, "(9, 'nine')", "(10, 'ten')", "(11, 'eleven')", *["(null, 'none')"] * 5)
    sql = "select c.code, c.v, s.label from {codes} c join {sizes} s on c.code = s.n"
    named = {each: f"{{{{ source('raw', '{each}') }}}}" for each in ("codes", "sizes")}
    shop.model("labels", sql.format(**named), incremental_strategy="auto", unique_key="code", rebuild_above=1)
    assert shop.run().success
    shop.sql(f"update {codes} set v = 'x' where code in ('9', '10')")
    found = shop.run()
    assert found.success, found.printed
    assert shop.rows(shop.built("labels")) == Counter([("9", "x", "nine"), ("10", "x", "ten"), ("11", "c", "eleven")])


def test_numbers_that_are_equal_only_as_doubles(shop):  # noqa: F811
    """A UNION of whole numbers and doubles returns doubles, which are equal for neighboring large numbers."""
    ids, wholes = shop.source("ids", "id bigint, v string"), shop.source("wholes", "n bigint")
    shop.source("doubles", "n double")
    shop.insert(ids, "(9007199254740993, 'a')", "(2, 'b')")
    shop.insert(wholes, "(9007199254740992)", "(2)")
    shop.model(
        "found",
        """
        select i.id, i.v from {{ source('raw', 'ids') }} i join (
            select n from {{ source('raw', 'wholes') }} union all select n from {{ source('raw', 'doubles') }}
        ) as t on i.id = t.n
        """,
        incremental_strategy="auto",
        unique_key="id",
        rebuild_above=1,
    )
    assert shop.run().success
    shop.sql(f"update {ids} set v = 'x' where id > 2")
    found = shop.run()
    assert found.success, found.printed
    assert shop.rows(shop.built("found")) == Counter([(9007199254740993, "x"), (2, "b")])
