"""The environments of `make compat`, with the versions that each installs and the tests that it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "dev.txt"
LISTS = ROOT / "requirements" / "compat"
ICEBERG_VERSION = "ICEBERG_VERSION"
"""The environment variable with the version of Iceberg's runtime for the tests."""

UNIT = ("tests/unit",)
# Tests of all features that may depend on the version of dbt, Spark, Iceberg or Python.
USERS = (
    *UNIT,
    "tests/packaging",
    "tests/functional/adapter/test_debug.py",
    "tests/functional/adapter/test_models.py",  # tables, views, snapshots, incremental models
    "tests/functional/adapter/test_packages.py",
    "tests/functional/adapter/conformance",
    "tests/functional/incremental/test_runs.py",  # first builds, next runs, full refreshes
    "tests/functional/incremental/test_strategies.py",
    "tests/functional/incremental/test_net_changes.py",
    "tests/functional/incremental/test_mirrors.py",  # reading and writing updates and deletes
    "tests/functional/incremental/test_columns.py",
    "tests/functional/incremental/test_commands.py",  # compile, show, clone, retry, unit tests
    "tests/functional/incremental/test_python_models.py",
    "tests/functional/incremental/test_docs.py",
    "tests/functional/incremental/test_freshness.py",
    "tests/functional/incremental/test_catalogs.py",
)
# Another Spark also runs as a Thrift server. Spark Connect is not tested, because its client must be 4.1.
SERVER = ("tests/functional/adapter/test_thrift.py",)
# For a Spark version for which Iceberg has not released a runtime yet.
NO_RUNTIME = (*UNIT, "tests/compat/test_no_runtime.py")


@dataclass(frozen=True)
class Environment:
    """The versions of requirements/dev.txt, overridden by those of the list with the environment's name, if any.

    ``iceberg``: the version of Iceberg's runtime. None for that of the embedded lakehouse.
    """

    name: str
    python: str
    tests: tuple[str, ...] = USERS
    iceberg: str | None = None

    @property
    def list(self) -> Path | None:
        """The file of the versions that differ from requirements/dev.txt, or None."""
        file = LISTS / f"{self.name}.txt"
        return file if file.exists() else None

    @property
    def folder(self) -> Path:
        """The folder of the environment."""
        return ROOT / f".venv-{self.name}"


ENVIRONMENTS = (
    Environment("python-3.10", "3.10"),
    Environment("python-3.11", "3.11"),
    Environment("python-3.12", "3.12"),
    Environment("python-3.13", "3.13"),
    Environment("dbt-1.10", "3.11"),
    Environment("dbt-1.12", "3.11"),
    Environment("spark-4.0", "3.11", USERS + SERVER),
    Environment("iceberg-1.11", "3.11", iceberg="1.11.0"),  # Spark 4.1, as in Amazon EMR 8.1 and AWS Glue 6
    # Spark 4.0, as in Amazon EMR 8.0. The embedded lakehouse needs a later version: this one leaves SQLite's reads open
    # (https://github.com/apache/iceberg/pull/15463), so that other sessions cannot write ("database is locked").
    Environment("iceberg-1.10", "3.11", UNIT, "1.10.1"),
    Environment("oldest", "3.10"),
    Environment("newest", "3.13"),
    Environment("spark-4.2", "3.11", NO_RUNTIME),
    Environment("spark-4.3", "3.11", NO_RUNTIME),
)
