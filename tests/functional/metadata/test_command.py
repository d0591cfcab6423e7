"""The command iceberg-incremental on each type of catalog. The job is in Spark SQL; PyIceberg captures and commits.

The Hive metastore is excluded. PyIceberg locks its tables, and the tests' metastore, on Derby, has no lock tables.
"""

from __future__ import annotations

import json

import pytest

from iceberg_incremental.command.command_line import main
from iceberg_incremental.metadata.catalog_properties import map_catalog

from . import servers

POSTGRESQL = pytest.mark.skipif(servers.postgresql_programs() is None, reason="PostgreSQL is not installed")


class Job:
    def __init__(self, spark, catalog, version, capsys):
        self.run, self._capsys = spark.run, capsys
        properties = map_catalog(catalog, spark.settings).properties
        self._properties = [f"--catalog-property={catalog}.{key}={value}" for key, value in properties.items()]
        schema = f"{catalog}.command_v{version}"
        self.source, self.target = f"{schema}.events", f"{schema}.staged"
        self.run(f"create namespace {schema}")
        for table in (self.source, self.target):
            self.run(
                f"create table {table} (id int, v string) using iceberg tblproperties ('format-version'='{version}')"
            )

    def command(self, *arguments):
        code = main([*arguments, *self._properties])
        printed = self._capsys.readouterr()
        return code, json.loads(printed.out or "{}"), printed.err

    def capture(self):
        return self.command("capture", f"--target={self.target}", f"--source={self.source}")

    def once(self, tmp_path):
        code, run, said = self.capture()
        assert code == 0, said
        (source,) = run["sources"]
        self.run(f"insert into {self.target}.`branch_{run['branch']}` {source['sql']}")
        (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
        code, committed, said = self.command("commit", f"--run={tmp_path / 'run.json'}")
        assert code == 0, said
        return committed["epoch"]

    def rows(self):
        return sorted(number for (number,) in self.run(f"select id from {self.target}"))


@pytest.mark.parametrize(
    ("catalog", "version"),
    [("sqlite", 2), ("rest", 2), ("rest", 3), pytest.param("postgres", 2, marks=POSTGRESQL)],
)
def test_a_job_over_several_runs(spark, catalog, version, capsys, tmp_path):
    job = Job(spark, catalog, version, capsys)
    for number in (1, 2, 3):
        job.run(f"insert into {job.source} values ({number}, 'x')")
        assert job.once(tmp_path) == number
        assert job.rows() == list(range(1, number + 1))
    assert job.capture()[0] == 3
    job.run(
        f"call {catalog}.system.expire_snapshots(table => '{job.target}', older_than => timestamp '2100-01-01 00:00')"
    )
    assert job.rows() == [1, 2, 3]
    job.run(f"delete from {job.target} where id = 2")
    assert job.rows() == [1, 3]
    if version == 3:
        assert len({row for (row,) in job.run(f"select _row_id from {job.target}")}) == 2


@pytest.mark.parametrize(("catalog", "version", "why"), [("hadoop", 2, "hadoop catalog"), ("sqlite", 3, "format v3")])
def test_catalogs_that_pyiceberg_cannot_commit_to(spark, catalog, version, why, capsys):
    job = Job(spark, catalog, version, capsys)
    code, _, said = job.capture()
    assert code == 1 and why in said
