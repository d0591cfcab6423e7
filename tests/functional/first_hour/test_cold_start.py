"""The first command in a fresh embedded lakehouse, as its user gives it."""

from __future__ import annotations

from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from tests.functional.first_hour.project import WAREHOUSE, dbt, printed, start, write

SCHEMAS = 6


def models(side: str) -> dict[str, str]:
    """A model in each of several schemas."""
    return {
        f"{side}/{side}{n}.sql": f"{{{{ config(materialized='table', schema='s{n}') }}}} select {n} as id"
        for n in range(SCHEMAS)
    }


def tables(lakehouse: Path) -> set[str]:
    """The tables of the embedded lakehouse, as another engine lists them."""
    catalog = SqlCatalog("lakehouse", uri=f"sqlite:///{lakehouse / 'catalog.db'}", warehouse=str(lakehouse))
    return {".".join(name) for namespace in catalog.list_namespaces() for name in catalog.list_tables(namespace)}


def test_two_processes_start_at_once_on_several_schemas(tmp_path):
    project = write(tmp_path, {**models("left"), **models("right")}, WAREHOUSE)
    dbt(project, "parse")
    both = [start(project, "run", "--select", side, "--log-path", f"logs/{side}") for side in ("left", "right")]
    for said in map(printed, both):
        assert f"PASS={SCHEMAS} " in said
        assert said.index("Starting Spark") < said.index("START sql table model")
    assert tables(project / "lakehouse") == {
        f"analytics_s{n}.{side}{n}" for n in range(SCHEMAS) for side in ("left", "right")
    }
