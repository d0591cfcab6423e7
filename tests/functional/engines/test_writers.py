"""Models on tables that other engines write: each strategy's table equals Spark SQL, or its run fails as documented."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
import yaml

from ..incremental.shop import CATALOG, Outcome, Shop
from .conftest import of_engine, settings
from .outcomes import RIGHT, STRATEGIES, WRITERS, Written
from .process import Engine, EngineError
from .programs import contract

Rows = Counter[tuple[Any, ...]]

CATALOGS = {
    **dict.fromkeys(("duckdb", "spark35", "flink", "trino", "iceberg_go"), "served"),
    **dict.fromkeys(("sail", "clickhouse"), "folders"),
}
"""The catalogs of engines that do not write to the embedded lakehouse, by the names of their fixtures."""
CHANGES = "select * from {{{{ ip_changes(source('raw', '{0}')) }}}}"
LOG = "select * from {{{{ ip_changelog(source('raw', '{0}')) }}}}"
SUMS = "select part, count(*) as n, sum(amount) as total, max(v) as latest from {0} group by part"
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "append": (CHANGES, {}),
    "merge": (CHANGES, {"unique_key": "id", "on_source_rewrite": "upserts"}),
    "apply_changes": (LOG, {"unique_key": "id"}),
    "auto": (SUMS.format("{{{{ source('raw', '{0}') }}}}"), {}),
    "history": (LOG, {"unique_key": "id"}),
}
COLUMNS = ", ".join(contract.SOURCE_COLUMNS)
ERROR = re.compile(r"More: dbt-spark-iceberg explain (\S+)")


BUILT = [
    pytest.param(each, version, strategy, id=f"{each.id}-v{version}-{strategy}", marks=of_engine(each.engine))
    for each in WRITERS
    for version in each.formats
    if not each.refused
    for strategy in STRATEGIES
]
REFUSED = [
    pytest.param(each, version, id=f"{each.id}-v{version}", marks=of_engine(each.engine))
    for each in WRITERS
    for version in each.formats
    if each.refused
]


def rows_after(step: str) -> dict[int, contract.Row]:
    """The rows of a table after an operation of an engine, by id."""
    rows = {row[0]: row for row in contract.BASE}
    if step == "delete":
        del rows[contract.DELETED]
    elif step == "update":
        row = rows[contract.UPDATED]
        rows[contract.UPDATED] = (row[0], row[1], contract.NEW_VALUE, row[3])
    elif step == "changelog":
        for kind, row in contract.CHANGES:
            if kind in ("DELETE", "UPDATE_BEFORE"):
                assert rows.pop(row[0]) == row
            else:
                rows[row[0]] = row
    elif step == "overwrite":
        rows = {}
    elif step == "overwrite_partitions":
        rows = {key: row for key, row in rows.items() if row[1] != contract.PARTITION}
    new = {
        "append": contract.APPENDED,
        "upsert_new": contract.APPENDED,
        "upsert": contract.UPSERTED,
        "overwrite": contract.REPLACEMENT,
        "overwrite_partitions": contract.OF_PARTITION,
    }
    return rows | {row[0]: row for row in new.get(step, ())}


def counted(rows: Iterable[contract.Row]) -> Rows:
    return Counter((id_, part, v, Decimal(amount)) for id_, part, v, amount in rows)


class Table:
    """A table of an engine, and one model of each strategy that reads it."""

    def __init__(self, shop: Shop, written: Written, version: int, schema: str) -> None:
        self.shop, self.written, self.version = shop, written, version
        self.name = f"{written.id}_v{version}".replace("-", "_")
        self.path = f"{schema.partition('.')[2]}.{self.name}"
        self.in_spark = f"{schema}.{self.name}"
        self.known: dict[Any, tuple[Any, ...]] = {}
        for strategy, (sql, config) in MODELS.items():
            shop.model(self.model(strategy), sql.format(self.name), incremental_strategy=strategy, **config)

    def model(self, strategy: str) -> str:
        return f"{self.name}_{strategy}"

    def rows(self, snapshot: int | None = None) -> Rows:
        version = "" if snapshot is None else f" version as of {snapshot}"
        return self.shop.rows(f"{self.in_spark}{version}", COLUMNS)

    def outcomes(self, run: Outcome) -> dict[str, str]:
        """RIGHT, the name of the error, or the differences, by strategy."""
        rows = self.rows()
        self.known |= {row[0]: row for row in rows}
        expected = {
            "append": rows,
            "merge": Counter(self.known.values()),
            "apply_changes": rows,
            "auto": self.shop.rows(f"({SUMS.format(self.in_spark)})"),
            "history": self.versions(),
        }
        return {strategy: self.outcome(run, strategy, expected[strategy]) for strategy in STRATEGIES}

    def outcome(self, run: Outcome, strategy: str, expected: Rows) -> str:
        name = self.model(strategy)
        if run.nodes[name].status == "error":
            found = ERROR.search(run.message(name))
            return found[1] if found else run.message(name)
        columns = f"{COLUMNS}, dbt_valid_to is null" if strategy == "history" else "*"
        built = self.shop.rows(self.shop.built(name), columns)
        return RIGHT if built == expected else f"lacks {expected - built}, and has {built - expected}"

    def versions(self) -> Rows:
        """The versions of the rows according to the states of the table at its snapshots, and whether each is valid."""
        parents = dict(self.shop.sql(f"select snapshot_id, parent_id from {self.in_spark}.snapshots"))
        lineage, head = [], self.shop.head(self.in_spark)
        while head in parents:
            lineage.append(head)
            head = parents[head]
        ended: Rows = Counter()
        valid: Rows = Counter()
        for snapshot in reversed(lineage):
            rows = self.rows(snapshot)
            ended += valid - rows
            valid = rows
        return Counter({(*row, False): n for row, n in ended.items()} | {(*row, True): n for row, n in valid.items()})


def play(shop: Shop, engine: Engine, name: str, catalog: Mapping[str, str], in_spark: str) -> dict[str, dict[str, str]]:
    """The outcomes by table and strategy, after the engine's operation and after a later append.

    One project has the tables of all operations of the engine. ``catalog``: the properties with which the engine
    writes; ``in_spark``: the name of the catalog in Spark.
    """
    schema = f"{in_spark}.{shop.source_schema}"
    shop.sql(f"create namespace if not exists {schema}")
    tables = [
        Table(shop, each, version, schema)
        for each in WRITERS
        if each.engine == name and not each.refused
        for version in each.formats
    ]
    declared = [{"name": table.name} for table in tables]
    source = {"name": "raw", "database": in_spark, "schema": shop.source_schema, "tables": declared}
    shop.write("models/sources.yml", yaml.safe_dump({"version": 2, "sources": [source]}))

    for table in tables:
        if table.written.in_spark:
            create_in_spark(shop.sql, table.in_spark, table.version)
        else:
            engine.ask("create", catalog=catalog, name=table.path, **created(table.written, table.version))
        assert table.rows() == counted(contract.BASE)
    first = shop.run()
    assert {table.name: table.outcomes(first) for table in tables} == {
        table.name: dict.fromkeys(STRATEGIES, RIGHT) for table in tables
    }
    found: list[dict[str, dict[str, str]]] = []
    for last in ((), contract.LAST):
        for table in tables:
            engine.ask("write", catalog=catalog, name=table.path, step="last" if last else table.written.step)
            assert table.rows() == counted([*rows_after(table.written.step).values(), *last]), table.name
        run = shop.dbt("run")
        found.append({table.name: table.outcomes(run) for table in tables})
    then, later = found
    return {
        table: {
            strategy: outcome if outcome == later[table][strategy] else f"{outcome}, then {later[table][strategy]}"
            for strategy, outcome in outcomes.items()
        }
        for table, outcomes in then.items()
    }


def created(written: Written, version: int) -> dict[str, Any]:
    """How an engine creates the table of an operation."""
    mode = {"mode": written.mode} if written.mode else {}
    return {"format_version": version, "partitioned": written.step == "overwrite_partitions", **mode}


def create_in_spark(run: Callable[[str], Any], table: str, version: int) -> None:
    """Create a table with the rows of BASE."""
    columns = "id bigint, part string, v string, amount decimal(10, 2)"
    run(f"create table {table} ({columns}) using iceberg tblproperties ('format-version' = '{version}')")
    run(f"insert into {table} values {contract.values(contract.BASE)}")


@pytest.fixture(scope="module")
def places(request: pytest.FixtureRequest, embedded: Mapping[str, str]) -> Callable[[str], tuple[Any, str, Any]]:
    """For each engine: the properties of its catalog, the name of the catalog in Spark, and settings for Spark."""

    def place(name: str) -> tuple[Any, str, Any]:
        if name not in CATALOGS:
            return embedded, CATALOG, {}
        properties = request.getfixturevalue(CATALOGS[name])
        return properties, CATALOGS[name], settings(CATALOGS[name], properties)

    return place


@pytest.fixture(scope="module")
def plays(
    engines: Callable[[str], Engine],
    places: Callable[[str], tuple[Any, str, Any]],
    outside: Any,
    embedded_target: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], dict[str, dict[str, str]]]:
    """Plays the operations of an engine once."""

    def played(name: str) -> dict[str, dict[str, str]]:
        properties, in_spark, parameters = places(name)
        for key, value in parameters.items():
            outside.session.conf.set(key, value)
        shop = Shop(tmp_path_factory.mktemp(name), embedded_target, f"written_by_{name}", outside.session)
        shop.configure(parameters)
        return play(shop, engines(name), name, properties, in_spark)

    return cache(played)


@pytest.mark.parametrize(("written", "version", "strategy"), BUILT)
def test_models_follow_an_engine(plays, written, version, strategy):
    table = f"{written.id}_v{version}".replace("-", "_")
    assert plays(written.engine)[table][strategy] == written.outcome(strategy)


@pytest.mark.parametrize(("written", "version"), REFUSED)
def test_an_engine_refuses_to_write(engines, places, outside, written, version):
    """Spark creates tables of its own catalog, because some of these engines cannot."""
    properties, in_spark, parameters = places(written.engine)
    session, engine = outside.session, engines(written.engine)
    for key, value in parameters.items():
        session.conf.set(key, value)
    name = f"refused.{written.id}_v{version}".replace("-", "_")
    session.sql(f"create namespace if not exists {in_spark}.refused")
    if CATALOGS.get(written.engine) != "folders":
        create_in_spark(session.sql, f"{in_spark}.{name}", version)
    else:
        engine.ask("create", catalog=properties, name=name, **created(written, version))
    with pytest.raises(EngineError, match=re.escape(written.refused)):
        engine.ask("write", catalog=properties, name=name, step=written.step)
    assert Counter(tuple(row) for row in session.table(f"{in_spark}.{name}").collect()) == counted(contract.BASE)
