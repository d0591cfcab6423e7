"""Models that read the clock, over midnight. libfaketime moves the clock of dbt, its JVM and the other commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.functional.first_hour.project import WAREHOUSE, dbt, write

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
MODELS = {
    "days.sql": "{{ config(materialized='table') }} select cast(id as int) as id, "
    "date_add(date '2027-01-01', cast(id as int) - 5) as day from range(10)",
    "recent.sql": "{{ config(materialized='iceberg_incremental_snapshot', incremental_strategy='auto') }} "
    "select id, day, day = current_date as is_today from {{ ref('days') }} where day >= current_date - 1 and day < "
    "'tomorrow'",
}

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not LIBRARY.exists(), reason="libfaketime is not installed (Debian's package faketime)"),
]


def at(time: str) -> dict[str, str]:
    """The environment of a process that begins at a time, in UTC. Its clock runs on."""
    return {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME": f"@{time}",
        "NO_FAKE_STAT": "1",  # the class data archive and the jars keep their times
        "TZ": "UTC",
    }


def due(project: Path, **environment: str) -> str:
    command = [Path(sys.executable).with_name("dbt-spark-iceberg"), "pending", "--project-dir", str(project)]
    found = subprocess.run(
        [*map(str, command), "--profiles-dir", str(project)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode in (0, 99), found.stderr
    return found.stdout.strip()


def recent(project: Path) -> set[tuple[int, bool]]:
    catalog = SqlCatalog("lakehouse", uri=f"sqlite:///{project}/lakehouse/catalog.db", warehouse=f"{project}/lakehouse")
    rows = catalog.load_table("analytics.recent").scan().to_arrow().to_pylist()
    return {(row["id"], row["is_today"]) for row in rows}


def test_a_model_over_midnight(tmp_path):
    """Row 5 is of the first of January."""
    project = write(tmp_path / "shop", MODELS, WAREHOUSE)
    evening, night, later = (at(f"2027-01-0{time}:00") for time in ("1 23:50", "2 00:10", "4 12:00"))
    dbt(project, "build", **evening)
    assert recent(project) == {(4, False), (5, True)}
    assert due(project, **evening) == ""
    assert due(project, **night) == "shop.recent"
    dbt(project, "run", "--select", "recent", **night)
    assert recent(project) == {(5, False), (6, True)}
    assert due(project, **night) == ""
    assert "NOTHING NEW" in dbt(project, "run", "--select", "recent", **night)
    dbt(project, "run", "--select", "recent", **later)
    assert recent(project) == {(7, False), (8, True)}
