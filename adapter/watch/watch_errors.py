"""The errors of the commands ``watch`` and ``pending``."""

from __future__ import annotations

from pathlib import Path

from iceberg_incremental.errors import ConfigError, IncrementalError


def nothing_to_watch(selected: int) -> ConfigError:
    """The selection of ``watch`` or ``pending`` contains no model with this package's materialization."""
    found = "no node is selected"
    if selected == 1:
        found = "the selected node does not have this package's materialization"
    elif selected:
        found = f"none of the {selected:,} selected nodes has this package's materialization"
    return ConfigError(
        f"There is nothing to watch: {found}.",
        expected="at least one selected model with materialized='iceberg_incremental_snapshot', since only these "
        "models record how far they have read their sources.",
        fix="correct --select, --exclude or --selector. `dbt list` shows the selected nodes.",
    ).named("nothing-to-watch")


def metrics_not_served(address: str, port: int, cause: str) -> ConfigError:
    """``watch`` cannot listen on the address and port for metrics."""
    return ConfigError(
        f"The metrics cannot be served on {address}, port {port}: {cause}.",
        expected="an address of this machine and a free port.",
        fix="choose another --metrics-port, at least 1024 unless this user can open privileged ports; or stop the "
        "process that uses this port. --metrics-address is 127.0.0.1 by default; 0.0.0.0 means all addresses.",
    ).named("metrics-not-served")


def metrics_not_written(file: Path, cause: str) -> ConfigError:
    """``watch`` cannot write its metrics file when it starts."""
    return ConfigError(
        f"The metrics were not written to {file}: {cause}.",
        expected="a file in an existing folder that this user can write to, on a disk with free space.",
        fix="correct --metrics-file or the folder.",
    ).named("metrics-not-written")


def spark_has_ended(code: int) -> IncrementalError:
    """The Spark process of ``watch`` was killed or ran out of memory."""
    return IncrementalError(
        f"The Spark process ended with code {code}. watch ends too, because a process can start Spark only once.",
        fix="start watch again, or run it under a supervisor. It continues from the last commit. If Spark ran out of "
        "memory, increase spark.driver.memory in the profile's server_side_parameters.",
    ).named("spark-has-ended")
