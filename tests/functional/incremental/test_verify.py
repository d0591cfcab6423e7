"""``ip_verify`` compares a table with its rebuild from the snapshots of its checkpoint, for every strategy."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest
import yaml

EVENTS = "id int, day date, grp string, amount int, ratio double"
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
ALL = "id, day, grp, amount, ratio"
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "appended": (f"select {ALL} from {{{{ ip_changes(source('raw', 'events')) }}}}", {}),
    "merged": (f"select {ALL} from {{{{ ip_changes(source('raw', 'events')) }}}}", MERGE),
    "in_sequence": (
        f"select {ALL} from {{{{ ip_changes(source('raw', 'events')) }}}}",
        {**MERGE, "sequence_by": "amount"},
    ),
    "grouped": (
        "select grp, sum(amount) as amount, sum(ratio) as ratio "
        "from {{ ip_changed_groups(source('raw', 'events'), 'grp') }} group by grp",
        {"incremental_strategy": "merge", "unique_key": "grp"},
    ),
    "by_day": (
        f"""select {ALL} from {{{{ ip_as_of(source('raw', 'events')) }}}}
        where day in (select day from {{{{ ip_changes(source('raw', 'events')) }}}})""",
        {"incremental_strategy": "insert_overwrite", "partition_by": "day"},
    ),
    "mirrored": (
        "select * from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}",
        {"incremental_strategy": "apply_changes", "unique_key": "id"},
    ),
    "signed": (
        """select grp, sum(amount) as amount from (
            select grp, amount * _change_sign as amount from {{ ip_signed_changes(source('raw', 'events')) }}
            {% if is_incremental() %} union all select grp, amount from {{ this }} {% endif %}
        ) group by grp""",
        {"incremental_strategy": "merge", "unique_key": "grp"},
    ),
    "kept_rows": (f"select {ALL} from {{{{ source('raw', 'events') }}}}", {"incremental_strategy": "auto"}),
    "kept_groups": (
        "select grp, count(*) as n, sum(amount) as amount, sum(ratio) as ratio "
        "from {{ source('raw', 'events') }} group by grp",
        {"incremental_strategy": "auto"},
    ),
    "versions": (
        "select * from {{ ip_changelog(source('raw', 'events')) }}",
        {"incremental_strategy": "history", "unique_key": "id"},
    ),
}
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="iceberg_incremental_snapshot", incremental_strategy="merge", unique_key="id")
    return dbt.ip_changes(dbt.source("raw", "events"))
"""
STRATEGIES = [*MODELS, "in_python"]
ONE, TWO = "(1, date '2026-01-01', 'a', 10, 0.1)", "(2, date '2026-01-01', 'a', 20, 0.2)"
THREE = "(3, date '2026-01-02', 'b', 30, 0.3)"
LATE = "(4, date '2026-01-01', 'b', 40, 0.4)"


def results(report: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: each["result"] for name, each in report.items()}


@pytest.fixture(scope="module")
def built(module_shop):
    """Models of every strategy, after a first build and two runs with late rows. Tests alter their tables."""
    shop = module_shop
    events = shop.source("events", EVENTS)
    for name, (sql, config) in MODELS.items():
        shop.model(name, sql, **config)
    shop.write("models/in_python.py", textwrap.dedent(PYTHON))
    shop.insert(events, ONE, TWO)
    shop.run()
    shop.insert(events, THREE)
    shop.run()
    shop.insert(events, LATE, "(5, date '2026-01-02', null, 50, double('nan'))")
    shop.run()
    return shop


@pytest.mark.core
def test_no_false_alarm_while_writers_go_on(built):
    shop = built
    shop.insert(shop.raw("events"), "(6, date '2026-01-03', 'c', 60, 0.6)")
    heads = {name: shop.head(shop.built(name)) for name in STRATEGIES}
    found = shop.verified()
    rounded = {name for name, result in results(found).items() if result == "equal_but_rounding"}
    assert rounded <= {"grouped", "kept_groups"}
    assert results(found) == {**dict.fromkeys(STRATEGIES, "equal"), **dict.fromkeys(rounded, "equal_but_rounding")}
    assert {name: each["rows"] for name, each in found.items()} == {
        **dict.fromkeys(STRATEGIES, 5),
        **dict.fromkeys(("grouped", "kept_groups", "signed"), 3),
    }
    sampled = shop.verified(sample=0.5)
    assert "differs" not in results(sampled).values()
    assert sum(each["rows"] for each in sampled.values()) < sum(each["rows"] for each in found.values())
    assert {name: shop.head(shop.built(name)) for name in STRATEGIES} == heads
    recorded = json.loads(shop.properties(shop.built("merged"))["ip.verified"])
    assert (recorded["snapshot_id"], recorded["share"], recorded["result"]) == (heads["merged"], 0.5, "equal")
    shop.sql(f"call {shop.catalog}.system.rollback_to_snapshot('{shop.source_schema}.events', {read(shop)})")


def read(shop: Any) -> int:
    return shop.checkpoint(shop.built("appended"))["sources"][f"{shop.catalog}.{shop.source_schema}.events"][
        "snapshot_id"
    ]


KEYED = {"grouped": "grp", "signed": "grp", "kept_groups": "grp"}
KEYLESS = ("appended", "by_day", "kept_rows")


ALTERED = {
    "deleted": "delete from {table} where {row}",
    "doubled": "insert into {table} select * from {table} where {row}",
    "changed": "update {table} set amount = -1 where {row}",
}


@pytest.mark.core
@pytest.mark.parametrize("kind", ALTERED)
def test_what_is_altered_by_hand_is_found(built, kind):
    shop, keys = built, {name: KEYED.get(name, "id") for name in STRATEGIES}
    heads = {name: shop.head(shop.built(name)) for name in STRATEGIES}
    for name, key in keys.items():
        row = f"{key} = {1 if key == 'id' else repr('a')}"
        shop.sql(ALTERED[kind].format(table=shop.built(name), row=row))
    found = shop.verified(fails=True)
    shown = shop.sql(f"select count(*) from ({found['merged']['sql']})")
    for name, head in heads.items():
        shop.sql(f"call {shop.catalog}.system.rollback_to_snapshot('{shop.schema}.{name}', {head})")
    assert results(found) == dict.fromkeys(STRATEGIES, "differs")
    counts = {"deleted": (1, 0, 0), "doubled": (0, 1, 0), "changed": (0, 0, 1)}[kind]
    expected = dict.fromkeys(STRATEGIES, counts)
    if kind == "changed":
        expected |= dict.fromkeys(KEYLESS, (1, 1, 0))
        assert found["merged"]["found"]["columns"] == {"amount": 1}
        (example,) = found["merged"]["found"]["examples"]["changed"]
        assert (example["rebuilt"]["amount"], example["table"]["amount"]) == (10, -1)
    kinds = ("missing", "too_many", "changed")
    assert {name: tuple(each["found"][kind] for kind in kinds) for name, each in found.items()} == expected
    assert shown == [(2 if kind == "changed" else 1,)]


def test_a_lost_late_row_and_a_stale_row_of_changed_logic_are_found(built):
    shop = built
    shop.insert(shop.raw("events"), "(7, date '2026-01-01', 'a', 70, 0.7)")
    source = f"{shop.catalog}.{shop.source_schema}.events"
    for name in STRATEGIES:
        skipped = shop.operation("ip_set_checkpoint", model=name, source=source, snapshot_id=shop.head(source))
        assert skipped.success, skipped.printed
    found = shop.verified(fails=True)
    assert results(found) == dict.fromkeys(STRATEGIES, "differs")
    assert {name: (each["found"]["missing"], each["found"]["changed"]) for name, each in found.items()} == {
        name: (0, 1) if name in KEYED else (1, 0) for name in STRATEGIES
    }
    for name, (sql, config) in MODELS.items():
        edited = sql.replace("select * from", "select * except (amount), amount + 1 as amount from")
        shop.model(
            name, edited if edited != sql else f"select * except (amount), amount + 1 as amount from ({sql})", **config
        )
    edited = PYTHON.replace('"events"))', '"events")).selectExpr("* except (amount)", "amount + 1 as amount")')
    shop.write("models/in_python.py", textwrap.dedent(edited))
    report = shop.verified(fails=True)
    assert report.keys() == {*STRATEGIES}
    for name, each in report.items():
        differing = each["found"]["changed"] + each["found"]["missing"]
        assert differing >= each["rows"] and "changed since run" in " ".join(each["notes"]), name


def test_a_data_test_fails_for_the_rows_that_differ(shop):
    events = shop.source("events", EVENTS)
    shop.insert(events, ONE, TWO, THREE)
    sql, config = MODELS["merged"]
    shop.model("merged", sql, **config, audit=True)
    shop.write("models/in_python.py", textwrap.dedent(PYTHON))
    tested = [{"name": name, "data_tests": ["ip_equals_rebuild"]} for name in ("merged", "in_python")]
    shop.write("models/models.yml", yaml.safe_dump({"version": 2, "models": tested}))
    found = shop.dbt("build")
    assert found.success and "it compares the published table" in found.printed, found.printed[-3000:]
    shop.insert(events, LATE)
    for name in ("merged", "in_python"):
        shop.sql(f"update {shop.built(name)} set amount = amount + 1 where id > 1")
    tests = {name: each for name, each in shop.dbt("test").nodes.items() if "rebuild" in name}
    assert [(each.status, each.failures) for each in tests.values()] == [("fail", 2)] * 2
    tested = [{"name": "merged", "data_tests": [{"ip_equals_rebuild": {"arguments": {"sample": 0.000001}}}]}]
    shop.write("models/models.yml", yaml.safe_dump({"version": 2, "models": tested}))
    assert [each.status for each in shop.dbt("test").nodes.values()] == ["pass"]
    shop.sql(f"drop table {shop.built('merged')}")
    (missing,) = shop.dbt("test").nodes.values()
    assert missing.status == "error" and "does not exist" in missing.message
    assert shop.dbt("compile").success


def test_tables_that_cannot_be_compared_are_not_reported_as_equal(shop):
    events, names = shop.source("events", EVENTS), shop.source("names", "id int, name string")
    changes = "select id, amount from {{ ip_changes(source('raw', 'events')) }}"
    shop.insert(events, ONE, TWO)
    shop.insert(names, "(1, 'one')")
    shop.model("random", f"select *, rand() as r from ({changes})")
    shop.model("dated", f"select *, '{{{{ run_started_at }}}}' as at from ({changes})")
    shop.model("ignoring", changes, on_source_rewrite="ignore")
    shop.model("upserting", changes, **MERGE, on_source_rewrite="upserts")
    shop.model("itself", changes + " where id not in (select 0 from {{ this }})", materialized="table")
    shop.model("expiring", "select * from {{ ip_changes(source('raw', 'names')) }}")
    shop.model("widened", changes)
    shop.model("unbuilt", changes)
    shop.model("rounding", "select id, sum(ratio) as ratio from {{ ip_changes(source('raw', 'events')) }} group by id")
    shop.write("models/itself.sql", f"{{{{ config(materialized='iceberg_incremental_snapshot') }}}}\n{changes}")
    shop.run("--exclude", "unbuilt")
    shop.write(
        "models/itself.sql",
        "{{ config(materialized='iceberg_incremental_snapshot') }}\n"
        f"{changes} where id not in (select 0 from {{{{ this }}}})",
    )
    shop.model("widened", f"{changes} join {{{{ ip_as_of(source('raw', 'names')) }}}} using (id)")
    shop.sql(f"delete from {events} where id = 2")
    shop.insert(names, "(2, 'two')")
    shop.run("--select", "ignoring", "upserting")
    (expired,) = [each for each, *_ in shop.snapshots(names)][:1]
    shop.sql(
        f"call {shop.catalog}.system.expire_snapshots("
        f"table => '{shop.source_schema}.names', snapshot_ids => array({expired}))"
    )
    shop.sql(f"update {shop.built('rounding')} set ratio = ratio + 1e-12 where id = 1")
    found = shop.verified()
    assert results(found) == {
        **dict.fromkeys(found, "not_compared"),
        "rounding": "equal_but_rounding",
    }
    reasons = {name: each["reason"] for name, each in found.items()}
    assert "rand()" in reasons["random"] and "run_started_at" in reasons["dated"]
    assert "on_source_rewrite: ignore" in reasons["ignoring"] and found["ignoring"]["found"]["too_many"] == 1
    assert "upserts keeps rows" in reasons["upserting"] and found["upserting"]["found"]["too_many"] == 1
    assert "its own table" in reasons["itself"] and "hold_source" in reasons["expiring"]
    assert "last run did not read" in reasons["widened"] and "does not exist" in reasons["unbuilt"]
    assert found["rounding"]["found"]["by_rounding"] == 1
    shop.sql(f"update {shop.built('upserting')} set amount = 7 where id = 1")
    assert shop.verified(fails=True, model="upserting")["upserting"]["result"] == "differs"
    (status,) = [each for each in shop.project_status()["models"] if each["name"] == "upserting"]
    assert status["verified"]["result"] == "differs"
    assert "sample is" in shop.operation("ip_verify", sample=2).printed


def test_a_history_is_compared_by_its_valid_versions(shop):
    events = shop.source("events", EVENTS)
    shop.insert(events, ONE, TWO, THREE)
    sql, config = MODELS["versions"]
    for deletes in ("ignore", "invalidate", "new_record"):
        shop.model(f"on_{deletes}", sql, **config, hard_deletes=deletes)
    shop.run()
    shop.sql(f"update {events} set amount = 11 where id = 1")
    shop.sql(f"delete from {events} where id = 2")
    shop.run()
    found = shop.verified()
    assert results(found) == {
        "on_ignore": "not_compared",
        "on_invalidate": "equal_in_part",
        "on_new_record": "equal_in_part",
    }
    assert all("only valid versions are compared" in " ".join(each["notes"]) for each in found.values())


def test_values_of_all_types_are_compared(shop):
    columns = {
        "id": "int",
        "m": "map<string, array<double>>",
        "s": "struct<a: int, m: map<int, string>>",
        "b": "binary",
        "d": "decimal(10, 2)",
        "t": "timestamp",
        "f": "float",
        "n": "array<map<string, int>>",
    }
    source = shop.source("values", ", ".join(f"{name} {type_}" for name, type_ in columns.items()))
    names = ", ".join(columns)
    first = (
        "1, map('b', array(double('nan'), null), 'a', null), named_struct('a', 1, 'm', map(1, null, 0, 'x')), x'00ff'"
    )
    rest = "1.5, timestamp '1969-12-31 23:59:59.999999', float('-0.0'), array(map('k', null), null)"
    shop.sql(f"insert into {source} select {first}, {rest}")
    shop.sql(f"insert into {source} select 2, null, null, null, null, null, null, null")
    sql = f"select {names} from {{{{ ip_changes(source('raw', 'values')) }}}}"
    shop.model("keyless", sql)
    shop.model("keyed", sql, **MERGE)
    shop.run()
    shop.sql(f"insert into {source} select 3, {first[3:]}, {rest}")
    shop.run()
    assert results(shop.verified()) == {"keyless": "equal", "keyed": "equal"}
    for name in ("keyless", "keyed"):
        shop.sql(f"update {shop.built(name)} set m = map('a', null, 'b', array(double('nan'), 0)) where id = 1")
        shop.sql(f"update {shop.built(name)} set n = array(map('k', 1), null), s = null where id = 3")
    found = shop.verified(fails=True)
    assert found["keyed"]["found"]["columns"] == {"m": 1, "n": 1, "s": 1}
    assert (found["keyless"]["found"]["missing"], found["keyless"]["found"]["too_many"]) == (2, 2)
    shop.sql(found["keyed"]["sql"])


def test_fields_in_another_order_are_compared_by_their_names(shop):
    """A run refuses such SQL. A comparison before that run distinguishes the order of the fields from their values."""
    fields = {"s": "named_struct({})", "l": "array(named_struct({}))", "m": "map('k', named_struct({}))"}

    def edit(*listed):
        order = ", ".join(f"'{name}', {value}" for name, value in listed)
        values = ", ".join(f"{value.format(order)} as {name}" for name, value in fields.items())
        sql = f"select id, {values} from {{{{ ip_changes(source('raw', 'pairs')) }}}}"
        shop.model("keyed", sql, **MERGE, on_sql_change="ignore")
        shop.model("keyless", sql, on_sql_change="ignore")

    pairs = shop.source("pairs", "id int, x int, y int")
    edit(("a", "x"), ("b", "y"))
    shop.insert(pairs, "(1, 10, 20)")
    shop.run()
    edit(("b", "y"), ("a", "x"))
    assert results(shop.verified()) == {"keyed": "equal", "keyless": "equal"}
    edit(("b", "x"), ("a", "y"))
    assert results(shop.verified(fails=True)) == {"keyed": "differs", "keyless": "differs"}
