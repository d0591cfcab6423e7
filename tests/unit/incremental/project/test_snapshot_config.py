"""Which dbt snapshots can be run incrementally, according to their configs and columns."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dbt.adapters.spark_iceberg.project import snapshot_config as config
from dbt.adapters.spark_iceberg.project.snapshot_logic import logic_of
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergColumn
from iceberg_incremental.plan.versions_config import MetaColumns


@dataclass
class Macro:
    name: str
    package_name: str


OWN = [Macro("default__snapshot_staging_table", "dbt"), Macro("spark_iceberg__snapshot_get_time", "dbt_spark_iceberg")]


def node(**more):
    return {
        "unique_id": "snapshot.shop.s",
        "config": {"strategy": "check", "check_cols": "all", "unique_key": "id", **more},
    }


def columns(**types):
    return [SparkIcebergColumn(name, type_) for name, type_ in types.items()]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"unique_key": ["id", "`part`"], "check_cols": ["name"]},
        {"strategy": "timestamp", "updated_at": "at"},
        {"updated_at": "coalesce(at, now())"},  # with the strategy check, updated_at affects only ids and times
        {"dbt_valid_to_current": "to_date('9999-12-31')", "hard_deletes": "new_record"},
        {"ip_incremental": True, "file_format": "iceberg"},
    ],
)
def test_supported_configs(more):
    assert config.reason_of_config(node(**more), OWN) is None


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"ip_incremental": False}, "ip_incremental is false"),
        ({"strategy": "mine"}, "strategy is 'mine'"),
        ({"file_format": "delta"}, "file_format is 'delta'"),
        ({"sql_header": "set x = 1"}, "sql_header"),
        ({"unique_key": None}, "no unique_key"),
        ({"unique_key": "id || '-' || part"}, "unique_key is \"id || '-' || part\""),
        ({"strategy": "timestamp", "updated_at": "greatest(a, b)"}, "updated_at"),
        ({"check_cols": ["lower(name)"]}, "check_cols"),
        ({"dbt_valid_to_current": "current_date()"}, "dbt_valid_to_current has current_date()"),
    ],
)
def test_unsupported_configs(more, reason):
    assert reason in str(config.reason_of_config(node(**more), OWN))


@pytest.mark.parametrize(
    "name", ["default__snapshot_hash_arguments", "snapshot_check_strategy", "spark__current_timestamp"]
)
def test_overridden_macros(name):
    found = config.reason_of_config(node(), [*OWN, Macro(name, "shop")])
    assert found == f"dbt's macros for snapshots are overridden by shop.{name}"


def test_unrelated_macros_of_the_project():
    assert config.reason_of_config(node(), [*OWN, Macro("snapshot_report", "shop")]) is None


STORED = columns(id="int", name="string", at="timestamp", dbt_valid_from="timestamp", dbt_valid_to="timestamp")
GIVEN = STORED[:3]
TIMED = {"strategy": "timestamp", "updated_at": "at"}


@pytest.mark.parametrize(
    ("more", "given", "reason"),
    [
        ({}, GIVEN, None),
        (TIMED, GIVEN, None),
        ({}, [*GIVEN, *columns(new="int")], None),  # dbt adds the column to the table
        ({}, columns(id="bigint", name="string"), "id is bigint in the query and int in the table"),
        ({}, columns(id="int", name="string", Name="string"), "several columns named 'name'"),
        ({"unique_key": "ID"}, GIVEN, "unique_key is 'ID'"),
        ({"check_cols": ["NAME"]}, GIVEN, "check_cols is 'NAME'"),
        (TIMED, columns(id="int", at="date"), "at is date in the query and timestamp in the table"),
        ({**TIMED, "updated_at": "missing"}, GIVEN, "updated_at is 'missing'"),
    ],
)
def test_columns(more, given, reason):
    found = config.reason_of_columns(node(**more), given, STORED, "dbt_valid_from")
    assert found is None if reason is None else reason in str(found)


def test_the_time_of_a_version_must_have_the_same_type_in_the_table():
    stored = columns(id="int", at="date", dbt_valid_from="timestamp")
    found = config.reason_of_columns(node(**TIMED), stored[:2], stored, "dbt_valid_from")
    assert found == "at is date in the query and timestamp in the table"


@pytest.mark.parametrize(
    ("more", "is_whole"),
    [({}, False), ({"hard_deletes": "ignore"}, False), ({"hard_deletes": "new_record"}, True),
     ({"invalidate_hard_deletes": True}, True)],
)  # fmt: skip
def test_text_as_the_time_of_a_version(more, is_whole):
    """dbt converts it to a timestamp and back if the column also receives the time of a deletion."""
    given = columns(id="int", at="string", dbt_valid_from="string")
    found = config.reason_of_columns(node(**TIMED, **more), given[:2], given, "dbt_valid_from")
    assert (found is not None and "updated_at is text" in found) is is_whole


@pytest.mark.parametrize("type_", ["double", "float", "binary", "string collate UNICODE_CI"])
def test_types_of_keys_that_are_not_compared_exactly(type_):
    given = columns(id=type_)
    assert "is of type" in str(config.reason_of_columns(node(), given, given, "dbt_valid_from"))


def test_the_logic_depends_on_the_config_and_the_sql():
    base = logic_of(node(), "select 1")
    unset = {"snapshot_meta_column_names": {"dbt_valid_to": None}}
    assert logic_of(node(**unset)) == logic_of(node(snapshot_meta_column_names={}))
    assert base == logic_of(node(tags=["x"]), "select 1")
    others = [
        logic_of(node(), "select 2"),
        *(
            logic_of(node(**more), "select 1")
            for more in (
                {"check_cols": ["name"]},
                {"unique_key": ["id", "part"]},
                {"hard_deletes": "invalidate"},
                {"invalidate_hard_deletes": True},
                {"dbt_valid_to_current": "to_date('9999-12-31')"},
                {"snapshot_meta_column_names": {"dbt_valid_to": "until"}},
            )
        ),
    ]
    assert len({base, *others}) == len(others) + 1


def test_ids_of_versions():
    assert config.makes_new_ids(node())
    assert not config.makes_new_ids(node(updated_at="at")) and not config.makes_new_ids(node(**TIMED))


def test_columns_of_the_table():
    names = {"dbt_valid_to": "until", "dbt_scd_id": "version", "dbt_updated_at": "at", "dbt_is_deleted": "gone"}
    found = config.history_of(node(unique_key=["`id`"], dbt_valid_to_current="null"), names)
    assert (found.unique_key, found.valid_to_current) == (("id",), "null")
    assert found.names == MetaColumns("version", "at", "dbt_valid_from", "until", "gone")
    marking = config.history_of(node(hard_deletes="new_record"), names)
    assert "gone" in dict(marking.meta_columns()) and "gone" not in dict(found.meta_columns())
