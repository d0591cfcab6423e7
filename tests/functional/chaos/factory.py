"""A dbt project on a Spark Thrift Server. Its dbt processes can be killed; Spark and the catalog outlive them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from pyhive import hive

CATALOG = "lake"
MODELS = {
    "appended": (
        "{{ config(materialized='iceberg_incremental_snapshot') }}\n"
        "select * from {{ ip_changes(source('raw', 'events')) }}"
    ),
    "merged": (
        "{{ config(materialized='iceberg_incremental_snapshot', incremental_strategy='merge', unique_key='id') }}\n"
        "select * from {{ ip_changes(ref('appended')) }}"
    ),
    "overwritten": (
        "{{ config(materialized='iceberg_incremental_snapshot', incremental_strategy='insert_overwrite', "
        "partition_by='part') }}\n"
        "select * from {{ ip_as_of(ref('appended')) }} "
        "where part in (select part from {{ ip_changes(ref('appended')) }})"
    ),
}


class Factory:
    """A source, three models in two stages, and the dbt processes that run them."""

    def __init__(self, folder: Path, host: str, port: int, schema: str) -> None:
        self.folder, self.schema = folder, schema
        self.connection = hive.connect(host=host, port=port, username="outside", auth="NOSASL", configuration={
            f"spark.sql.catalog.{CATALOG}.cache-enabled": "false",
        })  # fmt: skip
        profile = {
            "type": "spark_iceberg", "method": "thrift", "host": host, "port": port, "user": "dbt", "auth": "NOSASL",
            "catalog": CATALOG, "schema": schema, "threads": 2, "poll_interval": 0.02,
        }  # fmt: skip
        self.write("profiles.yml", yaml.safe_dump({"f": {"target": "dev", "outputs": {"dev": profile}}}))
        self.write("dbt_project.yml", yaml.safe_dump({"name": "f", "version": "1.0", "profile": "f"}))
        tables = {"name": "raw", "database": CATALOG, "schema": schema, "tables": [{"name": "events"}]}
        self.write("models/sources.yml", yaml.safe_dump({"version": 2, "sources": [tables]}))
        for name, sql in MODELS.items():
            self.write(f"models/{name}.sql", sql)
        self.sql(f"create schema {CATALOG}.{schema}")
        self.sql(f"create table {self.table('events')} (id int, part int, v string) using iceberg")
        self.landed = 0

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def table(self, name: str) -> str:
        return f"{CATALOG}.{self.schema}.{name}"

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []

    def land(self) -> None:
        """Commit two rows with new keys."""
        first, second = self.landed + 1, self.landed + 2
        self.landed = second
        self.sql(
            f"insert into {self.table('events')} values ({first}, {first % 3}, 'a'), ({second}, {second % 3}, 'b')"
        )

    def start(self, *arguments: str, dies_at: int = 0, slot: int = 0) -> subprocess.Popen[str]:
        """Start a dbt process. Concurrent processes need different slots, for the files that dbt writes."""
        script = Path(__file__).with_name("dbt_that_dies.py")
        return subprocess.Popen(
            [
                sys.executable, str(script), str(dies_at), *arguments,
                "--project-dir", str(self.folder), "--profiles-dir",
                str(self.folder),
                "--target-path",
                f"target_{slot}",
                "--log-path",
                f"logs_{slot}",
            ],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder,
        )  # fmt: skip

    def run(self, *arguments: str, dies_at: int = 0) -> tuple[int, str]:
        """Run dbt to its end; returns the return code and the output."""
        process = self.start(*arguments, dies_at=dies_at)
        output, _ = process.communicate(timeout=300)
        return process.returncode, output

    def completes(self) -> str:
        """Run dbt, which must succeed; returns its output."""
        code, output = self.run("run")
        assert code == 0, output
        return output

    def rows(self, relation: str) -> Counter[tuple[Any, ...]]:
        return Counter(self.sql(f"select id, part, v from {relation}"))

    def checkpoint(self, name: str) -> dict[str, Any]:
        """The checkpoint in the newest snapshot of main that has one."""
        ((text,),) = self.sql(
            f"select s.summary['ip.checkpoint'] from {self.table(name)}.history h join {self.table(name)}.snapshots s "
            "using (snapshot_id) where h.is_current_ancestor and s.summary['ip.checkpoint'] is not null "
            "order by h.made_current_at desc, s.committed_at desc limit 1"
        )
        return json.loads(text)

    def assert_whole(self, name: str) -> None:
        """Check that a model has exactly the rows that its source had at the checkpoint. No row is duplicated."""
        ((source, position),) = self.checkpoint(name)["sources"].items()
        assert self.rows(self.table(name)) == self.rows(f"{source} version as of {position['snapshot_id']}")

    def assert_complete(self) -> None:
        """Check that every model has exactly the rows that have landed."""
        landed = self.rows(self.table("events"))
        assert landed.total() == self.landed
        for name in MODELS:
            assert self.rows(self.table(name)) == landed, name
            branches = {row[0] for row in self.sql(f"select name from {self.table(name)}.refs")}
            assert branches == {"main"}, name
