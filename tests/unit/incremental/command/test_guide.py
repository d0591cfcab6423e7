"""The job in docs/jobs.md, run several times by a shell script without dbt and PySpark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

GUIDE = (Path(__file__).parents[4] / "docs" / "jobs.md").read_text(encoding="utf-8")
FLIGHTS = pa.schema([("flight_id", pa.int64()), ("carrier", pa.string()), ("cancelled", pa.int32())])
WITHOUT = """
import sys
BLOCKED = ("dbt", "dbt_common", "jinja2", "pyspark", "py4j")
sys.modules.update(dict.fromkeys(BLOCKED))  # an import of None fails
from iceberg_incremental.command.command_line import cli
try:
    cli()
finally:
    assert not [name for name, module in sys.modules.items() if module and name.split(".")[0] in BLOCKED]
"""


def block(language, contains):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    (found,) = [each for each in blocks if contains in each]
    return found


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """A PyIceberg catalog, configured as in the guide, and the commands of the guide in a folder of PATH."""
    (tmp_path / "job.py").write_text(block("python", "# job.py"), encoding="utf-8")
    (tmp_path / "without.py").write_text(WITHOUT, encoding="utf-8")
    script = tmp_path / "bin" / "iceberg-incremental"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "without.py"}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    for key, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{key.upper()}", value)
    catalog = load_catalog("lake", **properties)
    for namespace in ("ops", "analytics"):
        catalog.create_namespace(namespace)
    flights = catalog.create_table("ops.flights", FLIGHTS)
    with flights.update_spec() as spec:
        spec.add_identity("carrier")  # the folder of a flight without a carrier is carrier=null
    catalog.create_table("analytics.flights_staged", FLIGHTS.remove(2))
    yield catalog
    catalog.engine.dispose()


def test_the_job_of_the_guide(lake, tmp_path):
    def land(*flights):
        rows = [dict(zip(FLIGHTS.names, each, strict=True)) for each in flights]
        as_spark = {"spark.app.id": "local-1"}  # Spark does not import files without their partition columns
        new = pa.Table.from_pylist(rows, schema=FLIGHTS)
        lake.load_table("ops.flights").append(new, snapshot_properties=as_spark)

    def run():
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", block("sh", "job.py")],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    def rows():
        found = lake.load_table("analytics.flights_staged").scan().to_arrow().to_pylist()
        return sorted((row["flight_id"], row["carrier"]) for row in found)

    land((1, "UA", 0), (2, "AA", 1))
    first = run()
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["epoch"] == 1 and rows() == [(1, "UA")]
    land((3, None, 0))
    land((4, "D/L", 0))
    expected = [(1, "UA"), (3, None), (4, "D/L")]
    assert json.loads(run().stdout)["epoch"] == 2 and rows() == expected
    assert run().stdout == "" and rows() == expected
    land((5, "DL", 1))  # the job writes no rows, but still commits
    assert json.loads(run().stdout)["epoch"] == 3 and rows() == expected
    assert run().stdout == ""


def test_the_job_of_the_guide_writes_rows_once(lake, tmp_path, capsys):
    from iceberg_incremental.command.command_line import main

    new = pa.Table.from_pylist([{"flight_id": 1, "cancelled": 0}], schema=FLIGHTS)
    lake.load_table("ops.flights").append(new, snapshot_properties={"spark.app.id": "local-1"})
    assert main(["capture", "--target=lake.analytics.flights_staged", "--source=lake.ops.flights"]) == 0
    (tmp_path / "run.json").write_text(capsys.readouterr().out, encoding="utf-8")
    codes = [subprocess.call([sys.executable, "job.py", "run.json"], cwd=tmp_path) for _ in range(2)]
    assert codes == [0, 1]
    assert main(["commit", f"--run={tmp_path / 'run.json'}"]) == 0
    assert lake.load_table("analytics.flights_staged").scan().to_arrow().num_rows == 1


def test_the_guide_shows_the_fields_of_the_output(lake, tmp_path, capsys):
    """The examples have the field names of the command's output."""
    from iceberg_incremental.command.command_line import main

    lake.load_table("ops.flights").append(pa.Table.from_pylist([{"flight_id": 1}], schema=FLIGHTS))
    named = ["--target=lake.analytics.flights_staged", "--source=lake.ops.flights"]
    assert main(["capture", *named]) == 0
    printed = json.loads(capsys.readouterr().out)
    shown = json.loads(block("json", '"sources"'))
    assert shown.keys() <= printed.keys()
    assert shown["sources"][0].keys() <= printed["sources"][0].keys()
    documented = set(re.findall(r"`(?:sources\[\]\.)?(\w+)`", GUIDE))
    assert printed.keys() | printed["sources"][0].keys() <= documented | {"sources"}
    (tmp_path / "run.json").write_text(json.dumps(printed), encoding="utf-8")
    assert main(["abort", f"--run={tmp_path / 'run.json'}"]) == 0
    aborted = json.loads(capsys.readouterr().out)
    assert aborted.keys() <= documented
    assert main(["capture", *named]) == 0
    (tmp_path / "run.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["commit", f"--run={tmp_path / 'run.json'}", "--no-rows"]) == 0
    committed = json.loads(capsys.readouterr().out)
    assert committed.keys() == json.loads(block("json", "already_committed")).keys()
    assert main(["status", *named]) == 3
    status = json.loads(capsys.readouterr().out)
    assert status.keys() | status["sources"][0].keys() <= documented | {"sources"}
    assert [each["version"] for each in (printed, aborted, committed, status)] == [1, 1, 1, 1]
