"""A small dbt project on the embedded lakehouse. Tests write its models, run it, and inspect the tables with Spark."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml
from dbt.cli.main import dbtRunner

from dbt.adapters.spark_iceberg.profile.lakehouse import RUNTIMES, minor_version
from dbt.adapters.spark_iceberg.spark.connections import SparkIcebergConnectionManager
from iceberg_incremental.sql import namespace_sql, namespaces_around
from iceberg_incremental.table.releases import Capability, has, version_of

CATALOG = "lakehouse"
ICEBERG = RUNTIMES[minor_version(pyspark.__version__)]
HAS_ROW_LINEAGE = has(version_of(f"Apache Iceberg {ICEBERG}"), Capability.MOVES_ROWS_WITH_IDS)
"""Some releases of Iceberg lose row ids, so the package does not use row lineage there."""

FILLS_IN_COLUMNS = pytest.mark.skipif(
    minor_version(pyspark.__version__) == "4.0",
    reason="Spark 4.0 fills in no column that an INSERT into an Iceberg table leaves out",
)

ANNOUNCED = {
    "rebuild": "builds the whole table",
    "apply": "applies what is pending",
    "advance": "moves the checkpoint only",
    "nothing": "nothing to do",
    "check_only": "nothing to do, only its SQL is checked",
    "fails": "fails",
}
"""The beginning of ``ip_status``'s description of the next run, by the run's action."""


def hold_as_a_server(monkeypatch: Any) -> None:
    """Hold rows with SQL statements, as on a server, instead of in this process."""
    monkeypatch.setattr(SparkIcebergConnectionManager, "holds_rows", lambda self: False)


@dataclass
class Outcome:
    """The outcome of one dbt command: the results of its nodes by name."""

    success: bool
    nodes: dict[str, Any]
    exception: BaseException | None
    printed: str

    def message(self, name: str) -> str:
        return str(self.nodes[name].message)

    def ip(self, name: str) -> dict[str, Any]:
        return self.nodes[name].adapter_response["ip"]

    def action(self, name: str) -> str:
        return self.nodes[name].adapter_response["code"]


class Shop:
    """The project of one test, with its own folder and schemas. Models are given as text."""

    def __init__(self, folder: Path, target: dict[str, Any], schema: str, session: Any) -> None:
        self.folder = folder
        self.catalog = target.get("catalog", CATALOG)
        self.schema = schema
        self.source_schema = f"{schema}_src"
        self.session = session
        self._sources: dict[str, dict[str, Any]] = {}
        self.write("dbt_project.yml", yaml.safe_dump({"name": "shop", "version": "1.0", "profile": "shop"}))
        self._target = {**target, "schema": schema}
        self.configure({})
        for each in namespaces_around(self.source_schema):
            self.sql(f"create schema if not exists {namespace_sql(each, self.catalog)}")

    # The project

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")

    def configure(self, settings: dict[str, str]) -> None:
        """Add session settings to the profile, in addition to those of all tests."""
        parameters = {**self._target.get("server_side_parameters", {}), **settings}
        outputs = {"dev": {**self._target, "server_side_parameters": parameters}}
        self.write("profiles.yml", yaml.safe_dump({"shop": {"target": "dev", "outputs": outputs}}))

    def read_metadata_by(self, reader: str) -> None:
        """Set the profile's metadata reader."""
        self._target["metadata_reader"] = reader
        self.configure({})

    def model(self, name: str, sql: str, **config: Any) -> None:
        """Write a model with the incremental materialization; ``config`` as in a model's config()."""
        config = {"materialized": "iceberg_incremental_snapshot", **config}
        listed = ", ".join(f"{key}={value!r}" for key, value in config.items())
        self.write(f"models/{name}.sql", f"{{{{ config({listed}) }}}}\n{textwrap.dedent(sql)}\n")

    def declare(self, *names: str, **details: Any) -> None:
        """Declare sources. Their tables need not exist."""
        for name in names:
            self._sources[name] = {"name": name, **details}
        source = {
            "name": "raw",
            "database": self.catalog,
            "schema": self.source_schema,
            "tables": list(self._sources.values()),
        }
        self.write("models/sources.yml", yaml.safe_dump({"version": 2, "sources": [source]}))

    def source(self, name: str, columns: str = "id int, v string", *rest: str) -> str:
        """Create and declare a source table; returns its name in Spark."""
        table = self.raw(name)
        self.sql(f"create table {table} ({columns}) using iceberg {' '.join(rest)}")
        self.declare(name)
        return table

    # Spark

    def raw(self, name: str) -> str:
        return f"{namespace_sql(self.source_schema, self.catalog)}.`{name}`"

    def built(self, name: str) -> str:
        return f"{namespace_sql(self.schema, self.catalog)}.`{name}`"

    def frame(self, statement: str) -> Any:
        return self.session.sql(statement)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.frame(statement).collect()]

    @contextmanager
    def dynamic_overwrites(self) -> Iterator[None]:
        """INSERT OVERWRITE statements within the block replace only the partitions of their rows."""
        self.sql("set spark.sql.sources.partitionOverwriteMode = dynamic")
        try:
            yield
        finally:
            self.sql("reset spark.sql.sources.partitionOverwriteMode")

    def insert(self, table: str, *rows: str) -> None:
        """Commit rows, each written as in VALUES."""
        self.sql(f"insert into {table} values {', '.join(rows)}")

    def rows(self, relation: str, columns: str = "*") -> Counter[tuple[Any, ...]]:
        """Return the rows of a table as a multiset."""
        return Counter(self.sql(f"select {columns} from {relation}"))

    def mixed_files(self, table: str) -> list[str]:
        """The data files of a history or snapshot that contain both valid and ended versions."""
        kinds = "min(dbt_valid_to is null) <> max(dbt_valid_to is null)"
        return [file for (file,) in self.sql(f"select _file from {table} group by _file having {kinds}")]

    def head(self, table: str) -> int | None:
        refs = dict(self.sql(f"select name, snapshot_id from {table}.refs"))
        return refs.get("main")

    def snapshots(self, table: str) -> list[tuple[int, str, dict[str, str]]]:
        """The ancestors of the head, oldest first: (id, operation, summary)."""
        found = self.sql(
            f"select h.snapshot_id, s.operation, s.summary from {table}.history h "
            f"join {table}.snapshots s using (snapshot_id) where h.is_current_ancestor order by h.made_current_at"
        )
        return [(row[0], row[1], dict(row[2])) for row in found]

    def checkpoint(self, table: str) -> dict[str, Any]:
        """The newest checkpoint in the summaries of a table's snapshots."""
        carried = [summary["ip.checkpoint"] for _, _, summary in self.snapshots(table) if "ip.checkpoint" in summary]
        return json.loads(carried[-1])

    def properties(self, table: str) -> dict[str, str]:
        return dict(self.sql(f"show tblproperties {table}"))

    def branches(self, table: str) -> set[str]:
        return {row[0] for row in self.sql(f"select name from {table}.refs")}

    # dbt

    def dbt(self, *arguments: str) -> Outcome:
        """Run dbt in this process."""
        printed: list[str] = []
        runner = dbtRunner(callbacks=[lambda event: printed.append(str(event.info.msg))])  # type: ignore[attr-defined]
        folders = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        found = runner.invoke([*arguments, *folders])
        results = getattr(found.result, "results", None) or []
        nodes = {result.node.name: result for result in results if hasattr(result, "node")}
        return Outcome(found.success, nodes, found.exception, "\n".join(printed))

    def run(self, *arguments: str) -> Outcome:
        """Run ``dbt run``, which must succeed."""
        found = self.dbt("run", *arguments)
        assert found.success, found.printed[-3000:]
        return found

    def fails(self, *arguments: str) -> str:
        """Run ``dbt run``, in which one model must fail; returns the message of this model."""
        found = self.dbt("run", *arguments)
        failed = [result.message for result in found.nodes.values() if result.status == "error"]
        assert len(failed) == 1, found.printed[-3000:]
        return str(failed[0])

    def operation(self, name: str, **arguments: Any) -> Outcome:
        return self.dbt("run-operation", name, "--args", json.dumps(arguments))

    def verified(self, *, fails: bool | None = False, **arguments: Any) -> dict[str, dict[str, Any]]:
        """The report of ``ip_verify`` for each model. ``fails``: whether it must fail; None if it may."""
        found = self.operation("ip_verify", format="json", **arguments)
        assert fails is None or found.success is not fails, found.printed[-3000:]
        report, _ = json.JSONDecoder().raw_decode(found.printed, found.printed.index('{\n  "version"'))
        return {each["model"].rpartition(".")[2]: each for each in report["models"]}

    def statuses(self) -> dict[str, dict[str, Any]]:
        """The status of each model, as ``ip_status`` reports it."""
        return {status["name"]: status for status in self.project_status()["models"]}

    def project_status(self, **arguments: Any) -> dict[str, Any]:
        """The status of the project, as ``ip_status`` reports it."""
        printed = self.operation("ip_status", format="json", **arguments).printed
        found, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n  "version"'))
        return dict(found)

    def run_results(self) -> dict[str, Any]:
        return json.loads((self.folder / "target" / "run_results.json").read_text(encoding="utf-8"))

    def compiled(self, name: str) -> str:
        return (self.folder / "target" / "compiled" / "shop" / "models" / f"{name}.sql").read_text(encoding="utf-8")
