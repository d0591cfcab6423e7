"""The environment of a benchmark: an embedded lakehouse, dbt projects that use it, and Spark."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import open_session

from . import cpu

CATALOG = "lakehouse"
RAW = "raw"
_OURS = {"type": "spark_iceberg", "method": "session"}
_DBT_SPARK = {"type": "spark", "method": "session", "host": "none"}
_SPARK = {"spark.driver.memory": "2g"}


@dataclass
class Statement:
    """A statement that dbt executed. ``node``: the id of the node; empty for dbt's own statements."""

    node: str
    sql: str
    seconds: float = 0.0


@dataclass
class Invocation:
    """One dbt command: its duration in s, its statements, and by model the duration and the message.

    ``models``: the time in s to compile and execute each model. ``cpu``: the CPU time in s of all processes from the
    start to the end of each model, if models run one by one.
    """

    seconds: float
    models: dict[str, float]
    cpu: dict[str, float]
    messages: dict[str, str]
    statements: list[Statement]

    @property
    def for_models(self) -> list[Statement]:
        """The statements for models."""
        return [statement for statement in self.statements if statement.node.startswith("model.")]


@dataclass
class _Sent:
    """Collects statements and the CPU time of models from dbt's events. Requires one dbt thread."""

    statements: list[Statement] = field(default_factory=list)
    cpu: dict[str, float] = field(default_factory=dict)

    def __call__(self, event: Any) -> None:
        if event.info.name == "NodeStart":
            self.cpu[event.data.node_info.node_name] = -cpu.whole()
        elif event.info.name == "NodeFinished":
            self.cpu[event.data.node_info.node_name] += cpu.whole()
        elif event.info.name == "SQLQuery":
            self.statements.append(Statement(event.data.node_info.unique_id, event.data.sql))
        elif event.info.name == "SQLQueryStatus":
            self.statements[-1].seconds += event.data.elapsed


def _duration(part: Any) -> float:
    """The duration of compiling or executing a model in s."""
    return float((part.completed_at - part.started_at).total_seconds())


def write_profile(folder: Path, name: str, target: dict[str, Any], threads: int = 1) -> None:
    """Write a folder's profiles.yml with one profile and one target. Creates the folder if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {"bench": {**target, "threads": threads}}
    text = json.dumps({name: {"target": "bench", "outputs": outputs}})
    (folder / "profiles.yml").write_text(text, encoding="utf-8")


def run_dbt(
    project: Path,
    profiles: Path,
    *arguments: str,
    command: str = "run",
    callbacks: Sequence[Callable[[Any], None]] = (),
) -> Invocation:
    """Execute a dbt command of one or two words in this process. dbt writes its files to the folder ``profiles``.

    ``callbacks``: called for each of dbt's events. Raises RuntimeError if the command fails.
    """
    sent = _Sent()
    folders = ["--project-dir", str(project), "--profiles-dir", str(profiles)]
    folders += ["--target-path", str(profiles / "target"), "--log-path", str(profiles / "logs")]
    began = time.perf_counter()
    outcome = dbtRunner(callbacks=[sent, *callbacks]).invoke([*command.split(), *arguments, "--quiet", *folders])
    took = time.perf_counter() - began
    if not outcome.success:
        raise RuntimeError(f"dbt {command} of {project.name} failed: {outcome.exception or 'see above'}")
    results = getattr(outcome.result, "results", ())  # `docs generate` returns a catalog
    found = [each for each in results if hasattr(each, "node")]  # `run-operation` runs no nodes
    return Invocation(
        took,
        {each.node.name: sum(map(_duration, each.timing)) for each in found},
        sent.cpu,
        {each.node.name: str(each.message) for each in found},
        sent.statements,
    )


class Project:
    """A dbt project with one schema. Its YAML files contain JSON."""

    def __init__(self, folder: Path, name: str, target: dict[str, Any], threads: int = 1) -> None:
        """``target``: the fields of the profile. The default schema is the name of the project."""
        self.folder = folder
        self.name = name
        self._write("dbt_project.yml", json.dumps({"name": name, "version": "1.0", "profile": name}))
        write_profile(folder, name, {"schema": name, **target}, threads)

    def sources(self, *names: str, **details: Any) -> None:
        """Declare the source tables."""
        source = {"name": RAW, "tables": [{"name": name} for name in names], **details}
        self._write("models/sources.yml", json.dumps({"sources": [source]}))

    def model(self, name: str, sql: str, **config: Any) -> None:
        """Write a model file."""
        listed = ", ".join(f"{key}={value!r}" for key, value in config.items())
        self._write(f"models/{name}.sql", f"{{{{ config({listed}) }}}}\n{sql}\n")

    def models(self, folder: Path, **config: Any) -> None:
        """Copy a folder of model files without configs. Their config is in dbt_project.yml."""
        shutil.copytree(folder, self.folder / "models", dirs_exist_ok=True)
        configs = {self.name: {f"+{key}": value for key, value in config.items()}}
        project = {"name": self.name, "version": "1.0", "profile": self.name, "models": configs}
        self._write("dbt_project.yml", json.dumps(project))

    def tests(self, model: str, of_columns: Mapping[str, Sequence[Any]]) -> None:
        """Declare data tests on the columns of a model, with the structure of dbt's YAML."""
        columns = [{"name": name, "data_tests": list(tests)} for name, tests in of_columns.items()]
        self._write(f"models/{model}.yml", json.dumps({"models": [{"name": model, "columns": columns}]}))

    def seed(self, name: str, csv: str) -> None:
        """Write a seed file."""
        self._write(f"seeds/{name}.csv", csv)

    def run(self, *arguments: str, command: str = "run", callbacks: Sequence[Callable[[Any], None]] = ()) -> Invocation:
        """Execute a dbt command in this process. The other arguments and errors are those of ``run_dbt``."""
        return run_dbt(self.folder, self.folder, *arguments, command=command, callbacks=callbacks)

    def _write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


class Lake:
    """The lakehouse, with Spark in the same process as dbt. ``target``: the profile's fields, without the schema."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        parameters = {**_SPARK, **(settings or {})}
        self.target = {**_OURS, "warehouse": str(folder / "lakehouse"), "server_side_parameters": parameters}
        self._connection = open_session(SparkIcebergCredentials.from_dict({**self.target, "schema": RAW}))
        self.spark = self._connection.session
        self.sql(f"create schema if not exists {CATALOG}.{RAW}")

    def sql(self, statement: str) -> list[Any]:
        """Execute a statement. Returns its rows."""
        return self.spark.sql(statement).collect()

    def timed(self, statement: str) -> float:
        """The duration of a statement in s."""
        began = time.perf_counter()
        self.spark.sql(statement)
        return time.perf_counter() - began

    def head(self, table: str) -> int:
        """The current snapshot of a table."""
        return int(self.sql(f"select snapshot_id from {table}.refs where name = 'main'")[0][0])

    def project(self, name: str, threads: int = 1, **target: str) -> Project:
        """Create a project for this package's adapter. ``target``: additional fields of its profile."""
        return Project(self.folder / name, name, {**self.target, **target}, threads)

    def dbt_spark_project(self, name: str, **target: str) -> Project:
        """Create a project for dbt-spark, which uses the Spark of this process and Spark's default catalog."""
        return Project(self.folder / name, name, {**_DBT_SPARK, **target})

    def stop(self) -> None:
        """Stop Spark and its JVM."""
        self._connection.close()
        gateway = self.spark.sparkContext._gateway
        self.spark.stop()
        gateway.shutdown()


@contextmanager
def open_lake() -> Iterator[Lake]:
    """Create a lakehouse in a temporary folder, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        lake = Lake(Path(folder))
        try:
            yield lake
        finally:
            lake.stop()


@contextmanager
def timing(owner: Any, name: str) -> Iterator[list[float]]:
    """Collects the duration in s of each call of a function. ``owner``: the function's class or module."""
    original: Callable[..., Any] = getattr(owner, name)
    durations: list[float] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            durations.append(time.perf_counter() - began)

    setattr(owner, name, call)
    try:
        yield durations
    finally:
        setattr(owner, name, original)
