"""The errors of the commands ``watch`` and ``pending``."""

from __future__ import annotations

from ..errors import ConfigError
from .entries import indexed


@indexed
def nothing_to_watch(selected: int) -> ConfigError:
    """What ``watch`` or ``pending`` was given to select has no model of the materialization."""
    found = "nothing is selected" if selected == 0 else f"none of the {selected} selected nodes is one"
    return ConfigError(
        f"There is nothing to watch: {found}.\n"
        "  Expected: a model with materialized='iceberg_incremental_snapshot' among what --select names; such a "
        "model knows how far it has read its sources.\n"
        "  What to do: correct --select, --exclude or --selector; `dbt list` shows what they name."
    )


@indexed
def no_metrics_package() -> ConfigError:
    """``watch`` was asked for metrics, and the package that writes them is not installed."""
    return ConfigError(
        "--metrics-file and --metrics-port need the package prometheus_client, which is not installed.\n"
        "  What to do: pip install 'dbt-spark-iceberg[metrics]'"
    )


@indexed
def metrics_port_in_use(port: int, cause: str) -> ConfigError:
    """``watch`` cannot listen on the port of its metrics."""
    return ConfigError(
        f"The metrics cannot be served on port {port}: {cause}.\n"
        "  What to do: name another --metrics-port, or end the process that has this one."
    )
