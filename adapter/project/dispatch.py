"""dbt's search order for macros of packages. The adapter has its own versions of some of these macros."""

from __future__ import annotations

from typing import Any

ADAPTED = ("audit_helper", "dbt_artifacts", "dbt_utils")
"""The packages that have macros in `macros/packages/`."""


def search_adapter(config: Any) -> None:
    """Let dbt search the adapter after the project and before the package, as `dispatch` in dbt_project.yml would.

    The project's own search orders do not change. `dbt debug` has no project, so its config has no `dispatch`.
    """
    orders = getattr(config, "dispatch", None)
    if orders is None:
        return
    configured = {order["macro_namespace"] for order in orders}
    for package in ADAPTED:
        if package not in configured:
            # dbt stores the macros of all adapters under the name of its own package.
            orders.append({"macro_namespace": package, "search_order": [config.project_name, "dbt", package]})
