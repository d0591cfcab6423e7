"""The errors of the commands ``watch`` and ``pending``."""

from __future__ import annotations

from pathlib import Path

from iceberg_incremental.errors import ConfigError, IncrementalError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.quantities import counted


@indexed
def nothing_to_watch(selected: int) -> ConfigError:
    """What ``watch`` or ``pending`` was given to select has no model of the materialization."""
    found = "nothing is selected" if selected == 0 else f"no such model among {counted(selected, 'selected node')}"
    return ConfigError(
        f"There is nothing to watch: {found}.\n"
        "  Expected: a model with materialized='iceberg_incremental_snapshot' among what --select names; such a "
        "model knows how far it has read its sources.\n"
        "  To fix: correct --select, --exclude or --selector; `dbt list` shows what they name."
    )


@indexed
def no_metrics_package() -> ConfigError:
    """``watch`` was asked for metrics, and the package that writes them is not installed."""
    return ConfigError(
        "--metrics-file and --metrics-port need the package prometheus_client, which is not installed.\n"
        "  To fix: pip install 'dbt-spark-iceberg[metrics]'"
    )


@indexed
def metrics_not_served(address: str, port: int, cause: str) -> ConfigError:
    """``watch`` cannot listen on the address and port of its metrics."""
    return ConfigError(
        f"The metrics cannot be served on {address}, port {port}: {cause}.\n"
        "  Expected: an address of this machine, and a port of it that is free.\n"
        "  To fix: set another --metrics-port, of 1024 or above if this user may open no lower one, or end the "
        "process that has this one. --metrics-address is 127.0.0.1 by default, and 0.0.0.0 for all addresses."
    )


@indexed
def metrics_not_written(file: Path, cause: str) -> ConfigError:
    """``watch`` cannot write the file of its metrics. If that happens later than at its start, it goes on."""
    return ConfigError(
        f"The metrics were not written to {file}: {cause}.\n"
        "  Expected: a file in a folder that exists, with room, to which this user may write.\n"
        "  To fix: correct --metrics-file or the folder."
    )


@indexed
def spark_has_ended(code: int) -> IncrementalError:
    """The Spark of ``watch`` has ended: it was killed, or ran out of memory. A process starts only one."""
    return IncrementalError(
        f"The process of Spark has ended with code {code}, and watch ends with it: a process starts Spark once.\n"
        "  To fix: start watch again, or have a supervisor do so; it continues where the last commit ended. If "
        "Spark ran out of memory, raise spark.driver.memory in the profile's server_side_parameters."
    )
