from __future__ import annotations

from decimal import Decimal

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.relations.seeds import queries, require_delimiter, types_of

ROWS = [(1, "a"), (2, None), (3, "it's")]


def test_rows_are_batched_and_each_column_is_cast_once():
    first, second = queries(["id", "na`me"], ["bigint", "string"], ROWS, 2)
    assert first.startswith(
        "select /*+ coalesce(1) */ coalesce(try_cast(c0 as bigint), if(c0 is null, null, raise_error("
    )
    assert "coalesce(try_cast(c1 as string), " in first
    assert first.endswith(")) as `na``me` from values\n(1, 'a'),\n(2, null)\nas seed(c0, c1)")
    assert "(3, 'it\\'s')" in second


def test_numbers_are_written_as_text_without_rounding():
    numbers = ["6.02E+23", "1.6E-19", "-7.0", "0.5"]
    (found,) = queries(["n"], ["double"], [(Decimal(number),) for number in numbers], 9)
    assert "('602000000000000000000000'),\n('0.00000000000000000016'),\n('-7'),\n('0.5')\n" in found


def test_configured_types_win():
    assert types_of({"a": "bigint", "b": "string"}, {"a": "string"}) == ["string", "string"]
    assert types_of({"a": "bigint"}, None) == ["bigint"]


@pytest.mark.parametrize(("names", "quoted"), [(["id"], False), (["a|b", "c"], False), (["a|b"], True)])
def test_headers(names, quoted):
    require_delimiter(names, quoted=quoted)


def test_a_header_that_was_not_split():
    with pytest.raises(
        DbtRuntimeError, match=r"(?s)Syntax error in the header.*'id\|name\|first, last'.*delimiter: '\|'"
    ):
        require_delimiter(["id|name|first, last"], quoted=False)
