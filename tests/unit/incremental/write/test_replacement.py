"""The SQL of merges by replacement, changed groups and value ranges, and its use of metadata."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.expose.groups import MOST_BROADCAST_KEYS, MOST_BROADCAST_NUMBERS, rows_sql
from iceberg_incremental.expose.same_key import same_key
from iceberg_incremental.expose.value_range import from_metadata, from_query, from_row
from iceberg_incremental.plan.changes import plan_whole
from iceberg_incremental.plan.groups import ChangedGroups, Changes
from iceberg_incremental.plan.ranges import Counts
from iceberg_incremental.table.files import ChangedFiles, DataFile, FileDifference, TableColumn
from iceberg_incremental.table.layout import LiveSpec
from iceberg_incremental.write.strategies.replacement import (
    Inserted,
    Replacement,
    delete_sql,
    duplicates_of,
    flaws_sql,
    inserted,
    unchanged_groups_sql,
)
from tests.unit.incremental import histories as h

NAME = "`lake`.`ops`.`flights`"
COLUMNS = (
    TableColumn(1, "id", "int"),
    TableColumn(2, "day", "date"),
    TableColumn(3, "v", "string"),
    TableColumn(4, "x", "double"),
)
LIBRARY = {**h.APPEND, "iceberg-version": "Apache Iceberg 1.12.0 (commit abc)"}


def file(path, low, high, day):
    def raw(value):
        return value.to_bytes(4, "little")

    bounds = {1: (low, high), 2: (day, day)}
    return DataFile(
        path, 10, 100,
        lower={key: raw(pair[0]) for key, pair in bounds.items()},
        upper={key: raw(pair[1]) for key, pair in bounds.items()},
        nulls={1: 0, 2: 0, 3: 10}, values={1: 10, 2: 10, 3: 10},
    )  # fmt: skip


def files(*found):
    return ChangedFiles(COLUMNS, COLUMNS, FileDifference((), found, ()))


FILES = files(file("a", 1, 5, 0), file("b", 7, 9, 1))
COMMIT = h.snapshot(3, 2, summary=LIBRARY)


def target(**properties):
    return replace(h.history(*h.chain(2), COMMIT, properties=properties), format_version=3)


def no_specs():
    return ()


def deletion(new, **more):
    return delete_sql(new, Replacement(("id",), ("int",), **more))


def groups_of(*found, keys=("id",), types=("int",)):
    planned = plan_whole(h.history(*h.chain(3)), h.chain(3)[-1])
    return ChangedGroups(keys, tuple(Changes(planned, each) for each in found), types=types)


def test_a_copy_on_write_delete_has_bounds_only_on_common_partition_columns():
    """With bounds on other columns, Iceberg 1.12 fails ("Field _spec_id not found")."""
    both = Replacement(("id",), ("int",), fixed=("day",))
    for specs, bounded in {
        (("day",),): ("`day`",),
        (("day", "bucket(4,id)"), ("day",)): ("`day`",),
        (("day",), ()): (),
        (("days(day)",),): (),
        (None,): (),
    }.items():
        live = [LiveSpec(place, 1, fields) for place, fields in enumerate(specs)]
        sql = delete_sql(inserted(target(), COMMIT, FILES, lambda live=live: live), both)
        bounds = sql.partition("_file not in")[0].partition("exists")[0]
        assert [name for name in ("`id`", "`day`") if name in bounds] == list(bounded)
        assert "_file not in ('a', 'b')" in sql


def test_old_rows_are_recognized_by_row_lineage_if_it_is_reliable():
    mor = {"write.delete.mode": "merge-on-read"}
    assert inserted(target(**mor), COMMIT, FILES, no_specs).by_sequence
    assert not inserted(target(), COMMIT, FILES, no_specs).by_sequence
    assert not inserted(replace(target(**mor), format_version=2), COMMIT, FILES, no_specs).by_sequence
    unknown = replace(COMMIT, summary=h.APPEND)
    assert not inserted(target(**mor), unknown, FILES, no_specs).by_sequence
    for groups in (None, groups_of(FILES), groups_of(FILES, keys=("day",), types=("date",))):
        both = Replacement(("id", "day"), ("int", "date"), groups=groups)
        sql = delete_sql(inserted(target(**mor), COMMIT, FILES, no_specs), both)
        found = sql.count("exists (")
        assert (
            sql.count("coalesce(DBT_INTERNAL_DEST._last_updated_sequence_number, 0) <> ") == found == 1 + bool(groups)
        )


def test_older_releases_read_row_lineage_only_from_parquet():
    mor = target(**{"write.delete.mode": "merge-on-read"})
    older = replace(COMMIT, summary={**h.APPEND, "iceberg-version": "Apache Iceberg 1.11.0 (commit abc)"})
    parquet, orc = (files(file(path, 1, 5, 0)) for path in ("a.parquet", "a.orc"))
    assert inserted(mor, older, parquet, no_specs).by_sequence
    assert not inserted(mor, older, orc, no_specs).by_sequence
    assert not inserted(mor, older, None, no_specs).by_sequence
    assert inserted(mor, COMMIT, orc, no_specs).by_sequence


def test_sequence_numbers_are_not_literals_in_conditions():
    """A literal would become a part of the compiled code. A value in the broadcast keys does not."""
    sql = deletion(Inserted(h.FLIGHTS, COMMIT, FILES, by_sequence=True), groups=groups_of(FILES))
    assert "_last_updated_sequence_number, 0) <> _ip_changed._ip_since or DBT_INTERNAL_DEST._file not in (" in sql
    assert "> 3" not in sql


def test_internal_names_do_not_collide_with_keys():
    key = Replacement(("_IP_since",), ("int",))
    sql = delete_sql(Inserted(h.FLIGHTS, COMMIT, None, by_sequence=True), key)
    assert "as _ip_since_ from" in sql
    assert "0) <> DBT_INTERNAL_SOURCE._ip_since_)" in sql


def test_old_rows_are_recognized_by_files():
    new = Inserted(h.FLIGHTS, COMMIT, FILES, by_sequence=False)
    assert "DBT_INTERNAL_DEST._file not in ('a', 'b')" in deletion(new)
    unlisted = deletion(replace(new, files=None))
    assert f"_file not in (select _file from {NAME}.`branch_main` WITH (`start-snapshot-id` = '2'" in unlisted
    assert " >= " not in unlisted


def test_bounds_are_on_the_key_and_on_columns_that_it_fixes():
    new = Inserted(h.FLIGHTS, COMMIT, FILES, by_sequence=False)
    assert "`id` >= 1 and `id` <= 5" in deletion(new)
    assert "`day`" not in deletion(new)
    assert "`day` <= date '1970-01-02'" in deletion(new, fixed=("day",))


def test_the_first_commit_of_a_table():
    first = Inserted(h.FLIGHTS, h.snapshot(1, None), FILES, by_sequence=False)
    assert f"from {NAME}.`snapshot_id_1` where `id` is not null" in deletion(first)


def test_duplicate_keys_are_searched_in_the_inserted_rows():
    new = Inserted(h.FLIGHTS, COMMIT, FILES, by_sequence=False)
    sql = duplicates_of(new, Replacement(("id", "day"), ("int", "date")))
    assert "`branch_main` WITH (`start-snapshot-id` = '2', `end-snapshot-id` = '3')" in sql
    assert "where `id` is not null and `day` is not null group by `id`, `day` having count(*) > 1" in sql


def test_flaws_are_searched_with_one_read_of_the_inserted_rows():
    new = Inserted(h.FLIGHTS, COMMIT, FILES, by_sequence=False)
    assert flaws_sql(new, Replacement(("id", "day"), ("int", "date"))).endswith(
        "as DBT_INTERNAL_SOURCE group by `id`, `day` having count(*) > 1 limit 1"
    )
    groups = groups_of(FILES, keys=("day",), types=("date",))
    sql = flaws_sql(new, Replacement(("id",), ("int",), groups=groups))
    assert sql.count("`branch_main` WITH (") == 1
    assert "left join (select *, true as _ip_is_changed from (select distinct `day` from" in sql
    assert sql.endswith("group by `id` having count(*) > 1 or count(_ip_is_changed) < count(*) limit 1")


def test_unchanged_groups_are_searched_in_the_inserted_rows():
    new = Inserted(h.FLIGHTS, COMMIT, FILES, by_sequence=False)
    sql = unchanged_groups_sql(new, groups_of(FILES, keys=("id", "day"), types=("int", "date")))
    assert "`branch_main` WITH (`start-snapshot-id` = '2', `end-snapshot-id` = '3')) as DBT_INTERNAL_SOURCE" in sql
    assert "left anti join (select distinct `id`, `day` from" in sql
    assert "group by `id`, `day`" in sql


def test_rows_of_changed_groups_are_also_deleted():
    new = Inserted(h.FLIGHTS, COMMIT, FILES, by_sequence=False)
    groups = groups_of(files(file("c", 20, 21, 5)))
    sql = deletion(new, groups=groups)
    assert "`id` >= 20 and `id` <= 21" in sql
    assert "`id` >= 1 and `id` <= 5" in sql
    assert sql.count("exists (") == 1  # the columns are the same, so one search finds both
    both = delete_sql(new, Replacement(("id", "day"), ("int", "date"), groups=groups))
    assert both.count("exists (") == 2
    unbounded = deletion(new, groups=groups_of(None))
    assert "`id` >= 1" not in unbounded  # the range of the groups' keys is unknown


def test_the_keys_are_broadcast_if_they_are_few():
    for type_, most in (("date", MOST_BROADCAST_NUMBERS), ("string", MOST_BROADCAST_KEYS)):
        groups = groups_of(FILES, keys=("day",), types=(type_,))
        for keys, is_small in ((most, True), (most + 1, False)):
            planned = replace(groups.changes[0].planned, counts=Counts(records=keys))
            sql = rows_sql("t", 0, replace(groups, changes=(Changes(planned, FILES),)))
            assert ("/*+ BROADCAST(_ip_keys) */" in sql) is is_small


def test_null_groups_are_compared_unless_there_are_none():
    by_id = groups_of(FILES, FILES)
    assert "on _ip_rows.`id` = _ip_keys.`id`" in rows_sql("t", 0, by_id)
    with_null = replace(FILES, files=FileDifference((), FILES.files.all, (replace(file("c", 1, 2, 0), nulls={1: 1}),)))
    unknown = replace(FILES, files=None)
    for more in (with_null, unknown, None):
        assert "on _ip_rows.`id` <=> _ip_keys.`id`" in rows_sql("t", 0, groups_of(FILES, more))
    all_null = groups_of(FILES, keys=("v",), types=("string",))
    assert "on _ip_rows.`v` <=> _ip_keys.`v`" in rows_sql("t", 0, all_null)


@pytest.mark.parametrize(
    ("types", "nulls", "expected"),
    [
        (("int", "date"), False, "l.`a` = r.`a` and unix_date(l.`b`) = unix_date(r.`b`)"),
        (("bigint", "date"), False, "l.`a` = r.`a` and l.`b` = r.`b`"),
        (("date", "string"), False, "l.`a` = r.`a` and l.`b` = r.`b`"),
        (("int", "date"), True, "l.`a` <=> r.`a` and l.`b` <=> r.`b`"),
    ],
)
def test_keys_that_fit_into_one_number_are_compared_as_numbers(types, nulls, expected):
    assert same_key("l", "r", ("a", "b"), types, nulls=nulls) == expected


def test_the_range_of_a_column():
    found = from_metadata([FILES, files(file("c", 20, 21, 5))], "ID")
    assert found is not None
    assert (found.min, found.max, found.is_empty, found.has_nulls) == ("1", "21", False, False)
    nothing = from_metadata([FILES], "v")
    assert nothing is not None
    assert (nothing.min, nothing.has_nulls) == ("cast(null as string)", True)
    assert from_metadata([FILES], "x") is None  # bounds do not include NaN
    assert from_metadata([FILES, None], "id") is None
    other = replace(FILES, end=(TableColumn(1, "id", "long"),))
    assert from_metadata([FILES, other], "id") is None


@pytest.mark.parametrize(
    ("kind", "row", "expected"),
    [
        ("decimal(9,2)", ("1.50", "20.25", 3, 0), ("cast('1.50' as decimal(9,2))", "cast('20.25' as decimal(9,2))")),
        ("string", ("69742773", "7A", 3, 1), ("'it\\'s'", "'z'")),
        ("string", ("80", "C3BC", 3, 1), ("''", "'\U0010ffff'")),
        ("string", ("61EFBFBD", "6180", 3, 1), ("'a'", "'b'")),
        ("date", (None, None, 3, 3), ("cast(null as date)", "cast(null as date)")),
        ("timestamp", (None, None, 0, 0), ("cast(null as timestamp_ltz)", "cast(null as timestamp_ltz)")),
        ("timestamp", ("-1", "0", 2, 0), (
            "timestamp_ltz '1969-12-31 23:59:59.999999+00:00'", "timestamp_ltz '1970-01-01 00:00:00.000000+00:00'"
        )),
        ("timestamp", ("0", str(2**62), 2, 0), (
            "timestamp_ltz '1970-01-01 00:00:00.000000+00:00'", "timestamp_micros(4611686018427387904)"
        )),
        ("double", ("0.0", "-0.0", 2, 0), ("cast('-0.0' as double)", "cast('0.0' as double)")),
        ("double", ("-Infinity", "1E10", 2, 0), ("cast('-Infinity' as double)", "cast('1E10' as double)")),
    ],
)  # fmt: skip
def test_a_range_from_a_query(kind, row, expected):
    found = from_row("c", kind, row)
    assert (found.min, found.max) == expected
    assert (found.is_empty, found.has_nulls) == (row[2] == 0, row[3] > 0)


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("double", ("1.0", "NaN", 2, 0), "is NaN in a changed row"),
        ("string", ("61", "F8", 2, 0), "starts with the bytes f8"),
    ],
)
def test_values_without_a_literal_bound_are_refused(kind, row, message):
    with pytest.raises(ConfigError, match=message):
        from_row("c", kind, row)


def test_a_type_without_literals():
    with pytest.raises(ConfigError, match="whose type is map<int,int>"):
        from_query(["t"], "c", lambda sql: ("map<int,int>",))
