"""Contracts and constraints."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)

NO_NULLS = "coalesce(`{0}`, raise_error('NULL in column {0}, which the model\\'s contract declares not_null')) as `{0}`"
# Iceberg's CREATE TABLE AS accepts no column list. The query rejects NULLs, and the columns become NOT NULL with it.
TABLE = f"""
create or replace table <model_identifier>
using iceberg
as
select {NO_NULLS.format("id")}, `color`, `date_day`
from (
    -- depends_on: <foreign_key_model_identifier>
    select 'blue' as color, 1 as id, '2019-01-01' as date_day
) as model_subq
"""


def of_spark(yaml: str) -> str:
    """Properties with Spark's names of types."""
    return yaml.replace("data_type: text", "data_type: string")


class ColumnsEqual:
    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        # a value, its type in the contract, and its type in the error
        return [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["date '2013-11-03'", "date", "date"],
            ["timestamp '2013-11-03 00:00:00'", "timestamp", "timestamp"],
            ["timestamp_ntz '2013-11-03 00:00:00'", "timestamp_ntz", "timestamp_ntz"],
            ["array('a', 'b')", "array<string>", "array<string>"],
            ["array(1, 2)", "array<int>", "array<int>"],
            ["cast(1 as decimal(10, 2))", "decimal(10,2)", "decimal(10,2)"],
            ["named_struct('a', 1)", "struct<a:int>", "struct<a:int>"],
        ]


class TestTableColumnsEqual(ColumnsEqual, BaseTableConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_wrong_name_sql,
            "constraints_schema.yml": of_spark(fixtures.model_schema_yml),
        }


class TestViewColumnsEqual(ColumnsEqual, BaseViewConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_view_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_view_wrong_name_sql,
            "constraints_schema.yml": of_spark(fixtures.model_schema_yml),
        }


class TestIncrementalColumnsEqual(ColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_incremental_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_incremental_wrong_name_sql,
            "constraints_schema.yml": of_spark(fixtures.model_schema_yml),
        }


class TestTableDdl(BaseConstraintsRuntimeDdlEnforcement):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": of_spark(fixtures.model_fk_constraint_schema_yml),
        }

    @pytest.fixture(scope="class")
    @classmethod
    def expected_sql(cls) -> str:
        return TABLE


class TestIncrementalDdl(BaseIncrementalConstraintsRuntimeDdlEnforcement):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_incremental_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": of_spark(fixtures.model_fk_constraint_schema_yml),
        }

    @pytest.fixture(scope="class")
    @classmethod
    def expected_sql(cls) -> str:
        return TABLE


class TestModelConstraints(BaseModelConstraintsRuntimeEnforcement):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": of_spark(fixtures.constrained_model_schema_yml),
        }

    @pytest.fixture(scope="class")
    @classmethod
    def expected_sql(cls) -> str:
        return TABLE


class TestQuotedColumn(BaseConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql.replace('"from"', "`from`"),
            "constraints_schema.yml": of_spark(fixtures.model_quoted_column_schema_yml).replace('"from"', "`from`"),
        }

    @pytest.fixture(scope="class")
    @classmethod
    def expected_sql(cls) -> str:
        return f"""
            create or replace table <model_identifier>
            using iceberg
            as
            select {NO_NULLS.format("id")}, {NO_NULLS.format("from")}, `date_day`
            from (
                select 'blue' as `from`, 1 as id, '2019-01-01' as date_day
            ) as model_subq
        """


class NoNulls:
    @pytest.fixture(scope="class")
    @classmethod
    def expected_error_messages(cls) -> list[str]:
        return ["NULL in column id, which the model's contract declares not_null"]


class TestConstraintsRollback(NoNulls, BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_sql,
            "constraints_schema.yml": of_spark(fixtures.model_schema_yml),
        }


@pytest.mark.core
class TestIncrementalConstraintsRollback(NoNulls, BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_incremental_model_sql,
            "constraints_schema.yml": of_spark(fixtures.model_schema_yml),
        }


class SqlHeader:
    """A header that sets a variable in Spark's syntax. dbt's own sets one in PostgreSQL's."""

    model = ""

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, str]:
        sql = cls.model.replace("set session time zone 'Asia/Kolkata'", "set time zone 'Asia/Kolkata'")
        return {
            "my_model_contract_sql_header.sql": sql.replace(
                "current_setting('timezone') as column_name", "current_timezone() as column_name"
            ),
            "constraints_schema.yml": of_spark(fixtures.model_contract_header_schema_yml),
        }


class TestTableContractSqlHeader(SqlHeader, BaseTableContractSqlHeader):
    model = fixtures.my_model_contract_sql_header_sql


class TestIncrementalContractSqlHeader(SqlHeader, BaseIncrementalContractSqlHeader):
    model = fixtures.my_model_incremental_contract_sql_header_sql


class TestIncrementalForeignKey(BaseIncrementalForeignKeyConstraint):
    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> dict[str, Any]:
        return {
            "schema.yml": of_spark(fixtures.incremental_foreign_key_schema_yml),
            "raw_numbers.sql": fixtures.incremental_foreign_key_model_raw_numbers_sql,
            "stg_numbers.sql": fixtures.incremental_foreign_key_model_stg_numbers_sql,
        }
