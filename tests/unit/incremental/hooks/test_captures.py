"""The SQL of each macro for literal histories. The adapter and the metadata reader are simulated with dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_iceberg.hooks import invocation as invocations
from dbt.adapters.spark_iceberg.hooks.adapter import TablesInUse
from dbt.adapters.spark_iceberg.hooks.invocation import Invocations, ModelContext
from dbt.adapters.spark_iceberg.hooks.macros import ARGUMENTS, READS
from dbt.adapters.spark_iceberg.project.jinja import JinjaScope
from dbt.adapters.spark_iceberg.relations.relation import SparkIcebergRelation
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.expose.captures import Captures
from iceberg_incremental.expose.value_range import EMPTY
from iceberg_incremental.table.checkpoint import KEY, Checkpoint
from iceberg_incremental.table.files import ChangedFiles, FileDifference, TableColumn
from iceberg_incremental.table.history import TableName
from iceberg_incremental.write.order.held_changes import replacement_of
from tests.unit.incremental import histories as h
from tests.unit.incremental.connection import Connection

MODEL = "model.shop.daily"
TARGET = TableName("lake", "ops", "daily")
PLANES = TableName("lake", "ops", "planes")
THIS, FLIGHTS = (
    SparkIcebergRelation.create(database="lake", schema="ops", identifier=name) for name in ("daily", "flights")
)
SQL = "`lake`.`ops`.`flights`"
MERGE = {"incremental_strategy": "merge", "unique_key": ["id", "day"]}


@dataclass
class Lake:
    """An adapter and its metadata reader. ``types``: the column types of each table."""

    tables: dict[TableName, object] = field(default_factory=dict)
    types: dict[str, dict[str, str]] = field(default_factory=dict)
    options: dict[str, object] = field(default_factory=dict)
    Relation = SparkIcebergRelation

    @property
    def config(self):
        credentials, args = SimpleNamespace(database="lake"), SimpleNamespace(**self.options)
        return SimpleNamespace(credentials=credentials, args=args)

    def get_macro_resolver(self):
        return None

    def metadata_reader(self):
        return self

    def load(self, table):
        return self.tables.get(table)

    def older(self, history):
        return iter(())

    def data_files(self, *args, **kwargs):
        return None

    @property
    def lookup(self):
        return self

    def table_name(self, relation):
        return TableName(relation.database, relation.schema, relation.identifier)

    spark = Connection()


def lake(source, position=None, **types):
    """A lake with a history of flights, and with the model's table as of a position, if there is a position."""
    found = Lake({h.FLIGHTS: source}, types)
    if position is not None:
        checkpoint = Checkpoint(MODEL, 1, "before", {str(h.FLIGHTS): h.at(position)})
        built = h.snapshot(1, None, summary={**h.APPEND, KEY: checkpoint.to_json()})
        found.tables[TARGET] = replace(h.history(built), table=TARGET)
    return found


def context(materialized="iceberg_incremental_snapshot", **config):
    node = {
        "unique_id": MODEL,
        "name": MODEL.rpartition(".")[2],
        "resource_type": "model",
        "config": {"materialized": materialized, **config},
        "depends_on": {"nodes": []},
    }
    return ModelContext(node, THIS, False, False, "run", {"nodes": {}, "sources": {}}, [])


def opened(adapter, **config):
    found = Invocations(adapter, TablesInUse(adapter))
    found.current().scope = JinjaScope()
    return found, found.of("ip_changes", context(**config)).run


def captures_of(macro, adapter, found, run):
    return Captures(macro, run, found.current().cuts, adapter.spark, lambda table: adapter.types[table.name])


def read(macro, adapter, source=h.FLIGHTS, arguments=None, **config):
    captures = captures_of(macro, adapter, *opened(adapter, **config))
    return READS[macro].captured(captures, [source], arguments or {})


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
def test_the_sql_of_each_macro(macro, arguments, first, later, nothing_new):
    source = h.history(*h.chain(3))
    for adapter, expected in (
        (lake(source, flights={"day": "date"}), first),
        (lake(source, position=2, flights={"day": "date"}), later),
        (lake(source, position=3), nothing_new),
    ):
        assert expected in read(macro, adapter, arguments=arguments, **MERGE)


class Unopened:
    """A connection that must not be used."""

    @property
    def scans(self):
        raise AssertionError("the connection was opened")


@pytest.mark.parametrize(
    ("macro", "arguments"),
    [
        ("ip_changes", {}),
        ("ip_changelog", {"unique_key": None}),
        ("ip_changelog", {"unique_key": None, "per": "commit"}),
        ("ip_signed_changes", {}),
        ("ip_as_of", {}),
        ("ip_changed_groups", GROUPS),
        ("ip_range", {"column": "at"}),
    ],
)
def test_without_new_commits_no_connection_is_opened(macro, arguments):
    adapter = lake(h.history(*h.chain(3)), position=3)
    adapter.spark = Unopened()
    assert read(macro, adapter, arguments=arguments, **MERGE) is not None


def test_unknown_keys_of_groups_stop_the_first_build():
    with pytest.raises(ConfigError, match=r"with dya, which lake.ops.flights does not have(.|\n)*flights: day, at\."):
        read(
            "ip_changed_groups",
            lake(h.history(*h.chain(3)), flights={"day": "date", "at": "timestamp"}),
            arguments={"keys": "dya", "changes_of": None},
            **{**MERGE, "unique_key": "dya"},
        )


def test_the_range_of_an_unchanged_source_is_empty():
    assert read("ip_range", lake(h.history(*h.chain(3)), position=3), arguments={"column": "at"}) == EMPTY


RANGE, CHANGELOG = ("ip_range", {"column": "at"}), ("ip_changelog", {"unique_key": "id"})
SIGNED: tuple[str, dict[str, str]] = ("ip_signed_changes", {})


def plan_with(macros):
    """The plan of a run whose SQL calls some macros with the same source."""
    adapter = lake(h.history(*h.chain(3)), position=3)
    found, run = opened(adapter)
    for macro, arguments in macros:
        READS[macro].captured(captures_of(macro, adapter, found, run), [h.FLIGHTS], arguments)
    return run.plan


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
def test_whether_the_changes_include_old_rows(macros, shows):
    assert plan_with(macros).shows_old_rows is shows


@pytest.mark.parametrize(
    ("macros", "lacks"),
    [
        ([("ip_changes", {})], True),
        ([("ip_changelog", {"unique_key": "id", "per": "commit"})], True),
        ([CHANGELOG], False),
        ([SIGNED], False),
        ([("ip_changes", {}), CHANGELOG], False),
        ([("ip_as_of", {})], False),
    ],
)
def test_whether_a_deletion_may_be_newer_than_a_row(macros, lacks):
    plan = plan_with(macros)
    assert plan.may_lack_order is lacks
    ordered = replace(plan.policy, sequence_by=("at",))
    assert not replace(plan, policy=ordered).may_lack_order


def test_each_macro_that_reads_a_relation_is_listed():
    captured = {macro for macro, arguments in ARGUMENTS.items() if arguments[0] == "relation"}
    assert set(READS) == captured - {"ip_history_as_of"}


def test_without_a_capture_a_macro_returns_the_whole_relation():
    assert READS["ip_changes"].as_given(FLIGHTS, {}) is FLIGHTS
    inserted = f"(select *, 'INSERT' as _change_type from {SQL})"
    assert READS["ip_changelog"].as_given(FLIGHTS, {}) == inserted
    for arguments in ({"per": "commit"}, {"per": "range", "with_commit": True}):
        assert READS["ip_changelog"].as_given(FLIGHTS, arguments) == (
            "(select *, cast(null as bigint) as _commit_snapshot_id, timestamp_millis(null) as _commit_timestamp,"
            f" 0 as _commit_order from {inserted})"
        )
    assert READS["ip_signed_changes"].as_given(FLIGHTS, {}) == f"(select *, 1 as _change_sign from {SQL})"
    assert READS["ip_range"].as_given(FLIGHTS, {}) == EMPTY


def test_signed_changes_refuse_a_name_that_means_another_column(monkeypatch):
    """Also refused if rows were only added, because they are read by the table's current names."""
    before, now, new = (TableColumn(n, name, "int") for n, name in ((1, "amount"), (2, "amount"), (3, "note")))
    source = lake(h.history(*h.chain(3)), position=2)
    for columns, refused in (((before, new), False), ((now, new), True)):
        files = ChangedFiles((before,), (before,), FileDifference((), (), ()), present=columns)
        monkeypatch.setattr(source, "data_files", lambda *args, files=files, **kwargs: files, raising=False)
        if refused:
            with pytest.raises(ConfigError, match="Found: amount: another column was renamed"):
                read("ip_signed_changes", source)
        else:
            assert "_change_sign" in read("ip_signed_changes", source)


@pytest.mark.parametrize("macro", READS)
def test_a_model_does_not_read_its_own_table(macro):
    arguments = {"unique_key": None, "column": "at", **GROUPS}
    with pytest.raises(ConfigError, match=rf"{macro}\(\) was called in {MODEL} on the model's own table"):
        read(macro, lake(h.history(*h.chain(1))), TARGET, arguments, **MERGE)


def test_a_run_is_opened_once():
    adapter = lake(h.history(*h.chain(1)))
    found, run = opened(adapter)
    assert found.of("ip_as_of", context()).run is run


@pytest.mark.parametrize(("config", "said"), [({}, 1), ({"event_time": "day", **MERGE}, 0)])
def test_a_model_without_event_time_logs_that_it_ignores_the_window(config, said, monkeypatch):
    adapter, logged = lake(h.history(*h.chain(3)), position=2), []
    start, end = map(datetime.fromisoformat, ("2026-01-01", "2026-01-02"))
    adapter.options = {"EVENT_TIME_START": start, "EVENT_TIME_END": end}
    monkeypatch.setattr(invocations.logger, "info", logged.append)
    _, run = opened(adapter, **config)
    assert (run.plan.window is None, len(logged)) == (bool(said), said)
    assert not said or f"{MODEL} has no event_time: it continues from its checkpoint" in logged[0]


def test_a_model_of_another_materialization_is_refused():
    with pytest.raises(ConfigError, match=r"ip_changes\(\) was called in model.shop.daily, which is materialized as"):
        opened(lake(h.history()), materialized="table")


@pytest.mark.parametrize("config", [{}, {**MERGE, "unique_key": "id"}, {**MERGE, "incremental_predicates": "true"}])
def test_groups_need_a_merge_by_their_keys(config):
    with pytest.raises(ConfigError, match="cannot replace whole groups of its table"):
        read("ip_changed_groups", lake(h.history(*h.chain(1))), arguments=GROUPS, **config)


def changed_groups(adapter):
    found, run = opened(adapter, **MERGE)
    captures_of("ip_changed_groups", adapter, found, run).changed_groups(PLANES, ["day"], [h.FLIGHTS])
    return run.plan


def groups_lake(planes, flights):
    adapter = lake(h.history(*h.chain(3)), position=2, planes={"day": planes}, flights={"day": flights})
    adapter.tables[PLANES] = h.history(*h.chain(1))
    return adapter


def test_the_groups_of_a_run_have_the_types_of_their_keys():
    plan = changed_groups(groups_lake("date", "date"))
    assert (plan.groups.keys, plan.groups.types) == (("day",), ("date",))
    assert len(plan.groups.changes) == 1


def test_keys_of_different_types_are_refused():
    with pytest.raises(ConfigError, match=r"day of lake.ops.planes is date; day of lake.ops.flights is string"):
        changed_groups(groups_lake("date", "string"))


@dataclass(frozen=True)
class Column:
    name: str
    dtype: str


def test_replaced_keys_have_the_types_of_the_target():
    plan = changed_groups(groups_lake("date", "date"))
    found = replacement_of(plan, [Column("ID", "bigint"), Column("day", "date")])
    assert (found.unique_key, found.types, found.groups) == (("ID", "day"), ("bigint", "date"), plan.groups)
    with pytest.raises(ConfigError, match=r"day of the changed relations is date; day of lake.ops.daily is string"):
        replacement_of(plan, [Column("id", "bigint"), Column("day", "string")])
