"""Write, audit, publish: a model's own tests check its rows before anyone can read them."""

from __future__ import annotations

import shutil
import threading
import time

import pytest

from dbt.adapters.spark_iceberg.hooks.audit import AuditHooks

from .shop import CATALOG

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
MIRROR = "select id, v, _change_type from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}"
KEYED = {"incremental_strategy": "merge", "unique_key": "id"}
AUDITED = {"audit": True}


def judged_by(shop, *tests, column="v"):
    """Add generic tests, written as in YAML, to a column of the model."""
    listed = "".join(f"\n              - {each}" for each in tests)
    shop.write(
        "models/tests.yml",
        f"""
        version: 2
        models:
          - name: staged
            columns:
              - name: {column}
                data_tests:{listed.replace(chr(10) + "  ", chr(10) + "        ")}
        """,
    )


@pytest.mark.core("sequence_by", "apply_changes")
@pytest.mark.parametrize(
    ("sql", "config"),
    [
        (CHANGES, {}),
        (CHANGES, KEYED),
        (CHANGES, {**KEYED, "sequence_by": "id"}),
        (CHANGES, {"incremental_strategy": "insert_overwrite", "partition_by": "id"}),
        (MIRROR, {"incremental_strategy": "apply_changes", "unique_key": "id"}),
    ],
    ids=["append", "merge", "sequence_by", "insert_overwrite", "apply_changes"],
)
def test_bad_rows_are_not_published(shop, sql, config):
    events = shop.source("events")
    shop.model("staged", sql, **AUDITED, **config)
    judged_by(shop, "not_null", "{accepted_values: {arguments: {values: [a, b]}}}")
    shop.insert(events, "(1, 'a')")
    assert shop.run().ip("staged")["audit"] == {"tests": 2, "warned": []}
    built = shop.built("staged")
    before, head = shop.rows(built), shop.head(built)

    shop.insert(events, "(2, 'b')", "(3, 'x')", "(4, null)")
    message = shop.fails()
    assert "were not published: its data tests failed on them" in message
    assert "accepted_values_staged_v__a__b: 1 found" in message and "not_null_staged_v: 1 found" in message
    assert (shop.rows(built), shop.head(built), shop.branches(built)) == (before, head, {"main"})

    shop.sql(f"delete from {events} where id > 2") if "changelog" in sql else judged_by(shop, "unique")
    shop.run()
    assert shop.rows(built) == shop.rows(events)


COPY_ON_WRITE, MERGE_ON_READ = (
    ", ".join(f"'write.{kind}.mode'='{mode}'" for kind in ("delete", "update", "merge"))
    for mode in ("copy-on-write", "merge-on-read")
)


@pytest.mark.parametrize(
    ("properties", "fix"),
    [
        (f"'format-version'='2', {COPY_ON_WRITE}", "delete from {t} where id = 4"),
        (f"'format-version'='2', {MERGE_ON_READ}", "delete from {t} where id = 4"),
        (f"'format-version'='3', {MERGE_ON_READ}", "delete from {t} where id = 4"),
        (f"'format-version'='3', {COPY_ON_WRITE}", "update {t} set v = 'b' where id = 4"),
        ("'format-version'='2'", "delete from {t} where id > 2"),
    ],
    ids=["v2_copy_on_write", "v2_merge_on_read", "v3_merge_on_read", "v3_update", "whole_file"],
)
def test_a_bad_row_that_was_deleted_at_its_source_needs_no_rebuild(shop, properties, fix):
    events = shop.source("events", "id int, v string", f"tblproperties ({properties})")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "not_null")
    built = shop.built("staged")
    shop.insert(events, "(1, 'a')", "(2, 'a')")
    shop.run()
    shop.insert(events, "(3, 'a')", "(4, null)")
    assert "not_null_staged_v: 1 found" in shop.fails()
    shop.sql(fix.format(t=events))
    shop.insert(events, "(5, 'c')")
    assert shop.statuses()["staged"]["next_run"].startswith("applies what is pending")
    shop.run()
    assert shop.rows(built) == shop.rows(events)

    # the model must not drop a row that it already has
    head = shop.head(built)
    shop.insert(events, "(6, 'c')")
    shop.sql(f"delete from {events} where id in (1, 6)")
    assert "was rewritten since" in shop.fails()
    assert shop.head(built) == head


@pytest.mark.core("False")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_rebuild_is_judged_beside_its_table(shop, is_first):
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED, **KEYED)
    judged_by(shop, "not_null")
    if not is_first:
        shop.insert(events, "(1, 'a')")
        shop.run()
    before = None if is_first else shop.rows(shop.built("staged"))
    shop.insert(events, "(2, null)")
    message = shop.fails("--full-refresh")
    assert "not_null_staged_v: 1 found" in message
    tables = {row[1] for row in shop.sql(f"show tables in {CATALOG}.`{shop.schema}`")}
    assert tables == (set() if is_first else {"staged"})
    assert is_first or shop.rows(shop.built("staged")) == before
    shop.sql(f"update {events} set v = 'b' where id = 2")
    shop.run("--full-refresh")
    assert shop.rows(shop.built("staged")) == shop.rows(events)
    assert {row[1] for row in shop.sql(f"show tables in {CATALOG}.`{shop.schema}`")} == {"staged"}


@pytest.mark.parametrize("other", ["replaces", "drops"])
def test_each_of_two_concurrent_rebuilds_publishes_the_rows_that_it_audited(shop, monkeypatch, other):
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "not_null")
    shop.insert(events, "(1, 'a')")
    beside = shop.built("staged__ip_audit")
    audit = AuditHooks._judge

    def audit_beside_another_run(self, run, staged):
        audit(self, run, staged)
        if other == "replaces":
            shop.sql(f"create or replace table {beside} using iceberg as select 9 as id, cast(null as string) as v")
        else:
            shop.sql(f"drop table {beside} purge")

    monkeypatch.setattr(AuditHooks, "_judge", audit_beside_another_run)
    if other == "replaces":
        shop.run()
        assert shop.rows(shop.built("staged")) == shop.rows(events)
    else:
        assert "staged__ip_audit" in shop.fails()
    monkeypatch.undo()
    shop.insert(events, "(2, 'b')")
    shop.run()
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_an_audit_reads_the_whole_table_as_it_will_be(shop):
    """A test reads the new rows and the old rows together, as it would after the run."""
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "unique", column="id")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.insert(events, "(1, 'b')")
    assert "unique_staged_id: 1 found" in shop.fails()
    assert shop.rows(shop.built("staged"), "v") == {("a",): 1}


def test_relationships_to_the_same_table_are_audited_on_the_staged_rows(shop):
    events = shop.source("events", "id int, parent int")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "{relationships: {arguments: {to: ref('staged'), field: id}}}", column="parent")
    shop.insert(events, "(1, 1)")
    shop.run()
    shop.insert(events, "(2, 3)", "(3, 1)")
    shop.run()
    assert shop.rows(shop.built("staged")) == shop.rows(events)
    shop.insert(events, "(4, 5)")
    for arguments in ([], ["--full-refresh"]):
        assert "relationships_staged_parent__id__ref_staged_: 1 found" in shop.fails(*arguments)
    assert (4, 5) not in shop.rows(shop.built("staged"))


def test_a_foreign_table_with_the_name_of_an_audit_table_is_kept(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "not_null")
    beside = shop.built("staged__ip_audit")
    shop.sql(f"create schema if not exists {CATALOG}.`{shop.schema}`")
    shop.sql(f"create table {beside} (id int) using iceberg")
    shop.insert(events, "(1, 'a')")
    assert f"{CATALOG}.{shop.schema}.staged__ip_audit is used for something else" in shop.fails()
    assert shop.rows(beside) == {}
    shop.sql(f"drop table {beside}")
    shop.run()
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_a_rebuild_of_a_type_that_only_a_later_format_has(shop):
    events = shop.source("events", "id int, v variant", "tblproperties ('format-version'='3')")
    shop.model("staged", CHANGES, **AUDITED, **KEYED)
    judged_by(shop, "not_null", column="id")
    shop.sql(f"insert into {events} select 1, parse_json('[1]')")
    for arguments in ([], ["--full-refresh"]):
        shop.run(*arguments)
        assert shop.rows(shop.built("staged"), "id, to_json(v)") == {(1, "[1]"): 1}


def test_under_defer_audits_read_the_relations_that_ref_returns(shop, tmp_path):
    events = shop.source("events")
    shop.model("known", "select 'a' as v", materialized="table")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "{relationships: {arguments: {to: ref('known'), field: v}}}")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shutil.copytree(shop.folder / "target", tmp_path / "state")
    shop.insert(events, "(2, 'b')")
    profile = shop.folder / "profiles.yml"
    profile.write_text(profile.read_text().replace(f"schema: {shop.schema}\n", f"schema: {shop.schema}_dev\n"))
    deferred = ["--select", "staged", "--defer", "--state", str(tmp_path / "state")]
    assert "1 found" in shop.fails(*deferred)  # in the table of the other environment
    shop.model("known", "select explode(array('a', 'b')) as v", materialized="table")
    shop.run("--select", "known")
    shop.run(*deferred)
    assert "1 found" in shop.fails("--full-refresh", "--favor-state", *deferred)
    assert shop.rows(f"{CATALOG}.`{shop.schema}_dev`.`staged`") == shop.rows(events)


def test_under_defer_a_first_build_is_judged_by_its_own_rows(shop, tmp_path):
    """A key to the same table is not looked up in the other environment's table, which still has the parents."""
    events = shop.source("events", "id int, parent int")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "{relationships: {arguments: {to: ref('staged'), field: id}}}", "not_null", column="parent")
    shop.insert(events, "(1, 1)", "(5, 5)")
    shop.run()
    shutil.copytree(shop.folder / "target", tmp_path / "state")
    shop.sql(f"delete from {events} where id = 5")
    shop.insert(events, "(6, 5)")
    profile = shop.folder / "profiles.yml"
    profile.write_text(profile.read_text().replace(f"schema: {shop.schema}\n", f"schema: {shop.schema}_dev\n"))
    deferred = ["--select", "staged", "--defer", "--state", str(tmp_path / "state")]
    for favor in ([], ["--favor-state"]):
        assert "relationships_staged_parent__id__ref_staged_: 1 found" in shop.fails(*deferred, *favor)
    shop.sql(f"update {events} set parent = 1 where id = 6")
    built = shop.dbt("build", *deferred)
    assert built.success, built.printed[-3000:]
    assert built.printed.count("already ran on snapshot") == 2
    assert shop.rows(f"{CATALOG}.`{shop.schema}_dev`.`staged`") == shop.rows(events)

    # without a build, dbt's own tests run on the table of this environment, if it exists
    shop.insert(f"{CATALOG}.`{shop.schema}_dev`.`staged`", "(7, null)")
    assert shop.dbt("test", *deferred).message("not_null_staged_parent").startswith("Got 1 result")


def test_tests_of_ephemeral_models_are_left_to_dbt_test(shop):
    events = shop.source("events")
    shop.model("known", "select 'a' as v", materialized="ephemeral")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "{relationships: {arguments: {to: ref('known'), field: v}}}")
    shop.insert(events, "(1, 'a')", "(2, 'b')")
    found = shop.dbt("build")
    assert (
        "is not part of the audit of model.shop.staged, because it reads model.shop.known, which is ephemeral"
        in found.printed
    )
    assert {name: str(each.status) for name, each in found.nodes.items()} == {
        "staged": "success",
        "relationships_staged_v__v__ref_known_": "fail",
    }


@pytest.mark.core
def test_a_warning_publishes_and_says_so(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "{not_null: {config: {severity: warn, where: 'id > 1'}}}")
    shop.insert(events, "(1, null)")
    assert shop.run().ip("staged")["audit"]["warned"] == []
    shop.insert(events, "(2, null)")
    found = shop.run()
    assert "warns: not_null_staged_v: 1 found" in found.printed
    assert [each.partition(".staged_v")[0] for each in found.ip("staged")["audit"]["warned"]]
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_relations_that_may_be_built_later_are_left_to_dbt_test(shop):
    events, names = shop.source("events"), shop.source("names", "v string")
    shop.model("staged", CHANGES, **AUDITED)
    shop.model("known", "select * from {{ ip_changes(source('raw', 'names')) }}")
    judged_by(shop, "{relationships: {arguments: {to: ref('known'), field: v}}}")
    shop.insert(names, "('a')")
    shop.insert(events, "(1, 'a')")
    assert "is not part of the audit of model.shop.staged" in shop.run().printed
    shop.insert(events, "(2, 'b')")
    assert "relationships_staged_v__v__ref_known_: 1 found" in shop.fails("--select", "staged")
    shop.insert(names, "('b')")
    shop.run("--select", "known")
    shop.run("--select", "staged")
    assert shop.rows(shop.built("staged")) == shop.rows(events)


def test_a_test_that_cannot_run_publishes_nothing(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED)
    judged_by(shop, "{not_null: {config: {where: 'no_such_column = 1'}}}")
    shop.insert(events, "(1, 'a')")
    message = shop.fails()
    assert "the data test not_null_staged_v could not run" in message and "no_such_column" in message


def test_a_test_that_reads_the_published_table_publishes_nothing(shop):
    events = shop.source("events")
    table = "{{ model.schema }}.{{ model.identifier }}"
    shop.write(
        "macros/no_null.sql",
        f"{{% test no_null(model, column_name) %}} select * from {table} where v is null {{% endtest %}}",
    )
    shop.model("staged", CHANGES)
    judged_by(shop, "no_null")
    shop.insert(events, "(1, 'a')")
    shop.run()
    shop.model("staged", CHANGES, **AUDITED)
    shop.insert(events, "(2, null)")
    message = shop.fails()
    assert "the data test no_null_staged_v could not run" in message
    assert "does not read {{ model }}" in message
    assert message.count("could not run") == 1
    assert shop.rows(shop.built("staged"), "id") == {(1,): 1}


def test_a_reader_never_sees_a_bad_row(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED, **KEYED)
    judged_by(shop, "not_null")
    shop.insert(events, "(1, 'a')")
    shop.run()
    built, seen, done = shop.built("staged"), [], threading.Event()

    def poll():
        reader = shop.session.newSession()
        while not done.is_set():
            seen.append(reader.sql(f"select count(*), count_if(v is null) from {built}").collect()[0])
            time.sleep(0.02)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        for number in range(2, 5):
            shop.insert(events, f"({number}, null)")
            shop.fails()
            shop.sql(f"update {events} set v = 'b' where id = {number}")
            shop.run()
    finally:
        done.set()
        thread.join()
    assert {bad for _, bad in seen} == {0}
    assert max(count for count, _ in seen) == 4


@pytest.mark.core
def test_a_build_does_not_repeat_tests_on_the_very_snapshot(shop):
    events = shop.source("events")
    shop.model("staged", CHANGES, **AUDITED)
    warning = "{accepted_values: {arguments: {values: [a]}, config: {severity: warn}}}"
    judged_by(shop, "not_null", warning)
    for rows in (["(1, 'a')"], ["(2, 'b')", "(3, 'c')"]):
        shop.insert(events, *rows)
        built = shop.dbt("build")
        assert built.printed.count("already ran on snapshot") == 2
    assert built.message("accepted_values_staged_v__a") == "Got 2 results, configured to warn if != 0"

    shop.model("staged", CHANGES, **AUDITED, post_hook="insert into {{ this }} values (4, null)")
    shop.insert(events, "(3, 'a')")
    built = shop.dbt("build")
    assert "already ran on snapshot" not in built.printed
    assert not built.success and built.message("not_null_staged_v").startswith("Got 1 result")
