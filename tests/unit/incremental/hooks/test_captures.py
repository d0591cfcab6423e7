"""What each macro stands for, over literal histories: the adapter and the metadata reader are dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from dbt.adapters.spark_iceberg.hooks import captures
from dbt.adapters.spark_iceberg.hooks.captures import Captures, Invocation
from dbt.adapters.spark_iceberg.hooks.changes import replacement_of
from dbt.adapters.spark_iceberg.hooks.context import ModelContext
from dbt.adapters.spark_iceberg.hooks.reads import READS
from dbt.adapters.spark_iceberg.operations.arguments import ARGUMENTS
from dbt.adapters.spark_iceberg.project.jinja_scope import JinjaScope
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation
from iceberg_incremental.capture.cuts import Cuts
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.expose.value_range import EMPTY
from iceberg_incremental.plan.event_window import EventWindow
from iceberg_incremental.table.changed_files import ChangedFiles, FileDifference, TableColumn
from iceberg_incremental.table.checkpoint import KEY, Checkpoint
from iceberg_incremental.table.history import TableName
from tests.unit.incremental import histories as h
from tests.unit.incremental.connection import Connection

MODEL = "model.shop.daily"
TARGET = TableName("lake", "ops", "daily")
THIS, FLIGHTS, PLANES = (
    SparkIcebergRelation.create(database="lake", schema="ops", identifier=name)
    for name in ("daily", "flights", "planes")
)
SQL = "`lake`.`ops`.`flights`"
MERGE = {"incremental_strategy": "merge", "unique_key": ["id", "day"]}


@dataclass
class Lake:
    """An adapter, and its reader, over histories; ``types``: of the columns of each table."""

    tables: dict[TableName, object] = field(default_factory=dict)
    types: dict[str, dict[str, str]] = field(default_factory=dict)
    default_catalog: str = "lake"

    def metadata_reader(self):
        return self

    def load(self, table):
        return self.tables.get(table)

    def older(self, history):
        return iter(())

    def data_files(self, *args, **kwargs):
        return None

    def table_name(self, relation):
        return TableName(relation.database, relation.schema, relation.identifier)

    def column_types(self, relation):
        return self.types[relation.identifier]

    def first_row(self, sql):
        raise AssertionError(sql)

    spark = Connection()

    def event_window(self):
        return None

    def jinja_scope(self):
        return JinjaScope()


def lake(source, position=None, **types):
    """Flights as given, and the model's table as it was built up to a position; without one it is not there."""
    found = Lake({h.FLIGHTS: source}, types)
    if position is not None:
        checkpoint = Checkpoint(MODEL, 1, "before", {str(h.FLIGHTS): h.at(position)})
        built = h.snapshot(1, None, summary={**h.APPEND, KEY: checkpoint.to_json()})
        found.tables[TARGET] = replace(h.history(built), table=TARGET)
    return found


def context(materialized="iceberg_incremental_snapshot", **config):
    node = {
        "unique_id": MODEL,
        "resource_type": "model",
        "config": {"materialized": materialized, **config},
        "depends_on": {"nodes": []},
    }
    return ModelContext(node, THIS, False, False, "run", {"nodes": {}, "sources": {}}, [])


def opened(adapter, **config):
    invocation = Invocation("now", Cuts(lambda: adapter))
    return invocation, invocation.run_of("ip_changes", context(**config), adapter)


def read(macro, adapter, relation=FLIGHTS, arguments=None, **config):
    invocation, run = opened(adapter, **config)
    captured = Captures(macro, run, invocation.cuts, adapter, shows_sql=False)
    return READS[macro].captured(captured, [relation], arguments or {})


GROUPS = {"keys": "day", "changes_of": None}


@pytest.mark.parametrize(
    ("macro", "arguments", "first", "later", "nothing_new"),
    [
        ("ip_changes", {}, f"{SQL}.`snapshot_id_3`", "branch_main` WITH", "TABLESAMPLE (0 ROWS)"),
        (
            "ip_changelog",
            {"unique_key": None},
            "(select *, 'INSERT' as _change_type from",
            "branch_main` WITH",
            "'INSERT'",
        ),
        (
            "ip_signed_changes",
            {},
            f"(select *, 1 as _change_sign from {SQL}.`snapshot_id_3`)",
            f"(select *, 1 as _change_sign from ({SQL}.`branch_main` WITH",
            f"(select *, 1 as _change_sign from {SQL}.`snapshot_id_3` TABLESAMPLE (0 ROWS))",
        ),
        ("ip_as_of", {}, f"{SQL} VERSION AS OF 3", f"{SQL} VERSION AS OF 3", f"{SQL} VERSION AS OF 3"),
        ("ip_changed_groups", GROUPS, f"{SQL} VERSION AS OF 3", "left semi join (select distinct `day`", "(0 ROWS)"),
    ],
)
def test_what_a_macro_stands_for(macro, arguments, first, later, nothing_new):
    source = h.history(*h.chain(3))
    for adapter, expected in (
        (lake(source, flights={"day": "date"}), first),
        (lake(source, position=2, flights={"day": "date"}), later),
        (lake(source, position=3), nothing_new),
    ):
        assert expected in read(macro, adapter, arguments=arguments, **MERGE)


def test_unknown_keys_of_groups_stop_the_first_build():
    with pytest.raises(ConfigError, match=r"with dya, which lake.ops.flights does not have(.|\n)*flights: day, at\."):
        read(
            "ip_changed_groups",
            lake(h.history(*h.chain(3)), flights={"day": "date", "at": "timestamp"}),
            arguments={"keys": "dya", "changes_of": None},
            **{**MERGE, "unique_key": "dya"},
        )


def test_a_range_of_nothing_new_is_empty():
    assert read("ip_range", lake(h.history(*h.chain(3)), position=3), arguments={"column": "at"}) == EMPTY


RANGE, CHANGELOG = ("ip_range", {"column": "at"}), ("ip_changelog", {"unique_key": "id"})
SIGNED: tuple[str, dict[str, str]] = ("ip_signed_changes", {})


@pytest.mark.parametrize(
    ("macros", "shows"),
    [
        ([CHANGELOG], True),
        ([RANGE, CHANGELOG], True),
        ([RANGE], False),
        ([("ip_changes", {}), CHANGELOG], False),
        ([SIGNED], False),
        ([CHANGELOG, SIGNED], False),
        ([("ip_as_of", {})], False),
    ],
)
def test_old_rows_come_with_the_changes_that_ip_changelog_gives(macros, shows):
    adapter = lake(h.history(*h.chain(3)), position=3)
    invocation, run = opened(adapter)
    for macro, arguments in macros:
        READS[macro].captured(Captures(macro, run, invocation.cuts, adapter, shows_sql=False), [FLIGHTS], arguments)
    assert run.shows_old_rows is shows


def test_each_macro_that_reads_is_in_the_table():
    assert set(READS) == {macro for macro, arguments in ARGUMENTS.items() if arguments[0] == "relation"}


def test_without_a_capture_a_macro_gives_its_relation_as_far_as_its_rows_allow():
    assert READS["ip_changes"].as_given(FLIGHTS) is FLIGHTS
    assert READS["ip_changelog"].as_given(FLIGHTS) == f"(select *, 'INSERT' as _change_type from {SQL})"
    assert READS["ip_signed_changes"].as_given(FLIGHTS) == f"(select *, 1 as _change_sign from {SQL})"
    assert READS["ip_range"].as_given(FLIGHTS) == EMPTY


def test_what_was_added_must_be_what_is_subtracted(monkeypatch):
    """Also where rows were only added: the ranges after that would not show that a name means another column."""
    before, now, new = (TableColumn(n, name, "int") for n, name in ((1, "amount"), (2, "amount"), (3, "note")))
    source = lake(h.history(*h.chain(3)), position=2)
    for columns, refused in (((before, new), False), ((now, new), True)):
        files = ChangedFiles((before,), columns, FileDifference((), (), ()))
        monkeypatch.setattr(source, "data_files", lambda *args, files=files, **kwargs: files, raising=False)
        if refused:
            with pytest.raises(ConfigError, match="Found: amount, to which another column was renamed"):
                read("ip_signed_changes", source)
        else:
            assert "_change_sign" in read("ip_signed_changes", source)


@pytest.mark.parametrize("macro", READS)
def test_a_model_does_not_read_its_own_table(macro):
    arguments = {"unique_key": None, "column": "at", **GROUPS}
    with pytest.raises(ConfigError, match=rf"{macro}\(\) was called in {MODEL} on the model's own table"):
        read(macro, lake(h.history(*h.chain(1))), THIS, arguments, **MERGE)


def test_a_run_is_opened_once():
    adapter = lake(h.history(*h.chain(1)))
    invocation, run = opened(adapter)
    assert invocation.run_of("ip_as_of", context(), adapter) is run


@pytest.mark.parametrize(("config", "said"), [({}, 1), ({"event_time": "day", **MERGE}, 0)])
def test_a_model_without_event_time_says_that_it_passes_the_window_over(config, said, monkeypatch):
    adapter, logged = lake(h.history(*h.chain(3)), position=2), []
    window = EventWindow(*map(datetime.fromisoformat, ("2026-01-01", "2026-01-02")))
    monkeypatch.setattr(adapter, "event_window", lambda: window, raising=False)
    monkeypatch.setattr(captures.logger, "info", logged.append)
    _, run = opened(adapter, **config)
    assert (run.window is None, len(logged)) == (bool(said), said)
    assert not said or f"{MODEL} has no event_time: it continues from its checkpoint" in logged[0]


def test_a_model_of_another_materialization_is_refused():
    with pytest.raises(ConfigError, match=r"ip_changes\(\) was called in model.shop.daily, which is materialized as"):
        opened(lake(h.history()), materialized="table")


@pytest.mark.parametrize("config", [{}, {**MERGE, "unique_key": "id"}, {**MERGE, "incremental_predicates": "true"}])
def test_groups_need_a_merge_by_their_keys(config):
    with pytest.raises(ConfigError, match="cannot replace whole groups of its table"):
        read("ip_changed_groups", lake(h.history(*h.chain(1))), arguments=GROUPS, **config)


def changed_groups(adapter):
    invocation, run = opened(adapter, **MERGE)
    captures = Captures("ip_changed_groups", run, invocation.cuts, adapter, shows_sql=False)
    return run, captures.changed_groups([PLANES], {"keys": ["day"], "changes_of": [FLIGHTS]})


def groups_lake(planes, flights):
    adapter = lake(h.history(*h.chain(3)), position=2, planes={"day": planes}, flights={"day": flights})
    adapter.tables[TableName("lake", "ops", "planes")] = h.history(*h.chain(1))
    return adapter


def test_the_groups_of_a_run_have_the_types_of_their_keys():
    run, _ = changed_groups(groups_lake("date", "date"))
    assert (run.groups.keys, run.groups.types) == (("day",), ("date",))
    assert len(run.groups.changes) == 1


def test_keys_of_different_types_are_refused():
    with pytest.raises(ConfigError, match=r"day of lake.ops.planes is date; day of lake.ops.flights is string"):
        changed_groups(groups_lake("date", "string"))


@dataclass(frozen=True)
class Column:
    name: str
    dtype: str


def test_what_is_replaced_has_the_types_of_the_target():
    run, _ = changed_groups(groups_lake("date", "date"))
    found = replacement_of(run, [Column("ID", "bigint"), Column("day", "date")])
    assert (found.unique_key, found.types, found.groups) == (("ID", "day"), ("bigint", "date"), run.groups)
    with pytest.raises(ConfigError, match=r"day of the changed relations is date; day of lake.ops.daily is string"):
        replacement_of(run, [Column("id", "bigint"), Column("day", "string")])
